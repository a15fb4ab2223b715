// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {IGovernance} from "../../../shared/contracts/interfaces/IGovernance.sol";
import {IPool} from "../../../shared/contracts/interfaces/IPool.sol";
import {IPoolTypes} from "../../../shared/contracts/interfaces/IPoolTypes.sol";
import {ISignerRegistry} from "../../../shared/contracts/interfaces/ISignerRegistry.sol";
import {TokenStandIn} from "../support/StandIns.sol";
import {Draft, Statements} from "../support/Statements.sol";
import {Outcome, Result, World, WorldOptions} from "../support/World.sol";

/// @dev What the pool calls on itself. Its selector depends on the shape of this struct, so a test that it is
/// found at all says that this is still the shape.
interface PoolInside {
    struct Statement {
        uint8 kind;
        uint64 deadline;
        uint256 inputs;
        uint256 outputs;
        uint256 leaves;
        bytes32 extHash;
        bytes32 hash;
        bytes32 proofHash;
        uint40 rootNumber;
        bool isProved;
        bool isPaid;
        bool isAgain;
        address token;
        uint256 amount;
    }

    function executeMember(IPoolTypes.Transaction calldata transaction, Statement calldata statement, address sender)
        external;
}

/// @notice Neighbours in one call: good ones, bad ones, and a caller who sends too little gas.
contract BatchesTest is World {
    TokenStandIn private odd;
    address private constant RECIPIENT = address(0x4EC1);
    uint256 private constant BAD = 8;

    function setUp() external {
        _build(WorldOptions({signers: 1, threshold: 1, changeDelay: 100}));
        odd = new TokenStandIn();
        vm.prank(OWNER);
        pool.proposeAsset(address(odd), minimumCap);
        vm.warp(block.timestamp + 100);
        pool.addAsset(address(odd));
        odd.mint(address(pool), 1 << 100);
        odd.behave(TokenStandIn.Behaviour(1000, 1000, false, false, true, ""));
        usdc.mint(address(pool), 1 << 100);
        usdc.mint(depositor, 1 << 100);
        euro.mint(address(venue), 1 << 100);
        venue.willPay(1000);
    }

    /// @dev One of each kind, of value or without.
    function _good(uint256 what, uint256 salt) private view returns (IPoolTypes.Transaction memory) {
        what %= 5;
        if (what == 0) return _seal(_draft(Statements.SPEND, salt));
        if (what == 1) return _seal(_draft(Statements.SPEND9, salt));
        if (what == 2) return _seal(_draft(Statements.SWAP, salt));
        if (what == 3) return _seal(_withdrawal(Statements.SPEND, salt, address(usdc), 10, RECIPIENT));
        Draft memory draft = _draft(Statements.DEPOSIT, salt);
        return _authorize(_seal(draft), DEPOSITOR_KEY, draft);
    }

    /// @dev Each breaks at another place: form, state, attestation, token, venue, gas.
    function _bad(uint256 what, uint256 salt) private view returns (IPoolTypes.Transaction memory transaction) {
        what %= BAD;
        if (what == 0) {
            transaction = _good(0, salt);
            transaction.attestations = "";
        }
        if (what == 1) {
            transaction = _good(1, salt);
            transaction.ext[0] ^= 0x01;
        }
        if (what == 2) transaction.kind = 200;
        if (what == 3) transaction = _seal(_withdrawal(Statements.SPEND, salt, address(usdc), 1 << 110, RECIPIENT));
        if (what == 4) transaction = _seal(_withdrawal(Statements.SPEND9, salt, address(odd), 5, RECIPIENT));
        if (what == 5) transaction = _seal(_draft(Statements.DEPOSIT, salt));
        if (what == 6) {
            Draft memory draft = _draft(Statements.SWAP, salt);
            draft.ext = bytes.concat(abi.encodePacked(address(euro), type(uint128).max), _tail(draft.ext, 36));
            transaction = _seal(draft);
        }
        if (what == 7) {
            Draft memory draft = _draft(Statements.SPEND9, salt);
            draft.nullifiers[8] = draft.nullifiers[0];
            transaction = _seal(draft);
        }
    }

    /// @dev The good ones alone, and the good ones among bad ones: the same in every respect.
    function testFuzz_leavesNeighboursAsIfBadOnesWereNotThere(uint256 seed) external {
        (IPoolTypes.Transaction[] memory all, IPoolTypes.Transaction[] memory good) = _mixed(seed);
        uint256 copy = vm.snapshotState();
        Result memory alone = _execute(good, _noUpdate(), SENDER);
        bytes32 expected = _fingerprint();
        vm.assertTrue(vm.revertToStateAndDelete(copy), "back");
        Result memory among = _execute(all, _noUpdate(), SENDER);
        vm.assertEq(_fingerprint(), expected, "the pool afterwards");
        uint256 next = 0;
        for (uint256 i = 0; i < all.length; ++i) {
            if (!_isGood(seed, i)) {
                vm.assertFalse(among.members[i].isExecuted, "a bad one");
                continue;
            }
            vm.assertTrue(alone.members[next].isExecuted, "a good one alone");
            vm.assertEq(abi.encode(among.members[i]), abi.encode(alone.members[next]), "a good one among others");
            ++next;
        }
    }

    function _isGood(uint256 seed, uint256 place) private pure returns (bool) {
        return uint256(keccak256(abi.encode(seed, place))) % 2 == 0;
    }

    function _mixed(uint256 seed)
        private
        view
        returns (IPoolTypes.Transaction[] memory all, IPoolTypes.Transaction[] memory good)
    {
        all = new IPoolTypes.Transaction[](seed % 3 + 2);
        good = new IPoolTypes.Transaction[](all.length);
        uint256 count = 0;
        for (uint256 i = 0; i < all.length; ++i) {
            uint256 salt = uint256(keccak256(abi.encode(seed, i)));
            all[i] = _isGood(seed, i) ? _good(salt / 2, salt) : _bad(salt / 2, salt);
            if (_isGood(seed, i)) good[count++] = all[i];
        }
        assembly ("memory-safe") {
            mstore(good, count)
        }
    }

    /// @dev The root update of the call too: skipped or taken by what became a leaf, whoever failed.
    function testFuzz_roundsOffWithTheRootOfWhatSucceeded(uint256 seed, uint8 upTo) external {
        (IPoolTypes.Transaction[] memory all,) = _mixed(seed);
        bytes32[] memory heads = _headsOf(all);
        uint256 toIndex = upTo % (heads.length + 2);
        bytes32 headAfter = toIndex < heads.length ? heads[toIndex] : bytes32(uint256(1));
        bytes32 before = _fingerprint();
        Result memory result = _execute(all, _update(uint64(toIndex), headAfter, 5), SENDER);
        bool isEnd = _isEndOfGood(seed, all, toIndex);
        vm.assertEq(result.isRooted, isEnd && toIndex != 0, "rooted where a member ended");
        vm.assertEq(result.isSkipped, !result.isRooted, "otherwise skipped");
        (uint256 root, uint64 rooted,) = pool.currentRoot();
        vm.assertEq(root, result.isRooted ? 5 : EMPTY_ROOT, "the root");
        vm.assertEq(rooted, result.isRooted ? toIndex : 0, "what it covers");
        if (heads.length == 1 && !result.isRooted) vm.assertEq(_fingerprint(), before, "nothing happened");
    }

    /// @dev The head after each leaf, found by executing on a copy of the world.
    function _headsOf(IPoolTypes.Transaction[] memory all) private returns (bytes32[] memory heads) {
        uint256 copy = vm.snapshotState();
        Result memory result = _execute(all, _noUpdate(), SENDER);
        (uint64 leafCount, bytes32 last) = pool.queue();
        heads = new bytes32[](uint256(leafCount) + 1);
        uint256 next = 0;
        for (uint256 i = 0; i < all.length; ++i) {
            Outcome memory outcome = result.members[i];
            if (!outcome.isExecuted) continue;
            uint256 outputs = Statements.outputsOf(all[i].kind);
            for (uint256 k = all[i].signals.length - outputs; k < all[i].signals.length; ++k) {
                heads[next + 1] = Statements.nextHead(heads[next], all[i].signals[k]);
                ++next;
            }
            if (!outcome.hasNote) continue;
            heads[next + 1] = Statements.nextHead(heads[next], outcome.note.commitment);
            ++next;
        }
        vm.assertEq(heads[next], last, "the queue is the list of leaves");
        vm.assertTrue(vm.revertToStateAndDelete(copy), "back");
    }

    function _isEndOfGood(uint256 seed, IPoolTypes.Transaction[] memory all, uint256 place) private pure returns (bool) {
        uint256 end = 0;
        for (uint256 i = 0; i < all.length; ++i) {
            if (!_isGood(seed, i)) continue;
            end += Statements.leavesOf(all[i].kind);
            if (end == place) return true;
        }
        return false;
    }

    /// @dev Anyone may carry anyone's statement. With any gas at all, the call reverts as a whole, or does for
    /// each good member all that it would have done with plenty.
    function testFuzz_noGasLimitFailsAGoodMember(uint256 seed, uint256 gasLimit) external {
        (IPoolTypes.Transaction[] memory all,) = _mixed(seed);
        gasLimit = seed % 3 == 0 ? _within(gasLimit, 20_000, 400_000) : _within(gasLimit, 400_000, 8_000_000);
        bytes memory data = abi.encodeCall(IPool.execute, (all, _noUpdate()));
        bytes32 before = _fingerprint();
        vm.recordLogs();
        vm.prank(SENDER);
        (bool isDone,) = address(pool).call{gas: gasLimit}(data);
        if (!isDone) {
            vm.assertEq(_fingerprint(), before, "nothing happened");
            return;
        }
        Result memory result = _read(vm.getRecordedLogs(), all);
        for (uint256 i = 0; i < all.length; ++i) {
            vm.assertEq(result.members[i].isExecuted, _isGood(seed, i), "as with plenty of gas");
        }
    }

    /// @dev The same where it matters most: the member's need is nearly all that the caller sends, so little is
    /// missing when it runs out, and the sixty-fourth that the EVM keeps back would pay for saying that it failed.
    function testFuzz_carriesAMemberWithEnoughOrNotAtAll(uint256 what, uint256 salt, uint256 cut) external {
        IPoolTypes.Transaction memory transaction = what % 2 == 0
            ? _seal(_withdrawal(Statements.SPEND9, salt, address(usdc), 10, RECIPIENT))
            : _good(2 + what / 2 % 3, salt);
        bytes memory data = abi.encodeCall(IPool.execute, (_one(transaction), _noUpdate()));
        uint256 copy = vm.snapshotState();
        uint256 gasLimit = gasleft();
        (bool isDone,) = address(pool).call(data);
        gasLimit = (gasLimit - gasleft()) * (1000 - cut % 400) / 1000;
        vm.assertTrue(isDone && vm.revertToStateAndDelete(copy), "executed with plenty, and back");
        vm.recordLogs();
        vm.prank(SENDER);
        (isDone,) = address(pool).call{gas: gasLimit}(data);
        if (isDone) _assertExecuted(_read(vm.getRecordedLogs(), _one(transaction)).members[0]);
    }

    /// @dev The pool's call to itself is no door for others, however well formed and signed for.
    function testFuzz_hasNoBackDoor(uint256 what, uint256 salt, address sender) external {
        vm.assume(sender != address(pool));
        IPoolTypes.Transaction memory transaction = _good(what, salt);
        PoolInside.Statement memory statement;
        statement.kind = transaction.kind;
        statement.deadline = transaction.deadline;
        statement.inputs = Statements.inputsOf(transaction.kind);
        statement.outputs = Statements.outputsOf(transaction.kind);
        statement.leaves = Statements.leavesOf(transaction.kind);
        statement.extHash = keccak256(transaction.ext);
        statement.hash = Statements.hashOf(transaction);
        statement.proofHash = keccak256(transaction.proof);
        statement.token = address(usdc);
        statement.amount = 10;
        vm.record();
        vm.prank(sender);
        (bool isDone, bytes memory answer) =
            address(pool).call(abi.encodeCall(PoolInside.executeMember, (transaction, statement, sender)));
        vm.assertFalse(isDone, "entered");
        vm.assertEq(answer, abi.encodeWithSelector(IPoolTypes.OnlySelf.selector), "for that reason");
        _assertUnwritten();
    }

    function testFuzz_takesNothingFromGarbage(uint256 selectorSeed, bytes calldata tail, address sender) external {
        bytes4[12] memory entries = [
            IPool.execute.selector,
            ISignerRegistry.proposeImage.selector,
            ISignerRegistry.register.selector,
            ISignerRegistry.removeSigner.selector,
            IGovernance.proposeAsset.selector,
            IGovernance.addAsset.selector,
            IGovernance.delistAsset.selector,
            IGovernance.proposeExecutor.selector,
            IGovernance.setExecutor.selector,
            IGovernance.removeExecutor.selector,
            PoolInside.executeMember.selector,
            bytes4(uint32(selectorSeed >> 8))
        ];
        vm.assume(sender != OWNER && sender != address(pool));
        vm.record();
        vm.prank(sender);
        (bool isDone, bytes memory answer) =
            address(pool).call(bytes.concat(entries[selectorSeed % entries.length], tail));
        _assertUnwritten();
        vm.assertTrue(isDone || answer.length % 32 == 4 || answer.length == 0, "a refusal of ours, or none");
        // The lock is open.
        _assertExecuted(_executeOne(_good(0, 1)));
    }
}
