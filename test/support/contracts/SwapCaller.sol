// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {IExecutor} from "../../../shared/contracts/interfaces/IExecutor.sol";
import {IToken} from "../../../shared/contracts/interfaces/IToken.sol";

/// @title FOR TESTS: somebody who is not the pool and uses an executor as it is meant
contract SwapCaller {
    function swap(
        address executor,
        address tokenIn,
        uint256 amountIn,
        uint24 feeFirst,
        address middle,
        uint24 feeSecond,
        address tokenOut
    ) external {
        IToken(tokenIn).transfer(executor, amountIn);
        IExecutor(executor).swap(tokenIn, amountIn, feeFirst, middle, feeSecond, tokenOut);
    }
}
