// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {ITreeHasher} from "../interfaces/ITreeHasher.sol";
import {PoseidonTreeTable} from "./PoseidonTreeTable.sol";

/// @title The commitment tree: quaternary, depth 16, Poseidon of four inputs with circomlib's parameters
/// @notice State of five, x^5, 8 full and 60 partial rounds (ePrint 2019/458).
///
/// In a partial round only the first word meets the S-box, and x comes out. With the matrix as [[m, v], [w, N]], the
/// last four words s become N·s + w·x, and all that the first word takes from them is v·s. In the right coordinates
/// z = P·s, with z1 = v·s, that is a recurrence:
///
///     first' = z1 + m·x      zi' = z(i+1) + Ai·z1 + Bi·x      z4' = A4·z1 + B4·x
///
/// where N^4 = A1·N^3 + A2·N^2 + A3·N + A4. So a partial round takes nine products instead of 25, by numbers that
/// are the same in every round; P and its inverse stand around the 60. test/support/poseidon-recurrence.ts derives
/// all of it.
contract TreeHasher is ITreeHasher {
    uint256 private constant R = 0x30644e72e131a029b85045b68181585d2833e84879b9709143e1f593f0000001;
    uint256 private constant DEPTH = 16;
    uint256 private constant CAPACITY = 4 ** DEPTH;

    /// Roots of empty subtrees of height 0 to 16.
    bytes private constant EMPTY_NODES =
        hex"0000000000000000000000000000000000000000000000000000000000000000"
        hex"0532fd436e19c70e51209694d9c215250937921b8b79060488c1206db73e9946"
        hex"1ea8dbbca1ca3a574b1b871aad1e8bc47571c7e11a99a6fb25f3f19d4bfad32c"
        hex"1b98ec5a992cd3688e655aef8674386f4e84f0a442eaab4840427e359c214dd2"
        hex"0fd83a3939005974d559c13c652a31942ffd61cab9a038e04239af96cafaee14"
        hex"11eb54967ae25ce42205223461cda9dbb1a1811db38b71e404d1fd94c9627777"
        hex"1c682a99981cf10a215d2788721e0ca060ddc0932cbb04c903eee3bd899dcfc0"
        hex"2b3de1ae8e72d64a5cb03934061e3fd03789273f370e32d576ae54b4cbeca719"
        hex"1b64ed0dc55f80f1f3da256b451baf16110fc268311a13fe903f87945b734861"
        hex"06efb4c4a55b0225fd1088d357b2432f422b0593015c57980e373ecef9029c72"
        hex"262138dff44f5352d2d7ec48461c771444a6c00c761a3263735d0a99143a51f1"
        hex"07ea118d86ace14a8eaa26fc18b36fefe7d5f5b00e0eb9ebfd1c88f37131c178"
        hex"0c2a4af81a2cd78159ce2f3d7ee05367fc5b3c3e1becea2a86d1e66dd27ffb7f"
        hex"1a953a710c22f79c369c976fc9981ffdbfe236695297fec65886e645e6fa2884"
        hex"16b0c5e286286eb6c4774ad6292b4f0bdc5b36cb7890b27544268892ae255e0d"
        hex"2dd7186449cc82702fb8f2d7fa86e0095263f8afb521e1976f499e67a0d7cbb8"
        hex"151399c724e17408a7a43cdadba2fc000da9339c56e4d49c6cdee6c4356fbc68";

    /// The matrix, row by row; from the same generator as the table.
    uint256 private constant M00 = 0x251e7fdf99591080080b0af133b9e4369f22e57ace3cd7f64fc6fdbcf38d7da1;
    uint256 private constant M01 = 0x25fb50b65acf4fb047cbd3b1c17d97c7fe26ea9ca238d6e348550486e91c7765;
    uint256 private constant M02 = 0x293d617d7da72102355f39ebf62f91b06deb5325f367a4556ea1e31ed5767833;
    uint256 private constant M03 = 0x104d0295ab00c85e960111ac25da474366599e575a9b7edf6145f14ba6d3c1c4;
    uint256 private constant M04 = 0x0aaa35e2c84baf117dea3e336cd96a39792b3813954fe9bf3ed5b90f2f69c977;
    uint256 private constant M10 = 0x2a70b9f1d4bbccdbc03e17c1d1dcdb02052903dc6609ea6969f661b2eb74c839;
    uint256 private constant M11 = 0x281154651c921e746315a9934f1b8a1bba9f92ad8ef4b979115b8e2e991ccd7a;
    uint256 private constant M12 = 0x28c2be2f8264f95f0b53c732134efa338ccd8fdb9ee2b45fb86a894f7db36c37;
    uint256 private constant M13 = 0x21888041e6febd546d427c890b1883bb9b626d8cb4dc18dcc4ec8fa75e530a13;
    uint256 private constant M14 = 0x14ddb5fada0171db80195b9592d8cf2be810930e3ea4574a350d65e2cbff4941;
    uint256 private constant M20 = 0x2f69a7198e1fbcc7dea43265306a37ed55b91bff652ad69aa4fa8478970d401d;
    uint256 private constant M21 = 0x001c1edd62645b73ad931ab80e37bbb267ba312b34140e716d6a3747594d3052;
    uint256 private constant M22 = 0x15b98ce93e47bc64ce2f2c96c69663c439c40c603049466fa7f9a4b228bfc32b;
    uint256 private constant M23 = 0x12c7e2adfa524e5958f65be2fbac809fcba8458b28e44d9265051de33163cf9c;
    uint256 private constant M24 = 0x2efc2b90d688134849018222e7b8922eaf67ce79816ef468531ec2de53bbd167;
    uint256 private constant M30 = 0x0c3f050a6bf5af151981e55e3e1a29a13c3ffa4550bd2514f1afd6c5f721f830;
    uint256 private constant M31 = 0x0dec54e6dbf75205fa75ba7992bd34f08b2efe2ecd424a73eda7784320a1a36e;
    uint256 private constant M32 = 0x1c482a25a729f5df20225815034b196098364a11f4d988fb7cc75cf32d8136fa;
    uint256 private constant M33 = 0x2625ce48a7b39a4252732624e4ab94360812ac2fc9a14a5fb8b607ae9fd8514a;
    uint256 private constant M34 = 0x07f017a7ebd56dd086f7cd4fd710c509ed7ef8e300b9a8bb9fb9f28af710251f;
    uint256 private constant M40 = 0x2a20e3a4a0e57d92f97c9d6186c6c3ea7c5e55c20146259be2f78c2ccc2e3595;
    uint256 private constant M41 = 0x1049f8210566b51faafb1e9a5d63c0ee701673aed820d9c4403b01feb727a549;
    uint256 private constant M42 = 0x02ecac687ef5b4b568002bd9d1b96b4bef357a69e3e86b5561b9299b82d69c8e;
    uint256 private constant M43 = 0x2d3a1aea2e6d44466808f88c9ba903d3bdcb6b58ba40441ed4ebcf11bbe1e37b;
    uint256 private constant M44 = 0x14074bb14c982c81c9ad171e4f35fe49b39c4a7a72dbb6d9c98d803bfed65e64;

    /// The recurrence.
    uint256 private constant A1 = 0x172f5e628cc26149dcc488004690cfa55faac52708481fffb3d4cfa3808b4051;
    uint256 private constant A2 = 0x2c01b6282fad3d37bdc72033b4d8da10494ac283ec74d5e63d72dbe06b4037c6;
    uint256 private constant A3 = 0x2503f642cfcb5f06e1a18c68efca3c0672ed26edfc7e6e77513ba7a4c660ab53;
    uint256 private constant A4 = 0x218796dd338868e7300732cf5d3925c74c1badd0a32d8b41b96e555ddfe27869;
    uint256 private constant B1 = 0x09fa487e7f5a0583903205ac467176e982991835de3fc7709778150adeff981e;
    uint256 private constant B2 = 0x05165212b2b7a3d682b543e7bf8ee28f2052a745f92d8389cce30e45ebb3ba01;
    uint256 private constant B3 = 0x13be2e849e96f3e0c545986d020d7162a30d006cde984ac35d80981faeb2c3fa;
    uint256 private constant B4 = 0x1fffe92691906acdf003f576862ef37065eb858c5c3ac5fbbc5dd6443e1ceb9a;

    /// @inheritdoc ITreeHasher
    function append(uint256[] calldata frontier, uint64 fromIndex, uint256[] calldata leaves)
        external
        pure
        returns (uint256 oldRoot, uint256 newRoot)
    {
        if (fromIndex + leaves.length >= CAPACITY) revert TreeFull();
        bytes memory numbers = PoseidonTreeTable.NUMBERS;
        bytes memory empty = EMPTY_NODES;
        // A level's new nodes, from place 3 on, whose complete left siblings stand just before them.
        uint256[] memory row = new uint256[](3 + leaves.length);
        for (uint256 i = 0; i < leaves.length; ++i) {
            row[3 + i] = _canonical(leaves[i]);
        }

        uint256 count = leaves.length;
        uint256 index = fromIndex;
        uint256 used = 0;
        // On the way up, the two roots are the ancestors of the next free leaf, before and after. That leaf is 0.
        for (uint256 level = 0; level < DEPTH; ++level) {
            uint256 siblings = index % 4;
            index /= 4;
            uint256 start = 3 - siblings;
            if (frontier.length - used < siblings) revert FrontierLength(frontier.length);
            for (uint256 i = 0; i < siblings; ++i) {
                row[start + i] = _canonical(frontier[used++]);
            }

            uint256 complete = (siblings + count) / 4;
            uint256[2] memory nothing = [_word(empty, level), _word(empty, level + 1)];
            oldRoot = _above(numbers, nothing, row, start, siblings, oldRoot);
            newRoot = _above(numbers, nothing, row, start + 4 * complete, (siblings + count) % 4, newRoot);
            // The j-th parent takes place 3 + j. Nodes still needed begin at start + 4 (j + 1), which is behind it.
            for (uint256 j = 0; j < complete; ++j) {
                uint256 from = start + 4 * j;
                row[3 + j] = _parent(numbers, nothing, row[from], row[from + 1], row[from + 2], row[from + 3]);
            }
            count = complete;
        }
        if (used != frontier.length) revert FrontierLength(frontier.length);
    }

    function _canonical(uint256 word) private pure returns (uint256) {
        if (word >= R) revert NotCanonical(word);
        return word;
    }

    /// @dev Above the next free leaf: the complete siblings from a place on, its ancestor, and nothing to the right.
    function _above(
        bytes memory numbers,
        uint256[2] memory nothing,
        uint256[] memory row,
        uint256 from,
        uint256 siblings,
        uint256 node
    ) private pure returns (uint256) {
        uint256[4] memory children = [nothing[0], nothing[0], nothing[0], nothing[0]];
        for (uint256 i = 0; i < siblings; ++i) {
            children[i] = row[from + i];
        }
        children[siblings] = node;
        return _parent(numbers, nothing, children[0], children[1], children[2], children[3]);
    }

    /// @param nothing the empty node of the children's level and of the parent's, which needs no hash
    function _parent(bytes memory numbers, uint256[2] memory nothing, uint256 a, uint256 b, uint256 c, uint256 d)
        private
        pure
        returns (uint256)
    {
        uint256 empty = nothing[0];
        if (a == empty && b == empty && c == empty && d == empty) return nothing[1];
        return _hash(numbers, a, b, c, d);
    }

    function _word(bytes memory words, uint256 place) private pure returns (uint256 word) {
        assembly ("memory-safe") {
            word := mload(add(words, mul(32, add(place, 1))))
        }
    }

    /// @dev All four below R. The capacity word begins as 0. Of numbers below R five can be added, six cannot
    /// (R < 0.19 · 2^256); mulmod and addmod take sums as they are.
    function _hash(bytes memory numbers, uint256 s1, uint256 s2, uint256 s3, uint256 s4)
        private
        pure
        returns (uint256 s0)
    {
        assembly ("memory-safe") {
            function power(s, constant_) -> x {
                s := addmod(s, constant_, R)
                x := mulmod(s, s, R)
                x := mulmod(mulmod(x, x, R), s, R)
            }
            // What comes out are sums of five products.
            function fullRounds(from, a, b, c, d, e) -> a_, b_, c_, d_, e_ {
                for { let end := add(from, 640) } lt(from, end) { from := add(from, 160) } {
                    a := power(a, mload(from))
                    b := power(b, mload(add(from, 32)))
                    c := power(c, mload(add(from, 64)))
                    d := power(d, mload(add(from, 96)))
                    e := power(e, mload(add(from, 128)))
                    let t0 := add(
                        add(add(mulmod(M00, a, R), mulmod(M01, b, R)), add(mulmod(M02, c, R), mulmod(M03, d, R))),
                        mulmod(M04, e, R)
                    )
                    let t1 := add(
                        add(add(mulmod(M10, a, R), mulmod(M11, b, R)), add(mulmod(M12, c, R), mulmod(M13, d, R))),
                        mulmod(M14, e, R)
                    )
                    let t2 := add(
                        add(add(mulmod(M20, a, R), mulmod(M21, b, R)), add(mulmod(M22, c, R), mulmod(M23, d, R))),
                        mulmod(M24, e, R)
                    )
                    let t3 := add(
                        add(add(mulmod(M30, a, R), mulmod(M31, b, R)), add(mulmod(M32, c, R), mulmod(M33, d, R))),
                        mulmod(M34, e, R)
                    )
                    let t4 := add(
                        add(add(mulmod(M40, a, R), mulmod(M41, b, R)), add(mulmod(M42, c, R), mulmod(M43, d, R))),
                        mulmod(M44, e, R)
                    )
                    a := t0
                    b := t1
                    c := t2
                    d := t3
                    e := t4
                }
                a_ := a
                b_ := b
                c_ := c
                d_ := d
                e_ := e
            }
            // Other coordinates for the last four words, reduced.
            function change(rows, a, b, c, d) -> a_, b_, c_, d_ {
                a_ := row(rows, a, b, c, d)
                b_ := row(add(rows, 128), a, b, c, d)
                c_ := row(add(rows, 256), a, b, c, d)
                d_ := row(add(rows, 384), a, b, c, d)
            }
            function row(numbers_, a, b, c, d) -> sum {
                sum := add(mulmod(mload(numbers_), a, R), mulmod(mload(add(numbers_, 32)), b, R))
                sum := add(sum, mulmod(mload(add(numbers_, 64)), c, R))
                sum := addmod(sum, mulmod(mload(add(numbers_, 96)), d, R), R)
            }

            let here := add(numbers, 32)
            s0, s1, s2, s3, s4 := fullRounds(here, s0, s1, s2, s3, s4)
            here := add(here, 640)

            s1, s2, s3, s4 := change(here, s1, s2, s3, s4)
            here := add(here, 512)
            for { let end := add(here, 1920) } lt(here, end) { here := add(here, 32) } {
                // s1 to s4 are z1 to z4 here. A round leaves s0 to s4 below 4, 3, 1, 4 and 2 times R.
                let x := power(s0, mload(here))
                let z1 := s1
                s0 := add(z1, mulmod(M00, x, R))
                s1 := add(s2, add(mulmod(A1, z1, R), mulmod(B1, x, R)))
                s2 := addmod(s3, add(mulmod(A2, z1, R), mulmod(B2, x, R)), R)
                s3 := add(s4, add(mulmod(A3, z1, R), mulmod(B3, x, R)))
                s4 := add(mulmod(A4, z1, R), mulmod(B4, x, R))
            }
            s1, s2, s3, s4 := change(here, s1, s2, s3, s4)

            s0, s1, s2, s3, s4 := fullRounds(add(here, 512), s0, s1, s2, s3, s4)
            s0 := mod(s0, R)
        }
    }
}
