// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {IPoolTypes} from "../../../shared/contracts/interfaces/IPoolTypes.sol";
import {IRecovery} from "../../../shared/contracts/interfaces/IRecovery.sol";
import {IGovernance} from "../../../shared/contracts/interfaces/IGovernance.sol";
import {Brake, Buckets} from "../support/Buckets.sol";
import {Proofs} from "../support/Proofs.sol";
import {Draft, Statements} from "../support/Statements.sol";
import {TestToken} from "../support/TestToken.sol";
import {Result, WorldOptions} from "../support/World.sol";
import {RecoveryPlans} from "./RecoveryPlans.sol";
import {Act, Root, Signer, Waiting} from "./RecoveryModel.sol";

/// @title Robbed signers, those who refute them, silence, a guardian, an owner and a crowd that leaves
/// @notice Every action says what it has to lead to before it is taken, and reverts when it led to anything else.
contract RecoveryHandler is RecoveryPlans {
    using Brake for Buckets;

    address private constant REFUTER = address(0x2EF07E2);

    function begin() external {
        (minimumCap, signerBond) = (1e14, 1 ether);
        _build(WorldOptions({signers: 3, threshold: 1, changeDelay: CHANGE_DELAY}));
        for (uint256 i = 0; i < 3; ++i) {
            people.push(Signer(keys[i], signers[i], _imageOf(i), true, true, false, 0, signerBond));
            TestToken(_asset(i)).mint(address(venue), 1 << 100);
            vm.prank(depositor);
            TestToken(_asset(i)).approve(address(pool), type(uint256).max);
        }
        venue.willPay(PAYOUT);
        heads.push(bytes32(0));
        Root memory empty;
        (empty.root, empty.since) = (EMPTY_ROOT, block.timestamp);
        _record(empty);
        heardAt = block.timestamp;
    }

    /// @dev Two of the first three share one.
    function _imageOf(uint256 i) internal pure override returns (bytes32) {
        return keccak256(abi.encode("image", i / 2));
    }

    // ------------------------------------------------------------------ payments

    function deposit(uint256 seed) external {
        _run(_planDeposit(_mix(seed)), false);
    }

    function spend(uint256 seed) external {
        _run(_planSpend(seed % 3 == 0 ? Statements.SPEND9 : Statements.SPEND, _mix(seed)), false);
    }

    function swap(uint256 seed) external {
        _run(_planSpend(Statements.SWAP, _mix(seed)), false);
    }

    /// @dev A true deposit whose first proof was none: whoever can prove it gets its notes, and pays nothing again.
    function proveAgain(uint256 seed) external {
        if (acts.length == 0) return;
        for (uint256 i = 0; i < 8; ++i) {
            Act memory act = acts[(seed % acts.length + i) % acts.length];
            if (!act.isRefuted || !act.isTrue || act.transaction.kind != Statements.DEPOSIT) continue;
            (act.isAttested, act.isForged, act.isRefuted, act.isExecuted) = (false, false, false, false);
            (act.transaction.proof, act.transaction.attestations) = (Proofs.good(), "");
            if (_wasProvedAgain(act)) {
                bytes4 fault = isUnsound ? IPoolTypes.DepositsStopped.selector : IPoolTypes.StatementRepeated.selector;
                _assertRejected(_execute(_one(act.transaction), _noUpdate(), SENDER).members[0], fault);
                return _addEnd();
            }
            _run(act, true);
            ++done["proved again"];
            return;
        }
    }

    function _wasProvedAgain(Act memory act) private view returns (bool) {
        for (uint256 i = 0; i < acts.length; ++i) {
            if (acts[i].isAttested || !acts[i].isExecuted) continue;
            if (Statements.hashOf(acts[i].transaction) == Statements.hashOf(act.transaction)) return true;
        }
        return false;
    }

    /// @dev Mostly of what is suspended; of any other it is refused.
    function again(uint256 seed) external {
        seed = _mix(seed);
        if (acts.length == 0) return;
        uint256 which = seed % acts.length;
        for (uint256 i = 0; i < 60 && seed >> 32 & 7 != 0 && !_isSuspended(which); ++i) {
            which = (which + 1) % acts.length;
        }
        if (acts[which].transaction.kind != Statements.DEPOSIT) _again(which, _chooseRoot(seed >> 64), seed >> 128);
    }

    function _again(uint256 which, uint256 root_, uint256 seed) private {
        which = _currentOf(which);
        (bool isSaid, Act memory act) = _planAgain(which, root_, seed);
        if (isSaid) _runAgain(act, which);
    }

    function _isSuspended(uint256 which) private view returns (bool) {
        return _stands(acts[which]) && roots[acts[which].root].isRevoked;
    }

    // ------------------------------------------------------------------ roots

    /// @dev To any checkpoint or the end, true or forged.
    function root(uint256 seed) external {
        seed = _mix(seed);
        uint256 to = _end(seed);
        Root memory next;
        (next.count, next.since, next.parent, next.isAttested) = (to, block.timestamp, newest, true);
        uint256 right = _above(roots[newest].root, rooted, to);
        next.root = right;
        if (seed >> 32 & 3 == 0) {
            uint256 old = (seed >> 40) % roots.length;
            next.root = roots[old].isRevoked ? roots[old].root : Statements.field("forged root", _draw());
        }
        next.isForged = next.root != right;
        next.isFalse = next.isForged || roots[newest].isFalse;
        IPoolTypes.RootUpdate memory update = IPoolTypes.RootUpdate(
            roots[newest].root, next.root, uint64(rooted), uint64(to), heads[rooted], heads[to], ""
        );
        bytes32 digest = Statements.digestOf(home.domain, update);
        update.attestations = _signatures(digest, _signing(_draw()));
        next.update = update;
        bytes4 fault = _updateFault(next, digest);
        Result memory result = _execute(new IPoolTypes.Transaction[](0), update, SENDER);
        vm.assertEq(bytes32(Statements.selectorOf(result.skipReason)), bytes32(fault), "why the update was skipped");
        if (fault == 0) _record(next);
        _addEnd();
        ++done[fault == 0 ? bytes32("roots") : bytes32(fault)];
    }

    function _updateFault(Root memory next, bytes32 digest) private view returns (bytes4) {
        uint256 number = numberOf[next.root];
        if (number != 0 && _isRoot(number - 1)) return IPoolTypes.RootUpdateStale.selector;
        if (next.count == rooted || next.count - rooted > 256) return IPoolTypes.RootUpdateSize.selector;
        bool isKnown = next.count == leaves_.length || _checkpointTime(next.count) != 0;
        if (isHeadUnknown || !isKnown) return IPoolTypes.RootUpdateHead.selector;
        return _attestationFault(digest, next.update.attestations);
    }

    /// @dev Mostly a place that the pool can name.
    function _end(uint256 seed) private view returns (uint256 to) {
        to = rooted + seed % (leaves_.length - rooted + 1);
        if (seed >> 16 & 7 == 0) return to;
        while (to < leaves_.length && (to == rooted || _checkpointTime(to) == 0)) ++to;
    }

    function advance(uint256 seed) external {
        seed = _mix(seed);
        uint256 to = _end(seed);
        uint256 count = to == rooted ? 0 : (seed >> 32) % (to - rooted) + 1;
        if (seed >> 24 & 3 != 0) count = to - rooted;
        // Void leaves alone leave the root as it is.
        if (seed >> 28 & 1 == 0 && to != rooted && isVoid[rooted]) {
            for (count = 1; rooted + count < to && isVoid[rooted + count]; ++count) {}
        }
        _advance(to, count, seed >> 64 & 7 == 0);
    }

    /// @param isSilent it does not name all who made doubtful leaves
    function _advance(uint256 to, uint256 count, bool isSilent) private {
        uint256[] memory frontier = new uint256[](1);
        frontier[0] = roots[newest].root;
        uint256 since = _checkpointTime(to);
        if (since == 0 && to == leaves_.length) since = block.timestamp;
        bytes4 fault = 0;
        if (_isOpen() && !isHeadUnknown && !_isSilent()) fault = IPoolTypes.SignersAtWork.selector;
        else if (count == 0) fault = IPoolTypes.PrefixLength.selector;
        else if (since == 0) fault = IPoolTypes.PrefixUnknown.selector;
        uint256 end = rooted + count;
        uint256[] memory who = _doubtful(rooted, end);
        bytes32[] memory makers = _makersOf(who, isSilent && who.length != 0);
        if (fault == 0 && makers.length < who.length) fault = IPoolTypes.MakerUnknown.selector;
        _attempt(
            abi.encodeCall(IRecovery.advance, (frontier, uint64(count), heads[rooted], _slice(rooted, to), makers)),
            fault
        );
        ++done[fault == 0 ? bytes32("advanced") : bytes32(fault)];
        if (fault != 0) return;
        _suspend(who);
        uint256 newRoot = _above(frontier[0], rooted, end);
        isHeadUnknown = end < doubtfulUpTo;
        if (newRoot == frontier[0]) {
            rooted = end;
            ++done["passed over"];
            return;
        }
        Root memory next;
        (next.root, next.count, next.parent, next.isFalse) = (newRoot, end, newest, roots[newest].isFalse);
        next.since = since > roots[newest].since ? since : roots[newest].since;
        _record(next);
    }

    function _makersOf(uint256[] memory who, bool isSilent) private view returns (bytes32[] memory makers) {
        makers = new bytes32[](isSilent ? who.length - 1 : who.length);
        for (uint256 i = 0; i < makers.length; ++i) {
            makers[i] = _makerOf(who[i]);
        }
    }

    // ------------------------------------------------------------------ refutations

    function refute(uint256 seed) external {
        seed = _mix(seed);
        if (acts.length == 0) return;
        uint256 which = seed % acts.length;
        // Mostly one that is forged.
        for (uint256 i = 0; i < 8 && seed >> 32 & 3 != 0 && !acts[which].isForged; ++i) {
            which = (which + 1) % acts.length;
        }
        if (acts[which].isAttested) _refute(which, seed >> 40 & 7 == 0 ? 1 : 0);
    }

    /// @param shift 1 to name the wrong pair of roots
    function _refute(uint256 which, uint256 shift) private {
        Act memory act = acts[which];
        bool isToVoid = act.isForged && _stands(acts[which]);
        (uint256 good, uint256 bad) = _around(act.firstLeaf);
        bool isCovered = isToVoid && act.firstLeaf < rooted && !isVoid[act.firstLeaf];
        bytes4 fault = act.isForged ? bytes4(0) : IPoolTypes.StatementTrue.selector;
        if (isCovered && shift == 1) (fault, bad) = (IPoolTypes.RootsNotAdjacent.selector, good);
        bytes32 digest = Statements.digestOf(home.domain, _keyHash(act.transaction.kind), act.transaction);
        uint256 before = REFUTER.balance;
        _attempt(abi.encodeCall(IRecovery.refuteStatement, (_false(act), roots[good].root, roots[bad].root)), fault);
        ++done[fault == 0 ? bytes32("refuted") : bytes32(fault)];
        if (fault != 0) return;
        vm.assertEq(REFUTER.balance - before, _convict(digest, act.transaction.attestations, isToVoid), "the bonds");
        if (!isToVoid) return;
        if (isVoid[act.firstLeaf]) ++done["refuted, empty before"];
        if (act.before != 0) ++done["put back"];
        _undo(which);
        if (isCovered) _revokeFrom(bad);
        if (act.transaction.kind == Statements.DEPOSIT) return;
        vm.assertEq(pool.isSpent(act.transaction.signals[4]), act.before != 0, "what moved money stays spent");
    }

    /// @dev The words do not matter where the bytes are no points.
    function _false(Act memory act) private pure returns (IPoolTypes.FalseStatement memory) {
        bool isGood = keccak256(act.transaction.proof) == keccak256(Proofs.compressed(true));
        return IPoolTypes.FalseStatement(
            act.transaction.kind,
            act.transaction.deadline,
            act.transaction.signals,
            keccak256(act.transaction.ext),
            act.transaction.proof,
            Proofs.words(isGood),
            act.transaction.attestations
        );
    }

    /// @dev The last root that stands and does not cover the leaf, and the first that does.
    function _around(uint256 leafIndex) private view returns (uint256 good, uint256 bad) {
        for (uint256 i = 0; i < roots.length; ++i) {
            if (!_isRoot(i)) continue;
            if (roots[i].count <= leafIndex) good = i;
            else if (bad == 0) bad = i;
        }
    }

    function refuteRoot(uint256 seed) external {
        seed = _mix(seed);
        uint256 which = seed % roots.length;
        for (uint256 i = 0; i < 8 && seed >> 32 & 3 != 0 && !roots[which].isForged; ++i) {
            which = (which + 1) % roots.length;
        }
        if (roots[which].isAttested) _refuteRoot(which);
    }

    function _refuteRoot(uint256 which) private {
        IPoolTypes.RootUpdate memory update = roots[which].update;
        uint256[] memory frontier = new uint256[](1);
        frontier[0] = update.oldRoot;
        bytes4 fault = roots[which].isForged ? bytes4(0) : IPoolTypes.StatementTrue.selector;
        uint256 before = REFUTER.balance;
        _attempt(
            abi.encodeCall(
                IRecovery.refuteRootUpdate, (update, frontier, _slice(update.fromIndex, update.toIndex))
            ),
            fault
        );
        ++done[fault == 0 ? bytes32("refuted roots") : bytes32("true roots")];
        if (fault != 0) return;
        // A later root of the same name is another update's.
        bool isTaken = numberOf[roots[which].root] == which + 1;
        if (_isRoot(which)) _revokeFrom(which);
        bytes32 digest = Statements.digestOf(home.domain, update);
        vm.assertEq(REFUTER.balance - before, _convict(digest, update.attestations, isTaken), "the bonds");
    }

    /// @dev By anyone; it does what the model says, or reverts for the model's reason.
    function _attempt(bytes memory call, bytes4 fault) private {
        vm.prank(REFUTER);
        (bool isDone, bytes memory answer) = address(pool).call(call);
        vm.assertEq(bytes32(isDone ? bytes4(0) : Statements.selectorOf(answer)), bytes32(fault), "why it was refused");
        vm.assertEq(isDone, fault == 0, "allowed when the model allows it");
    }

    // ------------------------------------------------------------------ owner, guardian, crowd and time

    function changeSigners(uint256 seed) external {
        seed = _mix(seed);
        Signer storage last = people[people.length - 1];
        if (!last.isAdmitted && !last.isRemoved) {
            if (block.timestamp >= last.admissibleAt + 7 days) {
                last.isRemoved = true;
            } else if (block.timestamp >= last.admissibleAt) {
                if (last.image != _imageOf(0)) pool.admitImage(last.image);
                _register(pool, last.account, last.image);
                (last.isAdmitted, last.wasAdmitted, last.bond) = (true, true, signerBond);
            }
        } else if (people.length < 12) {
            uint256 key = uint256(keccak256(abi.encode("recovery signer", people.length)));
            bytes32 image = _imageOf(0);
            if (isImageRevoked[image]) {
                image = keccak256(abi.encode("an image of its own", people.length));
                vm.prank(OWNER);
                pool.proposeImage(image, uint8(1 + people.length % 2), "its source", "how it is built");
            }
            people.push(Signer(key, vm.addr(key), image, false, false, false, block.timestamp + CHANGE_DELAY, 0));
        }
        if (seed % 16 != 0) return;
        Signer storage any = people[seed / 16 % people.length];
        if (seed / 1024 % 2 == 0 && !isImageRevoked[any.image]) {
            vm.prank(OWNER);
            pool.revokeImage(any.image);
            _revokeImage(any.image);
        } else if (any.isAdmitted) {
            vm.prank(OWNER);
            pool.removeSigner(any.account);
            _dismiss(any);
        }
    }

    function pause() external {
        bytes4 fault = block.timestamp < guardianReadyAt ? IPoolTypes.GuardianResting.selector : bytes4(0);
        vm.prank(GUARDIAN);
        (bool isDone, bytes memory answer) = address(pool).call(abi.encodeCall(IGovernance.pause, ()));
        vm.assertEq(bytes32(isDone ? bytes4(0) : Statements.selectorOf(answer)), bytes32(fault), "paused");
        if (!isDone) return;
        ++done["paused"];
        guardianReadyAt = block.timestamp + 10 days;
        if (attestedFrom < block.timestamp + 3 days) attestedFrom = block.timestamp + 3 days;
    }

    /// @dev Mostly of nothing: then it is refused.
    function reportUnsound(uint256 seed) external {
        seed = _mix(seed);
        Draft memory draft = _withdrawal(Statements.SPEND, _draw(), address(usdc), 1, RECIPIENT);
        uint256[] memory signals = _bind(draft).signals;
        bool isShown = seed % 32 == 0;
        if (isShown) verifiers[Statements.SPEND].register(signals);
        _attempt(
            abi.encodeCall(IRecovery.reportUnsound, (Statements.SPEND, signals, Proofs.words(true))),
            isShown ? bytes4(0) : IPoolTypes.NotUnsound.selector
        );
        if (!isShown) return;
        (isUnsound, attestedFrom) = (true, NEVER);
        ++done["unsound"];
    }

    function payClaim(uint256 seed) external {
        seed = _mix(seed);
        address asset = _asset(seed);
        uint256 made = claims_[asset].length;
        uint256 id = seed / 16 % (made + 1);
        bool isOut = id < made && _isSuspended(claims_[asset][id]);
        if (seed / 4 % (isOut ? 2 : 8) == 0) _removeClaim(asset, id);
        else _payClaim(asset, id);
    }

    function _payClaim(address asset, uint256 id) private returns (bool isPaid) {
        uint256 left = id < claims_[asset].length ? claims_[asset][id].left : 0;
        (,, uint256 due,) = pool.claim(asset, id);
        bytes4 fault = 0;
        if (left == 0) fault = IPoolTypes.ClaimUnknown.selector;
        else if (_isSuspended(claims_[asset][id])) fault = IPoolTypes.ClaimRevoked.selector;
        else if (due == 0) fault = IPoolTypes.CapReached.selector;
        else if (due > TestToken(asset).balanceOf(address(pool))) fault = IPoolTypes.TransferRefused.selector;
        if (left != 0) vm.assertEq(_dueOf(asset, id, due), true, "in proportion to what it waits for");
        Buckets memory buckets = _buckets(asset);
        uint256 before = TestToken(asset).balanceOf(RECIPIENT);
        if (fault == 0) _allot(asset, buckets);
        _attempt(abi.encodeCall(IRecovery.payClaim, (asset, id)), fault);
        uint256 paid = TestToken(asset).balanceOf(RECIPIENT) - before;
        vm.assertEq(paid, fault != 0 ? 0 : due, "paid what was due");
        if (fault != 0) return false;
        claims_[asset][id].left -= paid;
        claims_[asset][id].weight = claims_[asset][id].left << 64;
        owed[asset] -= paid;
        buckets_[asset] = buckets;
        ++done["claims paid"];
        return true;
    }

    function _removeClaim(address asset, uint256 id) private {
        bytes4 fault = 0;
        if (id >= claims_[asset].length) fault = IPoolTypes.ClaimUnknown.selector;
        else if (claims_[asset][id].left == 0 || claims_[asset][id].isRemoved) fault = IPoolTypes.ClaimUnknown.selector;
        else if (!_isSuspended(claims_[asset][id])) fault = IPoolTypes.ClaimStands.selector;
        Buckets memory buckets = _buckets(asset);
        if (fault == 0) _allot(asset, buckets);
        _attempt(abi.encodeCall(IRecovery.removeClaim, (asset, id)), fault);
        if (fault != 0) return;
        Waiting storage one = claims_[asset][id];
        uint256 rest = (one.weight + (1 << 64) - 1) >> 64;
        if (rest > waiting[asset]) rest = waiting[asset];
        owed[asset] -= one.left;
        excess[asset] -= int256(one.left);
        (one.isRemoved, one.weight) = (true, 0);
        waiting[asset] -= rest;
        if (waiting[asset] == 0) _share(asset, 0);
        else _share(asset, one.left - rest);
        buckets_[asset] = buckets;
        ++done["claims removed"];
    }

    function time(uint256 seed) external {
        seed = _mix(seed);
        if (seed % 3 == 0) vm.warp(block.timestamp + seed / 4 % 2 hours);
        if (seed % 3 == 1) vm.warp(block.timestamp + seed / 4 % 1 days);
        if (seed % 3 == 2) vm.warp(block.timestamp + 1 days + seed / 4 % 4 days);
    }

    function donate(uint256 seed, uint64 amount) external {
        TestToken(_asset(seed)).mint(address(pool), amount % 1e15);
        donated[_asset(seed)] += amount % 1e15;
    }

    function _mix(uint256 seed) private pure returns (uint256) {
        return uint256(keccak256(abi.encode(seed)));
    }

    // ------------------------------------------------------------------ judgement

    /// @notice After every step.
    function check() external view {
        uint256 any = _mix(block.timestamp + leaves_.length + roots.length);
        for (uint256 i = 0; i < 3; ++i) {
            _checkMoney(_asset(i));
        }
        uint256 bonds = 0;
        for (uint256 i = 0; i < people.length; ++i) {
            bonds += people[i].bond;
            vm.assertEq(pool.isSigner(people[i].account), people[i].isAdmitted, "who is out stays out");
        }
        vm.assertEq(address(pool).balance, bonds, "the bonds and no more");
        (uint64 from, bool isBroken, uint64 silentFrom) = pool.brakes();
        vm.assertEq(uint256(from), attestedFrom, "the attested path");
        vm.assertEq(isBroken, isUnsound, "unsound for ever");
        vm.assertEq(uint256(silentFrom), _silentFrom(), "silence");
        _checkTree(any);
        if (notes.length == 0) return;
        vm.assertEq(
            pool.isSpent(_nullifierOf(any % notes.length)), notes[any % notes.length].isSpent, "a note of old"
        );
        vm.assertEq(pool.isVoid(uint64(any % leaves_.length)), isVoid[any % leaves_.length], "a leaf of old");
    }

    function _checkMoney(address asset) private view {
        uint256 held = TestToken(asset).balanceOf(address(pool));
        vm.assertEq(
            int256(worth[asset] + owed[asset] + donated[asset]) - excess[asset] == int256(held), true, "value is conserved"
        );
        Buckets memory buckets = _buckets(asset);
        vm.assertGe(_free(asset) + 4 * Brake.quarter(buckets.cap), buckets.balance, "no more left than the caps let out");
        (uint256 attested, uint256 proved) = pool.room(asset);
        vm.assertEq(attested, buckets.attestedRoom(1, isUnsound), "room for what is attested");
        vm.assertEq(proved, _provedRoom(buckets), "room for proofs");
        _checkClaims(asset, buckets, held);
    }

    function _checkClaims(address asset, Buckets memory buckets, uint256 held) private view {
        (uint256 made, uint256 all, uint256 still) = pool.claimTotals(asset);
        vm.assertEq(made, claims_[asset].length, "claims");
        vm.assertEq(all, owed[asset], "what is owed");
        vm.assertEq(still, waiting[asset] - _allotment(asset, buckets), "what is not allotted");
        if (made == 0) return;
        uint256 id = _mix(held + made) % made;
        (, uint256 left, uint256 due, bool isRevoked) = pool.claim(asset, id);
        vm.assertEq(left, claims_[asset][id].left, "a claim of old");
        vm.assertEq(isRevoked, left != 0 && _isSuspended(claims_[asset][id]), "whether it is suspended");
        vm.assertEq(_dueOf(asset, id, due), true, "its part");
    }

    function _checkTree(uint256 any) private view {
        (uint64 leafCount, bytes32 head) = pool.queue();
        vm.assertEq(uint256(leafCount), leaves_.length, "as many leaves as in the model");
        vm.assertEq(head, heads[leafCount], "in their order");
        (uint256 current, uint64 count,) = pool.currentRoot();
        vm.assertEq(current, roots[newest].root, "the newest root");
        vm.assertEq(uint256(count), rooted, "what it covers");
        any %= roots.length;
        (uint64 number, uint64 covered, uint64 provableFrom) = pool.rootRecord(roots[any].root);
        vm.assertEq(number, pool.rootSequence(roots[any].root), "one number");
        uint256 last = numberOf[roots[any].root] - 1;
        bool isRoot = _isRoot(last);
        vm.assertEq(uint256(number), isRoot ? last + 1 : 0, "revoked or not");
        vm.assertEq(uint256(covered), isRoot ? roots[last].count : 0, "what an old root covers");
        vm.assertEq(uint256(provableFrom), isRoot ? roots[last].since + provedDelay : 0, "when it may be used");
        for (uint256 i = 0; i < roots.length && i < 2; ++i) {
            Root storage old = roots[(any + i) % roots.length];
            if (old.isRevoked || old.isFalse) continue;
            vm.assertEq(old.root, _above(EMPTY_ROOT, 0, old.count), "a root that stands covers no void leaf");
        }
    }

    /// @notice At the end of a campaign: all that was forged is refuted, the tree goes on to the end without a signer,
    /// what was stolen is put back, and everybody leaves by proofs.
    function finish() external {
        for (uint256 i = 0; i < roots.length; ++i) {
            if (roots[i].isForged && _isRoot(i)) _refuteRoot(i);
        }
        // What came again first, then what it came in the place of.
        for (uint256 i = acts.length; i > 0; --i) {
            if (acts[i - 1].isForged && _stands(acts[i - 1])) _refute(i - 1, 0);
        }
        _goOn();
        _confirm();
        _goOn();
        for (uint256 i = 0; i < 3; ++i) {
            address asset = _asset(i);
            if (excess[asset] > 0) {
                TestToken(asset).mint(address(pool), uint256(excess[asset]));
                excess[asset] = 0;
            }
            while (worth[asset] != 0) {
                _run(_planLeave(asset), false);
            }
            _payAll(asset);
            vm.assertEq(owed[asset], 0, "every claim is paid");
            _checkMoney(asset);
        }
    }

    /// @dev To the end of the queue, and until a proof may use that root.
    function _goOn() private {
        if (_isOpen() && !_isSilent()) vm.warp(_silentFrom());
        if (rooted < leaves_.length) _advance(leaves_.length, leaves_.length - rooted, false);
        (uint256 last,,) = pool.currentRoot();
        vm.assertEq(last, _above(EMPTY_ROOT, 0, leaves_.length), "the tree of all leaves, void ones empty");
        vm.warp(block.timestamp + provedDelay);
    }

    /// @dev Whoever paid on a bad root with notes of a good one proves it again.
    function _confirm() private {
        uint256 count = acts.length;
        for (uint256 i = 0; i < count; ++i) {
            if (!_isSuspended(i) || !_isTrueOn(acts[i], newest)) continue;
            (address asset, uint256 claim) = (acts[i].asset, acts[i].claim);
            if (claim != 0 && i % 2 == 0) _removeClaim(asset, claim - 1);
            _again(i, newest, 1);
            ++done["confirmed in the end"];
        }
    }

    function _payAll(address asset) private {
        for (uint256 id = 0; id < claims_[asset].length; ++id) {
            if (claims_[asset][id].left == 0 || claims_[asset][id].isRemoved) continue;
            if (_isSuspended(claims_[asset][id])) _removeClaim(asset, id);
            while (!claims_[asset][id].isRemoved && claims_[asset][id].left != 0) {
                if (!_payClaim(asset, id)) vm.warp(block.timestamp + 12 hours);
            }
        }
    }
}
