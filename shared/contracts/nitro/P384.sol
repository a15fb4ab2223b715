// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {IP384} from "./interfaces/IP384.sol";
import {Field384} from "./Field384.sol";
import {P384Table} from "./P384Table.sol";
import {Scalar384} from "./Scalar384.sol";

/// @title ECDSA over P-384 with hints
/// @notice What is checked instead of R = (e/s)·G + (r/s)·Q is that equation times z·s, for a number z that the hints
/// bring and that makes two of the factors short (Antipa et al., SAC 2005):
///
///     v·R = g·G + w·Q        v = z·s below 2^192, w = z·r between −2^192 and 2^192, g = z·e, all modulo n
///
/// R comes with the hints too. As v is no multiple of the prime n, one point R and no other solves the equation, the one
/// of SEC 1; a signature is good if the x of that point, modulo n, is r. README.md has the whole argument.
///
/// Points are affine, and every addition and doubling takes its slope from the hints and checks it with a product. The
/// numbers are read three bits at a time, as odd digits from −7 to 7 (`_digit`); the long one, g, as two halves over G
/// and 2^192·G.
contract P384 is IP384 {
    /// Coordinates are reduced (Field384.sol) and times 2^256. No point of the curve has y = 0, since the group's order
    /// is odd, so both words of y are 0 for the point at infinity and for no other.
    struct Point {
        uint256 xHi;
        uint256 xLo;
        uint256 yHi;
        uint256 yLo;
    }

    /// The equation's numbers; of w the absolute value. g is odd.
    struct Factors {
        uint256 v;
        uint256 w;
        bool isWNegative;
        uint256 gHi;
        uint256 gLo;
        bool isGNegative;
    }

    /// The curve's b, times 2^256. Its a is −3.
    uint256 private constant B_HI = 0x798769361f9ee929a552b63d9d412dcc;
    uint256 private constant B_LO = 0xcd08114b604fbff9b62b21f41f02209469afe2b7fb6d3882b30081345013875b;
    /// 3, times 2^256.
    uint256 private constant THREE_HI = 3;
    uint256 private constant THREE_LO = 0;

    /// Of every number on the wire.
    uint256 private constant BYTES = 48;
    /// Digits of a number below 2^192.
    uint256 private constant STEPS = 64;
    /// z, x(R), y(R), where (0, 0) says that R is at infinity; then the slopes in the order of their use, one for each
    /// operation, also for those that turn out to need none.
    uint256 private constant HINTS_BYTES = BYTES * (3 + 40 + 5 * STEPS + 2);

    /// @inheritdoc IP384
    function verify(
        bytes32 digestHi,
        bytes16 digestLo,
        bytes calldata signature,
        bytes calldata publicKey,
        bytes calldata hints
    ) external view returns (bool) {
        if (signature.length != 2 * BYTES || publicKey.length != 2 * BYTES) return false;
        (uint256 rHi, uint256 rLo) = _numberAt(_place(signature));
        (uint256 sHi, uint256 sLo) = _numberAt(_place(signature) + BYTES);
        if (!Scalar384.isUnit(rHi, rLo) || !Scalar384.isUnit(sHi, sLo)) return false;
        Point memory key;
        if (!_readPoint(key, _place(publicKey))) return false;

        if (hints.length != HINTS_BYTES) revert HintsInvalid();
        uint256 place = _place(hints);
        Point memory r;
        bool isInfinite = _isZeroAt(place + BYTES);
        if (isInfinite) _setGenerator(r);
        else if (!_readPoint(r, place + BYTES)) revert HintsInvalid();

        Factors memory factors = _factors(digestHi, digestLo, _place(signature), place, isInfinite);
        if (!_isEquation(factors, key, r, place + 3 * BYTES)) revert HintsInvalid();
        return !isInfinite && _isModuloN(place + BYTES, rHi, rLo);
    }

    /// @dev R at infinity is shown with G in its place: v·O = g·G + w·Q if v·G = (g + v)·G + w·Q.
    /// An even g becomes n − g, which is odd.
    function _factors(
        bytes32 digestHi,
        bytes16 digestLo,
        uint256 signaturePlace,
        uint256 hintsPlace,
        bool isInfinite
    ) private view returns (Factors memory factors) {
        (uint256 zHi, uint256 zLo) = _numberAt(hintsPlace);

        (uint256 hi, uint256 lo) = _numberAt(signaturePlace + BYTES);
        (hi, lo) = Scalar384.mul(zHi, zLo, hi, lo);
        if ((hi | lo) == 0 || !_isShort(hi, lo)) revert HintsInvalid();
        factors.v = lo;

        (hi, lo) = _numberAt(signaturePlace);
        (hi, lo) = Scalar384.mul(zHi, zLo, hi, lo);
        if (!_isShort(hi, lo)) {
            factors.isWNegative = true;
            (hi, lo) = Scalar384.negated(hi, lo);
            if (!_isShort(hi, lo)) revert HintsInvalid();
        }
        factors.w = lo;

        (hi, lo) = (uint256(digestHi) >> 128, (uint256(digestHi) << 128) | uint128(digestLo));
        (hi, lo) = Scalar384.mul(zHi, zLo, hi, lo);
        if (isInfinite) (hi, lo) = Scalar384.add(hi, lo, 0, factors.v);
        if (lo & 1 == 0) {
            factors.isGNegative = true;
            (hi, lo) = Scalar384.negated(hi, lo);
        }
        (factors.gHi, factors.gLo) = (hi, lo);
    }

    /// @dev Whether g·G + w·Q − v·R is the point at infinity. Changes `key` and `r`.
    /// The digits are those of w | 1 and v | 1: what was added too much goes off at the end.
    function _isEquation(Factors memory factors, Point memory key, Point memory r, uint256 place)
        private
        pure
        returns (bool)
    {
        if (factors.isWNegative) _negate(key);
        _negate(r);
        Point[32] memory sums = _sumsOf(key, r, place);
        place += 40 * BYTES;

        // With 2^192 each number has exactly as many digits as there are steps.
        uint256 w = factors.w | (1 << 192);
        uint256 v = factors.v | (1 << 192);
        uint256 gLow = factors.gLo & ((1 << 193) - 1);
        uint256 gHigh = (factors.gHi << 64) | (factors.gLo >> 192) | (1 << 192);

        bytes memory table = P384Table.POINTS;
        Point memory sum;
        Point memory chosen;
        for (uint256 shift = 3 * STEPS; shift != 0;) {
            shift -= 3;
            _double(sum, place);
            _double(sum, place + BYTES);
            _double(sum, place + 2 * BYTES);
            (uint256 index, bool isNegative) = _choice(w >> shift, v >> shift);
            _copy(chosen, sums[index]);
            if (isNegative) _negate(chosen);
            _add(sum, chosen, place + 3 * BYTES);

            (index, isNegative) = _choice(gLow >> shift, gHigh >> shift);
            _readEntry(chosen, table, index);
            if (isNegative != factors.isGNegative) _negate(chosen);
            _add(sum, chosen, place + 4 * BYTES);
            place += 5 * BYTES;
        }
        if (factors.w & 1 == 0) {
            _negate(key);
            _add(sum, key, place);
        }
        if (factors.v & 1 == 0) {
            _negate(r);
            _add(sum, r, place + BYTES);
        }
        return _isInfinity(sum);
    }

    /// @dev a·A + b·B for a of 1, 3, 5, 7 and b of −7, −5, …, 7, at 4(a − 1) + (b + 7)/2.
    function _sumsOf(Point memory a, Point memory b, uint256 place) private pure returns (Point[32] memory sums) {
        Point[4] memory multiplesOfA = _oddMultiples(a, place);
        Point[4] memory multiplesOfB = _oddMultiples(b, place + 4 * BYTES);
        place += 8 * BYTES;
        for (uint256 j = 0; j < 8; ++j) {
            if (j == 4) for (uint256 i = 0; i < 4; ++i) _negate(multiplesOfB[i]);
            Point memory multiple = multiplesOfB[j < 4 ? j : j - 4];
            for (uint256 i = 0; i < 4; ++i) {
                Point memory sum = sums[8 * i + (j < 4 ? 4 + j : 7 - j)];
                _copy(sum, multiplesOfA[i]);
                _add(sum, multiple, place);
                place += BYTES;
            }
        }
    }

    /// @dev 1, 3, 5 and 7 times a.
    function _oddMultiples(Point memory a, uint256 place) private pure returns (Point[4] memory multiples) {
        Point memory twice;
        _copy(twice, a);
        _double(twice, place);
        _copy(multiples[0], a);
        for (uint256 i = 1; i < 4; ++i) {
            _copy(multiples[i], multiples[i - 1]);
            _add(multiples[i], twice, place + i * BYTES);
        }
    }

    /// @dev The digit of a number at one of its steps, of which the number shifted there is given, is 2m − 7 with m its
    /// bits 1 to 3: an odd k is 8·(k >> 3 | 1) + 2·(k >> 1 & 7) − 7. What is chosen is the pair of digits if the
    /// first is positive, and the negated pair if not: two tables' place for it.
    function _choice(uint256 first, uint256 second) private pure returns (uint256 index, bool isNegative) {
        unchecked {
            uint256 m = (first >> 1) & 7;
            uint256 other = (second >> 1) & 7;
            isNegative = m < 4;
            return (isNegative ? 8 * (3 - m) + 7 - other : 8 * (m - 4) + other, isNegative);
        }
    }

    // ------------------------------------------------------------------ points

    /// @dev sum += b, with the slope of the line through both from the hints; both on the curve or at infinity.
    function _add(Point memory sum, Point memory b, uint256 place) private pure {
        if (_isInfinity(b)) return;
        if (_isInfinity(sum)) return _copy(sum, b);
        (uint256 xHi, uint256 xLo) = Field384.sub(b.xHi, b.xLo, sum.xHi, sum.xLo);
        (uint256 yHi, uint256 yLo) = Field384.sub(b.yHi, b.yLo, sum.yHi, sum.yLo);
        if (_isMultiple(xHi, xLo)) {
            // One x: the same point or its negative.
            if (_isMultiple(yHi, yLo)) _double(sum, place);
            else (sum.xHi, sum.xLo, sum.yHi, sum.yLo) = (0, 0, 0, 0);
            return;
        }
        _follow(sum, b.xHi, b.xLo, xHi, xLo, yHi, yLo, place);
    }

    /// @dev sum += sum, with the slope of the tangent, 3(x² − 1) / 2y, from the hints. 2y is not 0.
    function _double(Point memory sum, uint256 place) private pure {
        if (_isInfinity(sum)) return;
        (uint256 hi, uint256 lo) = Field384.mul(sum.xHi, sum.xLo, sum.xHi, sum.xLo);
        (uint256 twiceHi, uint256 twiceLo) = Field384.add(hi, lo, hi, lo);
        (hi, lo) = Field384.add(hi, lo, twiceHi, twiceLo);
        (hi, lo) = Field384.sub(hi, lo, THREE_HI, THREE_LO);
        (twiceHi, twiceLo) = Field384.add(sum.yHi, sum.yLo, sum.yHi, sum.yLo);
        _follow(sum, sum.xHi, sum.xLo, twiceHi, twiceLo, hi, lo, place);
    }

    /// @dev The hinted slope has to be rise / run, where run is not 0. Its line meets the curve in sum, in a point with
    /// otherX, and in a third one, whose negative is what sum becomes.
    function _follow(
        Point memory sum,
        uint256 otherXHi,
        uint256 otherXLo,
        uint256 runHi,
        uint256 runLo,
        uint256 riseHi,
        uint256 riseLo,
        uint256 place
    ) private pure {
        (uint256 slopeHi, uint256 slopeLo) = _numberAt(place);
        (uint256 hi, uint256 lo) = Field384.mulSub(slopeHi, slopeLo, runHi, runLo, riseHi, riseLo);
        if (!Field384.isZero(hi, lo)) revert HintsInvalid();

        (hi, lo) = Field384.add(sum.xHi, sum.xLo, otherXHi, otherXLo);
        (uint256 xHi, uint256 xLo) = Field384.mulSub(slopeHi, slopeLo, slopeHi, slopeLo, hi, lo);
        (hi, lo) = Field384.sub(sum.xHi, sum.xLo, xHi, xLo);
        (sum.yHi, sum.yLo) = Field384.mulSub(slopeHi, slopeLo, hi, lo, sum.yHi, sum.yLo);
        (sum.xHi, sum.xLo) = (xHi, xLo);
    }

    function _isMultiple(uint256 hi, uint256 lo) private pure returns (bool) {
        (hi, lo) = Field384.reduce(hi, lo);
        return Field384.isZero(hi, lo);
    }

    function _isInfinity(Point memory a) private pure returns (bool) {
        return (a.yHi | a.yLo) == 0;
    }

    /// @dev At infinity it stays there.
    function _negate(Point memory a) private pure {
        if (_isInfinity(a)) return;
        (uint256 hi, uint256 lo) = Field384.sub(0, 0, a.yHi, a.yLo);
        (a.yHi, a.yLo) = Field384.reduce(hi, lo);
    }

    function _copy(Point memory to, Point memory from) private pure {
        (to.xHi, to.xLo, to.yHi, to.yLo) = (from.xHi, from.xLo, from.yHi, from.yLo);
    }

    function _setGenerator(Point memory to) private pure {
        (to.xHi, to.xLo, to.yHi, to.yLo) =
            (P384Table.G_X_HI, P384Table.G_X_LO, P384Table.G_Y_HI, P384Table.G_Y_LO);
    }

    /// @dev `index` is below 32: `_choice` makes no other.
    function _readEntry(Point memory to, bytes memory table, uint256 index) private pure {
        assembly ("memory-safe") {
            let entry := add(add(table, 32), mul(index, 96))
            mstore(to, shr(128, mload(entry)))
            mstore(add(to, 32), mload(add(entry, 16)))
            mstore(add(to, 64), shr(128, mload(add(entry, 48))))
            mstore(add(to, 96), mload(add(entry, 64)))
        }
    }

    // ------------------------------------------------------------------ what the caller says

    /// @dev Whether x ‖ y is a point of the curve, both below p; then `to` is that point.
    function _readPoint(Point memory to, uint256 place) private pure returns (bool) {
        (uint256 xHi, uint256 xLo) = _numberAt(place);
        (uint256 yHi, uint256 yLo) = _numberAt(place + BYTES);
        if (!Field384.isCanonical(xHi, xLo) || !Field384.isCanonical(yHi, yLo)) return false;
        (xHi, xLo) = Field384.scaled(xHi, xLo);
        (yHi, yLo) = Field384.scaled(yHi, yLo);
        (to.xHi, to.xLo, to.yHi, to.yLo) = (xHi, xLo, yHi, yLo);

        // y² = (x² − 3)·x + b
        (uint256 hi, uint256 lo) = Field384.mul(xHi, xLo, xHi, xLo);
        (hi, lo) = Field384.sub(hi, lo, THREE_HI, THREE_LO);
        (hi, lo) = Field384.mul(hi, lo, xHi, xLo);
        (hi, lo) = Field384.add(hi, lo, B_HI, B_LO);
        (hi, lo) = Field384.mulSub(yHi, yLo, yHi, yLo, hi, lo);
        return Field384.isZero(hi, lo);
    }

    /// @dev Whether the number at `place`, below p, is r modulo n. p is below 2n.
    function _isModuloN(uint256 place, uint256 rHi, uint256 rLo) private pure returns (bool) {
        (uint256 hi, uint256 lo) = _numberAt(place);
        if (!Scalar384.isBelow(hi, lo)) (hi, lo) = Scalar384.less(hi, lo);
        return hi == rHi && lo == rLo;
    }

    /// @dev Below 2^192.
    function _isShort(uint256 hi, uint256 lo) private pure returns (bool) {
        return hi == 0 && lo >> 192 == 0;
    }

    function _isZeroAt(uint256 place) private pure returns (bool) {
        (uint256 xHi, uint256 xLo) = _numberAt(place);
        (uint256 yHi, uint256 yLo) = _numberAt(place + BYTES);
        return (xHi | xLo | yHi | yLo) == 0;
    }

    /// @dev Where in the calldata the bytes begin. All lengths were compared before anything is read.
    function _place(bytes calldata data) private pure returns (uint256 place) {
        assembly ("memory-safe") {
            place := data.offset
        }
    }

    /// @dev 48 bytes of the calldata, big-endian.
    function _numberAt(uint256 place) private pure returns (uint256 hi, uint256 lo) {
        assembly ("memory-safe") {
            hi := shr(128, calldataload(place))
            lo := calldataload(add(place, 16))
        }
    }
}
