// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {IGovernance} from "../../../shared/contracts/interfaces/IGovernance.sol";
import {IPool} from "../../../shared/contracts/interfaces/IPool.sol";
import {IPoolTypes} from "../../../shared/contracts/interfaces/IPoolTypes.sol";
import {ISignerRegistry} from "../../../shared/contracts/interfaces/ISignerRegistry.sol";
import {TestToken} from "../support/TestToken.sol";
import {Statements} from "../support/Statements.sol";
import {Outcome, Result, WorldOptions} from "../support/World.sol";
import {Plan, Plans} from "./Plans.sol";

/// @title Everybody who acts on the pool, with the model beside it
/// @notice Every action says what it has to lead to before it is taken, and reverts when it led to anything
/// else. The campaign treats a revert as a failure.
contract PoolHandler is Plans {
    uint64 private constant DELAY = 1 days;
    /// After it, a proposal that nobody admitted is good for nothing.
    uint256 private constant WINDOW = 7 days;

    /// How often each thing was done, for a look at whether a campaign does anything at all.
    mapping(bytes32 what => uint256) public done;

    /// @dev Not in the constructor: Uniswap calls whoever provides liquidity.
    function begin(uint256 threshold_, bool usesUniswap) external {
        _build(WorldOptions({signers: 3, threshold: threshold_, changeDelay: DELAY}));
        currentExecutor = address(venue);
        executorOf[currentExecutor].isAdmitted = true;
        if (usesUniswap) {
            _useUniswap();
            _drop(executorOf[currentExecutor]);
            uniswap = currentExecutor = pool.executor();
            _admit(executorOf[uniswap]);
        }
        unlisted = TestToken(_deployBuilt("TestUSDC", ""));
        for (uint256 i = 0; i < 3; ++i) {
            signerOf[signers[i]].isAdmitted = true;
            address token = _asset(7 * i);
            assetOf[token].isAdmitted = true;
            TestToken(token).mint(address(venue), 1 << 100);
        }
        for (uint256 i = 0; i < 2; ++i) {
            depositors[i] = vm.addr(depositorKeys[i]);
            for (uint256 k = 0; k < 3; ++k) {
                vm.prank(depositors[i]);
                TestToken(_asset(7 * k)).approve(address(pool), type(uint256).max);
            }
        }
        _addFirstRoot(EMPTY_ROOT);
        venuePays = 1000;
        venue.willPay(venuePays);
    }

    // ------------------------------------------------------------------ payments

    function deposit(uint256 seed) external {
        _batch(seed, [Statements.DEPOSIT, Statements.DEPOSIT, Statements.DEPOSIT, Statements.DEPOSIT]);
    }

    function spend(uint256 seed) external {
        _batch(seed, [Statements.SPEND, Statements.SPEND, Statements.SPEND9, Statements.SPEND]);
    }

    function swap(uint256 seed) external {
        _batch(seed, [Statements.SWAP, Statements.SWAP, Statements.SWAP, Statements.SPEND9]);
    }

    function mixed(uint256 seed) external {
        _batch(seed, [Statements.DEPOSIT, Statements.SPEND, Statements.SPEND9, Statements.SWAP]);
    }

    /// @dev Up to four members, a third of them flawed, often with a root update, sometimes behind a racer.
    function _batch(uint256 seed, uint8[4] memory kinds) private {
        seed = _mix(seed, "batch");
        address sender = [SENDER, SENDER, depositors[0], depositors[1]][seed % 4];
        bool hasRacer = seed / 4 % 4 == 0;
        IPoolTypes.RootUpdate memory raced;
        if (hasRacer) {
            // Made for a queue that the racer changes before it arrives.
            raced = _anyUpdate(_mix(seed, "update"));
            _race(_mix(seed, "racer"));
        }
        Plan[] memory plans = new Plan[](seed / 16 % 5);
        for (uint256 i = 0; i < plans.length; ++i) {
            plans[i] = _planAny(_mix(seed, bytes32(i)), kinds, sender);
        }
        // A copy of the first behind all others.
        if (plans.length > 1 && seed / 128 % 8 == 0) _copyFirst(plans);
        IPoolTypes.RootUpdate memory update = hasRacer ? raced : _updateBehind(plans, _mix(seed, "update"));
        _run(plans, update, sender);
    }

    function _planAny(uint256 seed, uint8[4] memory kinds, address sender) private returns (Plan memory) {
        uint8 kind = kinds[seed / 128 % 4];
        uint256 flaw = seed % 3 == 0 ? seed / 3 % FLAWS : 0;
        // Swaps have three of their own.
        if (flaw != 0 && kind == Statements.SWAP && seed / 512 % 2 == 0) {
            flaw = uint256(Flaw.FloorZero) + seed / 1024 % 3;
        }
        return _plan(kind, seed, Flaw(flaw), sender);
    }

    function _copyFirst(Plan[] memory plans) private pure {
        uint256 last = plans.length - 1;
        if (plans[0].expected != 0) return;
        // The one that stood there would be spent in the model but never sent.
        if (plans[last].expected == 0 && plans[last].inputs.length != 0) return;
        Plan memory copy;
        copy.transaction = plans[0].transaction;
        copy.expected = copy.transaction.kind == Statements.DEPOSIT
            ? IPoolTypes.StatementRepeated.selector
            : IPoolTypes.NullifierSpent.selector;
        plans[last] = copy;
    }

    function _race(uint256 seed) private {
        Plan[] memory plans = new Plan[](1);
        plans[0] = _plan(Statements.DEPOSIT, seed, Flaw.None, depositors[seed % 2]);
        _run(plans, _noUpdate(), depositors[seed % 2]);
    }

    /// @dev Many private transfers of nothing: leaves for the queue, more in one call than an update may cover.
    function flood(uint256 seed) external {
        seed = _mix(seed, "flood");
        Plan[] memory plans = new Plan[](seed % 16 == 0 ? 65 + seed / 16 % 8 : 4 + seed / 16 % 12);
        for (uint256 i = 0; i < plans.length; ++i) {
            plans[i] = _plan(Statements.SPEND, _mix(seed, bytes32(i)) / 19 / 3 * 3 * 19, Flaw.None, SENDER);
        }
        _run(plans, _updateBehind(plans, _mix(seed, "update")), SENDER);
    }

    // ------------------------------------------------------------------ roots

    function root(uint256 seed) external {
        seed = _mix(seed, "root");
        _run(new Plan[](0), _anyUpdate(seed), SENDER);
    }

    /// @dev To where this call's members will have ended, as far as that is known before; or as any other.
    function _updateBehind(Plan[] memory plans, uint256 seed) private view returns (IPoolTypes.RootUpdate memory) {
        if (seed % 4 == 0) return _noUpdate();
        if (seed % 4 == 1) return _anyUpdate(seed / 4);
        bytes32 head = heads[_leafCount()];
        uint256 count = _leafCount();
        uint256 upTo = seed / 8 % (plans.length + 1);
        for (uint256 i = 0; i < upTo; ++i) {
            if (plans[i].expected != 0) continue;
            // What a swap buys is measured when it happens.
            if (plans[i].transaction.kind == Statements.SWAP) break;
            uint256[] memory signals = plans[i].transaction.signals;
            for (uint256 k = signals.length - plans[i].values.length; k < signals.length; ++k) {
                head = Statements.nextHead(head, signals[k]);
                ++count;
            }
        }
        return _updateTo(count, head, seed);
    }

    function _updateTo(uint256 count, bytes32 head, uint256 seed) private view returns (IPoolTypes.RootUpdate memory) {
        return _signed(
            IPoolTypes.RootUpdate(
                _newestRoot(),
                Statements.field("root", seed),
                uint64(_rooted()),
                uint64(count),
                heads[_rooted()],
                head,
                ""
            ),
            _signing(seed)
        );
    }

    /// @dev Over leaves that are mined: to the end of any call or member, or with something wrong.
    function _anyUpdate(uint256 seed) private view returns (IPoolTypes.RootUpdate memory update) {
        uint256 waiting = _leafCount() - _rooted();
        uint256 count = _rooted() + (waiting == 0 ? 0 : seed / 8 % (waiting + 1));
        if (seed % 2 == 0) {
            // Mostly where a call ended and within reach.
            for (uint256 i = 0; i < 256 && count > _rooted(); ++i) {
                if (_isCheckpoint(count) && count <= _rooted() + 256) break;
                --count;
            }
        }
        update = _updateTo(count, heads[count], seed);
        uint256 wrong = seed / 1024 % 16;
        if (wrong == 0) update.headAfter = bytes32(seed);
        if (wrong == 1) update.oldRoot = roots[seed / 2048 % roots.length];
        if (wrong == 2) update.newRoot = roots[seed / 2048 % roots.length];
        if (wrong == 3) update.headBefore = heads[seed / 2048 % heads.length];
        if (wrong == 4) update.fromIndex = uint64(seed / 2048 % (_leafCount() + 1));
        if (wrong == 5) update.toIndex += 1;
        if (wrong <= 5) update = _signed(update, _signing(seed));
        if (wrong == 6) update.attestations = "";
        if (wrong == 7) update.attestations = _head(update.attestations, update.attestations.length - 1);
        if (wrong == 8) update.newRoot ^= 1;
    }

    /// @dev What the signatures of `_anyUpdate` amount to.
    function _signatureFault(IPoolTypes.RootUpdate memory update) private view returns (bytes4) {
        uint256 length = update.attestations.length;
        if (length % 65 != 0) return IPoolTypes.AttestationLength.selector;
        if (length / 65 < threshold) return IPoolTypes.TooFewAttestations.selector;
        (bytes32 r, bytes32 s) = abi.decode(update.attestations, (bytes32, bytes32));
        address signer = ecrecover(Statements.digestOf(home.domain, update), uint8(update.attestations[64]), r, s);
        return signerOf[signer].isAdmitted ? bytes4(0) : IPoolTypes.SignerUnknown.selector;
    }

    // ------------------------------------------------------------------ running

    function _run(Plan[] memory plans, IPoolTypes.RootUpdate memory update, address sender) private {
        IPoolTypes.Transaction[] memory list = new IPoolTypes.Transaction[](plans.length);
        bool mayTouch = false;
        for (uint256 i = 0; i < plans.length; ++i) {
            list[i] = plans[i].transaction;
            mayTouch = mayTouch || !_isRefusedAtTheDoor(plans[i].expected, list[i].kind);
        }
        uint256 start = _leafCount();
        vm.record();
        Result memory result = _execute(list, update, sender);
        if (!mayTouch && !result.isRooted) _assertOnlyMarked();
        for (uint256 i = 0; i < plans.length; ++i) {
            _settle(plans[i], result.members[i]);
        }
        _settleUpdate(update, result, start);
        _addCallEnd();
        _assertQueue();
        // The lock is open, and a call of nothing does nothing.
        vm.record();
        vm.prank(SENDER);
        pool.execute(new IPoolTypes.Transaction[](0), _noUpdate());
        _assertOnlyMarked();
    }

    /// @dev Refused by a look, before any token: then nothing at all may be written.
    function _isRefusedAtTheDoor(bytes4 expected, uint8 kind) private pure returns (bool) {
        if (expected == IPoolTypes.AuthorizationMalformed.selector) return kind != Statements.DEPOSIT;
        return expected != 0 && expected != IPoolTypes.TransferRefused.selector && expected != IPoolTypes.SwapFailed.selector
            && expected != IPoolTypes.FloorMissed.selector;
    }

    function _settle(Plan memory plan, Outcome memory outcome) private {
        if (plan.expected != 0) {
            ++done[bytes32(plan.expected)];
            return _assertRejected(outcome, plan.expected);
        }
        _assertExecuted(outcome);
        ++done[bytes32(uint256(plan.transaction.kind))];
        uint256[] memory signals = plan.transaction.signals;
        for (uint256 i = 0; i < plan.values.length; ++i) {
            _addNote(plan.asset, plan.values[i], _leafCount());
            _addLeaf(signals[signals.length - plan.values.length + i]);
        }
        if (plan.transaction.kind == Statements.SWAP) _settleSwap(plan, outcome);
        _addBoundary();
        for (uint256 i = 0; i < plan.inputs.length; ++i) {
            vm.assertTrue(pool.isSpent(_nullifierOf(plan.inputs[i])), "spent");
        }
    }

    function _settleSwap(Plan memory plan, Outcome memory outcome) private {
        vm.assertTrue(outcome.hasNote, "the note that was bought");
        vm.assertEq(outcome.note.asset, plan.tokenOut, "of the asset that was asked for");
        // Uniswap at a price of one with two fees; the stand-in pays what it was told.
        if (currentExecutor == uniswap) vm.assertGe(outcome.note.value, plan.amount / 2, "the floor");
        else vm.assertEq(outcome.note.value, venuePays, "what the venue paid");
        _addNote(plan.tokenOut, outcome.note.value, _leafCount());
        _addLeaf(outcome.note.commitment);
    }

    function _settleUpdate(IPoolTypes.RootUpdate memory update, Result memory result, uint256 start) private {
        if (update.toIndex == 0 && update.fromIndex == 0 && update.attestations.length == 0) {
            vm.assertFalse(result.isRooted || result.isSkipped, "no update");
            return;
        }
        bytes4 fault = _updateFault(update, start);
        bytes4 reason = Statements.selectorOf(result.skipReason);
        if (fault == 0) fault = _signatureFault(update);
        vm.assertEq(bytes32(reason), bytes32(fault), "why the update was skipped");
        vm.assertEq(result.isRooted, fault == 0, "taken when it fits");
        ++done[bytes32(fault)];
        if (fault != 0) return;
        _addRoot(update.newRoot, update.toIndex);
        vm.assertEq(uint256(result.rootSequence), roots.length - 1, "its number");
    }

    function _assertQueue() private view {
        (uint64 leafCount, bytes32 head) = pool.queue();
        vm.assertEq(leafCount, _leafCount(), "as many leaves as in the model");
        vm.assertEq(head, heads[_leafCount()], "the same leaves in the same order");
    }

    function _mix(uint256 seed, bytes32 label) private pure returns (uint256) {
        return uint256(keccak256(abi.encode(seed, label)));
    }

    // ------------------------------------------------------------------ everything else that happens

    function time(uint256 seed) external {
        vm.warp(block.timestamp + (seed % 4 == 0 ? 1 + seed / 4 % 2_000_000 : 1 + seed / 4 % 7200));
    }

    /// @dev Money without a note.
    function donate(uint256 seed, uint64 amount) external {
        address token = _asset(seed);
        TestToken(token).mint(address(pool), amount);
        donated[token] += amount;
    }

    function venueBehaviour(uint256 seed) external {
        venuePays = seed / 4 % 1e15 + 1;
        venueFails = seed % 4 < 2;
        if (seed % 4 == 0) venue.willRevert(abi.encode(seed));
        if (seed % 4 == 1) venue.willBurnGas();
        if (seed % 4 == 2) venue.willPay(venuePays);
        if (seed % 4 == 3) {
            venue.willCall(
                address(pool), abi.encodeCall(IPool.execute, (new IPoolTypes.Transaction[](0), _noUpdate())), venuePays
            );
        }
    }

    function changeSigners(uint256 seed) external {
        uint256 which = seed % KEYS;
        address subject = signers[which];
        Permission storage permission = signerOf[subject];
        if (seed / 16 % 3 == 0) {
            if (permission.isAdmitted || permission.wasRemoved) return;
            _register(pool, subject, _imageOf(which));
            _admit(permission);
        } else if (seed / 64 % 4 == 0) {
            // A pool without enough signers, or without one kind of them, would only stand still.
            if (!permission.isAdmitted || _acceptedCount() <= threshold || !_hasAnother(which, 0)) return;
            vm.prank(OWNER);
            pool.removeSigner(subject);
            _drop(permission);
        }
        vm.assertEq(pool.isSigner(subject), permission.isAdmitted, "the signer's standing");
    }

    function changeAssets(uint256 seed) external {
        address subject = _asset(seed);
        Permission storage permission = assetOf[subject];
        uint256 step = seed / 16 % 3;
        if (step == 0) {
            if (permission.isAdmitted || _isPending(permission)) return;
            vm.prank(OWNER);
            pool.proposeAsset(subject, minimumCap);
            permission.admissibleAt = block.timestamp + DELAY;
        } else if (step == 1) {
            _tryToAdmit(permission, abi.encodeCall(IGovernance.addAsset, (subject)));
        } else if (seed / 64 % 8 == 0) {
            if (!permission.isAdmitted && !_isPending(permission)) return;
            vm.prank(OWNER);
            pool.delistAsset(subject);
            if (permission.isAdmitted) _drop(permission);
            else permission.admissibleAt = 0;
        }
        vm.assertEq(pool.isAsset(subject), permission.isAdmitted, "the asset's standing");
    }

    function changeExecutor(uint256 seed) external {
        address subject = uniswap == address(0) || seed % 2 == 0 ? address(venue) : uniswap;
        Permission storage permission = executorOf[subject];
        uint256 step = seed / 16 % 3;
        if (step == 0) {
            if (permission.isAdmitted || _isPending(permission)) return;
            vm.prank(OWNER);
            pool.proposeExecutor(subject);
            permission.admissibleAt = block.timestamp + DELAY;
        } else if (step == 1) {
            if (_tryToAdmit(permission, abi.encodeCall(IGovernance.setExecutor, (subject)))) {
                if (currentExecutor != address(0)) _drop(executorOf[currentExecutor]);
                _admit(permission);
                currentExecutor = subject;
            }
        } else if (seed / 64 % 8 == 0) {
            if (!permission.isAdmitted && !_isPending(permission)) return;
            vm.prank(OWNER);
            pool.removeExecutor(subject);
            if (subject == currentExecutor) {
                _drop(permission);
                currentExecutor = address(0);
            } else {
                permission.admissibleAt = 0;
            }
        }
        vm.assertEq(pool.executor(), currentExecutor, "the executor");
    }

    function _isPending(Permission storage permission) private view returns (bool) {
        return permission.admissibleAt != 0 && block.timestamp < permission.admissibleAt + WINDOW;
    }

    /// @dev Anyone may; it works exactly when it was announced long enough ago, and not too long.
    function _tryToAdmit(Permission storage permission, bytes memory call) private returns (bool isDone) {
        bool isDue = _isPending(permission) && block.timestamp >= permission.admissibleAt;
        vm.prank(SENDER);
        (isDone,) = address(pool).call(call);
        vm.assertEq(isDone, isDue, "admitted when it is time");
        if (isDone) _admit(permission);
    }

    /// @dev A stranger's bytes: behind any selector of the pool, or behind none.
    function garbage(uint256 seed, bytes calldata tail, address sender) external {
        bytes4[8] memory entries = [
            IPool.execute.selector,
            ISignerRegistry.proposeImage.selector,
            ISignerRegistry.removeSigner.selector,
            IGovernance.delistAsset.selector,
            IGovernance.proposeExecutor.selector,
            IGovernance.removeExecutor.selector,
            ISignerRegistry.register.selector,
            bytes4(uint32(seed >> 8))
        ];
        if (sender == OWNER || sender == address(pool)) return;
        vm.record();
        vm.prank(sender);
        (bool isDone,) = address(pool).call(bytes.concat(entries[seed % 8], tail));
        _assertUnwritten();
        if (isDone) ++done["garbage that does nothing"];
    }

    // ------------------------------------------------------------------ judgement

    /// @notice After every step.
    function check() external view {
        for (uint256 i = 0; i < 3; ++i) {
            address token = _asset(7 * i);
            uint256 held = TestToken(token).balanceOf(address(pool));
            vm.assertGe(held, worth[token], "the pool covers every unspent note");
            vm.assertEq(held, worth[token] + donated[token], "and holds nothing else but gifts");
        }
        vm.assertEq(address(pool).balance, 0, "no coins");
        _assertQueue();
        (uint256 newest, uint64 rooted, uint64 sequence) = pool.currentRoot();
        vm.assertEq(newest, _newestRoot(), "the newest root");
        vm.assertEq(rooted, _rooted(), "what it covers");
        vm.assertEq(uint256(sequence), roots.length - 1, "its number");
        uint256 any = uint256(keccak256(abi.encode(block.timestamp, heads.length, roots.length)));
        vm.assertEq(uint256(pool.rootSequence(roots[any % roots.length])), any % roots.length + 1, "a root of old");
        if (notes.length == 0) return;
        any %= notes.length;
        vm.assertEq(pool.isSpent(_nullifierOf(any)), notes[any].isSpent, "a note of old");
    }

    /// @notice At the end of a campaign: every leaf gets into the tree by updates of at most 256, every note out of
    /// the pool, and then only gifts are left.
    function finish() external {
        while (_rooted() < _leafCount()) {
            _stepTowardsTheEnd();
        }
        for (uint256 i = 0; i < roots.length; ++i) {
            vm.assertEq(uint256(pool.rootSequence(roots[i])), i + 1, "every root serves for ever");
        }
        for (uint256 id = 0; id < notes.length; ++id) {
            vm.assertEq(pool.isSpent(_nullifierOf(id)), notes[id].isSpent, "spent in the pool as in the model");
        }
        for (uint256 i = 0; i < 3; ++i) {
            address token = _asset(7 * i);
            // The seed of a spend that pays out everything it spends.
            while (unspent[token].length != 0) {
                Plan[] memory plans = new Plan[](1);
                plans[0] = _plan(Statements.SPEND9, _seedOfAll(i), Flaw.None, SENDER);
                vm.assertEq(bytes32(plans[0].expected), bytes32(0), "a note can always leave");
                _run(plans, _noUpdate(), SENDER);
            }
            vm.assertEq(worth[token], 0, "all notes spent");
            vm.assertEq(TestToken(token).balanceOf(address(pool)), donated[token], "only gifts are left");
        }
    }

    /// @dev For `_plan`: asset number i, all in public.
    function _seedOfAll(uint256 i) private pure returns (uint256 seed) {
        for (seed = 0; seed / 7 % 3 != i || seed / 19 % 3 != 1; ++seed) {}
    }

    function _stepTowardsTheEnd() private {
        uint256 from = _rooted();
        uint256 most = _leafCount() < from + 256 ? _leafCount() : from + 256;
        for (uint256 to = most; to > from; --to) {
            if (!_isCheckpoint(to)) continue;
            _run(new Plan[](0), _updateTo(to, heads[to], _draw()), SENDER);
            vm.assertEq(_rooted(), to, "a checkpoint is always reached");
            return;
        }
        revert("no update of at most 256 leaves makes progress");
    }
}
