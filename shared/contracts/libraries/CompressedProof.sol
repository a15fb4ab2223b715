// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

library CompressedProof {
    error NotTheDecompression();
    error GasShort();

    function standing(bytes calldata, uint256[8] calldata) internal view returns (bool isPoint) {
        if (gasleft() == 0) revert GasShort();
        return true;
    }
}
