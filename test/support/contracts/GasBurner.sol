// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

/// @title FOR TESTS: an account that takes every signature where nobody pays for gas, as in simulations, and burns all
/// its gas in a block
contract GasBurner {
    function isValidSignature(bytes32, bytes calldata) external view returns (bytes4) {
        while (tx.gasprice > 0) {}
        return this.isValidSignature.selector;
    }
}
