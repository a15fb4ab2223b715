// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {CommitmentQueue} from "./CommitmentQueue.sol";
import {Accounts} from "./libraries/Accounts.sol";

/// @title What the pool begins with: the empty tree, its first signers, assets and executor
/// @notice Nobody waits for these, since nobody's money is there yet.
abstract contract Genesis is CommitmentQueue {
    using Accounts for address;

    constructor(Configuration memory given) {
        newestRoot = EMPTY_ROOT;
        position.rootedAt = uint40(block.timestamp);
        roots[EMPTY_ROOT] = RootRecord(1, 0, uint40(block.timestamp), 0);

        _admitSigners(given);
        if (given.assets.length != given.minimumCaps.length) revert ConfigurationInvalid();
        for (uint256 i = 0; i < given.assets.length; ++i) {
            address asset = given.assets[i];
            if (!asset.isContract() || assets[asset].standing != Standing.Unknown) revert ConfigurationInvalid();
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

    function _admitSigners(Configuration memory given) private {
        uint256 count = given.signers.length;
        if (given.images.length != count || msg.value != count * given.signerBond) revert ConfigurationInvalid();
        for (uint256 i = 0; i < count; ++i) {
            address signer = given.signers[i];
            if (signer == address(0) || signers[signer].standing != Standing.Unknown) revert ConfigurationInvalid();
            signers[signer].standing = Standing.Admitted;
            signers[signer].wasAdmitted = true;
            if (given.images[i] != 0) {
                imageOf[signer] = given.images[i];
                signersOfImage[given.images[i]].push(signer);
            }
            bonds[signer] = Bond(msg.sender, given.signerBond);
            emit SignerAdded(signer);
        }
    }
}
