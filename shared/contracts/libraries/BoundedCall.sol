// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

/// @title Calls to contracts that may answer with megabytes
/// @notice The compiler's own call copies whatever comes back, and who answers would choose how much gas that
/// burns. Here one word is read, and of a reason at most 128 bytes.
library BoundedCall {
    uint256 private constant MAX_REASON = 128;

    /// @return isDone whether it did not revert; also true for an account without code
    /// @return size of the answer
    /// @return word its first, when it has one
    function send(address target, bytes memory data) internal returns (bool isDone, uint256 size, uint256 word) {
        assembly ("memory-safe") {
            isDone := call(gas(), target, 0, add(data, 32), mload(data), 0, 32)
            size := returndatasize()
            word := mload(0)
        }
    }

    function read(address target, bytes memory data) internal view returns (bool isDone, uint256 size, uint256 word) {
        assembly ("memory-safe") {
            isDone := staticcall(gas(), target, add(data, 32), mload(data), 0, 32)
            size := returndatasize()
            word := mload(0)
        }
    }

    /// @notice Why the last call failed, as far as it is copied.
    function reason() internal pure returns (bytes memory copied) {
        assembly ("memory-safe") {
            let size := returndatasize()
            if gt(size, MAX_REASON) { size := MAX_REASON }
            copied := mload(0x40)
            mstore(copied, size)
            returndatacopy(add(copied, 32), 0, size)
            mstore(0x40, add(copied, add(32, MAX_REASON)))
        }
    }
}
