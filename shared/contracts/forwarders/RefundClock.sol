// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {Vaults} from "./Vaults.sol";

/// @title When money that nobody moved may go back
/// @notice One clock for each vault and token. Anyone starts it by showing that money is there, and after a day anyone
/// may send it back. What was there as dust is no reason to send back what came later: a clock that dust started counts
/// for dust alone, or a stranger who pays a grain a day early could have every deposit refunded as it arrives.
abstract contract RefundClock is Vaults {
    uint256 private constant TIMEOUT = 1 days;

    /// One slot. What was there, and not whether it was the minimum: lanes of one token share the clock, each with its own.
    struct Record {
        uint64 startedAt;
        uint128 amount;
    }

    mapping(address vault => mapping(address token => Record)) private records;

    function since(address vault, address token) external view returns (uint64 startedAt, uint128 amount) {
        Record memory record = records[vault][token];
        return (record.startedAt, record.amount);
    }

    /// @dev Repeated, it changes nothing and says nothing.
    function _touch(address vault, address token, uint256 minimum) internal {
        uint256 held = _held(token, vault);
        if (held == 0) revert NothingHeld();
        Record memory record = records[vault][token];
        bool hasMinimum = held >= minimum;
        if (record.startedAt != 0 && (record.amount >= minimum || !hasMinimum)) return;
        records[vault][token] =
            Record(uint64(block.timestamp), held > type(uint128).max ? type(uint128).max : uint128(held));
        emit Touched(vault, token, held, hasMinimum);
    }

    /// @dev What is held leaves: the next money gets a clock of its own.
    function _stopClock(address vault, address token) internal {
        if (records[vault][token].startedAt != 0) delete records[vault][token];
    }

    /// @dev Reverts unless the clock lets `held` go back now.
    function _requireTimeout(address vault, address token, uint256 held, uint256 minimum) internal view {
        Record memory record = records[vault][token];
        if (record.startedAt == 0 || (held >= minimum && record.amount < minimum)) revert TooEarly(0);
        uint256 allowedFrom = record.startedAt + TIMEOUT;
        if (block.timestamp < allowedFrom) revert TooEarly(uint64(allowedFrom));
    }

    /// @dev For in- and source-addresses.
    function _refund(address vault, bytes32 salt, address token, uint256 minimum, address to) internal {
        uint256 held = _held(token, vault);
        if (held == 0) revert NothingHeld();
        // Nobody would sweep it, so its owner need not wait; nobody else may spend the owner's patience.
        if (held >= minimum || msg.sender != to) _requireTimeout(vault, token, held, minimum);
        _stopClock(vault, token);
        _wake(vault, salt);
        _pay(vault, token, to, held);
        emit Refunded(vault, token, to, held);
    }

    function _refundOther(address vault, bytes32 salt, address token, address to) internal {
        emit Refunded(vault, token, to, _payAll(vault, salt, token, to));
    }
}
