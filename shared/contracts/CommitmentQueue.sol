// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {AttestationGate} from "./AttestationGate.sol";
import {StatementSignals} from "./libraries/StatementSignals.sol";

/// @title The queue of commitments, and the roots of the tree that follows it
/// @notice Commitments are hashed into `head` as they come; an attested update later says which root the
/// first n of them have. The tree itself is nowhere on chain. An update names the heads, so a signature over
/// it is worth nothing for any other order of leaves.
abstract contract CommitmentQueue is AttestationGate {
    using StatementSignals for uint256[];

    /// 4^16 places; the last stays empty, so that every leaf count has a frontier (shared/protocol/tree.ts).
    uint256 private constant CAPACITY = 2 ** 32;
    /// Most leaves that one update covers, and so the widest gap between two checkpoints.
    uint256 private constant MAX_UPDATE_LEAVES = 256;
    /// Root of the empty tree: Poseidon(4) sixteen times over, from the empty leaf 0.
    uint256 private constant EMPTY_ROOT = 0x151399c724e17408a7a43cdadba2fc000da9339c56e4d49c6cdee6c4356fbc68;
    /// Checkpoints this near to the rooted position share their places with older ones.
    uint256 private constant RING = 256;

    /// One slot.
    struct Position {
        uint64 leafCount;
        uint64 rootedCount;
        uint64 rootSequence;
    }

    Position private position;
    bytes32 private queueHead;
    uint256 private newestRoot;
    /// The head over the rooted leaves while others wait; stale when none does, since `queueHead` says it then.
    /// (Writing it only then saves 5,000 gas in the usual call, whose update covers everything.)
    bytes32 private rootedHeadWhileWaiting;

    /// sequence + 1. A number and not a flag, so that all roots from one on can be revoked by one bound.
    mapping(uint256 root => uint64) private sequencesPlusOne;

    /// keccak256(leafCount, head) by place, see `_placeOf`. The count is inside the hash: a stale entry of the
    /// ring must not stand for another position, or leaves of the past could enter the tree a second time,
    /// and the same note at another index has another nullifier.
    mapping(uint256 place => bytes32) private checkpoints;

    constructor() {
        newestRoot = EMPTY_ROOT;
        sequencesPlusOne[EMPTY_ROOT] = 1;
    }

    function currentRoot() external view returns (uint256 root, uint64 leafCount, uint64 sequence) {
        return (newestRoot, position.rootedCount, position.rootSequence);
    }

    function queue() public view returns (uint64 leafCount, bytes32 head) {
        return (position.leafCount, queueHead);
    }

    function rootSequence(uint256 root) public view returns (uint64 sequencePlusOne) {
        return sequencesPlusOne[root];
    }

    // ------------------------------------------------------------------ leaves

    /// @param leaves how many there will be: the pool may hash one more than the statement names
    function _appendFault(uint256[] calldata commitments, uint256 leaves) internal view returns (bytes memory) {
        if (position.leafCount + leaves >= CAPACITY) return abi.encodeWithSelector(TreeFull.selector);
        for (uint256 i = 0; i < commitments.length; ++i) {
            // The empty leaf: as a commitment it would be a place that looks free.
            if (commitments.item(i) == 0) return abi.encodeWithSelector(CommitmentZero.selector);
        }
        return "";
    }

    /// @dev Only after `_appendFault` found nothing.
    function _append(uint256[] calldata commitments) internal returns (uint64 firstLeafIndex) {
        firstLeafIndex = position.leafCount;
        bytes32 head = queueHead;
        for (uint256 i = 0; i < commitments.length; ++i) {
            head = _nextHead(head, commitments.item(i));
        }
        queueHead = head;
        position.leafCount = firstLeafIndex + uint64(commitments.length);
    }

    /// @dev A note that the pool completed. Its place was kept by `_appendFault`; that Poseidon gives 0 does not happen.
    function _appendHashed(uint256 commitment) internal returns (uint64 leafIndex) {
        leafIndex = position.leafCount;
        queueHead = _nextHead(queueHead, commitment);
        position.leafCount = leafIndex + 1;
    }

    function _nextHead(bytes32 head, uint256 commitment) private pure returns (bytes32 next) {
        assembly ("memory-safe") {
            mstore(0, head)
            mstore(32, commitment)
            next := keccak256(0, 64)
        }
    }

    // ------------------------------------------------------------------ checkpoints

    /// @dev From every rooted position an update of at most 256 leaves must reach some checkpoint, or the tree
    /// stops for ever. A call records where it ends, and on its way whenever the next transaction would open
    /// a wider gap. While fewer than RING leaves wait, no two waiting checkpoints share a place of the ring;
    /// beyond that each gets a permanent place of its own, so nothing that still waits is ever overwritten,
    /// however long the signers are silent and however many deposits a stranger makes meanwhile.
    function _recordCheckpoint(uint256 leafCount, bytes32 head) internal {
        uint256 isWaiting = leafCount - position.rootedCount;
        checkpoints[isWaiting < RING ? leafCount % RING : leafCount] = _mark(leafCount, head);
    }

    function _isCheckpoint(uint256 leafCount, bytes32 head) private view returns (bool) {
        bytes32 mark = _mark(leafCount, head);
        return checkpoints[leafCount % RING] == mark || checkpoints[leafCount] == mark;
    }

    function _mark(uint256 leafCount, bytes32 head) private pure returns (bytes32) {
        return _nextHead(bytes32(leafCount), uint256(head));
    }

    function _needsCheckpoint(uint256 leafCount, uint256 lastCheckpoint) internal pure returns (bool) {
        return leafCount + StatementSignals.MAX_LEAVES - lastCheckpoint > MAX_UPDATE_LEAVES;
    }

    // ------------------------------------------------------------------ roots

    function _rootedHead() internal view returns (bytes32) {
        return position.leafCount == position.rootedCount ? queueHead : rootedHeadWhileWaiting;
    }

    /// @dev At the end of every call: takes the update, or says why not. Never reverts: a stranger who adds a
    /// leaf first must not be able to fail the payments that travel with the update.
    /// @param rootedHead the head over the rooted leaves, from before the call's own
    /// @param isBoundary whether (toIndex, headAfter) is where a transaction of the running call ended
    /// @param isCheckpoint whether the end of the queue has a checkpoint already
    function _close(RootUpdate calldata update, bytes32 rootedHead, bool isBoundary, bool isCheckpoint) internal {
        if (update.toIndex != 0 || update.fromIndex != 0 || update.attestations.length != 0) {
            bytes memory fault = _updateFault(update, rootedHead, isBoundary);
            if (fault.length == 0) {
                _takeRoot(update);
                rootedHead = update.headAfter;
            } else {
                emit RootUpdateSkipped(update.fromIndex, update.toIndex, fault);
            }
        }
        (uint64 leafCount, bytes32 head) = queue();
        // Where everything is in the tree, there is nothing to find again.
        if (leafCount == position.rootedCount) return;
        if (rootedHeadWhileWaiting != rootedHead) rootedHeadWhileWaiting = rootedHead;
        if (!isCheckpoint) _recordCheckpoint(leafCount, head);
    }

    function _takeRoot(RootUpdate calldata update) private {
        uint64 sequence = position.rootSequence + 1;
        position.rootedCount = update.toIndex;
        position.rootSequence = sequence;
        newestRoot = update.newRoot;
        sequencesPlusOne[update.newRoot] = sequence + 1;
        emit RootUpdated(update.newRoot, update.toIndex, sequence);
    }

    function _updateFault(RootUpdate calldata update, bytes32 rootedHead, bool isBoundary)
        private
        view
        returns (bytes memory)
    {
        if (
            update.oldRoot != newestRoot || update.fromIndex != position.rootedCount
            // Never two sequence numbers for one root: a spend on it must be revoked with the earlier.
            || sequencesPlusOne[update.newRoot] != 0
        ) return abi.encodeWithSelector(RootUpdateStale.selector);
        if (update.toIndex <= update.fromIndex || update.toIndex - update.fromIndex > MAX_UPDATE_LEAVES) {
            return abi.encodeWithSelector(RootUpdateSize.selector);
        }
        if (
            update.headBefore != rootedHead
            || !(isBoundary || _isEnd(update) || _isCheckpoint(update.toIndex, update.headAfter))
        ) return abi.encodeWithSelector(RootUpdateHead.selector);
        return _attestationFault(_rootUpdateDigest(update), update.attestations);
    }

    function _isEnd(RootUpdate calldata update) private view returns (bool) {
        return update.toIndex == position.leafCount && update.headAfter == queueHead;
    }
}
