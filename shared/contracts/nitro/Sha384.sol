// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

/// @title SHA-384, FIPS 180-4
/// @notice The working variables a, b, c, d are the four lanes of 64 bits of one word and e, f, g, h those of another, so
/// a round shifts both by a lane. A lane's value is used with the lanes above it still in front: sums and the standard's
/// functions let nothing flow downwards, and the shift into the word's top drops what is above 64 bits. To rotate, a
/// value x of 64 bits is repeated, x · (2^64 + 1): a plain shift then has the rotation in its low 64 bits.
library Sha384 {
    uint256 private constant START_ABCD = 0xcbbb9d5dc1059ed8629a292a367cd5079159015a3070dd17152fecd8f70e5939;
    uint256 private constant START_EFGH = 0x67332667ffc00b318eb44a8768581511db0c2e0d64f98fa747b5481dbefa4fa4;

    /// K of the 80 rounds, 8 bytes each: section 4.2.3.
    bytes private constant ROUNDS =
        hex"428a2f98d728ae227137449123ef65cdb5c0fbcfec4d3b2fe9b5dba58189dbbc"
        hex"3956c25bf348b53859f111f1b605d019923f82a4af194f9bab1c5ed5da6d8118"
        hex"d807aa98a303024212835b0145706fbe243185be4ee4b28c550c7dc3d5ffb4e2"
        hex"72be5d74f27b896f80deb1fe3b1696b19bdc06a725c71235c19bf174cf692694"
        hex"e49b69c19ef14ad2efbe4786384f25e30fc19dc68b8cd5b5240ca1cc77ac9c65"
        hex"2de92c6f592b02754a7484aa6ea6e4835cb0a9dcbd41fbd476f988da831153b5"
        hex"983e5152ee66dfaba831c66d2db43210b00327c898fb213fbf597fc7beef0ee4"
        hex"c6e00bf33da88fc2d5a79147930aa72506ca6351e003826f142929670a0e6e70"
        hex"27b70a8546d22ffc2e1b21385c26c9264d2c6dfc5ac42aed53380d139d95b3df"
        hex"650a73548baf63de766a0abb3c77b2a881c2c92e47edaee692722c851482353b"
        hex"a2bfe8a14cf10364a81a664bbc423001c24b8b70d0f89791c76c51a30654be30"
        hex"d192e819d6ef5218d69906245565a910f40e35855771202a106aa07032bbd1b8"
        hex"19a4c116b8d2d0c81e376c085141ab532748774cdf8eeb9934b0bcb5e19b48a8"
        hex"391c0cb3c5c95a634ed8aa4ae3418acb5b9cca4f7763e373682e6ff3d6b2b8a3"
        hex"748f82ee5defb2fc78a5636f43172f6084c87814a1f0ab728cc702081a6439ec"
        hex"90befffa23631e28a4506cebde82bde9bef9a3f7b2c67915c67178f2e372532b"
        hex"ca273eceea26619cd186b8c721c0c207eada7dd6cde0eb1ef57d4f7fee6ed178"
        hex"06f067aa72176fba0a637dc5a2c898a6113f9804bef90dae1b710b35131c471b"
        hex"28db77f523047d8432caab7b40c724933c9ebe0a15c9bebc431d67c49c100d4c"
        hex"4cc5d4becb3e42b6597f299cfc657e2a5fcb6fab3ad6faec6c44198c4a475817";

    /// @return hi the digest's first 32 bytes
    /// @return lo and its last 16
    function hash(bytes memory message) internal pure returns (bytes32 hi, bytes16 lo) {
        bytes memory padded = _padded(message);
        bytes memory rounds = ROUNDS;
        (uint256 abcd, uint256 efgh) = (START_ABCD, START_EFGH);
        assembly ("memory-safe") {
            // 40 words of scratch: W(2i) in the upper half of word i, W(2i + 1) in the lower, 64 bits each.
            let schedule := mload(0x40)
            let scheduled := add(schedule, 1280)
            let both := 0xffffffffffffffff0000000000000000ffffffffffffffff
            let repeat := 0x10000000000000001

            let end := add(add(padded, 32), mload(padded))
            for { let start := add(padded, 32) } lt(start, end) { start := add(start, 128) } {
                let at := schedule
                for { let i := 0 } lt(i, 128) { i := add(i, 16) } {
                    let pair := shr(128, mload(add(start, i)))
                    mstore(at, and(or(shl(64, pair), pair), both))
                    at := add(at, 32)
                }

                // Two at a time: of the four terms of W(t) none is newer than W(t − 2).
                for {} lt(at, scheduled) { at := add(at, 32) } {
                    let back16 := mload(sub(at, 256))
                    let back15 := or(shl(128, back16), shr(128, mload(sub(at, 224))))
                    let back7 := or(shl(128, mload(sub(at, 128))), shr(128, mload(sub(at, 96))))
                    let back2 := mload(sub(at, 32))

                    let repeated := mul(back15, repeat)
                    let sigma0 := xor(xor(shr(1, repeated), shr(8, repeated)), shr(7, back15))
                    repeated := mul(back2, repeat)
                    let sigma1 := xor(xor(shr(19, repeated), shr(61, repeated)), shr(6, back2))
                    // The lower of two has to be clean, or its carry reaches the upper one.
                    mstore(at, and(add(add(and(sigma0, both), and(sigma1, both)), add(back16, back7)), both))
                }

                let abcdBefore := abcd
                let efghBefore := efgh
                // So that the last 8 bytes of the word read are the round's K.
                let k := add(rounds, 8)
                for { at := schedule } lt(at, scheduled) { at := add(at, 32) } {
                    let pair := mload(at)
                    abcd, efgh := round(abcd, efgh, add(shr(128, pair), mload(k)))
                    abcd, efgh := round(abcd, efgh, add(pair, mload(add(k, 8))))
                    k := add(k, 16)
                }
                abcd := sumOfLanes(abcd, abcdBefore)
                efgh := sumOfLanes(efgh, efghBefore)
            }
            hi := abcd
            lo := shl(128, shr(128, efgh))

            // Section 6.4.2, step 3; `term` is K + W, whatever may be above its low 64 bits.
            function round(abcd_, efgh_, term) -> nextAbcd, nextEfgh {
                let x := shr(192, efgh_)
                let chosen := xor(and(xor(shr(128, efgh_), shr(64, efgh_)), x), shr(64, efgh_))
                x := mul(x, 0x10000000000000001)
                term := add(add(term, efgh_), add(chosen, xor(xor(shr(14, x), shr(18, x)), shr(41, x))))
                nextEfgh := or(shl(192, add(abcd_, term)), shr(64, efgh_))

                x := shr(192, abcd_)
                let b := shr(128, abcd_)
                let c := shr(64, abcd_)
                let majority := xor(and(xor(b, c), x), and(b, c))
                x := mul(x, 0x10000000000000001)
                term := add(term, add(majority, xor(xor(shr(28, x), shr(34, x)), shr(39, x))))
                nextAbcd := or(shl(192, term), shr(64, abcd_))
            }

            // Four sums modulo 2^64, two at a time with room for their carries.
            function sumOfLanes(x, y) -> sum {
                let lanes := 0xffffffffffffffff0000000000000000ffffffffffffffff
                sum := and(add(and(x, lanes), and(y, lanes)), lanes)
                let upper := and(add(and(shr(64, x), lanes), and(shr(64, y), lanes)), lanes)
                sum := or(sum, shl(64, upper))
            }
        }
    }

    /// @dev Section 5.1.2: a one, zeros, and the length in bits in 16 bytes.
    function _padded(bytes memory message) private pure returns (bytes memory padded) {
        uint256 length = message.length;
        padded = new bytes((length + 144) / 128 * 128);
        assembly ("memory-safe") {
            let start := add(padded, 32)
            mcopy(start, add(message, 32), length)
            mstore8(add(start, length), 0x80)
            // The length and, before it, what is already there.
            let last := add(padded, mload(padded))
            mstore(last, or(mload(last), shl(3, length)))
        }
    }
}
