// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

/// @title The commitment tree, recomputed: what shared/protocol/tree.ts calls `Frontier`
interface ITreeHasher {
    /// There are so many nodes, and the base-4 digits of the index ask for another number.
    error FrontierLength(uint256 given);
    /// A node or leaf at or above r would be a second spelling of another one.
    error NotCanonical(uint256 word);
    /// The last place stays empty, so that every leaf count has a frontier.
    error TreeFull();

    /// @notice The caller compares `oldRoot` with one that it knows: the frontier is as untrusted as whoever sent it.
    /// @param frontier complete left siblings of the next free leaf's ancestors, level 0 first, left to right
    /// (`Frontier.nodes()`); the digits of `fromIndex` in base 4 say how many a level has. A node may be an empty one.
    /// @param leaves to append. Zero is a void leaf: the empty leaf, in a place that stays taken.
    /// @return oldRoot of the first `fromIndex` leaves
    /// @return newRoot of those and `leaves`
    function append(uint256[] calldata frontier, uint64 fromIndex, uint256[] calldata leaves)
        external
        view
        returns (uint256 oldRoot, uint256 newRoot);
}
