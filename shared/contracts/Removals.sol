// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {PoolStorage} from "./PoolStorage.sol";
import {IPoolSettings} from "./interfaces/IPoolSettings.sol";

/// @title How a signer goes, and what goes with it
/// @notice By the owner's word, by a refutation, or because its platform is trusted no more: the same act, permanent.
abstract contract Removals is PoolStorage {
    /// @dev A module has no settings of its own: it runs as the pool and asks it.
    function _settings() internal view returns (IPoolSettings) {
        return IPoolSettings(address(this));
    }

    /// @dev Also one that never came: then it never will.
    function _dismiss(address signer) internal {
        if (signers[signer].voice != 0) _strike(images[imageOf[signer]].signers, signer);
        _silence(signer);
    }

    /// @dev Also one that was never admitted: then it never will be.
    function _revokeImage(bytes32 image) internal {
        Image storage record = images[image];
        if (record.admission.standing == Standing.Removed) revert ImageRevokedBefore(image);
        record.admission = Admission(Standing.Removed, 0);
        emit ImageRevoked(image);
        for (uint256 i = 0; i < record.signers.length; ++i) {
            _silence(record.signers[i]);
        }
        delete record.signers;
    }

    function _silence(address signer) private {
        signers[signer].voice = 0;
        signers[signer].removedAt = uint64(block.timestamp);
        emit SignerRemoved(signer);
    }

    /// @dev The last one takes its place. A place that is free can be taken again: else whoever runs the image on a
    /// machine of their own could use up all of them, and removing those would not help.
    function _strike(address[] storage listed, address signer) private {
        uint256 last = listed.length - 1;
        for (uint256 i = 0; i < last; ++i) {
            if (listed[i] == signer) listed[i] = listed[last];
        }
        listed.pop();
    }

    function _closeAttestedPath(uint256 until) internal {
        if (until <= position.attestedFrom) return;
        position.attestedFrom = uint40(until);
        emit AttestedPathClosed(uint64(until));
    }

    /// @dev Who cannot take coins can refute all the same: it is owed the bond (see `takeBonds`).
    function _payBond(address signer, address to) internal {
        uint256 amount = bonds[signer].amount;
        if (amount == 0) return;
        delete bonds[signer];
        (bool isDone,) = to.call{value: amount}("");
        if (isDone) {
            emit BondPaid(signer, to, amount);
        } else {
            owedBonds[to] += amount;
            emit BondOwed(signer, to, amount);
        }
    }
}
