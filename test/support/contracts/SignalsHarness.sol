// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {Ext} from "../../../shared/contracts/libraries/Ext.sol";
import {StatementSignals} from "../../../shared/contracts/libraries/StatementSignals.sol";

/// @title FOR TESTS: the libraries' readers, to be compared with shared/protocol/statements.ts
contract SignalsHarness {
    using StatementSignals for uint256[];

    function fieldOrder() external pure returns (uint256) {
        return StatementSignals.FIELD_ORDER;
    }

    function shapeOf(uint8 kind) external pure returns (uint256[5] memory) {
        (uint256 inputs, uint256 outputs, uint256 leaves) = StatementSignals.shapeOf(kind);
        return [inputs, outputs, leaves, StatementSignals.count(inputs, outputs), Ext.length(kind, leaves)];
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
        (uint256 inputs, uint256 outputs,) = StatementSignals.shapeOf(kind);
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

    function ciphertexts(uint8 kind, bytes calldata ext) external pure returns (bytes memory) {
        return Ext.ciphertexts(ext, kind);
    }

    function readDeposit(bytes calldata ext)
        external
        pure
        returns (address depositor, uint64 validAfter, uint64 validBefore)
    {
        return (Ext.party(ext), Ext.validAfter(ext), Ext.validBefore(ext));
    }

    function readSpend(bytes calldata ext) external pure returns (address recipient) {
        return Ext.party(ext);
    }

    function readSwap(bytes calldata ext)
        external
        pure
        returns (
            address tokenOut,
            uint128 minAmountOut,
            uint256 npkOut,
            uint24 feeFirst,
            address middle,
            uint24 feeSecond
        )
    {
        return (
            Ext.tokenOut(ext),
            Ext.minAmountOut(ext),
            Ext.npkOut(ext),
            Ext.feeFirst(ext),
            Ext.middle(ext),
            Ext.feeSecond(ext)
        );
    }
}
