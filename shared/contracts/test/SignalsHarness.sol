// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {Ext} from "../libraries/Ext.sol";
import {StatementSignals} from "../libraries/StatementSignals.sol";

/// @title FOR TESTS: the libraries' readers, to be compared with shared/protocol/statements.ts
contract SignalsHarness {
    using StatementSignals for uint256[];

    function fieldOrder() external pure returns (uint256) {
        return StatementSignals.FIELD_ORDER;
    }

    function shapeOf(uint8 kind) external pure returns (uint256 inputs, uint256 outputs, uint256 signals, uint256 ext) {
        (inputs, outputs) = StatementSignals.shapeOf(kind);
        return (inputs, outputs, StatementSignals.count(inputs, outputs), Ext.length(inputs, outputs));
    }

    function read(uint8 kind, uint256[] calldata signals)
        external
        pure
        returns (
            uint256 context,
            uint256 root,
            uint256 asset,
            uint256 amount,
            uint256[] memory nullifiers,
            uint256[] memory commitments
        )
    {
        (uint256 inputs, uint256 outputs) = StatementSignals.shapeOf(kind);
        return (
            signals.context(),
            inputs == 0 ? 0 : signals.root(),
            signals.asset(inputs),
            signals.amount(inputs),
            signals.nullifiers(inputs),
            signals.commitments(inputs, outputs)
        );
    }

    function firstOutOfRange(uint256[] calldata signals) external pure returns (uint256) {
        return signals.firstOutOfRange();
    }

    function readExt(uint8 kind, bytes calldata ext)
        external
        pure
        returns (address party, uint64 validAfter, uint64 validBefore, bytes memory ciphertexts)
    {
        (uint256 inputs,) = StatementSignals.shapeOf(kind);
        if (inputs == 0) (validAfter, validBefore) = (Ext.validAfter(ext), Ext.validBefore(ext));
        return (Ext.party(ext), validAfter, validBefore, Ext.ciphertexts(ext, inputs));
    }
}
