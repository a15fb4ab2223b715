// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {IPoolTypes} from "../../../shared/contracts/interfaces/IPoolTypes.sol";
import {Statements} from "../support/Statements.sol";

/// @title What the pool should be after everything that happened: the reference model
/// @notice Keeps every note with its value, every leaf, root and permission, by the rules of the protocol and
/// without a look at the pool.
abstract contract Model {
    struct Note {
        address asset;
        uint256 value;
        uint256 leafIndex;
        bool isSpent;
    }

    struct Permission {
        bool isAdmitted;
        bool wasRemoved;
        uint256 admissibleAt;
    }

    // ------------------------------------------------------------------ money

    Note[] internal notes;
    mapping(address asset => uint256[]) internal unspent;
    mapping(uint256 id => uint256) private placeInUnspent;
    /// The sum of all unspent notes.
    mapping(address asset => uint256) public worth;
    /// Sent to the pool by somebody who got no note for it.
    mapping(address asset => uint256) public donated;

    function _addNote(address asset, uint256 value, uint256 leafIndex) internal {
        if (value == 0) return;
        placeInUnspent[notes.length] = unspent[asset].length;
        unspent[asset].push(notes.length);
        notes.push(Note(asset, value, leafIndex, false));
        worth[asset] += value;
    }

    function _spendNote(uint256 id) internal {
        Note storage note = notes[id];
        require(!note.isSpent, "model: spent twice");
        note.isSpent = true;
        worth[note.asset] -= note.value;
        uint256[] storage list = unspent[note.asset];
        uint256 last = list[list.length - 1];
        list[placeInUnspent[id]] = last;
        placeInUnspent[last] = placeInUnspent[id];
        list.pop();
    }

    function _nullifierOf(uint256 id) internal pure returns (uint256) {
        return Statements.field("nullifier of note", id);
    }

    // ------------------------------------------------------------------ leaves and roots

    /// heads[n]: over the first n leaves.
    bytes32[] internal heads;
    /// Where a member ended, in whatever call.
    mapping(uint256 leafCount => bool) private isBoundary;
    /// By leaf count modulo 256: where the last call ended that left leaves waiting.
    mapping(uint256 place => uint256) private ends;
    /// By leaf count over 252: the first boundary there.
    mapping(uint256 window => uint256) private firstBoundary;
    uint256[] internal roots;
    /// What each root covers.
    uint256[] internal rootCounts;
    mapping(uint256 root => bool) private isRoot;

    function _addFirstRoot(uint256 root) internal {
        roots.push(root);
        rootCounts.push(0);
        heads.push(bytes32(0));
        isRoot[root] = true;
    }

    function _addLeaf(uint256 commitment) internal {
        heads.push(Statements.nextHead(heads[heads.length - 1], commitment));
    }

    function _leafCount() internal view returns (uint256) {
        return heads.length - 1;
    }

    function _rooted() internal view returns (uint256) {
        return rootCounts[rootCounts.length - 1];
    }

    function _newestRoot() internal view returns (uint256) {
        return roots[roots.length - 1];
    }

    function _addRoot(uint256 root, uint256 count) internal {
        require(count > _rooted() && count - _rooted() <= 256, "model: more than 256 leaves, or none");
        require(count <= _leafCount() && isBoundary[count], "model: no real boundary");
        roots.push(root);
        rootCounts.push(count);
        isRoot[root] = true;
    }

    function _addBoundary() internal {
        uint256 count = _leafCount();
        isBoundary[count] = true;
        if (firstBoundary[count / 252] == 0) firstBoundary[count / 252] = count;
    }

    function _addCallEnd() internal {
        if (_leafCount() > _rooted()) ends[_leafCount() % 256] = _leafCount();
    }

    /// @dev Whether an update of any later call may end there.
    function _isCheckpoint(uint256 count) internal view returns (bool) {
        if (count == 0) return false;
        bool isFirst = count >= 252 && firstBoundary[count / 252] == count;
        return isFirst || ends[count % 256] == count || count == _leafCount();
    }

    /// @dev The error that an update has to be skipped with; zero when it has to be taken, if it is signed.
    /// @param start leaves before the call: it may end at any boundary of its own call
    function _updateFault(IPoolTypes.RootUpdate memory update, uint256 start) internal view returns (bytes4 fault) {
        if (update.oldRoot != _newestRoot() || update.fromIndex != _rooted() || isRoot[update.newRoot]) {
            return IPoolTypes.RootUpdateStale.selector;
        }
        if (update.toIndex <= update.fromIndex || update.toIndex - update.fromIndex > 256) {
            return IPoolTypes.RootUpdateSize.selector;
        }
        if (
            update.toIndex > _leafCount() || update.headBefore != heads[update.fromIndex]
                || update.headAfter != heads[update.toIndex]
        ) return IPoolTypes.RootUpdateHead.selector;
        bool isOwn = update.toIndex > start && isBoundary[update.toIndex];
        return isOwn || _isCheckpoint(update.toIndex) ? bytes4(0) : IPoolTypes.RootUpdateHead.selector;
    }

    // ------------------------------------------------------------------ permissions

    mapping(address subject => Permission) internal signerOf;
    mapping(address subject => Permission) internal assetOf;
    mapping(address subject => Permission) internal executorOf;
    address internal currentExecutor;

    function _drop(Permission storage permission) internal {
        (permission.isAdmitted, permission.wasRemoved, permission.admissibleAt) = (false, true, 0);
    }

    function _admit(Permission storage permission) internal {
        (permission.isAdmitted, permission.admissibleAt) = (true, 0);
    }
}
