// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {ConfigurableToken} from "./ConfigurableToken.sol";

/// @title FOR TESTS: a second name for the balances of another token
contract TwinToken {
    ConfigurableToken private immutable of_;

    constructor(ConfigurableToken source) {
        of_ = source;
    }

    function totalSupply() external view returns (uint256) {
        return of_.totalSupply();
    }

    function decimals() external view returns (uint8) {
        return of_.decimals();
    }

    function balanceOf(address account) external view returns (uint256) {
        return of_.balanceOf(account);
    }

    function transfer(address to, uint256 value) external returns (bool) {
        of_.moveFor(msg.sender, to, value);
        return true;
    }
}
