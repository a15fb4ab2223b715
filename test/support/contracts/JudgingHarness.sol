// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {IVerifier} from "../../../shared/contracts/interfaces/IVerifier.sol";
import {CompressedProof} from "../../../shared/contracts/libraries/CompressedProof.sol";

/// @title FOR TESTS: the pool's verdict on a proof, many in a call
/// @notice `attested` is the condition of `refuteStatement`, `proved` that of a proved member of `execute`.
contract JudgingHarness {
    error Unexpected(bytes reason);

    struct Case {
        bool isProved;
        uint8 verifier;
        bytes compressed;
        uint256[8] words;
        uint256[] signals;
    }

    uint8 private constant FALSE = 0;
    uint8 private constant TRUE = 1;
    uint8 private constant NO_VERDICT = 2;

    /// Of each case. A bad point burns half a million at least, and what is left must be enough to say so.
    uint256 private constant CASE_GAS = 1_500_000;

    IVerifier[] private verifiers;

    constructor(IVerifier[] memory all) {
        verifiers = all;
    }

    function attested(Case calldata one) external view returns (bool) {
        return CompressedProof.standing(one.compressed, one.words)
            && verifiers[one.verifier].verify(one.words, one.signals);
    }

    function proved(Case calldata one) external view returns (bool) {
        return verifiers[one.verifier].verify(one.words, one.signals);
    }

    /// @return verdicts of each, NO_VERDICT where the words are not what the bytes decompress to
    function judge(Case[] calldata cases) external view returns (uint8[] memory verdicts) {
        verdicts = new uint8[](cases.length);
        for (uint256 i = 0; i < cases.length; ++i) {
            function(Case memory) external view returns (bool) way = cases[i].isProved ? this.proved : this.attested;
            try way{gas: CASE_GAS}(cases[i]) returns (bool isTrue) {
                verdicts[i] = isTrue ? TRUE : FALSE;
            } catch (bytes memory reason) {
                if (bytes4(reason) != CompressedProof.NotTheDecompression.selector) revert Unexpected(reason);
                verdicts[i] = NO_VERDICT;
            }
        }
    }
}

/// @title FOR TESTS: a verifier that takes a second spelling of a number for the first
contract ReducingVerifier {
    uint256 private constant Q = 0x30644e72e131a029b85045b68181585d97816a916871ca8d3c208c16d87cfd47;
    uint256 private constant R = 0x30644e72e131a029b85045b68181585d2833e84879b9709143e1f593f0000001;

    IVerifier private immutable inner;

    constructor(IVerifier inner_) {
        inner = inner_;
    }

    function verify(uint256[8] calldata proof, uint256[] calldata signals) external view returns (bool) {
        uint256[8] memory words;
        for (uint256 i = 0; i < 8; ++i) words[i] = proof[i] % Q;
        uint256[] memory reduced = new uint256[](signals.length);
        for (uint256 i = 0; i < signals.length; ++i) reduced[i] = signals[i] % R;
        return inner.verify(words, reduced);
    }
}
