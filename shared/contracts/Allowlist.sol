// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {Admissions} from "./Admissions.sol";
import {IPool} from "./interfaces/IPool.sol";

/// @title Which contracts the pool may call: assets, and the one executor of swaps
/// @notice Even a lying signer cannot make the pool call any other. An asset that is delisted can still leave;
/// whoever holds notes of it must never be locked in.
abstract contract Allowlist is Admissions {
    address public executor;

    mapping(address asset => Admission) private assets;
    mapping(address executor => Admission) private executors;

    constructor(address[] memory assets_, address executor_) {
        for (uint256 i = 0; i < assets_.length; ++i) {
            if (assets_[i].code.length == 0 || isAsset(assets_[i])) revert ConfigurationInvalid();
            assets[assets_[i]].standing = Standing.Admitted;
            emit AssetAdded(assets_[i]);
        }
        if (executor_ == address(0)) return;
        if (executor_.code.length == 0) revert ConfigurationInvalid();
        _use(executor_);
    }

    function isAsset(address asset) public view returns (bool) {
        return assets[asset].standing == Standing.Admitted;
    }

    /// @dev True also after delisting.
    function _mayLeave(address asset) internal view returns (bool) {
        return assets[asset].standing != Standing.Unknown;
    }

    /// @inheritdoc IPool
    function proposeAsset(address asset) external {
        if (asset.code.length == 0) revert Inadmissible(asset);
        (uint64 admissibleAt, uint64 expiresAt) = _propose(assets, asset);
        emit AssetProposed(asset, admissibleAt, expiresAt);
    }

    /// @inheritdoc IPool
    function addAsset(address asset) external {
        _admit(assets, asset);
        emit AssetAdded(asset);
    }

    /// @inheritdoc IPool
    function delistAsset(address asset) external {
        // Withdrawn before it was admitted, it stays a contract that the pool never calls.
        if (_remove(assets, asset)) emit AssetDelisted(asset);
        else emit AssetWithdrawn(asset);
    }

    /// @inheritdoc IPool
    function proposeExecutor(address venue) external {
        if (venue.code.length == 0) revert Inadmissible(venue);
        (uint64 admissibleAt, uint64 expiresAt) = _propose(executors, venue);
        emit ExecutorProposed(venue, admissibleAt, expiresAt);
    }

    /// @inheritdoc IPool
    function setExecutor(address venue) external {
        _admit(executors, venue);
        // The former one is out: to return it must be proposed again.
        if (executor != address(0)) _drop(executor);
        _use(venue);
    }

    /// @inheritdoc IPool
    function removeExecutor(address venue) external {
        if (_remove(executors, venue)) {
            executor = address(0);
            emit ExecutorRemoved(venue);
        } else {
            emit ExecutorWithdrawn(venue);
        }
    }

    function _use(address venue) private {
        executors[venue].standing = Standing.Admitted;
        executor = venue;
        emit ExecutorSet(venue);
    }

    function _drop(address venue) private {
        executors[venue].standing = Standing.Removed;
        emit ExecutorRemoved(venue);
    }
}
