// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {ICreditSource, OpenNote} from "../../../shared/contracts/interfaces/ICreditSource.sol";
import {IPool} from "../../../shared/contracts/interfaces/IPool.sol";
import {IToken} from "../../../shared/contracts/interfaces/IToken.sol";

/// @title FOR TESTS: a contract that brings money as it is told, and misbehaves on request
/// @notice Moves what it holds itself. All that it does stands in the order.
contract ConfigurableSource is ICreditSource {
    enum Behaviour {
        Honest,
        Calls,
        AnswersRaw,
        RevertsAtLength,
        BurnsGas
    }

    /// @param moved what goes to the pool, whatever the notes say
    /// @param target called before the money moves, with `message`
    /// @param answered by `AnswersRaw`, byte for byte
    struct Order {
        Behaviour behaviour;
        uint256 moved;
        address target;
        bytes message;
        bytes answered;
        OpenNote[] notes;
    }

    /// What came of the call.
    bytes public answer;
    bool public wasRefused;

    function credit(address pool, address asset, bytes calldata order) external returns (uint64) {
        return IPool(pool).credit(asset, order);
    }

    function creditTwice(address pool, address asset, bytes calldata first, bytes calldata second) external {
        IPool(pool).credit(asset, first);
        IPool(pool).credit(asset, second);
    }

    /// @param payment a call of the pool's `execute`
    function creditAfter(address pool, bytes calldata payment, address asset, bytes calldata order) external {
        _pay(pool, payment);
        IPool(pool).credit(asset, order);
    }

    function creditBefore(address pool, bytes calldata payment, address asset, bytes calldata order) external {
        IPool(pool).credit(asset, order);
        _pay(pool, payment);
    }

    function _pay(address pool, bytes calldata payment) private {
        (bool isDone,) = pool.call(payment);
        require(isDone, "not paid");
    }

    /// @inheritdoc ICreditSource
    function bringCredit(address asset, bytes calldata order) external returns (OpenNote[] memory) {
        Order memory told = abi.decode(order, (Order));
        if (told.behaviour == Behaviour.Calls) {
            bool isDone;
            (isDone, answer) = told.target.call(told.message);
            wasRefused = !isDone;
        }
        if (told.moved != 0) IToken(asset).transfer(msg.sender, told.moved);
        if (told.behaviour == Behaviour.BurnsGas) while (true) {}
        bytes memory answered = told.answered;
        if (told.behaviour == Behaviour.AnswersRaw) {
            assembly ("memory-safe") {
                return(add(answered, 32), mload(answered))
            }
        }
        if (told.behaviour == Behaviour.RevertsAtLength) {
            assembly ("memory-safe") {
                revert(add(answered, 32), mload(answered))
            }
        }
        return told.notes;
    }
}
