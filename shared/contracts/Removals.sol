// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {PoolStorage} from "./PoolStorage.sol";
import {IPoolSettings} from "./interfaces/IPoolSettings.sol";

/// @title How a signer goes, and what goes with it
/// @notice By the owner's word or by a refutation: the same act. Permanent either way.
abstract contract Removals is PoolStorage {
    /// @dev A module has no settings of its own: it runs as the pool and asks it.
    function _settings() internal view returns (IPoolSettings) {
        return IPoolSettings(address(this));
    }

    /// @dev In use or only proposed.
    function _dismiss(address signer) internal {
        Admission storage admission = signers[signer];
        bool isInUse = admission.standing == Standing.Admitted;
        admission.standing = Standing.Removed;
        admission.admissibleAt = 0;
        admission.removedAt = uint64(block.timestamp);
        if (isInUse) emit SignerRemoved(signer);
        else emit SignerWithdrawn(signer);
    }

    function _revokeImage(bytes32 image) internal {
        if (revokedImages[image]) revert ImageRevokedBefore(image);
        revokedImages[image] = true;
        emit ImageRevoked(image);
        address[] storage listed = signersOfImage[image];
        for (uint256 i = 0; i < listed.length; ++i) {
            if (signers[listed[i]].standing != Standing.Removed) _dismiss(listed[i]);
        }
    }

    function _closeAttestedPath(uint256 until) internal {
        if (until <= position.attestedFrom) return;
        position.attestedFrom = uint40(until);
        emit AttestedPathClosed(uint64(until));
    }

    function _payBond(address signer, address to) internal {
        uint256 amount = bonds[signer].amount;
        if (amount == 0) return;
        delete bonds[signer];
        emit BondPaid(signer, to, amount);
        (bool isDone,) = to.call{value: amount}("");
        if (!isDone) revert BondRefused();
    }
}
