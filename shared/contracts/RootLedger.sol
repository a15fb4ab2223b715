// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {PoolStorage} from "./PoolStorage.sol";
import {StatementSignals} from "./libraries/StatementSignals.sol";

/// @title What the pool knows of the tree: the queue's end, places of it that it can name again, and its roots
/// @notice The tree itself is nowhere on chain.
abstract contract RootLedger is PoolStorage {
    using StatementSignals for uint256[];

    /// Most leaves that one update covers.
    uint256 internal constant MAX_UPDATE_LEAVES = 256;
    /// Root of the empty tree: Poseidon(4) sixteen times over, from the empty leaf 0.
    uint256 internal constant EMPTY_ROOT = 0x151399c724e17408a7a43cdadba2fc000da9339c56e4d49c6cdee6c4356fbc68;

    /// Places that checkpoints of the ends of calls share.
    uint256 private constant RING = 256;
    /// In every window of so many leaves one checkpoint stays permanently. It stands at the first boundary of a
    /// transaction in the window, and a transaction adds at most four leaves, so from everywhere the next one is at
    /// most 255 leaves away: within reach of an update.
    uint256 private constant WINDOW_LEAVES = MAX_UPDATE_LEAVES - StatementSignals.MAX_LEAVES;
    uint256 private constant TIME_BITS = 40;
    uint256 internal constant TIME_MASK = 2 ** TIME_BITS - 1;

    /// The head over the rooted leaves after a refutation, until `advance` has gone past every doubtful leaf. Nobody
    /// knows leaves whose head it is, so no attested update fits.
    bytes32 internal constant UNKNOWN_HEAD = keccak256("The head over the rooted leaves is not known");

    // ------------------------------------------------------------------ checkpoints

    /// @dev An update that was made for one end of the queue must fit after a stranger has added leaves: the ends of
    /// the last calls are in a ring by leaf count, overwritten as they come. From every rooted position an update of at
    /// most 256 leaves must reach something that is never overwritten, or the tree stops permanently, however long the
    /// signers are silent or however far a refutation rolls back: that is the checkpoint of each window.
    function _recordEnd(uint256 leafCount, bytes32 head) internal {
        uint256 place = leafCount % RING;
        // It keeps its time: by calls that add nothing anyone could make the leaves look young, and a root over them late.
        if (checkpoints[place] & ~TIME_MASK == _mark(leafCount, head)) return;
        checkpoints[place] = _checkpoint(leafCount, head);
    }

    /// @dev At every boundary between two transactions.
    function _recordWindow(uint256 before, uint256 leafCount, bytes32 head) internal {
        if (before / WINDOW_LEAVES == leafCount / WINDOW_LEAVES) return;
        checkpoints[_windowPlace(leafCount)] = _checkpoint(leafCount, head);
    }

    /// @return time when a checkpoint of exactly this position was recorded; 0 where there is none
    function _checkpointTime(uint256 leafCount, bytes32 head) internal view returns (uint256 time) {
        uint256 mark = _mark(leafCount, head);
        uint256 found = checkpoints[leafCount % RING];
        if (found & ~TIME_MASK == mark) return found & TIME_MASK;
        found = checkpoints[_windowPlace(leafCount)];
        return found & ~TIME_MASK == mark ? found & TIME_MASK : 0;
    }

    function _windowPlace(uint256 leafCount) private pure returns (uint256) {
        return RING + leafCount / WINDOW_LEAVES;
    }

    function _checkpoint(uint256 leafCount, bytes32 head) private view returns (uint256) {
        return _mark(leafCount, head) | block.timestamp;
    }

    /// @dev The count is inside the hash: a stale entry of the ring must not stand for another position, or leaves of
    /// the past could enter the tree a second time, and the same note at another index has another nullifier.
    function _mark(uint256 leafCount, bytes32 head) private pure returns (uint256) {
        return uint256(_nextHead(bytes32(leafCount), uint256(head))) & ~TIME_MASK;
    }

    function _nextHead(bytes32 head, uint256 commitment) internal pure returns (bytes32 next) {
        assembly ("memory-safe") {
            mstore(0, head)
            mstore(32, commitment)
            next := keccak256(0, 64)
        }
    }

    // ------------------------------------------------------------------ leaves

    /// @dev Only where there is room for them, and none is the empty leaf.
    function _append(uint256[] calldata commitments) internal returns (uint64 firstLeafIndex) {
        firstLeafIndex = position.leafCount;
        bytes32 head = queueHead;
        for (uint256 i = 0; i < commitments.length; ++i) {
            head = _nextHead(head, commitments.item(i));
        }
        queueHead = head;
        unchecked {
            position.leafCount = uint40(firstLeafIndex + commitments.length);
        }
    }

    /// @dev A note that the pool completed, where there is room for it; that Poseidon gives 0 does not happen.
    function _appendHashed(uint256 commitment) internal returns (uint64 leafIndex) {
        leafIndex = position.leafCount;
        queueHead = _nextHead(queueHead, commitment);
        position.leafCount = uint40(leafIndex + 1);
    }

    // ------------------------------------------------------------------ roots

    function _rootedHead() internal view returns (bytes32) {
        return position.leafCount == position.rootedCount ? queueHead : rootedHeadWhileWaiting;
    }

    /// @dev Recorded, and not revoked.
    function _isRoot(RootRecord memory record) internal view returns (bool) {
        uint256 sequence = record.sequencePlusOne;
        if (sequence == 0) return false;
        // Usually decided here, in a slot that is read anyway.
        if (sequence - 1 > position.revokedUpTo || revoked.length == 0) return true;
        return !_isRevoked(sequence - 1, sequence - 1);
    }

    function _isRevokedRoot(uint256 number) internal view returns (bool) {
        return number <= position.revokedUpTo && _isRevoked(number, number);
    }

    /// @dev Whether every root of these numbers is revoked.
    function _isRevoked(uint256 first, uint256 last) internal view returns (bool) {
        for (uint256 i = revoked.length; i != 0; --i) {
            Interval memory interval = revoked[i - 1];
            if (interval.first <= first) return last <= interval.last;
        }
        return false;
    }

    /// @dev `root` is neither recorded nor newest.
    /// @param rootedAt see Position
    function _recordRoot(uint256 root, uint256 leafCount, uint256 since, uint256 rootedAt, uint136 origin) internal {
        uint40 sequence = position.rootSequence + 1;
        position.rootedCount = uint40(leafCount);
        position.rootSequence = sequence;
        position.rootedAt = uint40(rootedAt);
        newestRoot = root;
        roots[root] = RootRecord(sequence + 1, uint40(leafCount), uint40(since), origin);
        emit RootUpdated(root, uint64(leafCount), sequence);
    }
}
