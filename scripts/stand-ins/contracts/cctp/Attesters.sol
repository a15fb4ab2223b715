// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {CctpRoles} from "./CctpRoles.sol";

/// @title DEVELOPMENT ONLY: whose signatures make a message arrive
/// @notice An attestation is as many signatures of 65 bytes (r, s, v) over keccak256(message) as the threshold says, by
/// rising address of the signer.
abstract contract Attesters is CctpRoles {
    uint256 internal constant SIGNATURE_BYTES = 65;
    uint256 private constant HALF_ORDER = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0;

    uint256 public signatureThreshold;
    address[] private enabled;
    mapping(address attester => uint256 positionPlusOne) private places;

    event AttesterEnabled(address indexed attester);
    event AttesterDisabled(address indexed attester);
    event SignatureThresholdUpdated(uint256 oldSignatureThreshold, uint256 newSignatureThreshold);

    constructor(address[] memory attesters, uint256 threshold) {
        for (uint256 i = 0; i < attesters.length; ++i) {
            _enable(attesters[i]);
        }
        _setThreshold(threshold);
    }

    function isEnabledAttester(address attester) public view returns (bool) {
        return places[attester] != 0;
    }

    function getNumEnabledAttesters() external view returns (uint256) {
        return enabled.length;
    }

    function getEnabledAttester(uint256 index) external view returns (address) {
        return enabled[index];
    }

    function enableAttester(address attester) external onlyOwner {
        _enable(attester);
    }

    function disableAttester(address attester) external onlyOwner {
        require(enabled.length > 1, "Too few enabled attesters");
        require(enabled.length > signatureThreshold, "Signature threshold is too low");
        uint256 place = places[attester];
        require(place != 0, "Attester already disabled");
        address last = enabled[enabled.length - 1];
        enabled[place - 1] = last;
        places[last] = place;
        enabled.pop();
        delete places[attester];
        emit AttesterDisabled(attester);
    }

    function setSignatureThreshold(uint256 threshold) external onlyOwner {
        _setThreshold(threshold);
    }

    function _enable(address attester) private {
        require(attester != address(0), "New attester must be nonzero");
        require(places[attester] == 0, "Attester already enabled");
        enabled.push(attester);
        places[attester] = enabled.length;
        emit AttesterEnabled(attester);
    }

    function _setThreshold(uint256 threshold) private {
        require(threshold != 0, "Invalid signature threshold");
        require(threshold <= enabled.length, "New signature threshold too high");
        require(threshold != signatureThreshold, "Signature threshold already set");
        emit SignatureThresholdUpdated(signatureThreshold, threshold);
        signatureThreshold = threshold;
    }

    function _requireAttested(bytes calldata message, bytes calldata attestation) internal view {
        require(attestation.length == SIGNATURE_BYTES * signatureThreshold, "Invalid attestation length");
        bytes32 digest = keccak256(message);
        address latest;
        for (uint256 i = 0; i < attestation.length; i += SIGNATURE_BYTES) {
            address signer = _recover(digest, attestation[i:i + SIGNATURE_BYTES]);
            // Rising, so nobody counts twice.
            require(signer > latest, "Invalid signature order or dupe");
            require(isEnabledAttester(signer), "Invalid signature: not attester");
            latest = signer;
        }
    }

    function _recover(bytes32 digest, bytes calldata signature) private pure returns (address signer) {
        bytes32 s = bytes32(signature[32:64]);
        uint8 v = uint8(signature[64]);
        require(uint256(s) <= HALF_ORDER, "ECDSA: invalid signature 's' value");
        require(v == 27 || v == 28, "ECDSA: invalid signature 'v' value");
        signer = ecrecover(digest, v, bytes32(signature[0:32]), s);
        require(signer != address(0), "ECDSA: invalid signature");
    }
}
