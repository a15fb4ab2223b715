// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

/// @title The bytes of `ext`: what the pool decodes is what the user's proof bound
/// @dev Tightly packed, of one fixed length for each kind, so no two byte strings mean the same and every
/// one of the right length means something. Twin of `encodeExt` in shared/protocol/statements.ts.
///
///   without inputs: depositor[20] validAfter[8] validBefore[8] ciphertexts[outputs * 117]
///   with inputs:    recipient[20] ciphertexts[outputs * 117]
///
/// The readers do not look at the length: it must have been compared with `length` before.
library Ext {
    /// 32 ephemeral key, 1 view tag, 68 sealed note, 16 tag; dummies too.
    uint256 internal constant CIPHERTEXT_BYTES = 117;

    function length(uint256 inputs, uint256 outputs) internal pure returns (uint256) {
        unchecked {
            return _head(inputs) + outputs * CIPHERTEXT_BYTES;
        }
    }

    /// @dev The depositor of a deposit, the recipient of a spend.
    function party(bytes calldata ext) internal pure returns (address account) {
        assembly ("memory-safe") {
            account := shr(96, calldataload(ext.offset))
        }
    }

    /// @dev Only where there are no inputs, as is `validBefore`.
    function validAfter(bytes calldata ext) internal pure returns (uint64) {
        return uint64(bytes8(ext[20:28]));
    }

    function validBefore(bytes calldata ext) internal pure returns (uint64) {
        return uint64(bytes8(ext[28:36]));
    }

    function ciphertexts(bytes calldata ext, uint256 inputs) internal pure returns (bytes calldata tail) {
        uint256 head = _head(inputs);
        assembly ("memory-safe") {
            tail.offset := add(ext.offset, head)
            tail.length := sub(ext.length, head)
        }
    }

    function _head(uint256 inputs) private pure returns (uint256) {
        return inputs == 0 ? 36 : 20;
    }
}
