// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {IPool} from "../interfaces/IPool.sol";
import {OpenNote} from "../interfaces/ICreditSource.sol";
import {Departures} from "./Departures.sol";
import {Salts} from "./Salts.sol";

/// @title Addresses whose money leaves for one account elsewhere, or comes back as a note
abstract contract Outbound is Departures {
    using Salts for OutTerms;

    function outAddress(OutTerms calldata terms) public view returns (address) {
        return _addressOf(terms.salt());
    }

    function flush(OutTerms calldata terms, uint128 maxFee, uint32 finality) external locked {
        bytes32 salt = terms.salt();
        address vault = _addressOf(salt);
        Exit calldata exit = terms.exit;
        Departure memory how = Departure(
            terms.asset,
            exit.messenger,
            exit.domain,
            exit.recipient,
            exit.caller,
            terms.minimum,
            terms.feeCeiling,
            maxFee,
            finality
        );
        emit Flushed(vault, _depart(vault, salt, how, exit.hook));
    }

    function touchOut(OutTerms calldata terms) external locked {
        _touch(outAddress(terms), terms.asset, terms.minimum);
    }

    function returnOut(OutTerms calldata terms) external locked {
        address vault = outAddress(terms);
        uint256 held = _held(terms.asset, vault);
        if (held == 0) revert NothingHeld();
        _requireTimeout(vault, terms.asset, held, terms.minimum);
        _credit(terms.pool, terms.asset);
    }

    function returnOtherOut(OutTerms calldata terms, address token) external locked {
        if (token == terms.asset) revert OwnAsset(token);
        if (token != address(0) && IPool(terms.pool).isAsset(token)) {
            _credit(terms.pool, token);
            return;
        }
        address to = _account(terms.exit, token);
        bytes32 salt = terms.salt();
        address vault = _addressOf(salt);
        emit Refunded(vault, token, to, _payAll(vault, salt, token, to));
    }

    /// @dev In the pool's call: all of that asset into the refund note.
    function _bringReturn(address asset, bytes calldata order) internal returns (OpenNote[] memory notes) {
        OutTerms calldata terms = _readTerms(order);
        // That pool and no other: it was asked for by name, and the vault's address commits to it.
        if (terms.pool != msg.sender) revert NotExpected();
        bytes32 salt = terms.salt();
        address vault = _addressOf(salt);
        (uint64 leafIndex,) = IPool(msg.sender).queue();
        _stopClock(vault, asset);
        uint256 held = _payAll(vault, salt, asset, msg.sender);
        if (!_isNote(terms.refund, held)) revert NoteInvalid();
        notes = new OpenNote[](1);
        notes[0] = _noteOf(terms.refund, held);
        broughtCount = 1;
        emit Returned(vault, asset, leafIndex, held);
    }

    /// @dev A recipient with a hook or a caller is a contract of the other chain; here its address is nobody's.
    function _account(Exit calldata exit, address token) private pure returns (address) {
        uint256 recipient = uint256(exit.recipient);
        bool isAccount =
            recipient != 0 && recipient <= type(uint160).max && exit.hook.length == 0 && exit.caller == 0;
        if (!isAccount) revert NoWayBack(token);
        return address(uint160(recipient));
    }

    /// @dev The first argument of `returnOut` and `returnOtherOut`.
    function _readTerms(bytes calldata order) private pure returns (OutTerms calldata terms) {
        assembly ("memory-safe") {
            let arguments := add(order.offset, 4)
            terms := add(arguments, calldataload(arguments))
        }
    }
}
