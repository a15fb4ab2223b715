// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {StatementSignals} from "./StatementSignals.sol";

/// @title The bytes of `ext`: what the pool decodes is what the user's proof bound
/// @dev Tightly packed, of one fixed length for each kind, so no two byte strings mean the same and every
/// one of the right length means something. Twin of `encodeExt` in shared/protocol/statements.ts.
///
///   deposit-shield: depositor[20] validAfter[8] validBefore[8] ciphertexts
///   spend, spend9:  recipient[20] ciphertexts
///   private-swap:   tokenOut[20] minAmountOut[16] npkOut[32] feeFirst[3] middle[20] feeSecond[3] ciphertexts
///
/// where the ciphertexts are one ephemeral key[32] and 53 bytes for each leaf. The readers do not look at the
/// length: it must have been compared with `length` before.
library Ext {
    /// X25519, for all outputs together.
    uint256 internal constant EPHEMERAL_KEY_BYTES = 32;
    /// 1 view tag, 36 sealed note, 16 tag; dummies too.
    uint256 internal constant CIPHERTEXT_BYTES = 53;

    function length(uint8 kind, uint256 leaves) internal pure returns (uint256) {
        unchecked {
            return _head(kind) + EPHEMERAL_KEY_BYTES + leaves * CIPHERTEXT_BYTES;
        }
    }

    /// @dev The ephemeral key and what it opens.
    function ciphertexts(bytes calldata ext, uint8 kind) internal pure returns (bytes calldata tail) {
        uint256 head = _head(kind);
        assembly ("memory-safe") {
            tail.offset := add(ext.offset, head)
            tail.length := sub(ext.length, head)
        }
    }

    /// @dev The depositor of a deposit, the recipient of a spend.
    function party(bytes calldata ext) internal pure returns (address) {
        return address(uint160(_read(ext, 0, 20)));
    }

    // ------------------------------------------------------------------ only of a deposit

    function validAfter(bytes calldata ext) internal pure returns (uint64) {
        return uint64(_read(ext, 20, 8));
    }

    function validBefore(bytes calldata ext) internal pure returns (uint64) {
        return uint64(_read(ext, 28, 8));
    }

    // ------------------------------------------------------------------ only of a swap

    function tokenOut(bytes calldata ext) internal pure returns (address) {
        return address(uint160(_read(ext, 0, 20)));
    }

    /// @dev The user's floor.
    function minAmountOut(bytes calldata ext) internal pure returns (uint128) {
        return uint128(_read(ext, 20, 16));
    }

    function npkOut(bytes calldata ext) internal pure returns (uint256) {
        return _read(ext, 36, 32);
    }

    function feeFirst(bytes calldata ext) internal pure returns (uint24) {
        return uint24(_read(ext, 68, 3));
    }

    /// @dev Zero for a swap of one hop, as is `feeSecond`.
    function middle(bytes calldata ext) internal pure returns (address) {
        return address(uint160(_read(ext, 71, 20)));
    }

    function feeSecond(bytes calldata ext) internal pure returns (uint24) {
        return uint24(_read(ext, 91, 3));
    }

    // ------------------------------------------------------------------ positions

    function _head(uint8 kind) private pure returns (uint256) {
        if (kind == StatementSignals.DEPOSIT_SHIELD) return 36;
        return kind == StatementSignals.PRIVATE_SWAP ? 94 : 20;
    }

    /// @dev `size` bytes from `from` on, as a number; at most 32.
    function _read(bytes calldata ext, uint256 from, uint256 size) private pure returns (uint256 read) {
        assembly ("memory-safe") {
            read := shr(shl(3, sub(32, size)), calldataload(add(ext.offset, from)))
        }
    }
}
