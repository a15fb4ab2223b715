// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {Attestations} from "./Attestations.sol";
import {PoolSettings} from "./PoolSettings.sol";
import {PoolStorage} from "./PoolStorage.sol";

/// @title Whose word the pool takes
abstract contract AttestationGate is Attestations, PoolSettings, PoolStorage {
    bytes32 private constant DOMAIN_TYPE =
        keccak256("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)");

    uint256 private immutable homeChainId;
    bytes32 private immutable homeDomain;

    constructor() {
        homeChainId = block.chainid;
        homeDomain = _domain();
    }

    /// @dev After a fork of the chain the copy there has another chain id, hence another domain.
    function _domainSeparator() internal view override returns (bytes32) {
        return block.chainid == homeChainId ? homeDomain : _domain();
    }

    function _domain() private view returns (bytes32) {
        return keccak256(
            abi.encode(DOMAIN_TYPE, keccak256("Cloister"), keccak256("1"), block.chainid, address(this))
        );
    }

    /// @dev Empty when the path is open and at least `threshold` distinct accepted signers signed `digest`, of both kinds
    /// where that is two or more, and nobody else did; otherwise the error to revert with. A value and not a revert, because a root update that fails is skipped.
    function _attestationFault(bytes32 digest, bytes calldata attestations) internal view returns (bytes memory) {
        uint256 shutUntil = position.attestedFrom;
        if (block.timestamp < shutUntil) return abi.encodeWithSelector(AttestedPathShut.selector, shutUntil);
        uint256 count = attestations.length / SIGNATURE_BYTES;
        if (attestations.length != count * SIGNATURE_BYTES) {
            return abi.encodeWithSelector(AttestationLength.selector, attestations.length);
        }
        if (count < threshold) return abi.encodeWithSelector(TooFewAttestations.selector, count, threshold);
        address last = address(0);
        uint256 kinds = 0;
        for (uint256 i = 0; i < count; ++i) {
            address signer = _recover(digest, attestations, i * SIGNATURE_BYTES);
            if (signer == address(0)) return abi.encodeWithSelector(SignatureInvalid.selector);
            // Strictly ascending: the cheapest proof that no signer is counted twice.
            if (signer <= last) return abi.encodeWithSelector(SignersNotAscending.selector);
            uint256 voice = signers[signer].voice;
            if (voice == 0) return abi.encodeWithSelector(SignerUnknown.selector, signer);
            kinds |= voice;
            last = signer;
        }
        if (_needsBothKinds() && kinds != FIRST_VERIFIER | SECOND_VERIFIER) {
            return abi.encodeWithSelector(OneKindOnly.selector, uint8(kinds));
        }
        return "";
    }

    /// @dev Two of one kind share every fault of its program.
    function _needsBothKinds() internal view returns (bool) {
        return threshold > 1;
    }
}
