// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

/// @title FOR TESTS: a token whose issuer refuses some accounts, as those of dollars do
contract RefusingToken {
    mapping(address account => uint256) public balanceOf;
    mapping(address account => bool) public isRefused;
    mapping(address account => bool) public isRefusedSender;

    event Transfer(address indexed from, address indexed to, uint256 value);

    error Refused(address account);

    function mint(address to, uint256 value) external {
        balanceOf[to] += value;
    }

    function setRefused(address account, bool refused) external {
        isRefused[account] = refused;
    }

    function setRefusedSender(address account, bool refused) external {
        isRefusedSender[account] = refused;
    }

    function approve(address, uint256) external pure returns (bool) {
        return true;
    }

    function transfer(address to, uint256 value) external returns (bool) {
        return _move(msg.sender, to, value);
    }

    /// @dev No allowances: what the pool may take is the pool's to decide in these tests.
    function transferFrom(address from, address to, uint256 value) external returns (bool) {
        return _move(from, to, value);
    }

    function _move(address from, address to, uint256 value) private returns (bool) {
        if (isRefused[to]) revert Refused(to);
        if (isRefusedSender[from]) revert Refused(from);
        balanceOf[from] -= value;
        balanceOf[to] += value;
        emit Transfer(from, to, value);
        return true;
    }
}
