// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

/// @title DEVELOPMENT ONLY: one owner for everything that Circle splits into roles
/// @notice Refuses with Circle's words, which callers may have learnt to read.
abstract contract CctpOwned {
    address public owner;

    constructor() {
        owner = msg.sender;
    }

    modifier onlyOwner() {
        require(msg.sender == owner, "Ownable: caller is not the owner");
        _;
    }
}

/// @title DEVELOPMENT ONLY: the owner, and a pause
abstract contract CctpRoles is CctpOwned {
    bool public paused;

    event Pause();
    event Unpause();

    modifier whenNotPaused() {
        require(!paused, "Pausable: paused");
        _;
    }

    function pause() external onlyOwner {
        paused = true;
        emit Pause();
    }

    function unpause() external onlyOwner {
        paused = false;
        emit Unpause();
    }
}
