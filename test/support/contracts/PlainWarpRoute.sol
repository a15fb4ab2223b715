// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {IToken} from "../../../shared/contracts/interfaces/IToken.sol";
import {IWarpRoute} from "../../../shared/contracts/interfaces/IWarpRoute.sol";

/// @title FOR TESTS: a warp route's own interface, with its price and what it gives back
contract PlainWarpRoute is IWarpRoute {
    uint256 public constant PRICE = 1 gwei;
    IToken private immutable token;

    event SentTransferRemote(uint32 indexed destination, bytes32 indexed recipient, uint256 amount);

    error PriceNotPaid();
    error NotGivenBack();

    constructor(address token_) {
        token = IToken(token_);
    }

    function transferRemote(uint32 destination, bytes32 recipient, uint256 amount)
        external
        payable
        returns (bytes32)
    {
        if (msg.value < PRICE) revert PriceNotPaid();
        token.transferFrom(msg.sender, address(this), amount);
        (bool isDone,) = msg.sender.call{value: msg.value - PRICE}("");
        if (!isDone) revert NotGivenBack();
        emit SentTransferRemote(destination, recipient, amount);
        return bytes32(amount);
    }
}
