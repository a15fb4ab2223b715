// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {IPoolTypes} from "./interfaces/IPoolTypes.sol";

/// @title What enclaves sign, and who signed it
/// @notice EIP-712 messages; every digest is computed again from calldata.
abstract contract Attestations is IPoolTypes {
    bytes32 private constant ATTESTATION_TYPE = keccak256(
        "Attestation(uint8 kind,bytes32 verifyingKeyHash,bytes32 statementHash,bytes32 proofHash,uint64 deadline)"
    );
    bytes32 private constant ROOT_UPDATE_TYPE = keccak256(
        "RootUpdate(uint256 oldRoot,uint256 newRoot,uint64 fromIndex,uint64 toIndex,bytes32 headBefore,bytes32 headAfter)"
    );

    uint256 internal constant SIGNATURE_BYTES = 65;
    /// Half the order of secp256k1 (EIP-2): above it lies the second spelling of the same signature.
    uint256 private constant MAX_S = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0;

    function _domainSeparator() internal view virtual returns (bytes32);

    // ------------------------------------------------------------------ digests

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
        return keccak256(abi.encodePacked(hex"1901", _domainSeparator(), structHash));
    }

    // ------------------------------------------------------------------ signatures

    /// @dev Zero for every signature that is not the one canonical spelling; `ecrecover` itself answers zero
    /// for garbage, and zero is never a signer.
    /// The caller has checked that 65 bytes follow `from`.
    function _recover(bytes32 digest, bytes calldata signatures, uint256 from) internal pure returns (address) {
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
