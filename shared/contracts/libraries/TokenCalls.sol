// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {IPoolTypes} from "../interfaces/IPoolTypes.sol";
import {IToken} from "../interfaces/IToken.sol";
import {BoundedCall} from "./BoundedCall.sol";

/// @title Moving tokens and measuring what moved
/// @notice Trusts no token: an answer is believed only as far as the pool's own balance confirms it.
library TokenCalls {
    /// EIP-3009 as it stands, with v, r and s.
    bytes4 private constant BY_KEY = bytes4(
        keccak256("receiveWithAuthorization(address,address,uint256,uint256,uint256,bytes32,uint8,bytes32,bytes32)")
    );
    /// With a signature that the depositor's own code judges (EIP-1271); USDC has it since its version 2.2.
    bytes4 private constant BY_CODE =
        bytes4(keccak256("receiveWithAuthorization(address,address,uint256,uint256,uint256,bytes32,bytes)"));

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
        bytes memory data = authorization.length == 65
            ? abi.encodeWithSelector(
                BY_KEY,
                from,
                address(this),
                amount,
                validAfter,
                validBefore,
                nonce,
                uint8(authorization[64]),
                bytes32(authorization[0:32]),
                bytes32(authorization[32:64])
            )
            : abi.encodeWithSelector(
                BY_CODE, from, address(this), amount, validAfter, validBefore, nonce, authorization
            );
        _receive(token, amount, data);
    }

    /// @notice Pays exactly `amount` to `to`. What the recipient's balance does is between the token and
    /// them; what the pool's balance does is checked.
    function push(address token, address to, uint256 amount) internal {
        uint256 before = balance(token);
        send(token, to, amount);
        expect(amount, before, balance(token));
    }

    /// @notice Pays without measuring: for a caller who measures later, over more than this.
    function send(address token, address to, uint256 amount) internal {
        _call(token, abi.encodeCall(IToken.transfer, (to, amount)));
    }

    function balance(address token) internal view returns (uint256 measured) {
        bool isDone;
        uint256 size;
        (isDone, size, measured) = BoundedCall.read(token, abi.encodeCall(IToken.balanceOf, (address(this))));
        if (!isDone || size < 32) revert IPoolTypes.TransferRefused("");
    }

    function expect(uint256 amount, uint256 more, uint256 less) internal pure {
        uint256 measured = more > less ? more - less : 0;
        if (measured != amount) revert IPoolTypes.TransferMismatch(amount, measured);
    }

    function _receive(address token, uint256 amount, bytes memory data) private {
        uint256 before = balance(token);
        _call(token, data);
        expect(amount, balance(token), before);
    }

    /// @dev Succeeds when the call does and answers true, or answers nothing and is a contract.
    function _call(address token, bytes memory data) private {
        (bool isDone, uint256 size, uint256 word) = BoundedCall.send(token, data);
        if (!isDone) revert IPoolTypes.TransferRefused(BoundedCall.reason());
        _mustBeTrue(token, size, word);
    }

    function _mustBeTrue(address token, uint256 size, uint256 word) private view {
        bool isTrue = size == 0 ? token.code.length > 0 : size >= 32 && word == 1;
        if (!isTrue) revert IPoolTypes.TransferRefused("");
    }
}
