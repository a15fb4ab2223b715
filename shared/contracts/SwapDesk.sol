// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {Brakes} from "./Brakes.sol";
import {StatementRules} from "./StatementRules.sol";
import {IExecutor} from "./interfaces/IExecutor.sol";
import {INoteHasher} from "./interfaces/INoteHasher.sol";
import {BoundedCall} from "./libraries/BoundedCall.sol";
import {Ext} from "./libraries/Ext.sol";
import {Marks} from "./libraries/Marks.sol";
import {TokenCalls} from "./libraries/TokenCalls.sol";

/// @title A swap: exact input out, whatever comes back becomes a note
/// @notice The executor gets the amount of one swap, never an approval, and is believed in nothing: what
/// counts is by how much the pool's own balances changed. Runs inside the lock and inside a call that fails as
/// a whole, so nobody can enter a deposit with the money that this swap counts, and a failure leaves the notes.
abstract contract SwapDesk is StatementRules, Brakes {
    /// @dev Only after `_apply`: the three committed notes are in the queue, this one comes behind them.
    /// @param nullifier its second
    function _swap(bytes calldata ext, Statement memory statement, uint256 nullifier) internal {
        address tokenOut = Ext.tokenOut(ext);
        _openWindow(tokenOut);
        uint256 received = _trade(ext, tokenOut, statement);

        uint256 floor = Ext.minAmountOut(ext);
        if (received < floor) revert FloorMissed(floor, received);
        // The circuits know no note of such a value.
        if (received > type(uint128).max) revert AmountOutOfRange();

        _countIn(tokenOut, received);
        // Whoever has to show the swap again can show by this what it brought.
        spentBy[nullifier] = Marks.make(
            statement.hash, bytes32(received), statement.rootNumber, position.leafCount - statement.outputs
        );
        uint256 npk = Ext.npkOut(ext);
        uint256 commitment = INoteHasher(noteHasher).hash(npk, uint160(tokenOut), received);
        uint64 leafIndex = _appendHashed(commitment);
        emit NoteHashed(statement.hash, leafIndex, commitment, npk, tokenOut, received);
    }

    /// @dev Both balances are read before anything moves: were the two tokens two names of one balance, the
    /// money that goes out must not count as money that came in.
    function _trade(bytes calldata ext, address tokenOut, Statement memory statement)
        private
        returns (uint256 received)
    {
        address tokenIn = statement.token;
        address venue = currentExecutor;
        uint256 givenBefore = TokenCalls.balance(tokenIn);
        uint256 receivedBefore = TokenCalls.balance(tokenOut);

        TokenCalls.send(tokenIn, venue, statement.amount);
        (bool isDone,,) = BoundedCall.send(
            venue,
            abi.encodeCall(
                IExecutor.swap,
                (tokenIn, statement.amount, Ext.feeFirst(ext), Ext.middle(ext), Ext.feeSecond(ext), tokenOut)
            )
        );
        if (!isDone) revert SwapFailed(BoundedCall.reason());

        TokenCalls.expect(statement.amount, givenBefore, TokenCalls.balance(tokenIn));
        uint256 receivedAfter = TokenCalls.balance(tokenOut);
        return receivedAfter > receivedBefore ? receivedAfter - receivedBefore : 0;
    }
}
