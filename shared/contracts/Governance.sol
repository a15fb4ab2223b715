// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {Removals} from "./Removals.sol";
import {IGovernance} from "./interfaces/IGovernance.sol";
import {Accounts} from "./libraries/Accounts.sol";

/// @title Module of the pool: what the owner and the guardian may do, and how everybody learns of it first
/// @notice Runs in the pool's storage, see Pool. One mechanism for signers, assets and the executor: the owner
/// proposes, anyone admits after the delay and before the proposal expires, the owner takes back or removes at once.
/// Even a lying signer cannot make the pool call a contract that is not admitted here.
contract Governance is Removals, IGovernance {
    using Accounts for address;

    /// Without an end, a proposal that everybody forgot would be good for ever: years later a stranger who came
    /// by its key could bring the signer in and empty the pool in the same block. A week is enough for anybody
    /// to send one transaction, and short enough that whoever saw the announcement is still looking.
    uint64 private constant ADMISSION_WINDOW = 7 days;
    uint256 private constant SIGNERS_OF_IMAGE = 32;

    uint256 private constant PAUSE = 3 days;
    /// A guardian who pauses whenever it may stops the attested path for three days of ten, and proofs never.
    uint256 private constant REST = 7 days;

    modifier onlyOwner() {
        if (msg.sender != _settings().owner()) revert NotOwner();
        _;
    }

    // ------------------------------------------------------------------ signers

    /// @inheritdoc IGovernance
    function proposeSigner(address signer, bytes32 image, bytes calldata genesisDocument) external onlyOwner {
        // Removal is permanent: a key that was ever in doubt never comes back.
        if (signers[signer].standing == Standing.Removed) revert Inadmissible(signer);
        if (revokedImages[image]) revert ImageRevokedBefore(image);
        (uint64 admissibleAt, uint64 expiresAt) = _propose(signers, signer);
        bytes32 known = imageOf[signer];
        if (known != image) {
            // A key lives in one image for ever.
            if (known != 0 || signersOfImage[image].length == SIGNERS_OF_IMAGE) revert Inadmissible(signer);
            imageOf[signer] = image;
            signersOfImage[image].push(signer);
        }
        emit SignerProposed(signer, image, admissibleAt, expiresAt, genesisDocument);
    }

    /// @inheritdoc IGovernance
    function addSigner(address signer) external payable {
        uint256 bond = _settings().signerBond();
        if (msg.value != bond) revert BondMismatch(bond);
        _admit(signers, signer);
        bonds[signer] = Bond(msg.sender, uint96(msg.value));
        emit BondPosted(signer, msg.sender, msg.value);
        emit SignerAdded(signer);
    }

    /// @inheritdoc IGovernance
    function removeSigner(address signer) external onlyOwner {
        if (!_isKnown(signers[signer])) revert NotProposed(signer);
        _dismiss(signer);
    }

    /// @inheritdoc IGovernance
    function revokeImage(bytes32 image) external onlyOwner {
        if (image == 0) revert ImageRevokedBefore(image);
        _revokeImage(image);
    }

    /// @inheritdoc IGovernance
    function releaseBond(address signer) external locked {
        Bond memory bond = bonds[signer];
        if (bond.amount == 0 || signers[signer].standing != Standing.Removed) revert BondMismatch(0);
        uint64 free = signers[signer].removedAt + _settings().changeDelay();
        if (block.timestamp < free) revert BondHeld(free);
        _payBond(signer, bond.poster);
    }

    // ------------------------------------------------------------------ assets

    /// @inheritdoc IGovernance
    function proposeAsset(address asset, uint104 minimumCap) external onlyOwner {
        if (!asset.isContract()) revert Inadmissible(asset);
        // A smaller one could starve those who hold notes of it.
        if (minimumCap < windows[asset].minimum) revert Inadmissible(asset);
        (uint64 admissibleAt, uint64 expiresAt) = _propose(assets, asset);
        proposedMinimums[asset] = minimumCap;
        emit AssetProposed(asset, minimumCap, admissibleAt, expiresAt);
    }

    /// @inheritdoc IGovernance
    function addAsset(address asset) external {
        if (!asset.isContract()) revert Inadmissible(asset);
        _admit(assets, asset);
        windows[asset].minimum = proposedMinimums[asset];
        emit AssetAdded(asset);
    }

    /// @inheritdoc IGovernance
    function delistAsset(address asset) external onlyOwner {
        // Withdrawn before it was admitted, it stays a contract that the pool never calls.
        if (_remove(assets, asset)) emit AssetDelisted(asset);
        else emit AssetWithdrawn(asset);
    }

    // ------------------------------------------------------------------ the executor

    /// @inheritdoc IGovernance
    function proposeExecutor(address venue) external onlyOwner {
        if (!venue.isContract()) revert Inadmissible(venue);
        (uint64 admissibleAt, uint64 expiresAt) = _propose(executors, venue);
        emit ExecutorProposed(venue, admissibleAt, expiresAt);
    }

    /// @inheritdoc IGovernance
    function setExecutor(address venue) external {
        if (!venue.isContract()) revert Inadmissible(venue);
        _admit(executors, venue);
        address former = currentExecutor;
        // The former one is out: to return it must be proposed again.
        if (former != address(0)) {
            executors[former].standing = Standing.Removed;
            emit ExecutorRemoved(former);
        }
        currentExecutor = venue;
        emit ExecutorSet(venue);
    }

    /// @inheritdoc IGovernance
    function removeExecutor(address venue) external onlyOwner {
        if (_remove(executors, venue)) {
            currentExecutor = address(0);
            emit ExecutorRemoved(venue);
        } else {
            emit ExecutorWithdrawn(venue);
        }
    }

    // ------------------------------------------------------------------ the guardian

    /// @inheritdoc IGovernance
    function pause() external {
        if (msg.sender != _settings().guardian()) revert NotGuardian();
        if (block.timestamp < guardianReadyAt) revert GuardianResting(guardianReadyAt);
        guardianReadyAt = uint40(block.timestamp + PAUSE + REST);
        _closeAttestedPath(block.timestamp + PAUSE);
    }

    // ------------------------------------------------------------------ the one way in and out

    function _propose(mapping(address subject => Admission) storage role, address subject)
        private
        returns (uint64 admissibleAt, uint64 expiresAt)
    {
        Admission memory admission = role[subject];
        if (subject == address(0) || subject == address(this)) revert Inadmissible(subject);
        if (admission.standing == Standing.Admitted) revert AlreadyAdmitted(subject);
        // The announced times are the times: a proposal made again must neither shorten nor prolong them.
        if (_isPending(admission)) revert AlreadyProposed(subject);
        admissibleAt = uint64(block.timestamp) + _settings().changeDelay();
        expiresAt = admissibleAt + ADMISSION_WINDOW;
        role[subject].admissibleAt = admissibleAt;
    }

    /// @dev Uses the proposal up: whatever is removed later needs a new one, with a new delay.
    function _admit(mapping(address subject => Admission) storage role, address subject) private {
        uint64 admissibleAt = role[subject].admissibleAt;
        if (admissibleAt == 0) revert NotProposed(subject);
        if (block.timestamp < admissibleAt) revert TooEarly(admissibleAt);
        uint64 expiresAt = admissibleAt + ADMISSION_WINDOW;
        if (block.timestamp >= expiresAt) revert ProposalExpired(expiresAt);
        role[subject] = Admission(Standing.Admitted, true, 0, 0);
    }

    /// @dev One act for both, so that nobody can turn a withdrawal into nothing by admitting just before it.
    /// @return wasAdmitted false for a proposal that is withdrawn, which leaves the standing as it was
    function _remove(mapping(address subject => Admission) storage role, address subject)
        private
        returns (bool wasAdmitted)
    {
        Admission memory admission = role[subject];
        if (!_isKnown(admission)) revert NotProposed(subject);
        wasAdmitted = admission.standing == Standing.Admitted;
        role[subject].admissibleAt = 0;
        if (wasAdmitted) role[subject].standing = Standing.Removed;
    }

    function _isKnown(Admission memory admission) private view returns (bool) {
        return admission.standing == Standing.Admitted || _isPending(admission);
    }

    /// @dev Proposed and not expired; before its time as well as in it.
    function _isPending(Admission memory admission) private view returns (bool) {
        return admission.admissibleAt != 0 && block.timestamp < admission.admissibleAt + ADMISSION_WINDOW;
    }
}
