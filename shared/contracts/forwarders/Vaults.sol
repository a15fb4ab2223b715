// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {IForwarders} from "../interfaces/IForwarders.sol";
import {IToken} from "../interfaces/IToken.sol";
import {BoundedCall} from "../libraries/BoundedCall.sol";
import {Vault} from "./Vault.sol";

/// @title Vaults: where they stand, how they come to be, what they are told
/// @notice Holds the one lock. Tokens, pools and messengers are chosen by whoever writes terms, so any of
/// them may be hostile and may call back: while one call runs, no other begins.
abstract contract Vaults is IForwarders {
    address public immutable vaultImplementation;
    bytes32 public immutable vaultCodeHash;

    bool private transient isLocked;

    /// ERC-1167: creation code before and after the implementation's address.
    bytes20 private constant CLONE_BEFORE = hex"3d602d80600a3d3981f3363d3d373d3d3d363d73";
    bytes15 private constant CLONE_AFTER = hex"5af43d82803e903d91602b57fd5bf3";

    constructor() {
        vaultImplementation = address(new Vault());
        vaultCodeHash = keccak256(_creationCode());
    }

    modifier locked() {
        _lock();
        _;
        isLocked = false;
    }

    function _lock() private {
        if (isLocked) revert Reentered();
        isLocked = true;
    }

    /// @dev EIP-1014.
    function _addressOf(bytes32 salt) internal view returns (address) {
        return address(uint160(uint256(keccak256(abi.encodePacked(bytes1(0xff), address(this), salt, vaultCodeHash)))));
    }

    /// @dev A vault acts for the first time: until then its address only holds money.
    function _wake(address vault, bytes32 salt) internal {
        if (vault.code.length != 0) return;
        bytes memory code = _creationCode();
        address made;
        assembly ("memory-safe") {
            made := create2(0, add(code, 32), mload(code), salt)
        }
        // Nobody else can have code there, and the constructor cannot fail: only gas can be short.
        if (made != vault) revert TransferRefused("");
    }

    function _creationCode() private view returns (bytes memory) {
        return abi.encodePacked(CLONE_BEFORE, vaultImplementation, CLONE_AFTER);
    }

    /// @dev Through the token alone, so an answer with megabytes costs its own caller.
    function _held(address token, address vault) internal view returns (uint256 amount) {
        bool isDone;
        uint256 size;
        (isDone, size, amount) = BoundedCall.read(token, abi.encodeCall(IToken.balanceOf, (vault)));
        if (!isDone || size < 32) revert TransferRefused("");
    }

    /// @dev The vault, which is awake, sends tokens.
    /// @return isDone and else why not, as the token said
    function _tryPay(address vault, address token, address to, uint256 amount)
        internal
        returns (bool isDone, bytes memory reason)
    {
        uint256 size;
        uint256 word;
        (isDone, size, word) =
            BoundedCall.send(vault, abi.encodeCall(Vault.act, (token, abi.encodeCall(IToken.transfer, (to, amount)))));
        if (!isDone) return (false, BoundedCall.reason());
        isDone = size == 0 ? token.code.length != 0 : size >= 32 && word == 1;
    }

    function _pay(address vault, address token, address to, uint256 amount) internal {
        (bool isDone, bytes memory reason) = _tryPay(vault, token, to, amount);
        if (!isDone) revert TransferRefused(reason);
    }

    /// @dev All of a token, or of the chain's coin (token zero), to `to`. Says nothing to anybody.
    function _payAll(address vault, bytes32 salt, address token, address to) internal returns (uint256 amount) {
        if (token == address(0)) {
            if (vault.balance == 0) revert NothingHeld();
            _wake(vault, salt);
            return Vault(payable(vault)).actCoin(to);
        }
        amount = _held(token, vault);
        if (amount == 0) revert NothingHeld();
        _wake(vault, salt);
        _pay(vault, token, to, amount);
    }
}
