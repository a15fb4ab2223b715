// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {CompressedProof} from "../../../shared/contracts/libraries/CompressedProof.sol";

/// @title FOR TESTS: what a proof's bytes stand for, one by one or many in a call
contract CompressedProofHarness {
    error Unexpected(bytes reason);

    struct Claim {
        bytes compressed;
        uint256[8] words;
    }

    function standing(bytes calldata compressed, uint256[8] calldata words) external view returns (bool) {
        return CompressedProof.standing(compressed, words);
    }

    /// @return answers 0 for false, 1 for true, 2 for a wrong claim
    function standings(Claim[] calldata claims) external view returns (uint8[] memory answers) {
        answers = new uint8[](claims.length);
        for (uint256 i = 0; i < claims.length; ++i) {
            try this.standing(claims[i].compressed, claims[i].words) returns (bool isPoint) {
                answers[i] = isPoint ? 1 : 0;
            } catch (bytes memory reason) {
                if (bytes4(reason) != CompressedProof.NotTheDecompression.selector) revert Unexpected(reason);
                answers[i] = 2;
            }
        }
    }
}
