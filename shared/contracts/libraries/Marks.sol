// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

/// @title What a nullifier's word says: which statement spent it, with which proof and on which root, and where its leaves are
/// @notice The word is written anyway, so this costs nothing. A refutation must name exactly what was executed. Were
/// only the commitments in it, or a nullifier, a robbed key could have somebody's true leaves voided with a false
/// statement that names them; were it the statement without its proof, with the true statement and a false proof.
///
///   name[24] isAgain[1 bit] rootNumber[31 bits] firstLeafIndex[4]
///
/// Of a swap only the first nullifier has this word. The second names what the pool measured in the place of the proof: so the
/// swap's own note can be made again (see Suspensions).
library Marks {
    /// In the place of a deposit's mark: its leaves became void, and its money went back to the depositor.
    uint256 internal constant RETURNED = type(uint256).max;
    uint256 private constant PLACE_BITS = 64;
    uint256 private constant INDEX_BITS = 32;
    uint256 private constant NUMBER_MASK = 2 ** 31 - 1;
    uint256 private constant AGAIN = 2 ** 63;

    /// @param number of the root that it was proved on; 0 for a deposit, as the empty tree's, which is never revoked
    function make(bytes32 statementHash, bytes32 proofHash, uint256 number, uint256 leafIndex)
        internal
        pure
        returns (uint256)
    {
        return _name(statementHash, proofHash) | number << INDEX_BITS | leafIndex;
    }

    function isOf(uint256 mark, bytes32 statementHash, bytes32 proofHash) internal pure returns (bool) {
        return mark >> PLACE_BITS << PLACE_BITS == _name(statementHash, proofHash);
    }

    /// @notice When a deposit's leaves became void: then the time stands in the place of the mark. No mark is as small.
    /// @return time zero for every other mark
    function voidedAt(uint256 mark) internal pure returns (uint256 time) {
        return mark >> PLACE_BITS == 0 ? mark : 0;
    }

    function firstLeafIndex(uint256 mark) internal pure returns (uint64) {
        return uint32(mark);
    }

    function rootNumber(uint256 mark) internal pure returns (uint40) {
        return uint40(mark >> INDEX_BITS & NUMBER_MASK);
    }

    /// @notice The same mark, of a statement that came again.
    function asAgain(uint256 mark) internal pure returns (uint256) {
        return mark | AGAIN;
    }

    function isAgain(uint256 mark) internal pure returns (bool) {
        return mark & AGAIN != 0;
    }

    function _name(bytes32 statementHash, bytes32 proofHash) private pure returns (uint256 name) {
        assembly ("memory-safe") {
            mstore(0, statementHash)
            mstore(32, proofHash)
            name := keccak256(0, 64)
        }
        return name >> PLACE_BITS << PLACE_BITS;
    }
}
