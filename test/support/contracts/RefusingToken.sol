// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

/// @title FOR TESTS: a token whose issuer refuses some accounts, pauses and takes, as those of dollars do; and one that
/// answers false, and has payees that give something back
contract RefusingToken {
    mapping(address account => uint256) public balanceOf;
    mapping(address account => bool) public isRefused;
    mapping(address account => bool) public isRefusedSender;

    mapping(address account => bool) public isFalse;
    mapping(address account => uint256) public givesBack;
    bool public isPaused;

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

    function setFalse(address account, bool answersFalse) external {
        isFalse[account] = answersFalse;
    }

    function setGivesBack(address account, uint256 value) external {
        givesBack[account] = value;
    }

    function setPaused(bool paused) external {
        isPaused = paused;
    }

    function burn(address from, uint256 value) external {
        balanceOf[from] -= value;
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
        if (isPaused || isRefused[to]) revert Refused(to);
        if (isFalse[to]) return false;
        if (isRefusedSender[from]) revert Refused(from);
        balanceOf[from] -= value;
        balanceOf[to] += value;
        emit Transfer(from, to, value);
        uint256 back = givesBack[to];
        if (back != 0) {
            balanceOf[to] -= back;
            balanceOf[from] += back;
            emit Transfer(to, from, back);
        }
        return true;
    }
}
