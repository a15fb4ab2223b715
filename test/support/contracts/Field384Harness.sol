// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {Field384} from "../../../shared/contracts/nitro/Field384.sol";
import {Scalar384} from "../../../shared/contracts/nitro/Scalar384.sol";

/// @title FOR TESTS: the fields of P-384 and of its scalars, many operations in a call
contract Field384Harness {
    enum Operation {
        Mul,
        MulSub,
        Add,
        Sub,
        Reduce,
        Scaled,
        ScalarMul,
        ScalarAdd,
        ScalarNegated
    }

    /// @param operands high and low word of a, of b and of c
    /// @return results high and low word
    function apply_(Operation operation, uint256[6][] calldata operands)
        external
        view
        returns (uint256[2][] memory results)
    {
        results = new uint256[2][](operands.length);
        for (uint256 i = 0; i < operands.length; ++i) {
            (results[i][0], results[i][1]) = _apply(operation, operands[i]);
        }
    }

    /// @return answers for each: isZero, isCanonical, Scalar384.isBelow, Scalar384.isUnit
    function judge(uint256[2][] calldata operands) external pure returns (bool[4][] memory answers) {
        answers = new bool[4][](operands.length);
        for (uint256 i = 0; i < operands.length; ++i) {
            (uint256 hi, uint256 lo) = (operands[i][0], operands[i][1]);
            answers[i] = [
                Field384.isZero(hi, lo),
                Field384.isCanonical(hi, lo),
                Scalar384.isBelow(hi, lo),
                Scalar384.isUnit(hi, lo)
            ];
        }
    }

    function _apply(Operation operation, uint256[6] calldata words) private view returns (uint256 hi, uint256 lo) {
        (uint256 aHi, uint256 aLo, uint256 bHi, uint256 bLo) = (words[0], words[1], words[2], words[3]);
        if (operation == Operation.Mul) return Field384.mul(aHi, aLo, bHi, bLo);
        if (operation == Operation.MulSub) return Field384.mulSub(aHi, aLo, bHi, bLo, words[4], words[5]);
        if (operation == Operation.Add) return Field384.add(aHi, aLo, bHi, bLo);
        if (operation == Operation.Sub) return Field384.sub(aHi, aLo, bHi, bLo);
        if (operation == Operation.Reduce) return Field384.reduce(aHi, aLo);
        if (operation == Operation.Scaled) return Field384.scaled(aHi, aLo);
        if (operation == Operation.ScalarMul) return Scalar384.mul(aHi, aLo, bHi, bLo);
        if (operation == Operation.ScalarAdd) return Scalar384.add(aHi, aLo, bHi, bLo);
        return Scalar384.negated(aHi, aLo);
    }
}
