// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {INoteHasher} from "../interfaces/INoteHasher.sol";
import {PoseidonTable} from "./PoseidonTable.sol";

/// @title Poseidon of three inputs over BN254's scalar field, with circomlib's parameters
/// @notice State of four, x^5, 8 full and 56 partial rounds (ePrint 2019/458). Written as the paper has it
/// (constants, S-box, matrix, round after round), so that it can be read against the paper; the form with
/// sparse matrices would take half the gas and a second table that nobody can check by eye.
contract PoseidonNoteHasher is INoteHasher {
    /// The matrix, row by row; from the same generator as the table.
    uint256 private constant M00 = 0x236d13393ef85cc48a351dd786dd7a1de5e39942296127fd87947223ae5108ad;
    uint256 private constant M01 = 0x277686494f7644bbc4a9b194e10724eb967f1dc58718e59e3cedc821b2a7ae19;
    uint256 private constant M02 = 0x023db68784e3f0cc0b85618826a9b3505129c16479973b0a84a4529e66b09c62;
    uint256 private constant M03 = 0x1d359d245f286c12d50d663bae733f978af08cdbd63017c57b3a75646ff382c1;
    uint256 private constant M10 = 0x2a75a171563b807db525be259699ab28fe9bc7fb1f70943ff049bc970e841a0c;
    uint256 private constant M11 = 0x083abff5e10051f078e2827d092e1ae808b4dd3e15ccc3706f38ce4157b6770e;
    uint256 private constant M12 = 0x1a5ad71bbbecd8a97dc49cfdbae303ad24d5c4741eab8b7568a9ff8253a1eb6f;
    uint256 private constant M13 = 0x0d745fd00dd167fb86772133640f02ce945004a7bc2c59e8790f725c5d84f0af;
    uint256 private constant M20 = 0x2070679e798782ef592a52ca9cef820d497ad2eecbaa7e42f366b3e521c4ed42;
    uint256 private constant M21 = 0x2e18c8570d20bf5df800739a53da75d906ece318cd224ab6b3a2be979e2d7eab;
    uint256 private constant M22 = 0x0fa86f0f27e4d3dd7f3367ce86f684f1f2e4386d3e5b9f38fa283c6aa723b608;
    uint256 private constant M23 = 0x03f3e6fab791f16628168e4b14dbaeb657035ee3da6b2ca83f0c2491e0b403eb;
    uint256 private constant M30 = 0x2f545e578202c9732488540e41f783b68ff0613fd79375f8ba8b3d30958e7677;
    uint256 private constant M31 = 0x23810bf82877fc19bff7eefeae3faf4bb8104c32ba4cd701596a15623d01476e;
    uint256 private constant M32 = 0x014fcd5eb0be6d5beeafc4944034cf321c068ef930f10be2207ed58d2a34cdd6;
    uint256 private constant M33 = 0x00c15fc3a1d5733dd835eae0823e377f8ba4a8b627627cc2bb661c25d20fb52a;

    /// @inheritdoc INoteHasher
    function hash(uint256 a, uint256 b, uint256 c) external pure returns (uint256 result) {
        bytes memory constants = PoseidonTable.ROUND_CONSTANTS;
        assembly ("memory-safe") {
            let r := 0x30644e72e131a029b85045b68181585d2833e84879b9709143e1f593f0000001
            let s0 := 0
            let s1 := mod(a, r)
            let s2 := mod(b, r)
            let s3 := mod(c, r)
            let here := add(constants, 32)
            let end := add(here, 8192)
            // The 56 rounds after the first four, 128 bytes each, have one S-box.
            let partialFrom := add(here, 512)

            for {} lt(here, end) { here := add(here, 128) } {
                // No sum here overflows: five numbers below r are below 2^256 (r < 0.19 · 2^256), and what comes out
                // of the matrix is four of them. mulmod takes them unreduced.
                s0 := add(s0, mload(here))
                s1 := add(s1, mload(add(here, 32)))
                s2 := add(s2, mload(add(here, 64)))
                s3 := add(s3, mload(add(here, 96)))

                let square := mulmod(s0, s0, r)
                s0 := mulmod(mulmod(square, square, r), s0, r)
                // Before them the difference is below zero, which here is a large number.
                if gt(sub(here, partialFrom), 7167) {
                    square := mulmod(s1, s1, r)
                    s1 := mulmod(mulmod(square, square, r), s1, r)
                    square := mulmod(s2, s2, r)
                    s2 := mulmod(mulmod(square, square, r), s2, r)
                    square := mulmod(s3, s3, r)
                    s3 := mulmod(mulmod(square, square, r), s3, r)
                }

                let t0 := add(
                    add(mulmod(M00, s0, r), mulmod(M01, s1, r)),
                    add(mulmod(M02, s2, r), mulmod(M03, s3, r))
                )
                let t1 := add(
                    add(mulmod(M10, s0, r), mulmod(M11, s1, r)),
                    add(mulmod(M12, s2, r), mulmod(M13, s3, r))
                )
                let t2 := add(
                    add(mulmod(M20, s0, r), mulmod(M21, s1, r)),
                    add(mulmod(M22, s2, r), mulmod(M23, s3, r))
                )
                s3 := add(
                    add(mulmod(M30, s0, r), mulmod(M31, s1, r)),
                    add(mulmod(M32, s2, r), mulmod(M33, s3, r))
                )
                s0 := t0
                s1 := t1
                s2 := t2
            }
            result := mod(s0, r)
        }
    }
}
