// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {Brakes} from "./Brakes.sol";
import {CommitmentQueue} from "./CommitmentQueue.sol";
import {ICreditSource, OpenNote} from "./interfaces/ICreditSource.sol";
import {INoteHasher} from "./interfaces/INoteHasher.sol";
import {Ext} from "./libraries/Ext.sol";
import {StatementSignals} from "./libraries/StatementSignals.sol";
import {TokenCalls} from "./libraries/TokenCalls.sol";

/// @title A credit: a contract brings money, and the pool makes the notes for it itself
/// @notice For contracts that hold money for somebody and can prove nothing. There is no proof and no attestation, so
/// nothing is believed but the pool's own balance: the notes are worth exactly what it gained. Their commitments are
/// hashed here from values that everybody sees, so no note can be worth more than it says.
abstract contract CreditDesk is CommitmentQueue, Brakes {
    /// A call of 64 fits into a block many times over, and into an update of the tree four times.
    uint256 private constant MAX_NOTES = 64;

    /// @dev Runs inside the lock: what the source calls meanwhile cannot bring in money for another note as well.
    function _credit(address asset, bytes calldata order) internal returns (uint64 firstLeafIndex) {
        if (position.isUnsound) revert DepositsStopped();
        if (assets[asset].standing != Standing.Admitted) revert AssetUnsupported(asset);
        _openWindow(asset);

        uint256 before = TokenCalls.balance(asset);
        OpenNote[] memory notes = ICreditSource(msg.sender).bringCredit(asset, order);
        uint256 total = _totalOf(notes);
        TokenCalls.expect(total, TokenCalls.balance(asset), before);

        _countIn(asset, total);
        return _appendOpen(asset, notes);
    }

    function _totalOf(OpenNote[] memory notes) private view returns (uint256 total) {
        uint256 count = notes.length;
        if (count == 0 || count > MAX_NOTES) revert NoteCount(count);
        if (!_hasRoom(count)) revert TreeFull();
        for (uint256 i = 0; i < count; ++i) {
            OpenNote memory note = notes[i];
            // No wallet could spend such a note. Zero is nobody's key.
            if (note.npk == 0 || note.npk >= StatementSignals.FIELD_ORDER) revert NpkOutOfRange();
            if (note.value == 0) revert ZeroAmount();
            uint256 length = note.ciphertext.length;
            if (length != Ext.CIPHERTEXT_BYTES) revert CiphertextLength(length);
            total += note.value;
        }
    }

    /// @dev Each note is a boundary of its own, as the end of a transaction is: were 64 one, a window of the queue could
    /// have no checkpoint within reach of an update.
    function _appendOpen(address asset, OpenNote[] memory notes) private returns (uint64 firstLeafIndex) {
        bytes32 rootedHead = _rootedHead();
        firstLeafIndex = position.leafCount;
        uint256 bits = 0;
        for (uint256 i = 0; i < notes.length; ++i) {
            OpenNote memory note = notes[i];
            uint256 commitment = INoteHasher(noteHasher).hash(note.npk, uint160(asset), note.value);
            uint64 leafIndex = _appendHashed(commitment);
            _recordWindow(leafIndex, leafIndex + 1, queueHead);
            bits |= 1 << (leafIndex & 255);
            if (leafIndex & 255 == 255 || i + 1 == notes.length) {
                creditedLeaves[leafIndex >> 8] |= bits;
                bits = 0;
            }
            emit Credited(asset, leafIndex, commitment, note.npk, note.value, note.ephemeralKey, note.ciphertext);
        }
        _keepEnd(rootedHead);
    }
}
