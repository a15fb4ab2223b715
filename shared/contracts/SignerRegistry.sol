// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {Admissions} from "./Admissions.sol";
import {ISignerRegistry} from "./interfaces/ISignerRegistry.sol";
import {BlockHashes} from "./libraries/BlockHashes.sol";
import {EnclaveClaims} from "./libraries/EnclaveClaims.sol";
import {StatementSignals} from "./libraries/StatementSignals.sol";
import {INitroAttestations} from "./nitro/interfaces/INitroAttestations.sol";

/// @title Module of the pool: images that the owner admits, and signers that prove to be of one
/// @notice Runs in the pool's storage, see Pool. The owner's key admits code, seen by everybody for `changeDelay`. That a key
/// lives in that code is said by the platform's document alone, which is verified here.
contract SignerRegistry is Admissions, ISignerRegistry {
    /// What one call takes back in a quarter of a million gas. Removed ones do not count.
    uint256 private constant SIGNERS_OF_IMAGE = 32;
    /// How far the platform's clock may be ahead of the chain's.
    uint256 private constant CLOCK_AHEAD_MS = 60_000;

    // ------------------------------------------------------------------ images

    /// @inheritdoc ISignerRegistry
    function proposeImage(bytes32 image, uint8 kind, string calldata commit, string calldata buildCommand)
        external
        locked
        onlyOwner
    {
        Image storage record = images[image];
        bool isKind = kind == FIRST_VERIFIER || kind == SECOND_VERIFIER;
        if (image == 0 || image == DEBUG_IMAGE || !isKind) revert ImageInadmissible(image, kind);
        if (record.admission.standing == Standing.Removed) revert ImageRevokedBefore(image);
        if (record.admission.standing == Standing.Admitted) revert ImageAdmittedBefore(image);
        if (_isPending(record.admission)) revert ImageProposedBefore(image);
        (uint64 admissibleAt, uint64 expiresAt) = _announce(record.admission);
        record.kind = kind;
        emit ImageProposed(image, kind, admissibleAt, expiresAt, commit, buildCommand);
    }

    /// @inheritdoc ISignerRegistry
    function admitImage(bytes32 image) external locked {
        Image storage record = images[image];
        if (record.admission.admissibleAt == 0) revert ImageNotProposed(image);
        _admit(record.admission);
        emit ImageAdmitted(image, record.kind);
    }

    /// @inheritdoc ISignerRegistry
    function revokeImage(bytes32 image) external locked onlyOwner {
        _revokeImage(image);
    }

    // ------------------------------------------------------------------ signers

    /// @inheritdoc ISignerRegistry
    function register(bytes calldata document, bytes calldata hints, uint64 blockNumber, bytes32 kmsKey)
        external
        payable
        locked
    {
        uint256 bond = _settings().signerBond();
        if (msg.value != bond) revert BondMismatch(bond);
        INitroAttestations.Verified memory said = _attestations().verifyDocument(document, hints);

        Image storage record = images[said.image];
        if (record.admission.standing == Standing.Removed) revert ImageRevokedBefore(said.image);
        if (record.admission.standing != Standing.Admitted) revert ImageNotAdmitted(said.image);
        _mustBeFresh(said, blockNumber);
        address signer = _signerIn(said.userData, kmsKey);
        if (signers[signer].removedAt != 0) revert SignerRemovedBefore(signer);
        if (signers[signer].voice != 0) revert SignerRegisteredBefore(signer);
        if (record.signers.length == SIGNERS_OF_IMAGE) revert ImageFull(said.image);

        signers[signer] = SignerRecord(record.kind, true, 0);
        imageOf[signer] = said.image;
        leafOf[signer] = said.leaf;
        record.signers.push(signer);
        bonds[signer] = Bond(msg.sender, uint96(msg.value));
        emit BondPosted(signer, msg.sender, msg.value);
        emit SignerRegistered(signer, said.image, record.kind, said.leaf, kmsKey, document);
    }

    /// @inheritdoc ISignerRegistry
    function removeSigner(address signer) external locked onlyOwner {
        if (signers[signer].removedAt != 0) revert SignerRemovedBefore(signer);
        _dismiss(signer);
    }

    /// @inheritdoc ISignerRegistry
    function expel(address signer) external locked {
        if (signers[signer].voice == 0) revert SignerUnknown(signer);
        bytes32 leaf = leafOf[signer];
        if (_attestations().isTrusted(leaf)) revert SignerTrusted(signer);
        emit SignerExpelled(signer, leaf);
        _dismiss(signer);
    }

    /// @inheritdoc ISignerRegistry
    function releaseBond(address signer) external locked {
        Bond memory bond = bonds[signer];
        uint64 removedAt = signers[signer].removedAt;
        if (bond.amount == 0 || removedAt == 0) revert BondMismatch(0);
        uint64 free = removedAt + _settings().changeDelay();
        if (block.timestamp < free) revert BondHeld(free);
        _payBond(signer, bond.poster);
    }

    /// @inheritdoc ISignerRegistry
    function takeBonds(address to) external locked {
        uint256 amount = owedBonds[msg.sender];
        if (amount == 0) revert BondMismatch(0);
        delete owedBonds[msg.sender];
        (bool isDone,) = to.call{value: amount}("");
        if (!isDone) revert BondRefused();
        emit BondsTaken(msg.sender, to, amount);
    }

    // ------------------------------------------------------------------ what a document has to say

    function _attestations() private view returns (INitroAttestations) {
        return INitroAttestations(_settings().attestations());
    }

    /// @dev Two clocks that do not depend on each other. The platform's keeps an old document out; the block keeps out one
    /// whose platform was told a later time, since nobody knew the hash before.
    function _mustBeFresh(INitroAttestations.Verified memory said, uint64 blockNumber) private view {
        // In milliseconds, as the document says it: cut to seconds, one from the future would be taken a second early.
        uint256 nowMs = block.timestamp * 1_000;
        if (said.timestampMs > nowMs + CLOCK_AHEAD_MS) revert DocumentFromFuture(said.timestampMs);
        uint256 ageMs = uint256(_settings().maxDocumentAge()) * 1_000;
        if (said.timestampMs + ageMs < nowMs) revert DocumentStale(said.timestampMs);
        bytes32 blockHash = BlockHashes.hashOf(blockNumber);
        if (blockHash == 0) revert BlockUnknown(blockNumber);
        if (said.nonce.length != 32 || bytes32(said.nonce) != blockHash) revert NonceMismatch(blockHash);
    }

    /// @dev The image was built for these circuits and this root. It pins its KMS key too, so whoever may have that key is for
    /// everybody to judge before the image is admitted. Which it is, the event says.
    function _signerIn(bytes memory userData, bytes32 kmsKey) private view returns (address signer) {
        bytes32 configuration;
        (signer, configuration) = EnclaveClaims.read(userData);
        if (signer == address(0) || signer == address(this)) revert UserDataInvalid();
        bytes32 expected = keccak256(abi.encodePacked(_circuitsHash(), kmsKey, _settings().attestationRoot()));
        if (configuration != expected) revert ConfigurationMismatch(expected);
    }

    function _circuitsHash() private view returns (bytes32) {
        bytes memory keyHashes;
        for (uint8 kind = 1; kind <= StatementSignals.KINDS; ++kind) {
            keyHashes = abi.encodePacked(keyHashes, _settings().verifyingKeyHash(kind));
        }
        return keccak256(keyHashes);
    }
}
