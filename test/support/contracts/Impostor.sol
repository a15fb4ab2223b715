// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

/// @title FOR TESTS: somebody who does others' work in one transaction, and says things between that look like theirs
contract Impostor {
    /// To nobody: a log with four topics and some data.
    struct Act {
        address to;
        bytes data;
    }

    function play(Act[] calldata acts) external {
        for (uint256 i = 0; i < acts.length; ++i) {
            if (acts[i].to == address(0)) {
                _say(acts[i].data);
                continue;
            }
            (bool isDone,) = acts[i].to.call(acts[i].data);
            require(isDone, "an act failed");
        }
    }

    function _say(bytes calldata all) private {
        (bytes32 a, bytes32 b, bytes32 c, bytes32 d, bytes memory data) =
            abi.decode(all, (bytes32, bytes32, bytes32, bytes32, bytes));
        assembly ("memory-safe") {
            log4(add(data, 32), mload(data), a, b, c, d)
        }
    }
}
