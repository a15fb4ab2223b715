// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {CommitmentQueue} from "./CommitmentQueue.sol";
import {Accounts} from "./libraries/Accounts.sol";

/// @title What the pool begins with: the empty tree, the images that may vouch, its first assets and executor
/// @notice Nobody waits for these, since nobody's money is there yet.
abstract contract Genesis is CommitmentQueue {
    using Accounts for address;

    constructor(Configuration memory given) {
        newestRoot = EMPTY_ROOT;
        position.rootedAt = uint40(block.timestamp);
        roots[EMPTY_ROOT] = RootRecord(1, 0, uint40(block.timestamp), 0);

        _admitImages(given);
        if (given.assets.length != given.minimumCaps.length) revert ConfigurationInvalid();
        for (uint256 i = 0; i < given.assets.length; ++i) {
            address asset = given.assets[i];
            if (!asset.isContract() || assets[asset].standing != Standing.Unknown) revert ConfigurationInvalid();
            if (given.minimumCaps[i] == 0) revert ConfigurationInvalid();
            assets[asset].standing = Standing.Admitted;
            windows[asset].minimum = given.minimumCaps[i];
            emit AssetAdded(asset);
        }
        if (given.executor == address(0)) return;
        if (!given.executor.isContract()) revert ConfigurationInvalid();
        executors[given.executor].standing = Standing.Admitted;
        currentExecutor = given.executor;
        emit ExecutorSet(given.executor);
    }

    /// @dev They say which code may vouch. Who runs it proves that by `register`; until then proofs are the only way.
    function _admitImages(Configuration memory given) private {
        if (given.kinds.length != given.images.length) revert ConfigurationInvalid();
        for (uint256 i = 0; i < given.images.length; ++i) {
            (bytes32 image, uint8 kind) = (given.images[i], given.kinds[i]);
            if (image == 0 || image == DEBUG_IMAGE) revert ConfigurationInvalid();
            if (kind != FIRST_VERIFIER && kind != SECOND_VERIFIER) revert ConfigurationInvalid();
            if (images[image].admission.standing != Standing.Unknown) revert ConfigurationInvalid();
            images[image].admission.standing = Standing.Admitted;
            images[image].kind = kind;
            emit ImageAdmitted(image, kind);
        }
    }
}
