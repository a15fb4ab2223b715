// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

/// @title Arithmetic modulo p = 2^384 − 2^128 − 2^96 + 2^32 − 1, the field of P-384
/// @notice A number is two words, hi · 2^256 + lo, and stands for a class modulo p: it need not be below p. The bounds
/// below are all that keeps words from overflowing, so every function states what it takes and what it gives.
///
/// - *reduced*: below 2^384 + 2^200, so below 2p. What `mul`, `mulSub` and `reduce` give.
/// - *loose*: at most 16p. What `mul` and `mulSub` take. Sums and differences of a few reduced numbers are loose.
///
/// `mul` is Montgomery's with the factor 2^256: it gives a · b / 2^256. Numbers carried times 2^256 therefore multiply as
/// they should. C = 2^384 − p is how p enters: 2^384 stands for the same class as C.
library Field384 {
    /// The high and the low word of p.
    uint256 internal constant P_HI = 0xffffffffffffffffffffffffffffffff;
    uint256 internal constant P_LO = 0xfffffffffffffffffffffffffffffffeffffffff0000000000000000ffffffff;

    /// 2^384 − p = 2^128 + 2^96 − 2^32 + 1.
    uint256 private constant C = 0x100000000ffffffffffffffff00000001;
    uint256 private constant C_2 = 0x200000001fffffffffffffffe00000002;
    uint256 private constant C_16 = 0x100000000ffffffffffffffff000000010;
    /// 1/C modulo 2^256.
    uint256 private constant C_INVERSE = 0xfffffffcfffffffafffffffbfffffffe00000000000000010000000100000001;
    /// −p modulo 2^256 − 1, where 2^384 is 2^128: C − 2^128.
    uint256 private constant MINUS_P = 0xffffffffffffffff00000001;
    /// 2^256 − 1, the other modulus than 2^256 by which a number of two words is known.
    uint256 private constant M = 0xffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff;
    uint256 private constant LOW_HALF = 0xffffffffffffffffffffffffffffffff;

    /// 2^512 modulo p: `mul` by it is times 2^256.
    uint256 private constant FACTOR_SQUARED_HI = 1;
    uint256 private constant FACTOR_SQUARED_LO = 0x00000000ffffffffffffffff0000000100000000000000000000000000000000;

    /// @notice a · b / 2^256 modulo p, reduced; a and b loose.
    function mul(uint256 aHi, uint256 aLo, uint256 bHi, uint256 bLo) internal pure returns (uint256 hi, uint256 lo) {
        return mulSub(aHi, aLo, bHi, bLo, 0, 0);
    }

    /// @notice a · b / 2^256 − c modulo p, reduced; all three loose.
    /// @dev Before the difference, the number computed is
    ///
    ///     t = (a · b + m · p) / 2^256 − k · p
    ///
    /// 1. m makes the division exact: p is −C modulo 2^256, so m = a · b / C modulo 2^256, and only the low words count.
    /// 2. k takes the top off: k = ⌊aHi / 2^64⌋ · ⌊bHi / 2^64⌋, each factor below 2^68. As a · b ≥ k · 2^640, t is not
    ///    negative. As a · b < (⌊aHi / 2^64⌋ + 1) · (⌊bHi / 2^64⌋ + 1) · 2^640, k · C < 2^266 and m · p / 2^256 < p,
    ///    t is below 2^384 · (2^69 + 2) < 2^454.
    /// 3. So t has two words, the high one below 2^198, and is known from t modulo 2^256 and t modulo M = 2^256 − 1.
    ///    Modulo M, 2^256 is 1 and p is −MINUS_P:
    ///        t = (aHi + aLo) · (bHi + bLo) + (k − m) · MINUS_P
    ///    Modulo 2^256, t is the second word of a · b + m · p, plus k · C. As m · p = m · 2^384 − m · C, and as
    ///    m · C and a · b have the same low word, that second word is
    ///        ⌊aLo · bLo / 2^256⌋ − ⌊m · C / 2^256⌋ + aLo · bHi + aHi · bLo + m · 2^128
    ///    where ⌊x · y / 2^256⌋ = r − l − (r < l ? 1 : 0) for r = x · y modulo M and l = x · y modulo 2^256; l is the
    ///    same for both and falls out of the difference.
    /// 4. The high word is t modulo M less t modulo 2^256, modulo M. It is below M, so nothing is ambiguous.
    /// 5. t − c + 16p is not negative and below 2^454 + 2^388; 16p = 2^388 − 16C. Then `reduce`, written out.
    function mulSub(uint256 aHi, uint256 aLo, uint256 bHi, uint256 bLo, uint256 cHi, uint256 cLo)
        internal
        pure
        returns (uint256 hi, uint256 lo)
    {
        assembly ("memory-safe") {
            let low := mul(aLo, bLo)
            let m := mul(low, C_INVERSE)
            let k := mul(shr(64, aHi), shr(64, bHi))

            let r := mulmod(aLo, bLo, M)
            let s := mulmod(m, C, M)
            lo := add(sub(r, lt(r, low)), sub(lt(s, low), s))
            lo := add(lo, add(mul(aLo, bHi), mul(aHi, bLo)))
            lo := add(lo, add(shl(128, m), mul(k, C)))

            // M − m is the complement of m.
            hi := addmod(
                mulmod(addmod(aHi, aLo, M), addmod(bHi, bLo, M), M),
                mulmod(addmod(k, not(m), M), MINUS_P, M),
                M
            )
            hi := sub(sub(hi, lo), lt(hi, lo))

            let difference := sub(lo, cLo)
            hi := sub(sub(add(hi, shl(132, 1)), cHi), add(gt(cLo, lo), gt(C_16, difference)))
            lo := sub(difference, C_16)

            let taken := mul(shr(128, hi), C)
            lo := add(lo, taken)
            hi := add(and(hi, LOW_HALF), lt(lo, taken))
        }
    }

    /// @notice The same class, reduced; for any number below 2^455.
    /// @dev With f the high word's upper half, below 2^71: less f · p, which is less f · 2^384 and plus f · C < 2^200.
    function reduce(uint256 aHi, uint256 aLo) internal pure returns (uint256 hi, uint256 lo) {
        assembly ("memory-safe") {
            let taken := mul(shr(128, aHi), C)
            lo := add(aLo, taken)
            hi := add(and(aHi, LOW_HALF), lt(lo, taken))
        }
    }

    /// @notice a + b, not reduced.
    function add(uint256 aHi, uint256 aLo, uint256 bHi, uint256 bLo) internal pure returns (uint256 hi, uint256 lo) {
        assembly ("memory-safe") {
            lo := add(aLo, bLo)
            hi := add(add(aHi, bHi), lt(lo, aLo))
        }
    }

    /// @notice a − b + 2p, not reduced; b at most 2p.
    /// @dev 2p = 2^385 − 2C.
    function sub(uint256 aHi, uint256 aLo, uint256 bHi, uint256 bLo) internal pure returns (uint256 hi, uint256 lo) {
        assembly ("memory-safe") {
            let difference := sub(aLo, bLo)
            lo := sub(difference, C_2)
            hi := sub(sub(add(aHi, shl(129, 1)), bHi), add(gt(bLo, aLo), gt(C_2, difference)))
        }
    }

    /// @notice Whether p divides a; a reduced, so 0 or p if p divides it.
    function isZero(uint256 aHi, uint256 aLo) internal pure returns (bool isDivisible) {
        assembly ("memory-safe") {
            isDivisible := or(iszero(or(aHi, aLo)), and(eq(aHi, P_HI), eq(aLo, P_LO)))
        }
    }

    /// @notice Below p: the one spelling that a coordinate has on the wire.
    function isCanonical(uint256 aHi, uint256 aLo) internal pure returns (bool) {
        return aHi < P_HI || (aHi == P_HI && aLo < P_LO);
    }

    /// @notice a · 2^256, reduced: how `mul` wants its factors; a loose.
    function scaled(uint256 aHi, uint256 aLo) internal pure returns (uint256 hi, uint256 lo) {
        return mul(aHi, aLo, FACTOR_SQUARED_HI, FACTOR_SQUARED_LO);
    }
}
