// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {AttestationDocument} from "../../../shared/contracts/nitro/AttestationDocument.sol";
import {X509} from "../../../shared/contracts/nitro/X509.sol";

/// What the readers read, by themselves.
contract X509Harness {
    function certificate(bytes calldata der) external pure returns (X509.Certificate memory) {
        return X509.read(der);
    }

    function document(bytes calldata given) external pure returns (AttestationDocument.Parsed memory) {
        return AttestationDocument.read(given);
    }
}
