// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

/// @title Proofs as bytes, compressed and not
/// @notice Their points are the generators of the two groups: real ones, so that the pool can tell what the compressed
/// bytes decompress to. The stand-in verifier knows one good proof; the negative of its last point is a bad one.
library Proofs {
    uint256 private constant Q = 0x30644e72e131a029b85045b68181585d97816a916871ca8d3c208c16d87cfd47;
    uint256 private constant X_C0 = 10857046999023057135944570762232829481370756359578518086990519993285655852781;
    uint256 private constant X_C1 = 11559732032986387107991004021392285783925812861821192530917403151452391805634;
    uint256 private constant Y_C0 = 8495653923123431417604973247489272438418190587263600148770280649306958101930;
    uint256 private constant Y_C1 = 4082367875863433681332203403145435568316851327593401208105741076214120093531;

    /// @dev In the order of EIP-197.
    function words(bool isGood) internal pure returns (uint256[8] memory) {
        return [uint256(1), 2, X_C1, X_C0, Y_C1, Y_C0, 1, isGood ? 2 : Q - 2];
    }

    function good() internal pure returns (bytes memory) {
        return abi.encode(words(true));
    }

    function bad() internal pure returns (bytes memory) {
        return abi.encode(words(false));
    }

    /// @dev 128 bytes. The parity of y stands in the highest bit.
    function compressed(bool isGood) internal pure returns (bytes memory) {
        return abi.encode(uint256(1), X_C1, X_C0, isGood ? 1 : 1 | (1 << 255));
    }

    /// @dev 128 bytes that are no points.
    function pointless() internal pure returns (bytes memory) {
        return abi.encode(type(uint256).max, X_C1, X_C0, uint256(1));
    }
}
