// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

/// @title What forwarders use of CCTP v2's TokenMessengerV2
interface IMessenger {
    function localMinter() external view returns (address);
    function depositForBurn(
        uint256 amount,
        uint32 destinationDomain,
        bytes32 mintRecipient,
        address burnToken,
        bytes32 destinationCaller,
        uint256 maxFee,
        uint32 minFinalityThreshold
    ) external;

    function depositForBurnWithHook(
        uint256 amount,
        uint32 destinationDomain,
        bytes32 mintRecipient,
        address burnToken,
        bytes32 destinationCaller,
        uint256 maxFee,
        uint32 minFinalityThreshold,
        bytes calldata hookData
    ) external;
}

/// @title And of its TokenMinterV2
interface IMinter {
    /// @notice Most of a token that one message burns, in its units; zero where it burns none of it.
    function burnLimitsPerMessage(address token) external view returns (uint256);
}
