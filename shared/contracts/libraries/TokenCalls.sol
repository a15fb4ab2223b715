// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {IPool} from "../interfaces/IPool.sol";
import {IToken} from "../interfaces/IToken.sol";

/// @title Moving tokens and measuring what moved
/// @notice Trusts no token: an answer is believed only as far as the pool's own balance confirms it.
library TokenCalls {
    /// A token may answer with megabytes; copying them would burn the gas of the whole member.
    uint256 private constant MAX_REASON = 128;

    /// @notice Takes exactly `amount` from `from`, who has approved the pool.
    function pull(address token, address from, uint256 amount) internal {
        _receive(token, amount, abi.encodeCall(IToken.transferFrom, (from, address(this), amount)));
    }

    /// @notice Takes exactly `amount` with the owner's EIP-3009 authorization.
    /// @dev `receiveWithAuthorization`, never `transferWithAuthorization`: the token lets only the payee use
    /// it, so nobody can use the authorization up without the note being made.
    function pullAuthorized(
        address token,
        address from,
        uint256 amount,
        uint64 validAfter,
        uint64 validBefore,
        bytes32 nonce,
        bytes calldata authorization
    ) internal {
        bytes32 r = bytes32(authorization[0:32]);
        bytes32 s = bytes32(authorization[32:64]);
        uint8 v = uint8(authorization[64]);
        _receive(
            token,
            amount,
            abi.encodeCall(
                IToken.receiveWithAuthorization,
                (from, address(this), amount, validAfter, validBefore, nonce, v, r, s)
            )
        );
    }

    /// @notice Pays exactly `amount` to `to`. What the recipient's balance does is between the token and
    /// them; what the pool's balance does is checked.
    function push(address token, address to, uint256 amount) internal {
        uint256 before = _balance(token);
        _call(token, abi.encodeCall(IToken.transfer, (to, amount)));
        _expect(amount, before, _balance(token));
    }

    function _receive(address token, uint256 amount, bytes memory data) private {
        uint256 before = _balance(token);
        _call(token, data);
        _expect(amount, _balance(token), before);
    }

    function _expect(uint256 amount, uint256 more, uint256 less) private pure {
        uint256 measured = more > less ? more - less : 0;
        if (measured != amount) revert IPool.TransferMismatch(amount, measured);
    }

    function _balance(address token) private view returns (uint256 measured) {
        bytes memory data = abi.encodeCall(IToken.balanceOf, (address(this)));
        bool isGood;
        assembly ("memory-safe") {
            isGood := staticcall(gas(), token, add(data, 32), mload(data), 0, 32)
            isGood := and(isGood, gt(returndatasize(), 31))
            measured := mload(0)
        }
        if (!isGood) revert IPool.TransferRefused("");
    }

    /// @dev Succeeds when the call does and answers true, or answers nothing and is a contract.
    function _call(address token, bytes memory data) private {
        bool isGood;
        bytes memory reason;
        assembly ("memory-safe") {
            isGood := call(gas(), token, 0, add(data, 32), mload(data), 0, 32)
            switch isGood
            case 0 {
                let size := returndatasize()
                if gt(size, MAX_REASON) { size := MAX_REASON }
                reason := mload(0x40)
                mstore(reason, size)
                returndatacopy(add(reason, 32), 0, size)
                mstore(0x40, add(reason, add(32, MAX_REASON)))
            }
            default {
                switch returndatasize()
                case 0 { isGood := gt(extcodesize(token), 0) }
                default { isGood := and(gt(returndatasize(), 31), eq(mload(0), 1)) }
                reason := 0x60 // the empty bytes
            }
        }
        if (!isGood) revert IPool.TransferRefused(reason);
    }
}
