// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

/// @title A venue behind one call
/// @notice The pool trusts it with the amount of the running call and no more: it measures what comes back and
/// holds it against the user's floor.
interface IExecutor {
    /// @notice Swaps `amountIn` of `tokenIn`, which the caller has just sent here, whole or not at all, and sends
    /// what it gives to the caller. One hop when `middle` is zero, else tokenIn → middle → tokenOut.
    /// @param feeFirst tier of the first pool in hundredths of a basis point; feeSecond of the second, 0 without one
    function swap(
        address tokenIn,
        uint256 amountIn,
        uint24 feeFirst,
        address middle,
        uint24 feeSecond,
        address tokenOut
    ) external;
}
