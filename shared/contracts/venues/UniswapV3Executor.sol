// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {IExecutor} from "../interfaces/IExecutor.sol";
import {IToken} from "../interfaces/IToken.sol";
import {BoundedCall} from "../libraries/BoundedCall.sol";

/// @dev The little of Uniswap v3 that is used here, in our own words.
interface IUniswapV3Factory {
    function getPool(address tokenA, address tokenB, uint24 fee) external view returns (address);
}

interface IUniswapV3Pool {
    /// @param zeroForOne whether token0 is given for token1
    /// @param amountSpecified positive: exactly so much is given
    /// @return amount0 by how much the pool's balance grew, negative when it paid; amount1 likewise
    function swap(
        address recipient,
        bool zeroForOne,
        int256 amountSpecified,
        uint160 sqrtPriceLimitX96,
        bytes calldata data
    ) external returns (int256 amount0, int256 amount1);
}

/// @title Exact input over one or two Uniswap v3 pools
/// @notice Anyone may use it: send the tokens here and call `swap` in the same transaction. It holds nothing
/// between calls, has approved nobody and has no owner; what is left lying here is anybody's. It knows no
/// floor and no deadline: the caller measures what came.
contract UniswapV3Executor is IExecutor {
    /// The ends of Uniswap's range of prices, one inside: no limit of ours, the floor is the protection.
    uint160 private constant LOWEST_PRICE = 4295128739 + 1;
    uint160 private constant HIGHEST_PRICE = 1461446703485210103287273052203988822378723970342 - 1;

    address public immutable factory;

    /// The pool that may ask for payment now; zero outside a hop.
    address private transient creditor;
    bool private transient isEntered;

    /// A token took the moment in which the input lies here to swap it for itself.
    error Reentered();
    error FactoryMissing();
    error PoolMissing(address tokenIn, address tokenOut, uint24 fee);
    /// The pool ran out of liquidity before it took the whole input.
    error PartialFill(uint256 wanted, uint256 taken);
    error NotCreditor();
    error AmountTooLarge();
    error PaymentRefused(bytes reason);

    constructor(address factory_) {
        if (factory_.code.length == 0) revert FactoryMissing();
        factory = factory_;
    }

    /// @inheritdoc IExecutor
    function swap(
        address tokenIn,
        uint256 amountIn,
        uint24 feeFirst,
        address middle,
        uint24 feeSecond,
        address tokenOut
    ) external {
        if (isEntered) revert Reentered();
        isEntered = true;
        if (middle == address(0)) {
            _hop(tokenIn, amountIn, feeFirst, tokenOut, msg.sender);
        } else {
            uint256 between = _hop(tokenIn, amountIn, feeFirst, middle, address(this));
            _hop(middle, between, feeSecond, tokenOut, msg.sender);
        }
        isEntered = false;
    }

    function _hop(address tokenIn, uint256 amountIn, uint24 fee, address tokenOut, address recipient)
        private
        returns (uint256 amountOut)
    {
        // A negative amount would mean exact output.
        if (amountIn > uint256(type(int256).max)) revert AmountTooLarge();
        address pool = IUniswapV3Factory(factory).getPool(tokenIn, tokenOut, fee);
        if (pool == address(0)) revert PoolMissing(tokenIn, tokenOut, fee);
        // The order in which the pool has its two tokens.
        bool zeroForOne = tokenIn < tokenOut;

        creditor = pool;
        (int256 amount0, int256 amount1) = IUniswapV3Pool(pool).swap(
            recipient,
            zeroForOne,
            int256(amountIn),
            zeroForOne ? LOWEST_PRICE : HIGHEST_PRICE,
            abi.encode(tokenIn)
        );
        creditor = address(0);

        (int256 taken, int256 given) = zeroForOne ? (amount0, amount1) : (amount1, amount0);
        if (taken != int256(amountIn)) revert PartialFill(amountIn, uint256(taken));
        return uint256(-given);
    }

    /// @notice The pool of the running hop asks for its input, once.
    function uniswapV3SwapCallback(int256 amount0, int256 amount1, bytes calldata data) external {
        if (msg.sender != creditor) revert NotCreditor();
        creditor = address(0);
        address token = abi.decode(data, (address));
        uint256 owed = uint256(amount0 > 0 ? amount0 : amount1);
        // A token that says no without reverting is the pool's to notice: it measures what it got.
        (bool isDone,,) = BoundedCall.send(token, abi.encodeCall(IToken.transfer, (msg.sender, owed)));
        if (!isDone) revert PaymentRefused(BoundedCall.reason());
    }
}
