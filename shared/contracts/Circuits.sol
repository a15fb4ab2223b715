// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {IPool} from "./interfaces/IPool.sol";
import {IVerifier} from "./interfaces/IVerifier.sol";
import {StatementSignals} from "./libraries/StatementSignals.sol";

/// @title Which circuits the pool knows
/// @notice Each kind is tied for ever to a verifier and to the hash of its key. The attested path never calls a
/// verifier; the hash is what enclaves sign for, and the address is there so that nobody can replace it.
abstract contract Circuits is IPool {
    address private immutable depositShieldVerifier;
    address private immutable spendVerifier;
    address private immutable spend9Verifier;
    address private immutable privateSwapVerifier;

    bytes32 private immutable depositShieldKeyHash;
    bytes32 private immutable spendKeyHash;
    bytes32 private immutable spend9KeyHash;
    bytes32 private immutable privateSwapKeyHash;

    constructor(address[] memory verifiers) {
        if (verifiers.length != StatementSignals.KINDS) revert ConfigurationInvalid();
        (depositShieldVerifier, depositShieldKeyHash) = _circuit(verifiers, StatementSignals.DEPOSIT_SHIELD);
        (spendVerifier, spendKeyHash) = _circuit(verifiers, StatementSignals.SPEND);
        (spend9Verifier, spend9KeyHash) = _circuit(verifiers, StatementSignals.SPEND9);
        (privateSwapVerifier, privateSwapKeyHash) = _circuit(verifiers, StatementSignals.PRIVATE_SWAP);
    }

    /// @inheritdoc IPool
    function verifier(uint8 kind) external view returns (address) {
        if (kind == StatementSignals.SPEND) return spendVerifier;
        if (kind == StatementSignals.DEPOSIT_SHIELD) return depositShieldVerifier;
        if (kind == StatementSignals.PRIVATE_SWAP) return privateSwapVerifier;
        if (kind == StatementSignals.SPEND9) return spend9Verifier;
        return address(0);
    }

    /// @inheritdoc IPool
    function verifyingKeyHash(uint8 kind) public view returns (bytes32) {
        if (kind == StatementSignals.SPEND) return spendKeyHash;
        if (kind == StatementSignals.DEPOSIT_SHIELD) return depositShieldKeyHash;
        if (kind == StatementSignals.PRIVATE_SWAP) return privateSwapKeyHash;
        if (kind == StatementSignals.SPEND9) return spend9KeyHash;
        return 0;
    }

    /// @dev A verifier in the wrong place would refuse every proof of its kind, so it must have the kind's
    /// number of signals.
    function _circuit(address[] memory verifiers, uint8 kind) private view returns (address circuit, bytes32 keyHash) {
        circuit = verifiers[kind - 1];
        if (circuit.code.length == 0) revert ConfigurationInvalid();
        (uint256 inputs, uint256 outputs,) = StatementSignals.shapeOf(kind);
        if (IVerifier(circuit).signalCount() != StatementSignals.count(inputs, outputs)) revert ConfigurationInvalid();
        keyHash = IVerifier(circuit).verifyingKeyHash();
        if (keyHash == 0) revert ConfigurationInvalid();
    }
}
