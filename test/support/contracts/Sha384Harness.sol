// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {Sha384} from "../../../shared/contracts/nitro/Sha384.sol";

/// @title FOR TESTS: SHA-384 of one message, or of every beginning of one
contract Sha384Harness {
    function hash(bytes calldata message) external pure returns (bytes32 hi, bytes16 lo) {
        return Sha384.hash(message);
    }

    /// @return digests 48 bytes each, of the first `from` bytes, of one more, and so on up to `to` bytes
    function hashes(bytes calldata message, uint256 from, uint256 to) external pure returns (bytes memory digests) {
        for (uint256 length = from; length <= to; ++length) {
            (bytes32 hi, bytes16 lo) = Sha384.hash(message[:length]);
            digests = bytes.concat(digests, hi, lo);
        }
    }

    /// @return used gas of hashing `message`, without the call around it
    function gasOf(bytes memory message) external view returns (uint256 used) {
        used = gasleft();
        Sha384.hash(message);
        used -= gasleft();
    }
}
