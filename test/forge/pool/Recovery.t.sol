// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {IPoolTypes} from "../../../shared/contracts/interfaces/IPoolTypes.sol";
import {ITreeHasher} from "../../../shared/contracts/interfaces/ITreeHasher.sol";
import {Draft, Statements} from "../support/Statements.sol";
import {Result, World, WorldOptions} from "../support/World.sol";

/// @notice Roots that are revoked in any order, and a tree that goes on from any place.
contract RecoveryTest is World {
    bytes32[] private heads;
    uint256[] private leaves;
    /// A nullifier of each statement; every one of them makes four leaves.
    bytes32[] private makers;
    /// By sequence.
    uint256[] private roots;
    bool[] private isRevoked;
    IPoolTypes.RootUpdate[] private updates;
    bool[] private isForged;

    function setUp() external {
        _build(WorldOptions({signers: 6, threshold: 1, changeDelay: 4 days}));
        heads.push(bytes32(0));
        _remember(EMPTY_ROOT, _noUpdate(), false);
    }

    function _remember(uint256 root, IPoolTypes.RootUpdate memory update, bool isFalse) private {
        roots.push(root);
        isRevoked.push(false);
        updates.push(update);
        isForged.push(isFalse);
    }

    function _call(uint256 members, uint256 salt) private {
        IPoolTypes.Transaction[] memory list = new IPoolTypes.Transaction[](members);
        for (uint256 i = 0; i < members; ++i) {
            Draft memory draft = _draft(Statements.SPEND, uint256(keccak256(abi.encode(salt, i))));
            draft.proof = abi.encode(salt, i, uint256(1), uint256(2));
            list[i] = _attest(_bind(draft), _key(salt));
            makers.push(bytes32(draft.nullifiers[0]));
            for (uint256 k = 0; k < 4; ++k) {
                leaves.push(draft.commitments[k]);
                heads.push(Statements.nextHead(heads[heads.length - 1], draft.commitments[k]));
            }
        }
        Result memory result = _execute(list, _noUpdate(), SENDER);
        for (uint256 i = 0; i < members; ++i) {
            _assertExecuted(result.members[i]);
        }
    }

    /// @dev Of somebody who is admitted.
    function _key(uint256 salt) private view returns (uint256[] memory by) {
        by = new uint256[](1);
        for (uint256 i = 0; i < KEYS; ++i) {
            by[0] = keys[(salt % KEYS + i) % KEYS];
            if (pool.isSigner(vm.addr(by[0]))) return by;
        }
        revert("nobody is left");
    }

    function _slice(uint256 from, uint256 to) private view returns (uint256[] memory part) {
        part = new uint256[](to - from);
        for (uint256 i = from; i < to; ++i) {
            part[i - from] = leaves[i];
        }
    }

    function _makers(uint256 from) private view returns (bytes32[] memory part) {
        part = new bytes32[](makers.length - from / 4);
        for (uint256 i = 0; i < part.length; ++i) {
            part[i] = makers[from / 4 + i];
        }
    }

    function _next(uint256 root, uint256 from, uint256 to) private view returns (uint256 next) {
        (, next) = tree.append(_frontier(root), uint64(from), _slice(from, to));
    }

    function _frontier(uint256 root) private pure returns (uint256[] memory frontier) {
        frontier = new uint256[](1);
        frontier[0] = root;
    }

    // ------------------------------------------------------------------ intervals

    /// @dev Up to five times: some roots, true and forged ones, then any forged one that stands is refuted, then the
    /// tree goes on without a signer. Each root is revoked exactly if the naive list says so.
    function testFuzz_revokesWhatIsBuiltOnAForgedRoot(uint256 seed) external {
        for (uint256 round = 0; round < seed % 5 + 1; ++round) {
            _addRoots(uint256(keccak256(abi.encode(seed, round))));
            if (!_refuteAny(uint256(keccak256(abi.encode(seed, "refute", round))))) continue;
            _assertRoots();
            _advanceToTheEnd();
            _assertRoots();
            vm.warp(block.timestamp + 4 days);
        }
    }

    function _addRoots(uint256 seed) private {
        for (uint256 i = 0; i < seed % 4 + 1; ++i) {
            seed = uint256(keccak256(abi.encode(seed)));
            _call(1, seed);
            (uint256 oldRoot, uint64 from,) = pool.currentRoot();
            uint64 to = uint64(leaves.length);
            bool isFalse = seed % 2 == 0;
            uint256 root = isFalse ? _forgedRoot(seed / 2) : _next(oldRoot, from, to);
            IPoolTypes.RootUpdate memory update = _signed(
                IPoolTypes.RootUpdate(oldRoot, root, from, to, heads[from], heads[to], ""), _key(seed)
            );
            vm.assertTrue(_execute(new IPoolTypes.Transaction[](0), update, SENDER).isRooted, "taken");
            _remember(root, update, isFalse);
        }
    }

    /// @dev A new number, or one that is revoked: it may stand again, under its new sequence.
    function _forgedRoot(uint256 seed) private view returns (uint256 root) {
        root = roots[seed / 4 % roots.length];
        if (seed % 4 != 0 || pool.rootSequence(root) != 0) return Statements.field("forged", seed);
    }

    function _refuteAny(uint256 seed) private returns (bool) {
        for (uint256 i = 0; i < roots.length; ++i) {
            uint256 which = (seed % roots.length + i) % roots.length;
            if (!isForged[which] || isRevoked[which]) continue;
            IPoolTypes.RootUpdate memory update = updates[which];
            pool.refuteRootUpdate(update, _frontier(update.oldRoot), _slice(update.fromIndex, update.toIndex));
            for (uint256 k = which; k < roots.length; ++k) {
                isRevoked[k] = true;
            }
            (uint256 root, uint64 rooted,) = pool.currentRoot();
            vm.assertEq(root, update.oldRoot, "goes on from the one before");
            vm.assertEq(rooted, update.fromIndex, "and its leaves");
            return true;
        }
        return false;
    }

    function _advanceToTheEnd() private {
        (uint256 oldRoot, uint64 from,) = pool.currentRoot();
        uint256 count = leaves.length - from;
        pool.advance(_frontier(oldRoot), uint64(count), heads[from], _slice(from, leaves.length), _makers(from));
        (uint256 root, uint64 rooted,) = pool.currentRoot();
        vm.assertEq(root, _next(oldRoot, from, leaves.length), "the root of these leaves");
        vm.assertEq(uint256(rooted), leaves.length, "all of them");
        _remember(root, _noUpdate(), false);
    }

    function _assertRoots() private view {
        for (uint256 i = 0; i < roots.length; ++i) {
            uint256 expected = 0;
            for (uint256 k = 0; k < roots.length; ++k) {
                if (roots[k] == roots[i]) expected = isRevoked[k] ? 0 : k + 1;
            }
            vm.assertEq(uint256(pool.rootSequence(roots[i])), expected, "its number while it stands");
        }
    }

    // ------------------------------------------------------------------ checkpoints

    /// @dev From wherever the tree stands, also in the middle of a statement, a place that is never overwritten is at most
    /// 255 leaves ahead, or the end of the queue.
    function testFuzz_reachesACheckpointFromEverywhere(uint256 seed) external {
        // One run in 256 is long. Drawn, because fuzzers like the round numbers.
        seed = uint256(keccak256(abi.encode(seed)));
        uint256 calls = seed % 256 == 0 ? 3 : 1;
        for (uint256 i = 0; i < calls; ++i) {
            uint256 draw = uint256(keccak256(abi.encode(seed, "call", i)));
            _call(1 + draw % (calls == 1 ? 5 : 72), draw);
        }
        vm.warp(block.timestamp + 6 hours);
        uint256 rooted = 0;
        for (uint256 step = 0; rooted < leaves.length; ++step) {
            uint256 to = rooted + 1;
            while (to < leaves.length && !_isWindow(to)) ++to;
            vm.assertLe(to - rooted, 255, "within reach of an update");
            uint256 count = step < 6 ? uint256(keccak256(abi.encode(seed, step))) % (to - rooted) + 1 : to - rooted;
            (uint256 oldRoot,,) = pool.currentRoot();
            pool.advance(_frontier(oldRoot), uint64(count), heads[rooted], _slice(rooted, to), new bytes32[](0));
            vm.warp(block.timestamp + 6 hours);
            rooted += count;
        }
        vm.assertEq(_chain(), _newest(), "the root of all leaves");
    }

    /// @dev The first boundary at or behind a multiple of 252, of statements of four leaves.
    function _isWindow(uint256 count) private view returns (bool) {
        bool isFirst = count % 252 < 4 && count >= 252 && count % 4 == 0;
        if (isFirst) vm.assertTrue(pool.checkpointTime(uint64(count), heads[count]) != 0, "kept for ever");
        return isFirst;
    }

    function _chain() private view returns (uint256) {
        return _next(EMPTY_ROOT, 0, leaves.length);
    }

    function _newest() private view returns (uint256 root) {
        (root,,) = pool.currentRoot();
    }

    /// @dev Any word changed, of head, leaves or frontier: nothing moves.
    function testFuzz_advancesOverWhatWasQueuedAlone(uint256 seed, uint256 other) external {
        _call(seed % 3 + 1, seed);
        uint256[] memory shown = _slice(0, leaves.length);
        (bytes32 head, uint256 root, uint256 count) = (bytes32(0), EMPTY_ROOT, 1 + (seed >> 8) % shown.length);
        bytes4 fault = 0;
        uint256 what = (seed >> 16) % 6;
        if (what == 0 && other != 0) (head, fault) = (bytes32(other), IPoolTypes.PrefixUnknown.selector);
        if (what == 1 && other != EMPTY_ROOT) (root, fault) = (other, IPoolTypes.FrontierMismatch.selector);
        if (what == 2 && other != shown[other % shown.length]) {
            (shown[other % shown.length], fault) = (other, IPoolTypes.PrefixUnknown.selector);
        }
        if (what == 3) (count, fault) = (shown.length + 1 + other % 1e9, IPoolTypes.PrefixLength.selector);
        if (what == 4) fault = IPoolTypes.SignersAtWork.selector;
        else vm.warp(block.timestamp + 6 hours);
        // Where nothing is doubtful nobody has to be named, and whoever is does not matter.
        try pool.advance(_frontier(root), uint64(count), head, shown, new bytes32[](other % 3)) {
            vm.assertEq(bytes32(fault), bytes32(0), "advanced, although it should be refused");
            vm.assertEq(_newest(), _next(EMPTY_ROOT, 0, count), "the root of the first of them");
        } catch (bytes memory reason) {
            vm.assertEq(bytes32(Statements.selectorOf(reason)), bytes32(fault), "why not");
            vm.assertEq(_newest(), EMPTY_ROOT, "nothing moved");
        }
    }
}

