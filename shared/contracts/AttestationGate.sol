// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {Admissions} from "./Admissions.sol";
import {IPool} from "./interfaces/IPool.sol";

/// @title Whose word the pool takes, and how it recognises it
/// @notice Enclaves sign EIP-712 messages; the pool recomputes every digest from calldata.
abstract contract AttestationGate is Admissions {
    bytes32 private constant DOMAIN_TYPE =
        keccak256("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)");
    bytes32 private constant ATTESTATION_TYPE = keccak256(
        "Attestation(uint8 kind,bytes32 verifyingKeyHash,bytes32 statementHash,bytes32 proofHash,uint64 deadline)"
    );
    bytes32 private constant ROOT_UPDATE_TYPE = keccak256(
        "RootUpdate(uint256 oldRoot,uint256 newRoot,uint64 fromIndex,uint64 toIndex,bytes32 headBefore,bytes32 headAfter)"
    );

    uint256 private constant SIGNATURE_BYTES = 65;
    /// Half the order of secp256k1 (EIP-2): above it lies the second spelling of the same signature.
    uint256 private constant MAX_S = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0;

    uint256 public immutable threshold;
    uint256 private immutable homeChainId;
    bytes32 private immutable homeDomain;

    mapping(address signer => Admission) private signers;

    constructor(address[] memory signers_, uint256 threshold_) {
        if (threshold_ == 0 || threshold_ > signers_.length) revert ConfigurationInvalid();
        threshold = threshold_;
        homeChainId = block.chainid;
        homeDomain = _domain();
        for (uint256 i = 0; i < signers_.length; ++i) {
            if (signers_[i] == address(0) || isSigner(signers_[i])) revert ConfigurationInvalid();
            signers[signers_[i]].standing = Standing.Admitted;
            emit SignerAdded(signers_[i]);
        }
    }

    // ------------------------------------------------------------------ signers

    function isSigner(address signer) public view returns (bool) {
        return signers[signer].standing == Standing.Admitted;
    }

    /// @inheritdoc IPool
    function proposeSigner(address signer, bytes calldata genesisDocument) external {
        // Removal is permanent: a key that was ever in doubt never comes back.
        if (signers[signer].standing == Standing.Removed) revert Inadmissible(signer);
        (uint64 admissibleAt, uint64 expiresAt) = _propose(signers, signer);
        emit SignerProposed(signer, admissibleAt, expiresAt, genesisDocument);
    }

    /// @inheritdoc IPool
    function addSigner(address signer) external {
        _admit(signers, signer);
        emit SignerAdded(signer);
    }

    /// @inheritdoc IPool
    function removeSigner(address signer) external {
        bool wasAdmitted = _remove(signers, signer);
        signers[signer].standing = Standing.Removed;
        if (wasAdmitted) emit SignerRemoved(signer);
        else emit SignerWithdrawn(signer);
    }

    // ------------------------------------------------------------------ digests

    /// @inheritdoc IPool
    /// @dev After a fork of the chain the copy there has another chain id, hence another domain.
    function domainSeparator() public view returns (bytes32) {
        return block.chainid == homeChainId ? homeDomain : _domain();
    }

    function _domain() private view returns (bytes32) {
        return keccak256(
            abi.encode(DOMAIN_TYPE, keccak256("Cloister"), keccak256("1"), block.chainid, address(this))
        );
    }

    function _attestationDigest(
        uint8 kind,
        bytes32 keyHash,
        bytes32 statementHash,
        bytes32 proofHash,
        uint64 deadline
    ) internal view returns (bytes32) {
        return _typedDigest(
            keccak256(abi.encode(ATTESTATION_TYPE, kind, keyHash, statementHash, proofHash, deadline))
        );
    }

    function _rootUpdateDigest(RootUpdate calldata update) internal view returns (bytes32) {
        return _typedDigest(
            keccak256(
                abi.encode(
                    ROOT_UPDATE_TYPE,
                    update.oldRoot,
                    update.newRoot,
                    update.fromIndex,
                    update.toIndex,
                    update.headBefore,
                    update.headAfter
                )
            )
        );
    }

    function _typedDigest(bytes32 structHash) private view returns (bytes32) {
        return keccak256(abi.encodePacked(hex"1901", domainSeparator(), structHash));
    }

    // ------------------------------------------------------------------ signatures

    /// @dev Empty when at least `threshold` distinct accepted signers signed `digest` and nobody else did;
    /// otherwise the error to revert with. A value and not a revert, because a root update that fails is skipped.
    function _attestationFault(bytes32 digest, bytes calldata attestations) internal view returns (bytes memory) {
        uint256 count = attestations.length / SIGNATURE_BYTES;
        if (attestations.length != count * SIGNATURE_BYTES) {
            return abi.encodeWithSelector(AttestationLength.selector, attestations.length);
        }
        if (count < threshold) return abi.encodeWithSelector(TooFewAttestations.selector, count, threshold);
        address last = address(0);
        for (uint256 i = 0; i < count; ++i) {
            address signer = _recover(digest, attestations, i * SIGNATURE_BYTES);
            if (signer == address(0)) return abi.encodeWithSelector(SignatureInvalid.selector);
            // Strictly ascending: the cheapest proof that no signer is counted twice.
            if (signer <= last) return abi.encodeWithSelector(SignersNotAscending.selector);
            if (!isSigner(signer)) return abi.encodeWithSelector(SignerUnknown.selector, signer);
            last = signer;
        }
        return "";
    }

    /// @dev Zero for every signature that is not the one canonical spelling; `ecrecover` itself answers zero
    /// for garbage, and zero is never a signer.
    /// The caller has checked that 65 bytes follow `from`.
    function _recover(bytes32 digest, bytes calldata signatures, uint256 from) private pure returns (address) {
        bytes32 r;
        bytes32 s;
        uint8 v;
        assembly ("memory-safe") {
            let start := add(signatures.offset, from)
            r := calldataload(start)
            s := calldataload(add(start, 32))
            v := byte(0, calldataload(add(start, 64)))
        }
        if (uint256(s) > MAX_S || (v != 27 && v != 28)) return address(0);
        return ecrecover(digest, v, r, s);
    }
}
