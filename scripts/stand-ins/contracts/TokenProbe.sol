// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {IToken} from "../../../shared/contracts/interfaces/IToken.sol";

/// @title Plays somebody who holds a token, and tries it
/// @notice Never deployed: a node runs it at a holder's address, for one simulated call (`operator assets judge`).
contract TokenProbe {
    struct Trial {
        bool isDone;
        /// Of the answer, in bytes, and its first word.
        uint256 answerSize;
        uint256 answer;
        /// By how much the holder's balance fell, and the recipient's rose.
        int256 left;
        int256 came;
        uint256 gas;
    }

    struct Tried {
        Trial ofSome;
        Trial ofNone;
        /// How often the token called the recipient.
        uint256 calls;
        /// Whether the holder's balance of each other token is what it was.
        bool[] isApart;
    }

    function tries(address token, uint256 amount, address recipient, address[] calldata others)
        external
        returns (Tried memory tried)
    {
        uint256[] memory before = new uint256[](others.length);
        for (uint256 i = 0; i < others.length; ++i) {
            before[i] = IToken(others[i]).balanceOf(address(this));
        }
        tried.ofSome = _try(token, amount, recipient);
        tried.ofNone = _try(token, 0, recipient);
        tried.calls = TokenPayee(recipient).calls();
        tried.isApart = new bool[](others.length);
        for (uint256 i = 0; i < others.length; ++i) {
            tried.isApart[i] = IToken(others[i]).balanceOf(address(this)) == before[i];
        }
    }

    function _try(address token, uint256 amount, address recipient) private returns (Trial memory trial) {
        uint256 own = IToken(token).balanceOf(address(this));
        uint256 theirs = IToken(token).balanceOf(recipient);
        uint256 gas = gasleft();
        bytes memory answer;
        (trial.isDone, answer) = token.call(abi.encodeCall(IToken.transfer, (recipient, amount)));
        trial.gas = gas - gasleft();
        trial.answerSize = answer.length;
        if (answer.length >= 32) trial.answer = abi.decode(answer, (uint256));
        trial.left = int256(own) - int256(IToken(token).balanceOf(address(this)));
        trial.came = int256(IToken(token).balanceOf(recipient)) - int256(theirs);
    }
}

/// @title Plays a recipient with code, which counts who calls it
contract TokenPayee {
    uint256 public calls;

    fallback() external {
        ++calls;
    }
}
