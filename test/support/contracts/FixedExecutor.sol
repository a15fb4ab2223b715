// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {IExecutor} from "../../../shared/contracts/interfaces/IExecutor.sol";
import {IToken} from "../../../shared/contracts/interfaces/IToken.sol";

/// @title FOR TESTS: a venue that pays what it was told before, so that a swap's outcome is known beforehand
contract FixedExecutor is IExecutor {
    uint256 public payout;

    function setPayout(uint256 payout_) external {
        payout = payout_;
    }

    function swap(address, uint256, uint24, address, uint24, address tokenOut) external {
        require(IToken(tokenOut).transfer(msg.sender, payout));
    }
}
