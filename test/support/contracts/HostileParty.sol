// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {ICreditSource, OpenNote} from "../../../shared/contracts/interfaces/ICreditSource.sol";
import {IToken} from "../../../shared/contracts/interfaces/IToken.sol";

/// @title FOR TESTS: a pool or a messenger that somebody wrote into their own terms
contract HostileParty {
    enum Mode {
        Honest,
        DoesNothing,
        /// Asks for what it was not offered: the message is the order.
        AsksForMore,
        AsksTwice,
        /// Calls `target` with the message in the middle of everything.
        CallsBack
    }

    Mode private mode;
    address private target;
    bytes private message;
    bool public wasRefused;
    bytes public answer;

    function set(Mode mode_, address target_, bytes calldata message_) external {
        mode = mode_;
        target = target_;
        message = message_;
        wasRefused = false;
        delete answer;
    }

    // as a pool

    function queue() external pure returns (uint64, bytes32) {
        return (7, 0);
    }

    function isAsset(address) external pure returns (bool) {
        return true;
    }

    function credit(address asset, bytes calldata order) external returns (uint64) {
        if (mode == Mode.CallsBack) _callBack();
        if (mode == Mode.AsksForMore) {
            (target, message) = (msg.sender, abi.encodeCall(ICreditSource.bringCredit, (asset, message)));
            _callBack();
        }
        if (mode == Mode.DoesNothing) return 0;
        ICreditSource(msg.sender).bringCredit(asset, order);
        if (mode == Mode.AsksTwice) {
            (target, message) = (msg.sender, abi.encodeCall(ICreditSource.bringCredit, (asset, order)));
            _callBack();
        }
        return 7;
    }

    // as a messenger

    function depositForBurn(uint256 amount, uint32, bytes32, address token, bytes32, uint256, uint32) external {
        if (mode == Mode.CallsBack) _callBack();
        if (mode != Mode.DoesNothing) IToken(token).transferFrom(msg.sender, address(this), amount);
    }

    function _callBack() private {
        bool isDone;
        (isDone, answer) = target.call(message);
        wasRefused = !isDone;
    }
}
