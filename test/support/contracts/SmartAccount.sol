// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

/// @title FOR TESTS: an account of two keys whose code judges signatures (EIP-1271), 130 bytes of them
contract SmartAccount {
    address private immutable first;
    address private immutable second;

    constructor(address first_, address second_) {
        first = first_;
        second = second_;
    }

    function isValidSignature(bytes32 hash, bytes calldata signature) external view returns (bytes4) {
        bool isBoth = signature.length == 130 && _signer(hash, signature[:65]) == first
            && _signer(hash, signature[65:]) == second;
        return isBoth ? this.isValidSignature.selector : bytes4(0xffffffff);
    }

    function _signer(bytes32 hash, bytes calldata signature) private pure returns (address) {
        return ecrecover(hash, uint8(signature[64]), bytes32(signature[:32]), bytes32(signature[32:64]));
    }
}
