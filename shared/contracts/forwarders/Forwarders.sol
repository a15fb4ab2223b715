// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {ICreditSource, OpenNote} from "../interfaces/ICreditSource.sol";
import {Inbound} from "./Inbound.sol";
import {Outbound} from "./Outbound.sol";
import {Sources} from "./Sources.sol";

/// @title All forwarders of a chain
/// @notice No owner, no setting, no money of its own: see IForwarders.sol.
contract Forwarders is Inbound, Sources, Outbound {
    /// @inheritdoc ICreditSource
    /// @dev Only in the middle of our own `credit`, by the pool that was asked, for what it was asked, once.
    function bringCredit(address asset, bytes calldata order) external returns (OpenNote[] memory notes) {
        _redeem(asset, order);
        return bytes4(order) == this.sweep.selector ? _bringSweeps(asset, order) : _bringReturn(asset, order);
    }
}
