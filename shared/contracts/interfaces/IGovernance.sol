// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {IPoolTypes} from "./IPoolTypes.sol";

/// @title What the owner and the guardian may do, and nothing else
/// @notice One way in for assets and the executor (and for images, see ISignerRegistry): the owner proposes, everybody sees it for `changeDelay`
/// seconds, then anyone may admit, for seven days; after that it is as if it had not been proposed. One way out:
/// the owner removes, at once, also what is only proposed. A proposal cannot be changed while it is pending.
interface IGovernance is IPoolTypes {
    /// @param minimumCap the cap is never below, in the token's units. Not 0; of an asset that was listed before, the former
    /// one to twice as much
    function proposeAsset(address asset, uint104 minimumCap) external;
    function addAsset(address asset) external;
    /// @notice Stops deposits of it and swaps into or through it; withdrawals and swaps out of it go on. Takes it
    /// back when it is only proposed.
    function delistAsset(address asset) external;

    function proposeExecutor(address venue) external;
    /// @notice It replaces the one there is.
    function setExecutor(address venue) external;
    /// @notice Takes the address, so that it removes the one that was meant, in use or only proposed.
    function removeExecutor(address venue) external;

    /// @notice The guardian closes the attested path for three days. Not again until seven days after that.
    function pause() external;
}
