// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

/// @title What forwarders use of a Hyperlane warp route
interface IWarpRoute {
    /// @notice Takes `amount` from the caller, who has approved it, and sends it to `recipient` on the other domain.
    /// The value pays for the message; too much comes back to the caller.
    function transferRemote(uint32 destination, bytes32 recipient, uint256 amount)
        external
        payable
        returns (bytes32 messageId);
}
