// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {CctpRoles} from "../cctp/CctpRoles.sol";
import {MessageTransmitterV2} from "../cctp/MessageTransmitterV2.sol";

interface IHeldToken {
    function balanceOf(address account) external view returns (uint256);
    function transfer(address to, uint256 value) external returns (bool);
}

/// @title DEVELOPMENT ONLY: stands in for the forwarder of the exchange's own chain
/// @notice A burn that names this contract as recipient and as destination caller, and an account in its hook, ends as money
/// of that account on the exchange. The exchange reads `Forwarded` and believes nothing else.
///
/// Hook, 56 bytes: "cctp-forward" padded to 24, version 4 (0), length 4 (24), recipient 20, destination 4 (0 perpetuals,
/// 4294967295 spot).
contract CctpForwarder is CctpRoles {
    bytes24 private constant MAGIC = "cctp-forward";
    uint256 private constant HOOK_AT = 148 + 228;
    uint256 private constant HOOK_BYTES = 56;
    uint32 private constant SPOT = type(uint32).max;

    MessageTransmitterV2 public immutable transmitter;
    address public immutable token;
    /// Where the exchange keeps the dollars of its accounts.
    address public immutable reserve;

    event Forwarded(address indexed recipient, uint32 destination, uint256 amount, bytes32 nonce);

    constructor(address transmitter_, address token_, address reserve_) {
        transmitter = MessageTransmitterV2(transmitter_);
        token = token_;
        reserve = reserve_;
    }

    /// @notice Delivers a message that names this contract. What counts is what is minted here.
    function relay(bytes calldata message, bytes calldata attestation) external whenNotPaused {
        require(message.length == HOOK_AT + HOOK_BYTES, "Invalid hook length");
        bytes calldata hook = message[HOOK_AT:];
        require(bytes24(hook[0:24]) == MAGIC, "Invalid hook magic");
        require(uint32(bytes4(hook[24:28])) == 0, "Invalid hook version");
        require(uint32(bytes4(hook[28:32])) == 24, "Invalid hook data length");
        address recipient = address(bytes20(hook[32:52]));
        uint32 destination = uint32(bytes4(hook[52:56]));
        require(recipient != address(0), "Invalid recipient");
        require(destination == 0 || destination == SPOT, "Invalid destination");

        uint256 before = IHeldToken(token).balanceOf(address(this));
        require(transmitter.receiveMessage(message, attestation), "Message not received");
        uint256 amount = IHeldToken(token).balanceOf(address(this)) - before;
        require(amount != 0, "Nothing minted");
        require(IHeldToken(token).transfer(reserve, amount), "Transfer operation failed");
        emit Forwarded(recipient, destination, amount, bytes32(message[12:44]));
    }
}
