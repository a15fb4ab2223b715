// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {IP384} from "./interfaces/IP384.sol";

/// @title Arithmetic modulo n, the order of P-384's group
/// @notice Three products a signature, so the division is left to the precompile of EIP-198.
library Scalar384 {
    /// The high and the low word of n.
    uint256 internal constant N_HI = 0xffffffffffffffffffffffffffffffff;
    uint256 internal constant N_LO = 0xffffffffffffffffc7634d81f4372ddf581a0db248b0a77aecec196accc52973;

    address private constant MODEXP = address(5);

    /// @notice a · b modulo n, below n; both below 2^384.
    function mul(uint256 aHi, uint256 aLo, uint256 bHi, uint256 bLo) internal view returns (uint256 hi, uint256 lo) {
        // The product has three words; the high ones are below 2^128, so the sums of the upper two do not wrap.
        (uint256 carried, uint256 low) = _product(aLo, bLo);
        (uint256 upper, uint256 middle) = _product(aHi, bLo);
        (uint256 upper2, uint256 middle2) = _product(aLo, bHi);
        unchecked {
            upper += upper2 + aHi * bHi;
            middle += middle2;
            if (middle < middle2) ++upper;
            middle += carried;
            if (middle < carried) ++upper;
        }
        (bool isDone, bytes memory rest) = MODEXP.staticcall(
            abi.encodePacked(uint256(96), uint256(1), uint256(48), upper, middle, low, uint8(1), uint128(N_HI), N_LO)
        );
        if (!isDone || rest.length != 48) revert IP384.GasShort();
        assembly ("memory-safe") {
            hi := shr(128, mload(add(rest, 32)))
            lo := mload(add(rest, 48))
        }
    }

    /// @notice n − a; a at most n.
    function negated(uint256 aHi, uint256 aLo) internal pure returns (uint256 hi, uint256 lo) {
        unchecked {
            lo = N_LO - aLo;
            hi = N_HI - aHi;
            if (aLo > N_LO) --hi;
        }
    }

    /// @notice a + b modulo n, below n; both below n.
    function add(uint256 aHi, uint256 aLo, uint256 bHi, uint256 bLo) internal pure returns (uint256 hi, uint256 lo) {
        unchecked {
            lo = aLo + bLo;
            hi = aHi + bHi;
            if (lo < aLo) ++hi;
        }
        if (!isBelow(hi, lo)) (hi, lo) = less(hi, lo);
    }

    /// @notice a − n; a at least n.
    function less(uint256 aHi, uint256 aLo) internal pure returns (uint256 hi, uint256 lo) {
        unchecked {
            lo = aLo - N_LO;
            hi = aHi - N_HI;
            if (aLo < N_LO) --hi;
        }
    }

    /// @notice Whether a is one of 1 to n − 1.
    function isUnit(uint256 aHi, uint256 aLo) internal pure returns (bool) {
        return (aHi | aLo) != 0 && isBelow(aHi, aLo);
    }

    /// @notice Whether a is below n.
    function isBelow(uint256 aHi, uint256 aLo) internal pure returns (bool) {
        return aHi < N_HI || (aHi == N_HI && aLo < N_LO);
    }

    /// @dev Both words of a · b. Modulo 2^256 − 1 their sum is known, modulo 2^256 the low one.
    function _product(uint256 a, uint256 b) private pure returns (uint256 hi, uint256 lo) {
        assembly ("memory-safe") {
            let r := mulmod(a, b, not(0))
            lo := mul(a, b)
            hi := sub(sub(r, lo), lt(r, lo))
        }
    }
}
