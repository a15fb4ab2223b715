// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {CctpRoles} from "./CctpRoles.sol";

interface IMintBurnToken {
    function mint(address to, uint256 amount) external returns (bool);
    function burn(uint256 amount) external;
    function transferFrom(address from, address to, uint256 amount) external returns (bool);
}

/// @title DEVELOPMENT ONLY: stands in for Circle's TokenMinterV2
contract TokenMinterV2 is CctpRoles {
    address public localTokenMessenger;
    mapping(address token => uint256) public burnLimitsPerMessage;
    mapping(bytes32 domainAndToken => address localToken) public remoteTokensToLocalTokens;

    event LocalTokenMessengerAdded(address localTokenMessenger);
    event TokenPairLinked(address localToken, uint32 remoteDomain, bytes32 remoteToken);
    event SetBurnLimitPerMessage(address indexed token, uint256 burnLimitPerMessage);

    modifier onlyLocalTokenMessenger() {
        require(
            localTokenMessenger != address(0) && msg.sender == localTokenMessenger, "Caller not local TokenMessenger"
        );
        _;
    }

    function addLocalTokenMessenger(address messenger) external onlyOwner {
        require(messenger != address(0), "Invalid TokenMessenger address");
        require(localTokenMessenger == address(0), "Local TokenMessenger already set");
        localTokenMessenger = messenger;
        emit LocalTokenMessengerAdded(messenger);
    }

    function linkTokenPair(address localToken, uint32 remoteDomain, bytes32 remoteToken) external onlyOwner {
        bytes32 key = _key(remoteDomain, remoteToken);
        require(remoteTokensToLocalTokens[key] == address(0), "Unable to link token pair");
        remoteTokensToLocalTokens[key] = localToken;
        emit TokenPairLinked(localToken, remoteDomain, remoteToken);
    }

    function setMaxBurnAmountPerMessage(address localToken, uint256 limit) external onlyOwner {
        burnLimitsPerMessage[localToken] = limit;
        emit SetBurnLimitPerMessage(localToken, limit);
    }

    function getLocalToken(uint32 remoteDomain, bytes32 remoteToken) public view returns (address) {
        return remoteTokensToLocalTokens[_key(remoteDomain, remoteToken)];
    }

    function burn(address token, uint256 amount) external whenNotPaused onlyLocalTokenMessenger {
        uint256 limit = burnLimitsPerMessage[token];
        require(limit > 0, "Burn token not supported");
        require(amount <= limit, "Burn amount exceeds per tx limit");
        IMintBurnToken(token).burn(amount);
    }

    function mint(uint32 sourceDomain, bytes32 burnToken, address to, uint256 amount)
        external
        whenNotPaused
        onlyLocalTokenMessenger
        returns (address token)
    {
        token = _supported(sourceDomain, burnToken);
        require(IMintBurnToken(token).mint(to, amount), "Mint operation failed");
    }

    function mint(
        uint32 sourceDomain,
        bytes32 burnToken,
        address recipientOne,
        address recipientTwo,
        uint256 amountOne,
        uint256 amountTwo
    ) external whenNotPaused onlyLocalTokenMessenger returns (address token) {
        token = _supported(sourceDomain, burnToken);
        require(IMintBurnToken(token).mint(recipientOne, amountOne), "First mint operation failed");
        require(IMintBurnToken(token).mint(recipientTwo, amountTwo), "Second mint operation failed");
    }

    function _supported(uint32 sourceDomain, bytes32 burnToken) private view returns (address token) {
        token = getLocalToken(sourceDomain, burnToken);
        require(token != address(0), "Mint token not supported");
    }

    function _key(uint32 domain, bytes32 token) private pure returns (bytes32) {
        return keccak256(abi.encodePacked(domain, token));
    }
}
