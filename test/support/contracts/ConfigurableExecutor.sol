// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

interface IMintable {
    function mint(address to, uint256 value) external;
    function transfer(address to, uint256 value) external;
}

/// @title FOR TESTS: a venue that misbehaves on request
/// @notice Whatever it pays it prints: the tokens of these tests can be printed by anybody.
contract ConfigurableExecutor {
    enum Behaviour {
        Honest,
        RevertsAtLength,
        RevertsSilently,
        ReturnsAtLength,
        BurnsGas,
        BurnsAlmostAll,
        GivesBack,
        Calls,
        TakesTwice,
        PaysFromStock
    }

    Behaviour public behaviour;
    uint256 public pays;

    /// What to call in the middle of the swap, and what came of it.
    address private target;
    bytes private message;
    bytes public answer;
    bool public wasRefused;

    function set(Behaviour behaviour_, uint256 pays_) external {
        behaviour = behaviour_;
        pays = pays_;
    }

    function setCall(address target_, bytes calldata message_) external {
        target = target_;
        message = message_;
        delete answer;
        wasRefused = false;
    }

    function swap(address tokenIn, uint256 amountIn, uint24, address, uint24, address tokenOut) external {
        if (behaviour == Behaviour.RevertsAtLength || behaviour == Behaviour.ReturnsAtLength) {
            bool isRevert = behaviour == Behaviour.RevertsAtLength;
            if (!isRevert) IMintable(tokenOut).mint(msg.sender, pays);
            assembly ("memory-safe") {
                // 300 kB: to copy it all would cost more than the swap may use.
                let free := mload(0x40)
                mstore(free, not(0))
                switch isRevert
                case 0 { return(free, 300000) }
                default { revert(free, 300000) }
            }
        }
        if (behaviour == Behaviour.RevertsSilently) revert();
        if (behaviour == Behaviour.BurnsGas) {
            assembly ("memory-safe") {
                invalid()
            }
        }
        if (behaviour == Behaviour.BurnsAlmostAll) while (gasleft() > 60_000) {}
        if (behaviour == Behaviour.GivesBack) IMintable(tokenIn).transfer(msg.sender, amountIn / 2);
        if (behaviour == Behaviour.TakesTwice) {
            // The pool has approved nobody, so this finds nothing to take.
            (bool isDone,) = tokenIn.call(
                abi.encodeWithSignature("transferFrom(address,address,uint256)", msg.sender, address(this), amountIn)
            );
            wasRefused = !isDone;
        }
        if (behaviour == Behaviour.Calls) {
            bool isDone;
            (isDone, answer) = target.call(message);
            wasRefused = !isDone;
        }
        if (pays == 0) return;
        if (behaviour == Behaviour.PaysFromStock) IMintable(tokenOut).transfer(msg.sender, pays);
        else IMintable(tokenOut).mint(msg.sender, pays);
    }
}
