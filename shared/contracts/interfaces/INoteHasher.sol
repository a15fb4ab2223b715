// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

/// @title Poseidon of three field elements, as the circuits compute it
interface INoteHasher {
    /// @notice Arguments at or above r count as their remainder: the caller checks what it must.
    function hash(uint256 a, uint256 b, uint256 c) external pure returns (uint256);
}
