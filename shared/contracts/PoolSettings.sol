// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {IPoolSettings} from "./interfaces/IPoolSettings.sol";
import {IVerifier} from "./interfaces/IVerifier.sol";
import {StatementSignals} from "./libraries/StatementSignals.sol";
import {INitroAttestations} from "./nitro/interfaces/INitroAttestations.sol";

/// @title Everything that is decided when the pool is made, and never again
/// @notice In the pool's own code. The modules ask the pool for what they need of it.
abstract contract PoolSettings is IPoolSettings {
    /// A watcher needs this long to find a forged note and have it refuted before it can be spent by a proof.
    uint64 private constant SHORTEST_PROVED_DELAY = 2 days;
    /// Between the moment when every note that was there at a proposal can leave by a proof, and the moment when
    /// the proposal can take effect. The service takes deadlines of up to a day, so nobody's signed swap meets an
    /// executor that was not announced when it was signed.
    uint64 private constant HEAD_START = 2 days;

    address public immutable owner;
    address public immutable guardian;
    uint256 public immutable threshold;
    uint64 public immutable changeDelay;
    uint64 public immutable provedDelay;
    uint96 public immutable signerBond;
    address public immutable noteHasher;
    address public immutable treeHasher;
    address public immutable governance;
    address public immutable recovery;
    address public immutable signerRegistry;
    address public immutable attestations;
    bytes32 public immutable attestationRoot;
    uint64 public immutable maxDocumentAge;

    address private immutable depositShieldVerifier;
    address private immutable spendVerifier;
    address private immutable spend9Verifier;
    address private immutable privateSwapVerifier;

    bytes32 private immutable depositShieldKeyHash;
    bytes32 private immutable spendKeyHash;
    bytes32 private immutable spend9KeyHash;
    bytes32 private immutable privateSwapKeyHash;

    constructor(Configuration memory given) {
        if (given.owner == address(0)) revert ConfigurationInvalid();
        if (given.noteHasher.code.length == 0 || given.treeHasher.code.length == 0) revert ConfigurationInvalid();
        if (given.governance.code.length == 0 || given.recovery.code.length == 0) revert ConfigurationInvalid();
        if (given.signerRegistry.code.length == 0 || given.attestations.code.length == 0) revert ConfigurationInvalid();
        if (given.threshold == 0 || given.maxDocumentAge == 0) revert ConfigurationInvalid();
        if (given.verifiers.length != StatementSignals.KINDS) revert ConfigurationInvalid();
        if (!_isDevelopmentChain()) {
            if (given.provedDelay < SHORTEST_PROVED_DELAY) revert ConfigurationInvalid();
            if (given.changeDelay < given.provedDelay + HEAD_START) revert ConfigurationInvalid();
        }
        owner = given.owner;
        guardian = given.guardian;
        threshold = given.threshold;
        changeDelay = given.changeDelay;
        provedDelay = given.provedDelay;
        signerBond = given.signerBond;
        noteHasher = given.noteHasher;
        treeHasher = given.treeHasher;
        governance = given.governance;
        recovery = given.recovery;
        signerRegistry = given.signerRegistry;
        attestations = given.attestations;
        // Enclaves name the root that they believe in what they sign; another than the documents' would let none in.
        attestationRoot = INitroAttestations(given.attestations).rootHash();
        maxDocumentAge = given.maxDocumentAge;
        address[] memory verifiers = given.verifiers;
        (depositShieldVerifier, depositShieldKeyHash) = _circuit(verifiers, StatementSignals.DEPOSIT_SHIELD);
        (spendVerifier, spendKeyHash) = _circuit(verifiers, StatementSignals.SPEND);
        (spend9Verifier, spend9KeyHash) = _circuit(verifiers, StatementSignals.SPEND9);
        (privateSwapVerifier, privateSwapKeyHash) = _circuit(verifiers, StatementSignals.PRIVATE_SWAP);
    }

    /// @inheritdoc IPoolSettings
    function verifier(uint8 kind) public view returns (address) {
        if (kind == StatementSignals.SPEND) return spendVerifier;
        if (kind == StatementSignals.DEPOSIT_SHIELD) return depositShieldVerifier;
        if (kind == StatementSignals.PRIVATE_SWAP) return privateSwapVerifier;
        if (kind == StatementSignals.SPEND9) return spend9Verifier;
        return address(0);
    }

    /// @inheritdoc IPoolSettings
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

    /// @dev Ids that no chain with money has: anvil and Hardhat, our second local network, ganache.
    function _isDevelopmentChain() private view returns (bool) {
        return block.chainid == 31_337 || block.chainid == 31_338 || block.chainid == 1_337;
    }
}
