// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {CctpRoles} from "../cctp/CctpRoles.sol";

interface IHeldToken {
    function balanceOf(address account) external view returns (uint256);
    function approve(address spender, uint256 value) external returns (bool);
    function transferFrom(address from, address to, uint256 value) external returns (bool);
}

/// @title DEVELOPMENT ONLY: stands in for Circle's CoreDepositWallet, which holds the dollars of the exchange's accounts
/// @notice Takes what the forwarder brings, and refuses as github.com/circlefin/hyperevm-circle-contracts at ffcc978 does,
/// `src/CoreDepositWallet.sol`. It differs in three things: what it takes lies at the system address, whose key the local
/// exchange has and pays out with; the dollar's blacklist is kept here; and it does not know which accounts exist, so a
/// first deposit that is no more than a new account costs is lost at the exchange and not refused here.
contract CoreDepositWallet is CctpRoles {
    uint32 private constant PERPS = 0;

    IHeldToken public immutable token;
    address public immutable tokenSystemAddress;
    mapping(address account => bool) public isBlacklisted;

    /// Looks like a token's, and is none: the exchange credits by it.
    event Transfer(address indexed from, address indexed to, uint256 amount);

    constructor(address token_, address systemAddress) {
        token = IHeldToken(token_);
        tokenSystemAddress = systemAddress;
    }

    function setBlacklisted(address account, bool is_) external onlyOwner {
        isBlacklisted[account] = is_;
    }

    /// @notice Every destination is taken: what is no enabled one ends in the spot account.
    function depositFor(address recipient, uint256 amount, uint32 destination) external whenNotPaused {
        require(recipient != address(0), "Invalid recipient: zero address");
        require(recipient != tokenSystemAddress, "Invalid recipient: system address");
        require(recipient != address(this), "Invalid recipient: CoreDepositWallet");
        require(!isBlacklisted[recipient], "Invalid recipient: blacklisted");
        require(amount > 0, "Amount must be greater than zero");
        require(token.transferFrom(msg.sender, tokenSystemAddress, amount), "Transfer operation failed");
        emit Transfer(destination == PERPS ? address(this) : recipient, tokenSystemAddress, amount);
    }
}
