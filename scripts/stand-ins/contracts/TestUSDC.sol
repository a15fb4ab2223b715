// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {TestToken} from "./TestToken.sol";

/// @title DEVELOPMENT ONLY: a dollar that anybody may print
/// @notice Behaves towards the pool as Circle's USDC v2.2 does (6 decimals, EIP-2612, EIP-3009 with both
/// spellings of a signature, contract signers by EIP-1271), so that a deposit tried here is a deposit there.
/// Worth nothing, anywhere.
contract TestUSDC is TestToken("USD Coin", "USDC", 6) {
    string public constant version = "2";

    bytes32 private constant DOMAIN_TYPE =
        keccak256("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)");
    bytes32 private constant PERMIT_TYPE =
        keccak256("Permit(address owner,address spender,uint256 value,uint256 nonce,uint256 deadline)");
    bytes32 private constant TRANSFER_TYPE = keccak256(
        "TransferWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)"
    );
    bytes32 private constant RECEIVE_TYPE = keccak256(
        "ReceiveWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)"
    );
    bytes32 private constant CANCEL_TYPE = keccak256("CancelAuthorization(address authorizer,bytes32 nonce)");
    uint256 private constant MAX_S = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0;

    mapping(address owner => uint256) public nonces;
    mapping(address authorizer => mapping(bytes32 nonce => bool)) public authorizationState;

    event AuthorizationUsed(address indexed authorizer, bytes32 indexed nonce);
    event AuthorizationCanceled(address indexed authorizer, bytes32 indexed nonce);

    error SignatureInvalid();
    error SignatureExpired();
    error AuthorizationNotYetValid();
    error AuthorizationExpired();
    error AuthorizationUsedOrCanceled();
    error CallerNotPayee();

    // ------------------------------------------------------------------ EIP-2612

    function permit(address owner, address spender, uint256 value, uint256 deadline, uint8 v, bytes32 r, bytes32 s)
        external
    {
        permit(owner, spender, value, deadline, abi.encodePacked(r, s, v));
    }

    function permit(address owner, address spender, uint256 value, uint256 deadline, bytes memory signature) public {
        if (block.timestamp > deadline) revert SignatureExpired();
        bytes memory message = abi.encode(PERMIT_TYPE, owner, spender, value, nonces[owner]++, deadline);
        _requireSigned(owner, message, signature);
        _approve(owner, spender, value);
    }

    // ------------------------------------------------------------------ EIP-3009

    function transferWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        uint8 v,
        bytes32 r,
        bytes32 s
    ) external {
        transferWithAuthorization(from, to, value, validAfter, validBefore, nonce, abi.encodePacked(r, s, v));
    }

    function transferWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        bytes memory signature
    ) public {
        _requireTime(validAfter, validBefore);
        _requireSigned(from, abi.encode(TRANSFER_TYPE, from, to, value, validAfter, validBefore, nonce), signature);
        _useNonce(from, nonce);
        _transfer(from, to, value);
    }

    function receiveWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        uint8 v,
        bytes32 r,
        bytes32 s
    ) external {
        receiveWithAuthorization(from, to, value, validAfter, validBefore, nonce, abi.encodePacked(r, s, v));
    }

    /// @dev Only the payee may call, so nobody can take the authorization out of the pool's call and use it
    /// before, which would leave the money in the pool without a note.
    function receiveWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        bytes memory signature
    ) public {
        if (to != msg.sender) revert CallerNotPayee();
        _requireTime(validAfter, validBefore);
        _requireSigned(from, abi.encode(RECEIVE_TYPE, from, to, value, validAfter, validBefore, nonce), signature);
        _useNonce(from, nonce);
        _transfer(from, to, value);
    }

    function cancelAuthorization(address authorizer, bytes32 nonce, uint8 v, bytes32 r, bytes32 s) external {
        cancelAuthorization(authorizer, nonce, abi.encodePacked(r, s, v));
    }

    function cancelAuthorization(address authorizer, bytes32 nonce, bytes memory signature) public {
        _requireSigned(authorizer, abi.encode(CANCEL_TYPE, authorizer, nonce), signature);
        if (authorizationState[authorizer][nonce]) revert AuthorizationUsedOrCanceled();
        authorizationState[authorizer][nonce] = true;
        emit AuthorizationCanceled(authorizer, nonce);
    }

    // ------------------------------------------------------------------ inside

    function DOMAIN_SEPARATOR() public view returns (bytes32) {
        return
            keccak256(abi.encode(DOMAIN_TYPE, keccak256("USD Coin"), keccak256(bytes(version)), block.chainid, address(this)));
    }

    function _requireTime(uint256 validAfter, uint256 validBefore) private view {
        if (block.timestamp <= validAfter) revert AuthorizationNotYetValid();
        if (block.timestamp >= validBefore) revert AuthorizationExpired();
    }

    function _useNonce(address authorizer, bytes32 nonce) private {
        if (authorizationState[authorizer][nonce]) revert AuthorizationUsedOrCanceled();
        authorizationState[authorizer][nonce] = true;
        emit AuthorizationUsed(authorizer, nonce);
    }

    function _requireSigned(address signer, bytes memory message, bytes memory signature) private view {
        bytes32 digest = keccak256(abi.encodePacked(hex"1901", DOMAIN_SEPARATOR(), keccak256(message)));
        if (signer.code.length != 0) {
            (bool isDone, bytes memory answer) =
                signer.staticcall(abi.encodeWithSignature("isValidSignature(bytes32,bytes)", digest, signature));
            if (!isDone || answer.length < 32 || abi.decode(answer, (bytes32)) != bytes32(bytes4(0x1626ba7e))) {
                revert SignatureInvalid();
            }
            return;
        }
        if (signature.length != 65) revert SignatureInvalid();
        bytes32 r;
        bytes32 s;
        uint8 v;
        assembly ("memory-safe") {
            r := mload(add(signature, 32))
            s := mload(add(signature, 64))
            v := byte(0, mload(add(signature, 96)))
        }
        if (uint256(s) > MAX_S || (v != 27 && v != 28)) revert SignatureInvalid();
        if (signer == address(0) || ecrecover(digest, v, r, s) != signer) revert SignatureInvalid();
    }
}
