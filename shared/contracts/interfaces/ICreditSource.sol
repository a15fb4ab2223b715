// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

/// @notice A note whose value everybody may see: who brings the money says for whom.
/// @param npk of the receiver, 1 to r - 1
/// @param value in the asset's units, at least 1
/// @param ephemeralKey X25519, for this note alone
/// @param ciphertext exactly 53 bytes
struct OpenNote {
    uint256 npk;
    uint128 value;
    bytes32 ephemeralKey;
    bytes ciphertext;
}

/// @title A contract that brings money into the pool without a proof
/// @notice The pool believes nothing that it says of amounts: it measures what came and compares.
interface ICreditSource {
    /// @notice Called by the pool in the middle of `credit`, of the contract that called `credit`. Moves money to the
    /// pool, and answers with the notes that are to be made for it: together worth exactly what it moved.
    /// @param order what was given to `credit`
    function bringCredit(address asset, bytes calldata order) external returns (OpenNote[] memory notes);
}
