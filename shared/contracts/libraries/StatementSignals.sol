// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

/// @title The table of kinds, and names for their public signals
/// @dev The one place in Solidity where a signal's position is written. A test compares it with
/// shared/protocol/statements.ts, which another compares with the compiled circuits.
///
///   without inputs: context, asset, amountIn, commitments
///   with inputs:    context, root, asset, amountOut, nullifiers, commitments
///
/// The readers do not look at the array's length: `count` must have been checked before. (Checking at every
/// access cost 1,500 gas a transfer.)
library StatementSignals {
    /// Order r of BN254's scalar field. x and x + r are one scalar to the pairing, so a signal at or above r
    /// would be a second spelling: of a nullifier, a second spend.
    uint256 internal constant FIELD_ORDER = 0x30644e72e131a029b85045b68181585d2833e84879b9709143e1f593f0000001;

    uint8 internal constant DEPOSIT_SHIELD = 1;
    uint8 internal constant SPEND = 2;
    uint8 internal constant SPEND9 = 3;
    uint8 internal constant PRIVATE_SWAP = 4;

    /// They are numbered from 1 on.
    uint256 internal constant KINDS = 4;
    /// No kind adds more leaves than this; the queue's checkpoints rely on it.
    uint256 internal constant MAX_LEAVES = 4;

    /// @return inputs notes spent: one nullifier each
    /// @return outputs notes whose commitments are signals; 0 for a kind that is not in the table
    /// @return leaves notes made, one ciphertext each; of a swap one more than `outputs`, which the pool hashes
    function shapeOf(uint8 kind) internal pure returns (uint256 inputs, uint256 outputs, uint256 leaves) {
        if (kind == SPEND) return (2, 4, 4);
        if (kind == DEPOSIT_SHIELD) return (0, 3, 3);
        if (kind == PRIVATE_SWAP) return (2, 3, 4);
        if (kind == SPEND9) return (9, 4, 4);
    }

    function count(uint256 inputs, uint256 outputs) internal pure returns (uint256) {
        unchecked {
            return _firstNullifier(inputs) + inputs + outputs;
        }
    }

    /// @notice The name of a statement: everything that was proved, and nothing that says who vouches for it.
    function statementHash(uint256[] calldata signals, uint8 kind, uint64 deadline, bytes32 extHash)
        internal
        pure
        returns (bytes32)
    {
        return keccak256(abi.encode(kind, deadline, signals, extHash));
    }

    function context(uint256[] calldata signals) internal pure returns (uint256) {
        return item(signals, 0);
    }

    /// @dev Only where there are inputs.
    function root(uint256[] calldata signals) internal pure returns (uint256) {
        return item(signals, 1);
    }

    function asset(uint256[] calldata signals, uint256 inputs) internal pure returns (uint256) {
        return item(signals, inputs == 0 ? 1 : 2);
    }

    /// @dev amountIn where there are no inputs, else amountOut.
    function amount(uint256[] calldata signals, uint256 inputs) internal pure returns (uint256) {
        return item(signals, inputs == 0 ? 2 : 3);
    }

    function nullifiers(uint256[] calldata signals, uint256 inputs) internal pure returns (uint256[] calldata) {
        return _slice(signals, _firstNullifier(inputs), inputs);
    }

    /// @dev Only where there are two inputs or more.
    function secondNullifier(uint256[] calldata signals) internal pure returns (uint256) {
        return item(signals, 5);
    }

    function commitments(uint256[] calldata signals, uint256 inputs, uint256 outputs)
        internal
        pure
        returns (uint256[] calldata)
    {
        unchecked {
            return _slice(signals, _firstNullifier(inputs) + inputs, outputs);
        }
    }

    /// @dev Nullifiers and commitments, which stand one behind the other.
    function noteHashes(uint256[] calldata signals, uint256 inputs, uint256 outputs)
        internal
        pure
        returns (uint256[] calldata)
    {
        unchecked {
            return _slice(signals, _firstNullifier(inputs), inputs + outputs);
        }
    }

    /// @notice Position of the first signal at or above r; the number of signals when all are below.
    function firstOutOfRange(uint256[] calldata signals) internal pure returns (uint256 position) {
        uint256 order = FIELD_ORDER;
        assembly ("memory-safe") {
            let start := signals.offset
            let end := add(start, shl(5, signals.length))
            let here := start
            for {} lt(here, end) { here := add(here, 32) } {
                if iszero(lt(calldataload(here), order)) { break }
            }
            position := shr(5, sub(here, start))
        }
    }

    function _firstNullifier(uint256 inputs) private pure returns (uint256) {
        return inputs == 0 ? 3 : 4;
    }

    /// @dev Unchecked: for an array whose length is known.
    function item(uint256[] calldata signals, uint256 position) internal pure returns (uint256 signal) {
        assembly ("memory-safe") {
            signal := calldataload(add(signals.offset, shl(5, position)))
        }
    }

    function _slice(uint256[] calldata signals, uint256 from, uint256 length)
        private
        pure
        returns (uint256[] calldata slice)
    {
        assembly ("memory-safe") {
            slice.offset := add(signals.offset, shl(5, from))
            slice.length := length
        }
    }
}
