// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {IMessenger} from "../interfaces/IMessenger.sol";
import {IToken} from "../interfaces/IToken.sol";
import {BoundedCall} from "../libraries/BoundedCall.sol";
import {CreditOrders} from "./CreditOrders.sol";
import {Vault} from "./Vault.sol";

/// @title How money leaves for another chain
/// @notice All of a vault's balance by CCTP v2, to what the terms name. The messenger stands in the terms: a hostile one takes its
/// own vault's money and no other's. The caller chooses fee and speed, within the ceiling.
abstract contract Departures is CreditOrders {
    uint32 private constant FAST = 1_000;
    uint32 private constant SAFE = 2_000;

    struct Departure {
        address token;
        address messenger;
        uint32 domain;
        bytes32 recipient;
        bytes32 caller;
        uint256 minimum;
        uint256 feeCeiling;
        uint256 maxFee;
        uint32 finality;
    }

    /// @return amount that left
    function _depart(address vault, bytes32 salt, Departure memory how, bytes memory hook)
        internal
        returns (uint256 amount)
    {
        if (how.maxFee > how.feeCeiling) revert FeesAboveCeiling(how.maxFee, how.feeCeiling);
        amount = _held(how.token, vault);
        if (amount == 0 || amount < how.minimum) revert BelowMinimum(amount, how.minimum);
        bytes memory message = _messageOf(how, hook, amount);
        _stopClock(vault, how.token);
        _wake(vault, salt);
        _act(vault, how.token, abi.encodeCall(IToken.approve, (how.messenger, amount)));
        _act(vault, how.messenger, message);
        // A messenger that did nothing must not look as if it had. With the money its allowance is used up, too.
        uint256 left = _held(how.token, vault);
        if (left != 0) revert NotTaken(left);
    }

    function _messageOf(Departure memory how, bytes memory hook, uint256 amount) private pure returns (bytes memory) {
        if (how.finality != FAST && how.finality != SAFE) revert FinalityUnknown(how.finality);
        if (hook.length == 0) {
            return abi.encodeCall(
                IMessenger.depositForBurn,
                (amount, how.domain, how.recipient, how.token, how.caller, how.maxFee, how.finality)
            );
        }
        return abi.encodeCall(
            IMessenger.depositForBurnWithHook,
            (amount, how.domain, how.recipient, how.token, how.caller, how.maxFee, how.finality, hook)
        );
    }

    function _act(address vault, address target, bytes memory data) private {
        // To an account without code every call succeeds.
        if (target.code.length == 0) revert TransferRefused("");
        (bool isDone, bytes memory answer) = vault.call(abi.encodeCall(Vault.act, (target, data)));
        if (!isDone) revert TransferRefused(answer);
    }
}
