// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {IMessenger, IMinter} from "../interfaces/IMessenger.sol";
import {IToken} from "../interfaces/IToken.sol";
import {BoundedCall} from "../libraries/BoundedCall.sol";
import {CreditOrders} from "./CreditOrders.sol";
import {Vault} from "./Vault.sol";

/// @title How money leaves for another chain
/// @notice A vault's balance, or of it what the messenger burns at once, by CCTP v2, to what the terms name. The messenger
/// stands in the terms: a hostile one takes its own vault's money and no other's. The caller chooses fee and speed, within
/// the ceiling.
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
        uint256 held = _held(how.token, vault);
        if (held == 0 || held < how.minimum) revert BelowMinimum(held, how.minimum);
        amount = _burnable(how, held);
        bytes memory message = _messageOf(how, hook, amount);
        _stopClock(vault, how.token);
        _wake(vault, salt);
        _act(vault, how.token, abi.encodeCall(IToken.approve, (how.messenger, amount)));
        _act(vault, how.messenger, message);
        // A messenger that did nothing must not look as if it had. With the money its allowance is used up, too.
        uint256 left = _held(how.token, vault);
        if (left != held - amount) revert NotTaken(left);
    }

    /// @dev Were the caller to choose, a stranger could send a balance on in many parts, with a fee of each. Of a limit below
    /// the minimum, or of none, the messenger itself speaks.
    function _burnable(Departure memory how, uint256 held) private view returns (uint256) {
        (bool isDone, uint256 size, uint256 word) =
            BoundedCall.read(how.messenger, abi.encodeCall(IMessenger.localMinter, ()));
        if (!isDone || size < 32) return held;
        (isDone, size, word) =
            BoundedCall.read(address(uint160(word)), abi.encodeCall(IMinter.burnLimitsPerMessage, (how.token)));
        bool isLimit = isDone && size >= 32 && word != 0 && word >= how.minimum;
        return isLimit && word < held ? word : held;
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
