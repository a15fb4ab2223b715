// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

/// @title ECDSA over P-384 with hints
/// @notice The caller says what is dear to find out, above all every slope, and the contract checks it. Hints decide
/// whether there is an answer, never which one. README.md has the argument.
interface IP384 {
    /// The hints are not those of this signature. It says nothing about the signature.
    error HintsInvalid();
    /// The call had too little gas, or this chain has no modular exponentiation (EIP-198). No answer either.
    error GasShort();

    /// @notice The verdict of SEC 1 v2, section 4.1.4: false also for r or s outside of 1 to n − 1, for a key that is
    /// not on the curve or a coordinate of it that is not below p, and for a wrong length. High s is as good as low s.
    /// @param digestHi digest's first 32 bytes
    /// @param digestLo and its last 16
    /// @param signature r ‖ s, 48 bytes each, big-endian
    /// @param publicKey x ‖ y, 48 bytes each, big-endian
    /// @param hints what `hintsFor` of shared/client/chain/nitro/p384-hints.ts gives for these, for true and false ones
    function verify(
        bytes32 digestHi,
        bytes16 digestLo,
        bytes calldata signature,
        bytes calldata publicKey,
        bytes calldata hints
    ) external view returns (bool);
}
