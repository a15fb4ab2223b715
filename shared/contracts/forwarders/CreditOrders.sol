// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {IPool} from "../interfaces/IPool.sol";
import {OpenNote} from "../interfaces/ICreditSource.sol";
import {RefundClock} from "./RefundClock.sol";

/// @title Money into a pool, asked for by the pool
/// @notice A pool measures what arrives inside `credit`, so the vaults pay in the middle of it, when the pool calls
/// `bringCredit`. The order that goes there and back is the calldata of our own call, and only its hash is remembered: the
/// pool that was asked gets exactly what was asked for, once.
abstract contract CreditOrders is RefundClock {
    /// What may be brought now; zero: nothing.
    bytes32 private transient expected;
    /// Who called, for `bringCredit`, whose caller is the pool.
    address internal transient carrier;
    /// How many notes were paid for, fees aside: a pool that never asked has done nothing.
    uint256 internal transient broughtCount;

    uint256 private constant FIELD_ORDER = 0x30644e72e131a029b85045b68181585d2833e84879b9709143e1f593f0000001;
    uint256 private constant CIPHERTEXT_BYTES = 53;

    /// @dev The running call is the order.
    function _credit(address pool, address asset) internal returns (uint256 count) {
        expected = _nameOf(pool, asset, msg.data);
        carrier = msg.sender;
        broughtCount = 0;
        IPool(pool).credit(asset, msg.data);
        expected = 0;
        count = broughtCount;
        if (count == 0) revert NotExpected();
    }

    /// @dev The pool that calls may take what it was offered, once.
    function _redeem(address asset, bytes calldata order) internal {
        if (expected == 0 || _nameOf(msg.sender, asset, order) != expected) revert NotExpected();
        expected = 0;
    }

    function _nameOf(address pool, address asset, bytes calldata order) private pure returns (bytes32) {
        return keccak256(abi.encode(pool, asset, keccak256(order)));
    }

    /// @dev The pool refuses all notes of a call when one is none, so it is looked at here, alone.
    function _isNote(Receiver calldata receiver, uint256 value) internal pure returns (bool) {
        return receiver.npk != 0 && receiver.npk < FIELD_ORDER && receiver.ciphertext.length == CIPHERTEXT_BYTES
            && value <= type(uint128).max;
    }

    function _noteOf(Receiver calldata receiver, uint256 value) internal pure returns (OpenNote memory) {
        return OpenNote(receiver.npk, uint128(value), receiver.ephemeralKey, receiver.ciphertext);
    }
}
