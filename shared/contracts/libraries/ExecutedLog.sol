// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {IPoolTypes} from "../interfaces/IPoolTypes.sol";

/// @title The bytes of the event `Executed`
/// @notice Packed, since every byte of a log costs 8 gas. The layout stands at the event; how many note hashes and
/// ciphertexts there are follows from the kind (StatementSignals.shapeOf), so no length is written and two
/// statements never have the same bytes. Twin of `readExecuted` in shared/protocol/host/executed-log.ts.
library ExecutedLog {
    /// @param noteHashes nullifiers, then commitments
    /// @param ciphertexts the ephemeral key and one ciphertext for each leaf
    /// @param moved asset, amount and party; empty where no token moves
    function write(
        bytes32 statementHash,
        uint8 kind,
        uint64 firstLeafIndex,
        bytes32 proofHash,
        uint256[] calldata noteHashes,
        bytes calldata ciphertexts,
        bytes memory moved
    ) internal {
        bytes memory data = abi.encodePacked(kind, firstLeafIndex, proofHash, noteHashes, ciphertexts, moved);
        bytes32 topic = IPoolTypes.Executed.selector;
        assembly ("memory-safe") {
            log2(add(data, 32), mload(data), topic, statementHash)
        }
    }
}