/// @notice The same with the tree as it is: that the pool and the hasher agree on frontier, index and leaves.
contract RealTreeTest is World {
    function test_advancesAndRefutesWithTheRealTree() external {
        tree = ITreeHasher(_deployBuilt("TreeHasher", ""));
        _build(WorldOptions({signers: 2, threshold: 1, changeDelay: 4 days}));
        Draft memory draft = _draft(Statements.SPEND, 1);
        _assertExecuted(_executeOne(_seal(draft)));
        bytes32 head = _headAfter(bytes32(0), draft);
        uint256[] memory none = new uint256[](0);
        (, uint256 right) = tree.append(none, 0, draft.commitments);
        IPoolTypes.RootUpdate memory update = _update(4, head, right + 1);
        vm.assertTrue(_execute(new IPoolTypes.Transaction[](0), update, SENDER).isRooted, "a forged root is taken");
        pool.refuteRootUpdate(update, none, draft.commitments);
        vm.assertEq(pool.rootSequence(right + 1), 0, "and revoked");
        bytes32[] memory makers = new bytes32[](1);
        makers[0] = bytes32(draft.nullifiers[0]);
        pool.advance(none, 4, bytes32(0), draft.commitments, makers);
        vm.assertEq(pool.rootSequence(right), 3, "the true one");
    }
}
