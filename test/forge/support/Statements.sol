// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {IPoolTypes} from "../../../shared/contracts/interfaces/IPoolTypes.sol";

/// @dev Everything that a statement says, before the pool's address and the chain are bound into it.
struct Draft {
    uint8 kind;
    uint64 deadline;
    uint256 root;
    uint256 asset;
    uint256 amount;
    uint256[] nullifiers;
    uint256[] commitments;
    bytes ext;
    bytes proof;
    bytes authorization;
}

/// @dev Who proves and signs for which place.
struct Home {
    uint256 chainId;
    address pool;
    bytes32 domain;
}

struct SwapTerms {
    address tokenOut;
    uint128 floor;
    uint256 npk;
    uint24 feeFirst;
    address middle;
    uint24 feeSecond;
}

/// @title What a device and an enclave compute about a statement
/// @notice Written from the specification and not from the pool's libraries: the pool is held against this, so
/// it must not be the same code.
library Statements {
    uint256 internal constant R = 0x30644e72e131a029b85045b68181585d2833e84879b9709143e1f593f0000001;

    uint8 internal constant DEPOSIT = 1;
    uint8 internal constant SPEND = 2;
    uint8 internal constant SPEND9 = 3;
    uint8 internal constant SWAP = 4;

    uint256 internal constant EPHEMERAL_KEY_BYTES = 32;
    uint256 internal constant CIPHERTEXT_BYTES = 53;
    uint256 internal constant PROOF_BYTES = 128;

    // ------------------------------------------------------------------ the table of kinds

    function inputsOf(uint8 kind) internal pure returns (uint256) {
        if (kind == SPEND || kind == SWAP) return 2;
        return kind == SPEND9 ? 9 : 0;
    }

    /// @dev Commitments that the proof makes.
    function outputsOf(uint8 kind) internal pure returns (uint256) {
        return kind == SPEND || kind == SPEND9 ? 4 : 3;
    }

    function leavesOf(uint8 kind) internal pure returns (uint256) {
        return kind == DEPOSIT ? 3 : 4;
    }

    function termsBytesOf(uint8 kind) internal pure returns (uint256) {
        if (kind == DEPOSIT) return 20 + 8 + 8;
        return kind == SWAP ? 20 + 16 + 32 + 3 + 20 + 3 : 20;
    }

    function extBytesOf(uint8 kind) internal pure returns (uint256) {
        return termsBytesOf(kind) + sealedBytesOf(kind);
    }

    /// @dev The ephemeral key and one ciphertext a leaf.
    function sealedBytesOf(uint8 kind) internal pure returns (uint256) {
        return EPHEMERAL_KEY_BYTES + leavesOf(kind) * CIPHERTEXT_BYTES;
    }

    function signalsOf(uint8 kind) internal pure returns (uint256) {
        return kind == DEPOSIT ? 6 : 4 + inputsOf(kind) + outputsOf(kind);
    }

    // ------------------------------------------------------------------ ext

    function depositExt(address depositor, uint64 validAfter, uint64 validBefore, bytes memory ciphertexts)
        internal
        pure
        returns (bytes memory)
    {
        return abi.encodePacked(depositor, validAfter, validBefore, ciphertexts);
    }

    function spendExt(address recipient, bytes memory ciphertexts) internal pure returns (bytes memory) {
        return abi.encodePacked(recipient, ciphertexts);
    }

    function swapExt(SwapTerms memory terms, bytes memory ciphertexts) internal pure returns (bytes memory) {
        return abi.encodePacked(
            terms.tokenOut, terms.floor, terms.npk, terms.feeFirst, terms.middle, terms.feeSecond, ciphertexts
        );
    }

    /// @dev Of the right length, and told apart by `salt`; the pool does not look into them.
    function anyCiphertexts(uint8 kind, uint256 salt) internal pure returns (bytes memory sealed_) {
        sealed_ = new bytes(sealedBytesOf(kind));
        assembly ("memory-safe") {
            mstore(add(sealed_, 32), salt)
            mstore(add(sealed_, mload(sealed_)), not(salt))
        }
    }

    // ------------------------------------------------------------------ hashes

    function contextOf(uint256 chainId, address pool, uint8 kind, uint64 deadline, bytes memory ext)
        internal
        pure
        returns (uint256)
    {
        return uint256(keccak256(abi.encode(chainId, pool, kind, deadline, keccak256(ext)))) % R;
    }

    function signals(Draft memory draft, uint256 context) internal pure returns (uint256[] memory list) {
        uint256 inputs = draft.nullifiers.length;
        list = new uint256[]((draft.kind == DEPOSIT ? 3 : 4) + inputs + draft.commitments.length);
        uint256 next = 0;
        list[next++] = context;
        if (draft.kind != DEPOSIT) list[next++] = draft.root;
        list[next++] = draft.asset;
        list[next++] = draft.amount;
        for (uint256 i = 0; i < inputs; ++i) {
            list[next++] = draft.nullifiers[i];
        }
        for (uint256 i = 0; i < draft.commitments.length; ++i) {
            list[next++] = draft.commitments[i];
        }
    }

    function hashOf(IPoolTypes.Transaction memory transaction) internal pure returns (bytes32) {
        return
            keccak256(
                abi.encode(transaction.kind, transaction.deadline, transaction.signals, keccak256(transaction.ext))
            );
    }

    // ------------------------------------------------------------------ what enclaves sign

    function domainOf(uint256 chainId, address pool) internal pure returns (bytes32) {
        return keccak256(
            abi.encode(
                keccak256("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"),
                keccak256("Cloister"),
                keccak256("1"),
                chainId,
                pool
            )
        );
    }

    function digestOf(bytes32 domain, bytes32 keyHash, IPoolTypes.Transaction memory transaction)
        internal
        pure
        returns (bytes32)
    {
        return typed(
            domain,
            keccak256(
                abi.encode(
                    keccak256(
                        "Attestation(uint8 kind,bytes32 verifyingKeyHash,bytes32 statementHash,bytes32 proofHash,uint64 deadline)"
                    ),
                    transaction.kind,
                    keyHash,
                    hashOf(transaction),
                    keccak256(transaction.proof),
                    transaction.deadline
                )
            )
        );
    }

    function digestOf(bytes32 domain, IPoolTypes.RootUpdate memory update) internal pure returns (bytes32) {
        return typed(
            domain,
            keccak256(
                abi.encode(
                    keccak256(
                        "RootUpdate(uint256 oldRoot,uint256 newRoot,uint64 fromIndex,uint64 toIndex,bytes32 headBefore,bytes32 headAfter)"
                    ),
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

    function typed(bytes32 domain, bytes32 structHash) internal pure returns (bytes32) {
        return keccak256(abi.encodePacked(hex"1901", domain, structHash));
    }

    // ------------------------------------------------------------------ small things

    function nextHead(bytes32 head, uint256 commitment) internal pure returns (bytes32) {
        return keccak256(abi.encode(head, commitment));
    }

    /// @dev A field element that is not zero, for `label` and `n`.
    function field(bytes memory label, uint256 n) internal pure returns (uint256) {
        return uint256(keccak256(abi.encodePacked(label, n))) % (R - 1) + 1;
    }

    function selectorOf(bytes memory reason) internal pure returns (bytes4 selector) {
        if (reason.length < 4) return 0;
        assembly ("memory-safe") {
            selector := mload(add(reason, 32))
        }
        // Only the first four bytes count.
        selector = bytes4(selector);
    }
}
