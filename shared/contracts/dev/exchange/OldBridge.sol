// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {CctpRoles} from "../cctp/CctpRoles.sol";

interface IBridgedToken {
    function permit(address owner, address spender, uint256 value, uint256 deadline, uint8 v, bytes32 r, bytes32 s)
        external;
    function transfer(address to, uint256 value) external returns (bool);
    function transferFrom(address from, address to, uint256 value) external returns (bool);
}

/// @title DEVELOPMENT ONLY: stands in for the exchange's old bridge
/// @notice A deposit is a plain transfer here: the exchange credits the *sender* with what the token's log says, and what
/// is below 5 dollars is lost. Withdrawals are signed by more than two thirds of the validators and wait for a
/// dispute period, in which the exchange may stop them.
contract OldBridge is CctpRoles {
    struct Signature {
        uint256 r;
        uint256 s;
        uint8 v;
    }

    struct DepositWithPermit {
        address user;
        uint64 usd;
        uint64 deadline;
        Signature signature;
    }

    struct WithdrawalRequest {
        address user;
        address destination;
        uint64 usd;
        uint64 nonce;
        Signature[] signatures;
    }

    struct RequestedWithdrawal {
        address user;
        address destination;
        uint64 usd;
        uint64 nonce;
        uint64 requestedTime;
    }

    IBridgedToken public immutable usdcToken;
    uint64 public immutable disputePeriodSeconds;
    address[] public validators;
    mapping(bytes32 message => RequestedWithdrawal) public requestedWithdrawals;
    mapping(bytes32 message => bool) public finalizedWithdrawals;
    mapping(bytes32 message => bool) public withdrawalsInvalidated;

    event FailedPermitDeposit(address user, uint64 usd, uint32 errorCode);
    event RequestedWithdrawalMade(
        address indexed user, address destination, uint64 usd, uint64 nonce, bytes32 message, uint64 requestedTime
    );
    event FinalizedWithdrawal(address indexed user, address destination, uint64 usd, uint64 nonce, bytes32 message);
    event FailedWithdrawal(bytes32 message, uint32 errorCode);
    event InvalidatedWithdrawal(bytes32 message);

    constructor(address token, address[] memory validators_, uint64 disputePeriod) {
        usdcToken = IBridgedToken(token);
        validators = validators_;
        disputePeriodSeconds = disputePeriod;
    }

    /// @notice Reports a failure by event and never reverts: who looks only at the receipt's status believes that it was
    /// paid.
    function batchedDepositWithPermit(DepositWithPermit[] calldata deposits) external whenNotPaused {
        for (uint256 i = 0; i < deposits.length; ++i) {
            DepositWithPermit calldata each = deposits[i];
            (address user, uint64 usd) = (each.user, each.usd);
            Signature calldata signed = each.signature;
            try usdcToken.permit(
                user, address(this), usd, each.deadline, signed.v, bytes32(signed.r), bytes32(signed.s)
            ) {} catch {
                emit FailedPermitDeposit(user, usd, 0);
                continue;
            }
            try usdcToken.transferFrom(user, address(this), usd) returns (bool isDone) {
                if (!isDone) emit FailedPermitDeposit(user, usd, 1);
            } catch {
                emit FailedPermitDeposit(user, usd, 1);
            }
        }
    }

    /// @notice What validators sign.
    function messageOf(address user, address destination, uint64 usd, uint64 nonce) public view returns (bytes32) {
        return keccak256(abi.encode("requestWithdrawal", block.chainid, address(this), user, destination, usd, nonce));
    }

    function batchedRequestWithdrawals(WithdrawalRequest[] calldata requests) external whenNotPaused {
        for (uint256 i = 0; i < requests.length; ++i) {
            WithdrawalRequest calldata each = requests[i];
            bytes32 message = messageOf(each.user, each.destination, each.usd, each.nonce);
            _requireValidators(message, each.signatures);
            if (requestedWithdrawals[message].requestedTime != 0) {
                emit FailedWithdrawal(message, 0);
                continue;
            }
            uint64 time = uint64(block.timestamp);
            requestedWithdrawals[message] =
                RequestedWithdrawal(each.user, each.destination, each.usd, each.nonce, time);
            emit RequestedWithdrawalMade(each.user, each.destination, each.usd, each.nonce, message, time);
        }
    }

    function batchedFinalizeWithdrawals(bytes32[] calldata messages) external whenNotPaused {
        for (uint256 i = 0; i < messages.length; ++i) {
            bytes32 message = messages[i];
            uint32 fault = _finalizeFault(message);
            if (fault != 0) {
                emit FailedWithdrawal(message, fault);
                continue;
            }
            finalizedWithdrawals[message] = true;
            RequestedWithdrawal memory each = requestedWithdrawals[message];
            require(usdcToken.transfer(each.destination, each.usd), "Transfer operation failed");
            emit FinalizedWithdrawal(each.user, each.destination, each.usd, each.nonce, message);
        }
    }

    function invalidateWithdrawals(bytes32[] calldata messages) external onlyOwner {
        for (uint256 i = 0; i < messages.length; ++i) {
            withdrawalsInvalidated[messages[i]] = true;
            emit InvalidatedWithdrawal(messages[i]);
        }
    }

    function _finalizeFault(bytes32 message) private view returns (uint32) {
        uint64 requestedTime = requestedWithdrawals[message].requestedTime;
        if (requestedTime == 0) return 1;
        if (finalizedWithdrawals[message]) return 2;
        if (block.timestamp <= requestedTime + disputePeriodSeconds) return 3;
        return withdrawalsInvalidated[message] ? 5 : 0;
    }

    function _requireValidators(bytes32 message, Signature[] calldata signatures) private view {
        uint256 power = 0;
        uint256 from = 0;
        for (uint256 i = 0; i < signatures.length; ++i) {
            Signature calldata each = signatures[i];
            address signer = ecrecover(message, each.v, bytes32(each.r), bytes32(each.s));
            // In the set's order, so that nobody counts twice.
            while (from < validators.length && validators[from] != signer) ++from;
            require(from < validators.length && signer != address(0), "Validator unknown or out of order");
            ++from;
            ++power;
        }
        require(3 * power > 2 * validators.length, "Submitted validator set signatures do not have enough power");
    }
}
