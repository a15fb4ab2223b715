// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

/// @title What a nullifier's word says: which statement spent it, with which proof, and where its leaves are
/// @notice The word is written anyway, so this costs nothing. A refutation must name exactly what was executed. Were
/// only the commitments in it, or a nullifier, a robbed key could have somebody's true leaves voided with a false
/// statement that names them; were it the statement without its proof, with the true statement and a false proof.
library Marks {
    /// In the place of a deposit's mark: its leaves became void, and its money went back to the depositor.
    uint256 internal constant RETURNED = type(uint256).max;
    /// The low bits hold the index of the first leaf.
    uint256 private constant INDEX_MASK = 2 ** 40 - 1;

    function make(bytes32 statementHash, bytes32 proofHash, uint64 leafIndex) internal pure returns (uint256) {
        return _name(statementHash, proofHash) | leafIndex;
    }

    function isOf(uint256 mark, bytes32 statementHash, bytes32 proofHash) internal pure returns (bool) {
        return mark & ~INDEX_MASK == _name(statementHash, proofHash);
    }

    /// @notice When a deposit's leaves became void: then the time stands in the place of the mark. No mark is as small.
    /// @return time zero for every other mark
    function voidedAt(uint256 mark) internal pure returns (uint256 time) {
        return mark <= INDEX_MASK ? mark : 0;
    }

    function firstLeafIndex(uint256 mark) internal pure returns (uint64) {
        return uint64(mark & INDEX_MASK);
    }

    function _name(bytes32 statementHash, bytes32 proofHash) private pure returns (uint256 name) {
        assembly ("memory-safe") {
            mstore(0, statementHash)
            mstore(32, proofHash)
            name := keccak256(0, 64)
        }
        return name & ~INDEX_MASK;
    }
}
