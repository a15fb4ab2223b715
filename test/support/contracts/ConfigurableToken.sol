// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

/// @title FOR TESTS: a token that misbehaves on request
contract ConfigurableToken {
    enum Behaviour {
        Honest,
        ReturnsNothing,
        ReturnsFalse,
        ReturnsTwo,
        TakesFee,
        MovesNothing,
        RevertsAtLength,
        BurnsGas,
        Reenters,
        HidesBalance,
        BurnsInBalance,
        CallsPayee,
        RefusesNothing
    }

    Behaviour public behaviour;
    mapping(address account => uint256) private balances;
    uint256 public totalSupply;
    uint8 public decimals = 6;

    /// What to call while tokens move, and what came of it.
    address private target;
    bytes private message;
    bytes public answer;
    bool public wasRefused;

    function setBehaviour(Behaviour behaviour_) external {
        behaviour = behaviour_;
    }

    function setReentry(address target_, bytes calldata message_) external {
        target = target_;
        message = message_;
        delete answer;
        wasRefused = false;
    }

    function setDecimals(uint8 decimals_) external {
        decimals = decimals_;
    }

    function mint(address to, uint256 value) external {
        totalSupply += value;
        balances[to] += value;
    }

    function approve(address, uint256) external pure returns (bool) {
        return true;
    }

    function balanceOf(address account) external view returns (uint256) {
        if (behaviour == Behaviour.HidesBalance) revert();
        // Answers rightly with the last of its gas.
        if (behaviour == Behaviour.BurnsInBalance) while (gasleft() > 3_000) {}
        return balances[account];
    }

    /// @dev For another name of the same balances.
    function moveFor(address from, address to, uint256 value) external {
        balances[from] -= value;
        balances[to] += value;
    }

    function transfer(address to, uint256 value) external {
        _move(msg.sender, to, value);
    }

    /// @dev No allowances: what the pool may take is the pool's to decide in these tests.
    function transferFrom(address from, address to, uint256 value) external {
        _move(from, to, value);
    }

    function _move(address from, address to, uint256 value) private {
        if (behaviour == Behaviour.RevertsAtLength) {
            assembly ("memory-safe") {
                // 20 kB: more than any reason that should be copied.
                let free := mload(0x40)
                mstore(free, not(0))
                revert(free, 20000)
            }
        }
        if (behaviour == Behaviour.RefusesNothing) require(value != 0);
        if (behaviour == Behaviour.CallsPayee) {
            bool isHeard;
            (isHeard, answer) = to.call("tokensReceived");
        }
        if (behaviour == Behaviour.BurnsGas) {
            while (gasleft() > 100) {}
            // The last of it: an endless loop would do, but this ends sooner.
            assembly ("memory-safe") {
                invalid()
            }
        }
        if (behaviour == Behaviour.Reenters) {
            bool isDone;
            (isDone, answer) = target.call(message);
            wasRefused = !isDone;
        }
        if (behaviour != Behaviour.MovesNothing) {
            balances[from] -= value;
            balances[to] += behaviour == Behaviour.TakesFee ? value - value / 100 : value;
        }
        uint256 result = behaviour == Behaviour.ReturnsFalse ? 0 : behaviour == Behaviour.ReturnsTwo ? 2 : 1;
        if (behaviour == Behaviour.ReturnsNothing) return;
        assembly ("memory-safe") {
            mstore(0, result)
            return(0, 32)
        }
    }
}
