// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

library Accounts {
    /// EIP-7702: the code of an account whose holder points it, by a signature, at any contract at any time.
    bytes3 private constant DELEGATION = 0xef0100;
    uint256 private constant DELEGATION_BYTES = 23;

    /// @notice Code that stays what it is. (A proxy's stays as well; what it calls is for whoever reads the proposal.)
    function isContract(address account) internal view returns (bool) {
        uint256 size = account.code.length;
        if (size != DELEGATION_BYTES) return size != 0;
        bytes32 start;
        assembly ("memory-safe") {
            mstore(0, 0)
            extcodecopy(account, 0, 0, 3)
            start := mload(0)
        }
        return bytes3(start) != DELEGATION;
    }
}
