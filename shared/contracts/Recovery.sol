// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {Refutations} from "./Refutations.sol";
import {IRecovery} from "./interfaces/IRecovery.sol";
import {ITreeHasher} from "./interfaces/ITreeHasher.sol";

/// @title Module of the pool: what goes on when signers are silent or lied
/// @notice Runs in the pool's storage, see Pool.
contract Recovery is Refutations {
    // ------------------------------------------------------------------ the tree

    /// @inheritdoc IRecovery
    function advance(
        uint256[] calldata frontier,
        uint64 count,
        bytes32 headBefore,
        uint256[] calldata leaves,
        bytes32[] calldata makers
    ) external locked {
        _mustBeAllowed();
        if (count == 0 || count > leaves.length) revert PrefixLength(count, leaves.length);
        uint256 from = position.rootedCount;
        (bytes32 headBehind, uint256 since) = _follow(headBefore, leaves, from, count);
        // What the root before was built on may be younger than the leaves.
        uint256 foundation = roots[newestRoot].since;
        if (since < foundation) since = foundation;

        _suspendTainted(from, from + count, makers);
        uint256[] memory appended = leaves[:count];
        for (uint256 i = 0; i < count; ++i) {
            if (_isIn(voidLeaves, from + i)) appended[i] = 0;
        }
        (uint256 oldRoot, uint256 newRoot) = ITreeHasher(_settings().treeHasher()).append(frontier, uint64(from), appended);
        if (oldRoot != newestRoot) revert FrontierMismatch(oldRoot);

        rootedHeadWhileWaiting = from + count < doubtfulUpTo ? UNKNOWN_HEAD : headBehind;
        if (newRoot == oldRoot) _passOver(newRoot, from + count);
        // What the pool computes says nothing of the signers.
        else _recordRoot(newRoot, from + count, since, position.rootedAt, 0);
    }

    /// @dev Signers that work must not be outrun: a root update that is on its way would fit no more.
    function _mustBeAllowed() private view {
        if (block.timestamp < position.attestedFrom || _rootedHead() == UNKNOWN_HEAD) return;
        uint256 silentFrom = _silentFrom();
        if (block.timestamp < silentFrom) revert SignersAtWork(uint64(silentFrom));
    }

    /// @dev The shown leaves must end at the end of the queue or at a checkpoint; then they, and the head before
    /// them, are the ones that were queued.
    /// @return headBehind the head behind the first `count`
    /// @return since when all the shown leaves were in the queue
    function _follow(bytes32 headBefore, uint256[] calldata leaves, uint256 from, uint256 count)
        private
        view
        returns (bytes32 headBehind, uint256 since)
    {
        bytes32 head = headBefore;
        for (uint256 i = 0; i < leaves.length; ++i) {
            if (i == count) headBehind = head;
            head = _nextHead(head, leaves[i]);
        }
        if (count == leaves.length) headBehind = head;
        uint256 end = from + leaves.length;
        bool isEnd = end == position.leafCount && head == queueHead;
        since = _checkpointTime(end, head);
        if (since == 0 && isEnd) since = block.timestamp;
        if (since == 0) revert PrefixUnknown();
    }

    /// @dev Void leaves alone leave the root as it is, and a root has one number.
    function _passOver(uint256 root, uint256 leafCount) private {
        position.rootedCount = uint40(leafCount);
        emit RootUpdated(root, uint64(leafCount), roots[root].sequencePlusOne - 1);
    }
}
