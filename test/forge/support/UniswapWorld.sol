// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {TestToken} from "./TestToken.sol";
import {World} from "./World.sol";

interface UniswapFactory {
    function createPool(address tokenA, address tokenB, uint24 fee) external returns (address);
}

interface UniswapPool {
    function token0() external view returns (address);
    function token1() external view returns (address);
    function initialize(uint160 sqrtPriceX96) external;
    function mint(address recipient, int24 tickLower, int24 tickUpper, uint128 amount, bytes calldata data)
        external
        returns (uint256 amount0, uint256 amount1);
}

/// @title A world with real Uniswap v3 in it
/// @notice The published artefacts of the npm package, and the executor that goes with them.
abstract contract UniswapWorld is World {
    string private constant FACTORY =
        "node_modules/@uniswap/v3-core/artifacts/contracts/UniswapV3Factory.sol/UniswapV3Factory.json";
    uint128 private constant LIQUIDITY = 1 << 80;

    /// @dev Three pools of the 0.3 % tier at a price of one, with liquidity around it but not everywhere.
    /// The executor is announced and set as an owner would.
    function _useUniswap() internal {
        UniswapFactory factory = UniswapFactory(_deploy(FACTORY, "", 0));
        _provide(UniswapPool(factory.createPool(address(usdc), address(euro), 3000)));
        _provide(UniswapPool(factory.createPool(address(usdc), address(yen), 3000)));
        _provide(UniswapPool(factory.createPool(address(yen), address(euro), 3000)));
        address executor = _deployBuilt("UniswapV3Executor", abi.encode(factory));
        vm.prank(OWNER);
        pool.proposeExecutor(executor);
        vm.warp(block.timestamp + pool.changeDelay());
        pool.setExecutor(executor);
    }

    function _provide(UniswapPool market) private {
        market.initialize(1 << 96);
        market.mint(address(this), -60_000, 60_000, LIQUIDITY, "");
    }

    function uniswapV3MintCallback(uint256 amount0, uint256 amount1, bytes calldata) external {
        TestToken(UniswapPool(msg.sender).token0()).mint(msg.sender, amount0);
        TestToken(UniswapPool(msg.sender).token1()).mint(msg.sender, amount1);
    }
}
