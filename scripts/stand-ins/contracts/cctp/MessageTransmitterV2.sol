// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {Attesters} from "./Attesters.sol";

interface IMessageHandlerV2 {
    function handleReceiveFinalizedMessage(
        uint32 sourceDomain,
        bytes32 sender,
        uint32 finalityThresholdExecuted,
        bytes calldata messageBody
    ) external returns (bool);

    function handleReceiveUnfinalizedMessage(
        uint32 sourceDomain,
        bytes32 sender,
        uint32 finalityThresholdExecuted,
        bytes calldata messageBody
    ) external returns (bool);
}

/// @title DEVELOPMENT ONLY: stands in for Circle's MessageTransmitterV2
/// @notice The same messages to the byte, the same events, refusals in the same words and the same order. Anybody may send
/// any message, and it is attested like every other: a message is no proof of money.
///
/// Header, 148 bytes: version 4, sourceDomain 4, destinationDomain 4, nonce 32, sender 32, recipient 32,
/// destinationCaller 32, minFinalityThreshold 4, finalityThresholdExecuted 4. Nonce and finalityThresholdExecuted are zero
/// when it is sent; the attesters fill them in.
contract MessageTransmitterV2 is Attesters {
    uint32 public constant version = 1;
    uint256 public constant NONCE_USED = 1;
    uint256 private constant HEADER_BYTES = 148;
    uint32 private constant FINALIZED = 2_000;

    uint32 public immutable localDomain;
    uint256 public maxMessageBodySize = 8_192;
    mapping(bytes32 nonce => uint256) public usedNonces;

    event MessageSent(bytes message);
    event MessageReceived(
        address indexed caller,
        uint32 sourceDomain,
        bytes32 indexed nonce,
        bytes32 sender,
        uint32 indexed finalityThresholdExecuted,
        bytes messageBody
    );

    constructor(uint32 domain, address[] memory attesters, uint256 threshold) Attesters(attesters, threshold) {
        localDomain = domain;
        // As emitted, a message has this nonce: it must never arrive so.
        usedNonces[0] = NONCE_USED;
    }

    function sendMessage(
        uint32 destinationDomain,
        bytes32 recipient,
        bytes32 destinationCaller,
        uint32 minFinalityThreshold,
        bytes calldata messageBody
    ) external whenNotPaused {
        require(destinationDomain != localDomain, "Domain is local domain");
        require(messageBody.length <= maxMessageBodySize, "Message body exceeds max size");
        require(recipient != 0, "Recipient must be nonzero");
        bytes memory header = abi.encodePacked(version, localDomain, destinationDomain, bytes32(0), _word(msg.sender));
        emit MessageSent(
            abi.encodePacked(header, recipient, destinationCaller, minFinalityThreshold, uint32(0), messageBody)
        );
    }

    function receiveMessage(bytes calldata message, bytes calldata attestation)
        external
        whenNotPaused
        returns (bool)
    {
        _requireAttested(message, attestation);
        _requireForUs(message);
        bytes32 nonce = bytes32(message[12:44]);
        require(usedNonces[nonce] == 0, "Nonce already used");
        usedNonces[nonce] = NONCE_USED;
        _deliver(message);
        emit MessageReceived(
            msg.sender,
            uint32(bytes4(message[4:8])),
            nonce,
            bytes32(message[44:76]),
            uint32(bytes4(message[144:148])),
            message[HEADER_BYTES:]
        );
        return true;
    }

    function _requireForUs(bytes calldata message) private view {
        require(message.length >= HEADER_BYTES, "Invalid message: too short");
        require(uint32(bytes4(message[8:12])) == localDomain, "Invalid destination domain");
        bytes32 caller = bytes32(message[108:140]);
        require(caller == 0 || caller == _word(msg.sender), "Invalid caller for message");
        require(uint32(bytes4(message[0:4])) == version, "Invalid message version");
    }

    function _deliver(bytes calldata message) private {
        uint32 sourceDomain = uint32(bytes4(message[4:8]));
        bytes32 sender = bytes32(message[44:76]);
        IMessageHandlerV2 recipient = IMessageHandlerV2(address(uint160(uint256(bytes32(message[76:108])))));
        uint32 executed = uint32(bytes4(message[144:148]));
        bytes calldata body = message[HEADER_BYTES:];
        if (executed < FINALIZED) {
            require(
                recipient.handleReceiveUnfinalizedMessage(sourceDomain, sender, executed, body),
                "handleReceiveUnfinalizedMessage() failed"
            );
        } else {
            require(
                recipient.handleReceiveFinalizedMessage(sourceDomain, sender, executed, body),
                "handleReceiveFinalizedMessage() failed"
            );
        }
    }

    function _word(address account) private pure returns (bytes32) {
        return bytes32(uint256(uint160(account)));
    }
}
