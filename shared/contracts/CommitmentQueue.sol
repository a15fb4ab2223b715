// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {AttestationGate} from "./AttestationGate.sol";
import {RootLedger} from "./RootLedger.sol";
import {StatementSignals} from "./libraries/StatementSignals.sol";

/// @title The queue of commitments, and the roots of the tree that follows it
/// @notice Commitments are hashed into `head` as they come; later an attested update, or `advance`, says which root
/// the first n of them have. An update names the heads, so a signature over
/// it is worth nothing for any other order of leaves.
abstract contract CommitmentQueue is AttestationGate, RootLedger {
    using StatementSignals for uint256[];

    /// 4^16 places; the last stays empty, so that every leaf count has a frontier (shared/protocol/tree.ts).
    uint256 private constant CAPACITY = 2 ** 32;
    // ------------------------------------------------------------------ leaves

    /// @param leaves how many there will be: the pool may hash one more than the statement names
    function _appendFault(uint256[] calldata commitments, uint256 leaves) internal view returns (bytes memory) {
        if (!_hasRoom(leaves)) return abi.encodeWithSelector(TreeFull.selector);
        for (uint256 i = 0; i < commitments.length; ++i) {
            // The empty leaf: as a commitment it would be a place that looks free.
            if (commitments.item(i) == 0) return abi.encodeWithSelector(CommitmentZero.selector);
        }
        return "";
    }

    function _hasRoom(uint256 leaves) internal view returns (bool) {
        return position.leafCount + leaves < CAPACITY;
    }

    // ------------------------------------------------------------------ roots

    /// @dev At the end of every call: takes the update, or says why not. Never reverts: a stranger who adds a
    /// leaf first must not be able to fail the payments that travel with the update.
    /// @param rootedHead the head over the rooted leaves, from before the call's own
    /// @param isBoundary whether (toIndex, headAfter) is where a transaction of the running call ended
    function _close(RootUpdate calldata update, bytes32 rootedHead, bool isBoundary) internal {
        if (update.toIndex != 0 || update.fromIndex != 0 || update.attestations.length != 0) {
            bytes32 digest = _rootUpdateDigest(update);
            uint256 endTime = _endTime(update, isBoundary);
            bytes memory fault = _updateFault(update, rootedHead, endTime, digest);
            if (fault.length == 0) {
                _recordRoot(update.newRoot, update.toIndex, block.timestamp, endTime, uint136(uint256(digest)));
                rootedHead = update.headAfter;
            } else {
                emit RootUpdateSkipped(update.fromIndex, update.toIndex, fault);
            }
        }
        _keepEnd(rootedHead);
    }

    /// @dev At the end of every call that adds leaves.
    function _keepEnd(bytes32 rootedHead) internal {
        uint256 leafCount = position.leafCount;
        // Where everything is in the tree, there is nothing to find again.
        if (leafCount == position.rootedCount) return;
        if (rootedHeadWhileWaiting != rootedHead) rootedHeadWhileWaiting = rootedHead;
        _recordEnd(leafCount, queueHead);
    }

    function _updateFault(RootUpdate calldata update, bytes32 rootedHead, uint256 endTime, bytes32 digest)
        private
        view
        returns (bytes memory)
    {
        if (
            update.oldRoot != newestRoot || update.fromIndex != position.rootedCount
            // Never two sequence numbers for one root: a spend on it must be revoked with the earlier.
            || _isRoot(roots[update.newRoot])
        ) return abi.encodeWithSelector(RootUpdateStale.selector);
        if (update.toIndex <= update.fromIndex || update.toIndex - update.fromIndex > MAX_UPDATE_LEAVES) {
            return abi.encodeWithSelector(RootUpdateSize.selector);
        }
        if (update.headBefore != rootedHead || rootedHead == UNKNOWN_HEAD || endTime == 0) {
            return abi.encodeWithSelector(RootUpdateHead.selector);
        }
        return _attestationFault(digest, update.attestations);
    }

    /// @return time what comes behind the update's end is not older; 0 where that is no place of the queue that is known
    function _endTime(RootUpdate calldata update, bool isBoundary) private view returns (uint256 time) {
        if (isBoundary) return block.timestamp;
        bool isEnd = update.toIndex == position.leafCount && update.headAfter == queueHead;
        return isEnd ? block.timestamp : _checkpointTime(update.toIndex, update.headAfter);
    }
}
