// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

/// @title What 128 compressed bytes of a Groth16 proof stand for
/// @notice The bytes are what the enclave attests (shared/protocol/proof.ts): a.x b.x.c1 b.x.c0 c.x, with the parity of y
/// in bit 255 of the first, second and fourth. Taking roots on chain is dear, so the caller brings them and they are
/// checked. What this says must not depend on what the caller brings: bytes that decompress are never called
/// pointless, and bytes that do not have no words that pass.
///
/// No point has y = 0, neither on the curve nor on the twist, since both groups have an odd order. So a point and its
/// negative differ in parity (q is odd), and x with a bit is at most one point. (0, 0), which is how EIP-197 spells
/// infinity, is on neither; the enclave refuses it. Whether B is in its subgroup is the verifier's to check.
library CompressedProof {
    /// These words are not what the bytes decompress to, and the bytes do decompress.
    error NotTheDecompression();
    /// The call had too little gas for an answer that means something.
    error GasShort();

    uint256 private constant LENGTH = 128;
    uint256 private constant PARITY = 1 << 255;
    /// Order of the base field: 3 modulo 4, so −1 is no square, and Fp2 is Fp(u) with u² = −1.
    uint256 private constant Q = 0x30644e72e131a029b85045b68181585d97816a916871ca8d3c208c16d87cfd47;
    /// y² = x³ + 3 on the curve, y² = x³ + 3/(9 + u) on the twist.
    uint256 private constant CURVE_B = 3;
    uint256 private constant TWIST_B_C0 = 0x2b149d40ceb8aaae81be18991be06ac3b5b4c5e559dbefa33267e6dc24a138e5;
    uint256 private constant TWIST_B_C1 = 0x009713b03af0fed4cd2cafadeed8fdf4a74fa084e52d1852e4a2bd0685c315d2;

    address private constant MODEXP = address(5);
    /// 1,349 by EIP-2565 and 4,048 by EIP-7883. The margin is for chains with other prices.
    uint256 private constant MODEXP_GAS = 10_000;

    /// @param words a.x a.y b.x.c1 b.x.c0 b.y.c1 b.y.c0 c.x c.y, the order of EIP-197, untrusted
    /// @return isPoint true when the bytes decompress to these words; false when they decompress to nothing, whatever
    /// the words are
    function standing(bytes calldata compressed, uint256[8] calldata words) internal view returns (bool isPoint) {
        if (compressed.length != LENGTH) return false;
        (uint256 a, uint256 bC1, uint256 bC0, uint256 c) =
            abi.decode(compressed, (uint256, uint256, uint256, uint256));
        if (
            _isOnCurve(words[0], words[1]) && _isOnTwist(words[3], words[2], words[5], words[4])
                && _isOnCurve(words[6], words[7]) && a == _flagged(words[0], words[1])
                && bC1 == _flagged(words[2], words[5] == 0 ? words[4] : words[5]) && bC0 == words[3]
                && c == _flagged(words[6], words[7])
        ) return true;
        if (_isNothing(a) || _isNothing(c) || _isNothingOnTwist(bC0, bC1)) return false;
        revert NotTheDecompression();
    }

    function _flagged(uint256 x, uint256 y) private pure returns (uint256) {
        return x | (y << 255);
    }

    function _isOnCurve(uint256 x, uint256 y) private pure returns (bool) {
        return x < Q && y < Q && mulmod(y, y, Q) == _curve(x);
    }

    function _isOnTwist(uint256 x0, uint256 x1, uint256 y0, uint256 y1) private pure returns (bool) {
        if (x0 >= Q || x1 >= Q || y0 >= Q || y1 >= Q) return false;
        (uint256 square0, uint256 square1) = _times(y0, y1, y0, y1);
        (uint256 right0, uint256 right1) = _twist(x0, x1);
        return square0 == right0 && square1 == right1;
    }

    /// @dev No point of the curve has this x.
    function _isNothing(uint256 flagged) private view returns (bool) {
        uint256 x = flagged & ~PARITY;
        return x >= Q || _isNoSquare(_curve(x));
    }

    /// @dev In Fp2 a number is a square exactly if its norm is one in Fp.
    function _isNothingOnTwist(uint256 x0, uint256 flagged1) private view returns (bool) {
        uint256 x1 = flagged1 & ~PARITY;
        if (x0 >= Q || x1 >= Q) return true;
        (uint256 right0, uint256 right1) = _twist(x0, x1);
        return _isNoSquare(addmod(mulmod(right0, right0, Q), mulmod(right1, right1, Q), Q));
    }

    /// @dev x³ + 3.
    function _curve(uint256 x) private pure returns (uint256) {
        return addmod(mulmod(mulmod(x, x, Q), x, Q), CURVE_B, Q);
    }

    /// @dev x³ + 3/(9 + u).
    function _twist(uint256 x0, uint256 x1) private pure returns (uint256 right0, uint256 right1) {
        (right0, right1) = _times(x0, x1, x0, x1);
        (right0, right1) = _times(right0, right1, x0, x1);
        (right0, right1) = (addmod(right0, TWIST_B_C0, Q), addmod(right1, TWIST_B_C1, Q));
    }

    /// @dev In Fp2; all four below q.
    function _times(uint256 a0, uint256 a1, uint256 b0, uint256 b1) private pure returns (uint256, uint256) {
        return (
            addmod(mulmod(a0, b0, Q), Q - mulmod(a1, b1, Q), Q), addmod(mulmod(a0, b1, Q), mulmod(a1, b0, Q), Q)
        );
    }

    /// @dev Euler's criterion: value^((q − 1)/2) is −1. A precompile that lacks gas fails, and a chain without it says
    /// nothing: neither is an answer.
    function _isNoSquare(uint256 value) private view returns (bool) {
        if (gasleft() < MODEXP_GAS) revert GasShort();
        (bool isDone, bytes memory output) =
            MODEXP.staticcall(abi.encode(uint256(32), uint256(32), uint256(32), value, (Q - 1) / 2, Q));
        if (!isDone || output.length != 32) revert GasShort();
        return abi.decode(output, (uint256)) == Q - 1;
    }
}
