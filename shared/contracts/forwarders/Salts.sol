// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {IForwarders} from "../interfaces/IForwarders.sol";

/// @title The salt of each kind of terms
/// @notice Every term is inside, and a tag of the kind, so that no terms of one kind are terms of another. What has no
/// fixed length stands by its hash. The TypeScript twin is `shared/protocol/host/forwarders.ts`.
library Salts {
    bytes32 private constant IN_TAG = keccak256("cloister/forwarders/in/v1");
    bytes32 private constant SOURCE_TAG = keccak256("cloister/forwarders/source/v1");
    bytes32 private constant OUT_TAG = keccak256("cloister/forwarders/out/v1");

    function salt(IForwarders.InTerms calldata terms) internal pure returns (bytes32) {
        return keccak256(
            abi.encode(
                IN_TAG,
                terms.pool,
                terms.asset,
                _receiver(terms.receiver),
                terms.feeCeiling,
                terms.minimum,
                terms.collector,
                terms.refund
            )
        );
    }

    function salt(IForwarders.SourceTerms calldata terms) internal pure returns (bytes32) {
        return keccak256(abi.encode(SOURCE_TAG, terms.recipient, keccak256(abi.encode(terms.lanes)), terms.refund));
    }

    function salt(IForwarders.OutTerms calldata terms) internal pure returns (bytes32) {
        return keccak256(
            abi.encode(
                OUT_TAG,
                terms.pool,
                terms.asset,
                _exit(terms.exit),
                terms.feeCeiling,
                terms.minimum,
                _receiver(terms.refund)
            )
        );
    }

    function _receiver(IForwarders.Receiver calldata receiver) private pure returns (bytes32) {
        return keccak256(abi.encode(receiver.npk, receiver.ephemeralKey, keccak256(receiver.ciphertext)));
    }

    function _exit(IForwarders.Exit calldata exit) private pure returns (bytes32) {
        return keccak256(
            abi.encode(exit.messenger, exit.domain, exit.recipient, exit.caller, keccak256(exit.hook))
        );
    }
}
