// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {CctpOwned} from "../cctp/CctpRoles.sol";
import {MessageTransmitterV2} from "../cctp/MessageTransmitterV2.sol";
import {TokenMessengerV2} from "../cctp/TokenMessengerV2.sol";
import {CoreDepositWallet, IHeldToken} from "./CoreDepositWallet.sol";

/// @title DEVELOPMENT ONLY: stands in for Circle's CctpForwarder on the exchange's own chain
/// @notice A burn that names this contract as recipient, and an account in its hook, ends as money of that account on the
/// exchange. Calls, event, refusals and their order as in github.com/circlefin/hyperevm-circle-contracts at ffcc978,
/// `src/CctpForwarder.sol` and `src/messages/CctpForwarderHookData.sol`. What is odd about it:
///
/// - The event does not say of which message it is. In its transaction the transmitter's `MessageReceived`, whose caller is
///   this contract, comes before it and says so.
/// - The hook: version at 24, recipient at 32, destination at 52. Magic bytes and length are not looked at; 52 bytes are
///   enough, the destination is 0 then; more bytes are allowed; no destination is refused.
/// - A recipient that is refused is refused permanently: where this contract is the only caller, the burn is lost.
/// - Of the mint recipient 20 bytes count, whatever stands before them.
/// - It cannot be paused; transmitter, messenger, minter and wallet can, each by itself.
/// - The wallet of a token can be taken away and another one put in its place.
contract CctpForwarder is CctpOwned {
    uint32 public constant supportedMessageVersion = 1;
    uint32 public constant supportedBurnMessageVersion = 1;
    uint256 private constant BODY_AT = 148;
    uint256 private constant HOOK_AT = BODY_AT + 228;

    MessageTransmitterV2 public immutable messageTransmitter;
    TokenMessengerV2 public immutable tokenMessenger;
    mapping(address token => address) public tokenToForwardingAddress;

    event MintAndForward(
        address indexed forwardRecipient,
        address indexed forwardingAddress,
        address indexed token,
        uint32 destinationId,
        uint256 amount
    );
    event ForwardingAddressAdded(address token, address forwardingAddress);
    event ForwardingAddressRemoved(address token, address forwardingAddress);

    constructor(address transmitter, address messenger, address token, address wallet) {
        messageTransmitter = MessageTransmitterV2(transmitter);
        tokenMessenger = TokenMessengerV2(messenger);
        addTokenForwardingAddress(token, wallet);
    }

    /// @notice Anybody may call. What counts is what is minted here.
    function mintAndForward(bytes calldata message, bytes calldata attestation) external {
        (address recipient, uint32 destination) = _orderIn(message);
        address token = tokenMessenger.localMinter()
            .getLocalToken(uint32(bytes4(message[4:8])), bytes32(message[BODY_AT + 4:BODY_AT + 36]));
        address wallet = tokenToForwardingAddress[token];
        require(wallet != address(0), "Forwarding address not set");
        require(recipient != address(0) && recipient != token && recipient != wallet, "Invalid forward recipient");

        uint256 before = IHeldToken(token).balanceOf(address(this));
        require(messageTransmitter.receiveMessage(message, attestation), "Failed to receive message");
        uint256 amount = IHeldToken(token).balanceOf(address(this)) - before;
        require(amount > 0, "No tokens minted");

        require(IHeldToken(token).approve(wallet, amount), "Failed to approve");
        CoreDepositWallet(wallet).depositFor(recipient, amount, destination);
        emit MintAndForward(recipient, wallet, token, destination, amount);
    }

    function addTokenForwardingAddress(address token, address wallet) public onlyOwner {
        require(wallet != address(0), "Zero address not allowed");
        require(tokenToForwardingAddress[token] == address(0), "Forwarding address already set");
        tokenToForwardingAddress[token] = wallet;
        emit ForwardingAddressAdded(token, wallet);
    }

    function removeTokenForwardingAddress(address token) external onlyOwner {
        address wallet = tokenToForwardingAddress[token];
        require(wallet != address(0), "Token forwarding address not set");
        delete tokenToForwardingAddress[token];
        emit ForwardingAddressRemoved(token, wallet);
    }

    function _orderIn(bytes calldata message) private view returns (address recipient, uint32 destination) {
        require(message.length >= BODY_AT, "Invalid message: too short");
        require(uint32(bytes4(message[0:4])) == supportedMessageVersion, "Unsupported message version");
        require(message.length >= HOOK_AT, "Invalid burn message: too short");
        require(
            uint32(bytes4(message[BODY_AT:BODY_AT + 4])) == supportedBurnMessageVersion,
            "Unsupported burn message version"
        );
        require(_address(message[76:108]) == address(tokenMessenger), "Invalid message recipient");
        require(_address(message[BODY_AT + 36:BODY_AT + 68]) == address(this), "Mint recipient must be forwarder");

        bytes calldata hook = message[HOOK_AT:];
        require(hook.length >= 52, "Invalid hook data: too short");
        require(uint32(bytes4(hook[24:28])) == 0, "Invalid hook data: version");
        recipient = address(bytes20(hook[32:52]));
        destination = hook.length < 56 ? 0 : uint32(bytes4(hook[52:56]));
    }

    function _address(bytes calldata word) private pure returns (address) {
        return address(uint160(uint256(bytes32(word))));
    }
}
