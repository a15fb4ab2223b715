// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {CctpRoles} from "./CctpRoles.sol";
import {IMessageHandlerV2, MessageTransmitterV2} from "./MessageTransmitterV2.sol";
import {IMintBurnToken, TokenMinterV2} from "./TokenMinterV2.sol";

/// @title DEVELOPMENT ONLY: stands in for Circle's TokenMessengerV2
/// @notice Burns here and mints there. Body, 228 bytes and the hook: version 4, burnToken 32, mintRecipient 32, amount 32,
/// messageSender 32, maxFee 32, feeExecuted 32, expirationBlock 32. The attesters fill in fee and expiration; both
/// are obeyed whatever the finality. Anybody may be minted to, also an address without code.
contract TokenMessengerV2 is CctpRoles, IMessageHandlerV2 {
    uint32 public constant messageBodyVersion = 1;
    uint256 public constant MIN_FEE_MULTIPLIER = 10_000_000;
    uint256 private constant BODY_BYTES = 228;
    /// Below it nothing is final enough to be minted.
    uint32 private constant MIN_FINALITY = 500;

    address public immutable localMessageTransmitter;
    TokenMinterV2 public localMinter;
    mapping(uint32 domain => bytes32) public remoteTokenMessengers;
    address public feeRecipient;
    /// In thousandths of a basis point.
    uint256 public minFee;
    mapping(address account => bool) public isDenylisted;

    event DepositForBurn(
        address indexed burnToken,
        uint256 amount,
        address indexed depositor,
        bytes32 mintRecipient,
        uint32 destinationDomain,
        bytes32 destinationTokenMessenger,
        bytes32 destinationCaller,
        uint256 maxFee,
        uint32 indexed minFinalityThreshold,
        bytes hookData
    );
    event MintAndWithdraw(
        address indexed mintRecipient, uint256 amount, address indexed mintToken, uint256 feeCollected
    );
    event RemoteTokenMessengerAdded(uint32 domain, bytes32 tokenMessenger);
    event LocalMinterAdded(address localMinter);
    event FeeRecipientSet(address feeRecipient);
    event MinFeeSet(uint256 minFee);

    constructor(address transmitter, address feeRecipient_) {
        require(transmitter != address(0), "MessageTransmitter not set");
        localMessageTransmitter = transmitter;
        setFeeRecipient(feeRecipient_);
    }

    modifier notDenylistedCallers() {
        require(!isDenylisted[msg.sender] && !isDenylisted[tx.origin], "Denylistable: account is on denylist");
        _;
    }

    modifier onlyFromRemote(uint32 domain, bytes32 sender) {
        require(msg.sender == localMessageTransmitter, "Invalid message transmitter");
        require(sender != 0 && remoteTokenMessengers[domain] == sender, "Remote TokenMessenger unsupported");
        _;
    }

    // ------------------------------------------------------------------ settings

    function addRemoteTokenMessenger(uint32 domain, bytes32 messenger) external onlyOwner {
        require(messenger != 0, "bytes32(0) not allowed");
        require(remoteTokenMessengers[domain] == 0, "TokenMessenger already set");
        remoteTokenMessengers[domain] = messenger;
        emit RemoteTokenMessengerAdded(domain, messenger);
    }

    function addLocalMinter(address minter) external onlyOwner {
        require(minter != address(0), "Zero address not allowed");
        require(address(localMinter) == address(0), "Local minter is already set.");
        localMinter = TokenMinterV2(minter);
        emit LocalMinterAdded(minter);
    }

    function setFeeRecipient(address recipient) public onlyOwner {
        require(recipient != address(0), "Zero address not allowed");
        feeRecipient = recipient;
        emit FeeRecipientSet(recipient);
    }

    function setMinFee(uint256 fee) external onlyOwner {
        require(fee < MIN_FEE_MULTIPLIER, "Min fee too high");
        minFee = fee;
        emit MinFeeSet(fee);
    }

    function setDenylisted(address account, bool is_) external onlyOwner {
        isDenylisted[account] = is_;
    }

    function getMinFeeAmount(uint256 amount) public view returns (uint256) {
        if (minFee == 0) return 0;
        require(amount > 1, "Amount too low");
        uint256 fee = amount * minFee / MIN_FEE_MULTIPLIER;
        return fee == 0 ? 1 : fee;
    }

    // ------------------------------------------------------------------ out

    function depositForBurn(
        uint256 amount,
        uint32 destinationDomain,
        bytes32 mintRecipient,
        address burnToken,
        bytes32 destinationCaller,
        uint256 maxFee,
        uint32 minFinalityThreshold
    ) external notDenylistedCallers {
        Burn memory burn =
            Burn(amount, destinationDomain, mintRecipient, burnToken, destinationCaller, maxFee, minFinalityThreshold);
        _burn(burn, msg.data[0:0]);
    }

    function depositForBurnWithHook(
        uint256 amount,
        uint32 destinationDomain,
        bytes32 mintRecipient,
        address burnToken,
        bytes32 destinationCaller,
        uint256 maxFee,
        uint32 minFinalityThreshold,
        bytes calldata hookData
    ) external notDenylistedCallers {
        require(hookData.length > 0, "Hook data is empty");
        Burn memory burn =
            Burn(amount, destinationDomain, mintRecipient, burnToken, destinationCaller, maxFee, minFinalityThreshold);
        _burn(burn, hookData);
    }

    struct Burn {
        uint256 amount;
        uint32 destinationDomain;
        bytes32 mintRecipient;
        address token;
        bytes32 destinationCaller;
        uint256 maxFee;
        uint32 minFinalityThreshold;
    }

    function _burn(Burn memory burn, bytes calldata hookData) private {
        require(burn.amount > 0, "Amount must be nonzero");
        require(burn.mintRecipient != 0, "Mint recipient must be nonzero");
        require(burn.maxFee < burn.amount, "Max fee must be less than amount");
        require(minFee == 0 || burn.maxFee >= getMinFeeAmount(burn.amount), "Insufficient max fee");
        bytes32 remote = remoteTokenMessengers[burn.destinationDomain];
        require(remote != 0, "No TokenMessenger for domain");

        require(address(localMinter) != address(0), "Local minter is not set");
        require(
            IMintBurnToken(burn.token).transferFrom(msg.sender, address(localMinter), burn.amount),
            "Transfer operation failed"
        );
        localMinter.burn(burn.token, burn.amount);

        bytes memory body = abi.encodePacked(
            messageBodyVersion,
            bytes32(uint256(uint160(burn.token))),
            burn.mintRecipient,
            burn.amount,
            bytes32(uint256(uint160(msg.sender))),
            burn.maxFee,
            uint256(0),
            uint256(0),
            hookData
        );
        MessageTransmitterV2(localMessageTransmitter).sendMessage(
            burn.destinationDomain, remote, burn.destinationCaller, burn.minFinalityThreshold, body
        );
        emit DepositForBurn(
            burn.token,
            burn.amount,
            msg.sender,
            burn.mintRecipient,
            burn.destinationDomain,
            remote,
            burn.destinationCaller,
            burn.maxFee,
            burn.minFinalityThreshold,
            hookData
        );
    }

    // ------------------------------------------------------------------ in

    function handleReceiveFinalizedMessage(uint32 domain, bytes32 sender, uint32, bytes calldata body)
        external
        onlyFromRemote(domain, sender)
        returns (bool)
    {
        return _mint(domain, body);
    }

    function handleReceiveUnfinalizedMessage(uint32 domain, bytes32 sender, uint32 executed, bytes calldata body)
        external
        onlyFromRemote(domain, sender)
        returns (bool)
    {
        require(executed >= MIN_FINALITY, "Unsupported finality threshold");
        return _mint(domain, body);
    }

    function _mint(uint32 domain, bytes calldata body) private returns (bool) {
        require(body.length >= BODY_BYTES, "Invalid burn message: too short");
        require(uint32(bytes4(body[0:4])) == messageBodyVersion, "Invalid message body version");
        uint256 expirationBlock = uint256(bytes32(body[196:228]));
        require(expirationBlock == 0 || expirationBlock > block.number, "Message expired and must be re-signed");
        uint256 amount = uint256(bytes32(body[68:100]));
        uint256 fee = uint256(bytes32(body[164:196]));
        require(fee == 0 || fee < amount, "Fee equals or exceeds amount");
        require(fee <= uint256(bytes32(body[132:164])), "Fee exceeds max fee");

        address recipient = address(uint160(uint256(bytes32(body[36:68]))));
        bytes32 burnToken = bytes32(body[4:36]);
        require(address(localMinter) != address(0), "Local minter is not set");
        address token = fee == 0
            ? localMinter.mint(domain, burnToken, recipient, amount)
            : localMinter.mint(domain, burnToken, recipient, feeRecipient, amount - fee, fee);
        emit MintAndWithdraw(recipient, amount - fee, token, fee);
        return true;
    }
}
