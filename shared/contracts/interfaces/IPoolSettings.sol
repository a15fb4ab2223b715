// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {IPoolTypes} from "./IPoolTypes.sol";

/// @title What was decided when the pool was made
/// @notice None of it ever changes. See `Configuration`.
interface IPoolSettings is IPoolTypes {
    function owner() external view returns (address);
    function guardian() external view returns (address);
    function threshold() external view returns (uint256);
    function changeDelay() external view returns (uint64);
    function provedDelay() external view returns (uint64);
    function signerBond() external view returns (uint96);
    function noteHasher() external view returns (address);
    function treeHasher() external view returns (address);
    /// @notice The three modules: their code runs in the pool's storage.
    function governance() external view returns (address);
    function recovery() external view returns (address);
    function signerRegistry() external view returns (address);
    /// @notice Verifies documents (INitroAttestations), under the root whose hash `attestationRoot` is: SHA-256 of its DER.
    function attestations() external view returns (address);
    function attestationRoot() external view returns (bytes32);
    /// @notice Seconds.
    function maxDocumentAge() external view returns (uint64);
    /// @notice Zero for a kind that is not in the table, as is its key's hash.
    function verifier(uint8 kind) external view returns (address);
    function verifyingKeyHash(uint8 kind) external view returns (bytes32);
}
