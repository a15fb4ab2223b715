// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

/// @title One Groth16 verifying key over BN254
interface IVerifier {
    /// The call had too little gas for an answer that means something.
    error GasShort();

    /// @notice Whether this proof shows these signals. False for anything malformed. Never false because gas ran
    /// short: that reverts, or a caller could make a good proof look bad.
    /// @param proof a.x a.y b.x.c1 b.x.c0 b.y.c1 b.y.c0 c.x c.y, the order of EIP-197
    function verify(uint256[8] calldata proof, uint256[] calldata signals) external view returns (bool);

    /// @notice keccak256 over the key's words, as the specification defines it (shared/protocol/SPEC.md, 7).
    function verifyingKeyHash() external view returns (bytes32);

    function signalCount() external view returns (uint256);
}
