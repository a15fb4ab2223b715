// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {Admissions} from "./Admissions.sol";
import {IGovernance} from "./interfaces/IGovernance.sol";
import {Accounts} from "./libraries/Accounts.sol";

/// @title Module of the pool: what the owner and the guardian may do, and how everybody learns of it first
/// @notice Runs in the pool's storage, see Pool. One mechanism for assets and the executor (and for images, see
/// SignerRegistry): the owner proposes, anyone admits after the delay and before the proposal expires, the owner takes
/// back or removes at once. Even a lying signer cannot make the pool call a contract that is not admitted here.
contract Governance is Admissions, IGovernance {
    using Accounts for address;

    uint256 private constant PAUSE = 3 days;
    /// A guardian who pauses whenever it may stops the attested path for three days of ten, and proofs never.
    uint256 private constant REST = 7 days;
    /// By a listing anew, which takes `changeDelay`: everybody can leave by a proof before.
    uint256 private constant MINIMUM_GROWTH = 2;

    // ------------------------------------------------------------------ assets

    /// @inheritdoc IGovernance
    function proposeAsset(address asset, uint104 minimumCap) external locked onlyOwner {
        if (!asset.isContract()) revert Inadmissible(asset);
        // Of an asset that was listed before: a smaller one could starve those who hold notes of it, and a larger one lifts
        // the brake from their money.
        uint256 former = windows[asset].minimum;
        bool isNear = former == 0 || (minimumCap >= former && minimumCap <= former * MINIMUM_GROWTH);
        if (minimumCap == 0 || !isNear) revert Inadmissible(asset);
        (uint64 admissibleAt, uint64 expiresAt) = _propose(assets, asset);
        proposedMinimums[asset] = minimumCap;
        emit AssetProposed(asset, minimumCap, admissibleAt, expiresAt);
    }

    /// @inheritdoc IGovernance
    function addAsset(address asset) external locked {
        if (!asset.isContract()) revert Inadmissible(asset);
        _admitTo(assets, asset);
        windows[asset].minimum = proposedMinimums[asset];
        emit AssetAdded(asset);
    }

    /// @inheritdoc IGovernance
    function delistAsset(address asset) external locked onlyOwner {
        // Withdrawn before it was admitted, it stays a contract that the pool never calls.
        if (_remove(assets, asset)) emit AssetDelisted(asset);
        else emit AssetWithdrawn(asset);
    }

    // ------------------------------------------------------------------ the executor

    /// @inheritdoc IGovernance
    function proposeExecutor(address venue) external locked onlyOwner {
        if (!venue.isContract()) revert Inadmissible(venue);
        (uint64 admissibleAt, uint64 expiresAt) = _propose(executors, venue);
        emit ExecutorProposed(venue, admissibleAt, expiresAt);
    }

    /// @inheritdoc IGovernance
    function setExecutor(address venue) external locked {
        if (!venue.isContract()) revert Inadmissible(venue);
        _admitTo(executors, venue);
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
    function removeExecutor(address venue) external locked onlyOwner {
        if (_remove(executors, venue)) {
            currentExecutor = address(0);
            emit ExecutorRemoved(venue);
        } else {
            emit ExecutorWithdrawn(venue);
        }
    }

    // ------------------------------------------------------------------ the guardian

    /// @inheritdoc IGovernance
    function pause() external locked {
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
        Admission storage admission = role[subject];
        if (subject == address(0) || subject == address(this)) revert Inadmissible(subject);
        if (admission.standing == Standing.Admitted) revert AlreadyAdmitted(subject);
        if (_isPending(admission)) revert AlreadyProposed(subject);
        return _announce(admission);
    }

    function _admitTo(mapping(address subject => Admission) storage role, address subject) private {
        if (role[subject].admissibleAt == 0) revert NotProposed(subject);
        _admit(role[subject]);
    }

    /// @dev One act for both, so that nobody can turn a withdrawal into nothing by admitting just before it.
    /// @return wasAdmitted false for a proposal that is withdrawn, which leaves the standing as it was
    function _remove(mapping(address subject => Admission) storage role, address subject)
        private
        returns (bool wasAdmitted)
    {
        Admission memory admission = role[subject];
        wasAdmitted = admission.standing == Standing.Admitted;
        if (!wasAdmitted && !_isPending(admission)) revert NotProposed(subject);
        role[subject].admissibleAt = 0;
        if (wasAdmitted) role[subject].standing = Standing.Removed;
    }
}
