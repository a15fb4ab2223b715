// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {IToken} from "../../../shared/contracts/interfaces/IToken.sol";

/// @title The development dollar as tests see it: `stand-ins/contracts/TestUSDC.sol`
interface TestToken is IToken {
    function mint(address to, uint256 value) external;
}
