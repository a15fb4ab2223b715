// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

/// @title DEVELOPMENT ONLY: a price that anybody may set
/// @notice Answers as a Chainlink feed does (AggregatorV3Interface), with rounds that may be as bad as a test
/// wants them: old, zero, negative. A price of nothing, anywhere.
contract TestPriceFeed {
    uint8 public immutable decimals;
    uint256 public constant version = 1;
    string public description;

    uint80 private _round;
    int256 private _answer;
    uint256 private _updatedAt;

    error NoRound();

    constructor(uint8 decimals_, string memory description_, int256 answer) {
        decimals = decimals_;
        description = description_;
        set(answer, block.timestamp);
    }

    /// @notice The next round. DEVELOPMENT ONLY.
    function set(int256 answer, uint256 updatedAt) public {
        _round += 1;
        _answer = answer;
        _updatedAt = updatedAt;
    }

    function latestRoundData()
        external
        view
        returns (uint80 roundId, int256 answer, uint256 startedAt, uint256 updatedAt, uint80 answeredInRound)
    {
        return (_round, _answer, _updatedAt, _updatedAt, _round);
    }

    function getRoundData(uint80 round)
        external
        view
        returns (uint80 roundId, int256 answer, uint256 startedAt, uint256 updatedAt, uint80 answeredInRound)
    {
        if (round != _round) revert NoRound();
        return (_round, _answer, _updatedAt, _updatedAt, _round);
    }
}
