// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {IPoolTypes} from "../interfaces/IPoolTypes.sol";

/// @title What an enclave says of itself in the `user_data` of a document
/// @notice domain[16] version[1] type[1] signer[20] configurationHash[32], and at a key's birth 64 bytes more, which say to
/// what it is sealed. The same bytes as `shared/protocol/user-data.ts` makes. Whoever asks for a document chooses its nonce
/// and nothing of this, and every purpose has a type of its own.
library EnclaveClaims {
    bytes16 private constant DOMAIN = "cloister-enclave";
    uint8 private constant VERSION = 2;
    /// A key was just made; a release, type 2, is of no signer; an enclave holds the key now.
    uint8 private constant GENESIS = 1;
    uint8 private constant LIVE = 3;
    uint256 private constant LIVE_BYTES = 70;
    uint256 private constant GENESIS_BYTES = LIVE_BYTES + 64;

    /// @dev Reverts for anything but these two.
    function read(bytes memory userData) internal pure returns (address signer, bytes32 configuration) {
        if (userData.length != LIVE_BYTES && userData.length != GENESIS_BYTES) revert IPoolTypes.UserDataInvalid();
        uint256 head;
        assembly ("memory-safe") {
            head := mload(add(userData, 0x20))
            signer := shr(96, mload(add(userData, 0x32)))
            configuration := mload(add(userData, 0x46))
        }
        uint8 kind = userData.length == LIVE_BYTES ? LIVE : GENESIS;
        bytes18 expected = bytes18(abi.encodePacked(DOMAIN, VERSION, kind));
        if (bytes18(bytes32(head)) != expected) revert IPoolTypes.UserDataInvalid();
    }
}
