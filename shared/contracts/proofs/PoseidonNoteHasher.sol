// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {INoteHasher} from "../interfaces/INoteHasher.sol";
import {PoseidonNoteTable} from "./PoseidonNoteTable.sol";

/// @title Poseidon of three inputs over BN254's scalar field, with circomlib's parameters
/// @notice State of four, x^5, 8 full and 56 partial rounds (ePrint 2019/458). The partial rounds are the recurrence that
/// TreeHasher.sol explains, here of three words:
///
///     first' = z1 + m·x      z1' = z2 + A1·z1 + B1·x      z2' = z3 + A2·z1 + B2·x      z3' = A3·z1 + B3·x
///
/// where N^3 = A1·N^2 + A2·N + A3: seven products instead of 16. test/support/poseidon-recurrence.ts derives all of it.
contract PoseidonNoteHasher is INoteHasher {
    uint256 private constant R = 0x30644e72e131a029b85045b68181585d2833e84879b9709143e1f593f0000001;

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

    /// The recurrence.
    uint256 private constant A1 = 0x18a48ec8aaba990bd04bd52c1262d759873dbe617b8adf6c24c726d1d0e9e240;
    uint256 private constant A2 = 0x29107eeef0f7d24e349501def45520461ba2df669259d3cbfc77c95d3904394e;
    uint256 private constant A3 = 0x0160199b9b14f6f35b84c5064e483c326db6d02a368fae85eb87c941354718b5;
    uint256 private constant B1 = 0x2a72c2eb9cc6bd475fc9a3a37b6d76659f7e9b29c53a7e7bd8a53e63656fcb53;
    uint256 private constant B2 = 0x140a8cd4ff56ceca5fd8b2b0e681a6c325e0d37f9a2e92c48305567ea10fb254;
    uint256 private constant B3 = 0x25099e0c1669c000294ec9d369bd1129f0f7799d7c8bb9507ebfc7998ab61a67;

    /// @inheritdoc INoteHasher
    /// @dev The capacity word begins as 0. Of numbers below R five can be added, six cannot (R < 0.19 · 2^256); mulmod
    /// and addmod take sums as they are.
    function hash(uint256 a, uint256 b, uint256 c) external pure returns (uint256 result) {
        bytes memory numbers = PoseidonNoteTable.NUMBERS;
        assembly ("memory-safe") {
            function power(s, constant_) -> x {
                s := addmod(s, constant_, R)
                x := mulmod(s, s, R)
                x := mulmod(mulmod(x, x, R), s, R)
            }
            // What comes out are sums of four products.
            function fullRounds(from, s0, s1, s2, s3) -> s0_, s1_, s2_, s3_ {
                for { let end := add(from, 512) } lt(from, end) { from := add(from, 128) } {
                    s0 := power(s0, mload(from))
                    s1 := power(s1, mload(add(from, 32)))
                    s2 := power(s2, mload(add(from, 64)))
                    s3 := power(s3, mload(add(from, 96)))
                    let t0 := add(
                        add(mulmod(M00, s0, R), mulmod(M01, s1, R)), add(mulmod(M02, s2, R), mulmod(M03, s3, R))
                    )
                    let t1 := add(
                        add(mulmod(M10, s0, R), mulmod(M11, s1, R)), add(mulmod(M12, s2, R), mulmod(M13, s3, R))
                    )
                    let t2 := add(
                        add(mulmod(M20, s0, R), mulmod(M21, s1, R)), add(mulmod(M22, s2, R), mulmod(M23, s3, R))
                    )
                    let t3 := add(
                        add(mulmod(M30, s0, R), mulmod(M31, s1, R)), add(mulmod(M32, s2, R), mulmod(M33, s3, R))
                    )
                    s0 := t0
                    s1 := t1
                    s2 := t2
                    s3 := t3
                }
                s0_ := s0
                s1_ := s1
                s2_ := s2
                s3_ := s3
            }
            // Other coordinates for the last three words, reduced.
            function change(rows, s1, s2, s3) -> s1_, s2_, s3_ {
                s1_ := row(rows, s1, s2, s3)
                s2_ := row(add(rows, 96), s1, s2, s3)
                s3_ := row(add(rows, 192), s1, s2, s3)
            }
            function row(from, s1, s2, s3) -> sum {
                sum := add(mulmod(mload(from), s1, R), mulmod(mload(add(from, 32)), s2, R))
                sum := addmod(sum, mulmod(mload(add(from, 64)), s3, R), R)
            }

            let here := add(numbers, 32)
            let s0, s1, s2, s3 := fullRounds(here, 0, a, b, c)
            here := add(here, 512)

            s1, s2, s3 := change(here, s1, s2, s3)
            here := add(here, 288)
            for { let end := add(here, 1792) } lt(here, end) { here := add(here, 32) } {
                // s1 to s3 are z1 to z3 here. A round leaves s0 to s3 below 4, 3, 1 and 2 times R.
                let x := power(s0, mload(here))
                let z1 := s1
                s0 := add(z1, mulmod(M00, x, R))
                s1 := add(s2, add(mulmod(A1, z1, R), mulmod(B1, x, R)))
                s2 := addmod(s3, add(mulmod(A2, z1, R), mulmod(B2, x, R)), R)
                s3 := add(mulmod(A3, z1, R), mulmod(B3, x, R))
            }
            s1, s2, s3 := change(here, s1, s2, s3)

            s0, s1, s2, s3 := fullRounds(add(here, 288), s0, s1, s2, s3)
            result := mod(s0, R)
        }
    }
}
