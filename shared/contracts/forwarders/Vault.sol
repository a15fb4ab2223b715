// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

/// @title What stands at every forwarder's address
/// @notice Does what `Forwarders` says, and nothing for anybody else. Each is a clone (ERC-1167) of one implementation
/// and has no storage and nothing to set up, so there is no moment in which it could be taken over.
contract Vault {
    /// In the code and not in storage: a clone reads the implementation's.
    address private immutable master;

    /// Most of an answer that is handed on: whoever answers must not choose what copying it costs.
    uint256 private constant MAX_ANSWER = 128;

    constructor() {
        master = msg.sender;
    }

    /// @notice A bridge gives back what was paid too much for its messages.
    receive() external payable {}

    /// @notice Calls `target` with `data` and the value of this call; answers or reverts with what comes back.
    function act(address target, bytes calldata data) external {
        // Also in the implementation itself, which nobody should be able to destroy or send anywhere.
        if (msg.sender != master) revert();
        assembly ("memory-safe") {
            let start := mload(0x40)
            calldatacopy(start, data.offset, data.length)
            let isDone := call(gas(), target, 0, start, data.length, 0, 0)
            let size := returndatasize()
            if gt(size, MAX_ANSWER) { size := MAX_ANSWER }
            returndatacopy(start, 0, size)
            if iszero(isDone) { revert(start, size) }
            return(start, size)
        }
    }

    /// @notice Sends all coins that are here.
    function actCoin(address to) external returns (uint256 amount) {
        if (msg.sender != master) revert();
        amount = address(this).balance;
        (bool isDone,) = to.call{value: amount}("");
        if (!isDone) revert();
    }
}
