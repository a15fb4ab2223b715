// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {IPool} from "../interfaces/IPool.sol";
import {OpenNote} from "../interfaces/ICreditSource.sol";
import {CreditOrders} from "./CreditOrders.sol";
import {Salts} from "./Salts.sol";

/// @title Addresses whose money becomes a note
abstract contract Inbound is CreditOrders {
    using Salts for InTerms;

    function inAddress(InTerms calldata terms) public view returns (address) {
        return _addressOf(terms.salt());
    }

    function sweep(Sweep[] calldata sweeps, Receiver[] calldata) external locked returns (uint256 done) {
        if (sweeps.length == 0) revert NothingSwept("");
        InTerms calldata terms = sweeps[0].terms;
        return _credit(terms.pool, terms.asset);
    }

    function touch(InTerms calldata terms) external locked {
        _touch(inAddress(terms), terms.asset, terms.minimum);
    }

    function refund(InTerms calldata terms) external locked {
        bytes32 salt = terms.salt();
        _refund(_addressOf(salt), salt, terms.asset, terms.minimum, terms.refund);
    }

    function refundOther(InTerms calldata terms, address token) external locked {
        if (token == terms.asset) revert OwnAsset(token);
        bytes32 salt = terms.salt();
        _refundOther(_addressOf(salt), salt, token, terms.refund);
    }

    /// @dev In the pool's call. Notes of the sweeps in their order, then one for each collector that gets something.
    function _bringSweeps(address asset, bytes calldata order) internal returns (OpenNote[] memory notes) {
        (Sweep[] calldata sweeps, Receiver[] calldata collectors) = _readSweeps(order);
        notes = new OpenNote[](sweeps.length + collectors.length);
        uint256[] memory collected = new uint256[](collectors.length);
        // A view that a hostile pool may answer as it likes: it is for the log alone.
        (uint64 leafIndex,) = IPool(msg.sender).queue();
        uint256 count = 0;
        bytes memory firstReason;
        for (uint256 i = 0; i < sweeps.length; ++i) {
            (uint256 amount, bytes memory reason) = _sweepOne(sweeps[i], asset, leafIndex + count, collected);
            if (amount != 0) notes[count++] = _noteOf(sweeps[i].terms.receiver, amount);
            else if (firstReason.length == 0) firstReason = reason;
        }
        if (count == 0) revert NothingSwept(firstReason);
        broughtCount = count;
        for (uint256 i = 0; i < collectors.length; ++i) {
            if (collected[i] != 0) notes[count++] = _noteOf(collectors[i], collected[i]);
        }
        assembly ("memory-safe") {
            mstore(notes, count)
        }
    }

    /// @return amount of the note; 0: nothing happened, for the reason
    function _sweepOne(Sweep calldata one, address asset, uint256 leafIndex, uint256[] memory collected)
        private
        returns (uint256 amount, bytes memory reason)
    {
        InTerms calldata terms = one.terms;
        bytes32 salt = terms.salt();
        address vault = _addressOf(salt);
        uint256 fees = _sum(one.fees);
        uint256 held;
        (held, reason) = _look(terms, asset, vault, fees, one.fees.length > collected.length);
        if (reason.length == 0) {
            _wake(vault, salt);
            bool isPaid;
            (isPaid, reason) = _tryPay(vault, asset, msg.sender, held);
            if (!isPaid) reason = abi.encodeWithSelector(TransferRefused.selector, reason);
        }
        if (reason.length != 0) {
            emit SweepSkipped(vault, reason);
            return (0, reason);
        }
        _stopClock(vault, asset);
        for (uint256 i = 0; i < one.fees.length; ++i) {
            collected[i] += one.fees[i];
        }
        amount = held - fees;
        emit Swept(vault, uint64(leafIndex), amount, fees);
    }

    /// @dev Changes nothing. What is held counts, whatever any message said.
    function _look(InTerms calldata terms, address asset, address vault, uint256 fees, bool isMalformed)
        private
        view
        returns (uint256 held, bytes memory fault)
    {
        // The pool that asked is the pool of the terms: it can take what is meant for it and nothing else.
        if (terms.pool != msg.sender || terms.asset != asset) return (0, abi.encodeWithSelector(Mixed.selector));
        if (isMalformed) return (0, abi.encodeWithSelector(FeesMalformed.selector));
        if (fees > terms.feeCeiling) {
            return (0, abi.encodeWithSelector(FeesAboveCeiling.selector, fees, terms.feeCeiling));
        }
        if (fees != 0 && carrier != terms.collector) {
            return (0, abi.encodeWithSelector(NotCollector.selector, carrier));
        }
        held = _held(asset, vault);
        if (held < terms.minimum || held <= fees) {
            return (0, abi.encodeWithSelector(BelowMinimum.selector, held, terms.minimum));
        }
        if (!_isNote(terms.receiver, held)) return (0, abi.encodeWithSelector(NoteInvalid.selector));
    }

    function _sum(uint128[] calldata fees) private pure returns (uint256 sum) {
        for (uint256 i = 0; i < fees.length; ++i) {
            sum += fees[i];
        }
    }

    /// @dev The arguments of `sweep`, which the compiler has read once: the order is that call's own bytes.
    function _readSweeps(bytes calldata order)
        private
        pure
        returns (Sweep[] calldata sweeps, Receiver[] calldata collectors)
    {
        assembly ("memory-safe") {
            let arguments := add(order.offset, 4)
            let at := add(arguments, calldataload(arguments))
            sweeps.length := calldataload(at)
            sweeps.offset := add(at, 32)
            at := add(arguments, calldataload(add(arguments, 32)))
            collectors.length := calldataload(at)
            collectors.offset := add(at, 32)
        }
    }
}
