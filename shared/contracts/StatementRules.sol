// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {CommitmentQueue} from "./CommitmentQueue.sol";
import {IVerifier} from "./interfaces/IVerifier.sol";
import {ExecutedLog} from "./libraries/ExecutedLog.sol";
import {Ext} from "./libraries/Ext.sol";
import {Marks} from "./libraries/Marks.sol";
import {StatementSignals} from "./libraries/StatementSignals.sol";

/// @title Every rule of a statement, and the state that the rules are about
/// @notice `_faultOf` looks and changes nothing; `_apply` changes and cannot fail. Between the two stands
/// nothing, so a transaction without tokens needs no call of its own to be isolated from its neighbours
/// (which saves about 4,000 gas a transfer). A fault is a value: the error that `Rejected` will carry.
abstract contract StatementRules is CommitmentQueue {
    using StatementSignals for uint256[];

    uint256 private constant COMPRESSED_BYTES = 128;
    uint256 private constant UNCOMPRESSED_BYTES = 256;

    /// @dev The statement's name is known even when nothing else about it is right: `Rejected` needs it.
    function _nameOf(Transaction calldata transaction) internal pure returns (Statement memory statement) {
        statement.kind = transaction.kind;
        statement.deadline = transaction.deadline;
        statement.extHash = keccak256(transaction.ext);
        statement.hash =
            transaction.signals.statementHash(transaction.kind, transaction.deadline, statement.extHash);
    }

    // ------------------------------------------------------------------ looking

    /// @dev Completes `statement` on the way. Empty when every rule holds.
    function _faultOf(Transaction calldata transaction, Statement memory statement)
        internal
        view
        returns (bytes memory fault)
    {
        uint256[] calldata signals = transaction.signals;
        fault = _formFault(signals, transaction.ext, transaction.proof, statement);
        if (fault.length == 0) fault = _termsFault(transaction, statement);
        if (fault.length == 0) fault = _stateFault(signals, statement);
        if (fault.length != 0) return fault;
        if (statement.isProved) return _proofFault(transaction, statement.kind);
        bytes32 digest = _attestationDigest(
            statement.kind,
            verifyingKeyHash(statement.kind),
            statement.hash,
            statement.proofHash,
            statement.deadline
        );
        return _attestationFault(digest, transaction.attestations);
    }

    /// @dev Reverts when gas is short: a carrier must not be able to make a good proof look bad.
    function _proofFault(Transaction calldata transaction, uint8 kind) private view returns (bytes memory) {
        uint256 attested = transaction.attestations.length;
        if (attested != 0) return abi.encodeWithSelector(AttestationLength.selector, attested);
        // Of what is attested, enclaves look at it. Of what an approval pays for, no token does.
        if (kind == StatementSignals.DEPOSIT_SHIELD && Ext.validAfter(transaction.ext) >= Ext.validBefore(transaction.ext)) {
            return abi.encodeWithSelector(SpanEmpty.selector);
        }
        uint256[8] calldata words;
        bytes calldata proof = transaction.proof;
        assembly ("memory-safe") {
            words := proof.offset
        }
        bool isShown = IVerifier(verifier(kind)).verify(words, transaction.signals);
        return isShown ? bytes("") : abi.encodeWithSelector(ProofRejected.selector);
    }

    /// @dev Lengths, ranges and the tie between proof and terms: what makes the later readers safe.
    function _formFault(
        uint256[] calldata signals,
        bytes calldata ext,
        bytes calldata proof,
        Statement memory statement
    ) private view returns (bytes memory) {
        uint8 kind = statement.kind;
        uint64 deadline = statement.deadline;
        (uint256 inputs, uint256 outputs, uint256 leaves) = StatementSignals.shapeOf(kind);
        if (outputs == 0) return abi.encodeWithSelector(UnknownKind.selector, kind);
        // A deposit that was taken in time and voided may be proved later.
        statement.isPaid = inputs == 0 && Marks.voidedAt(deposited[statement.hash]) != 0;
        if (block.timestamp > deadline && !statement.isPaid) return abi.encodeWithSelector(DeadlinePassed.selector, deadline);

        uint256 count = StatementSignals.count(inputs, outputs);
        if (signals.length != count) return abi.encodeWithSelector(SignalCount.selector, signals.length, count);
        uint256 position = signals.firstOutOfRange();
        if (position != count) return abi.encodeWithSelector(SignalOutOfRange.selector, position);

        uint256 extLength = Ext.length(kind, leaves);
        if (ext.length != extLength) return abi.encodeWithSelector(ExtLength.selector, ext.length, extLength);
        statement.isProved = proof.length == UNCOMPRESSED_BYTES;
        if (!statement.isProved && proof.length != COMPRESSED_BYTES) {
            return abi.encodeWithSelector(ProofLength.selector, proof.length);
        }
        statement.proofHash = keccak256(proof);

        bytes32 context = keccak256(abi.encode(block.chainid, address(this), kind, deadline, statement.extHash));
        if (signals.context() != uint256(context) % StatementSignals.FIELD_ORDER) {
            return abi.encodeWithSelector(ContextMismatch.selector);
        }

        statement.inputs = inputs;
        statement.outputs = outputs;
        statement.leaves = leaves;
        statement.amount = signals.amount(inputs);
        return "";
    }

    /// @dev Who gets what: the rules over asset, amount and ext.
    function _termsFault(Transaction calldata transaction, Statement memory statement)
        private
        view
        returns (bytes memory)
    {
        uint256 asset = transaction.signals.asset(statement.inputs);
        uint256 amount = statement.amount;
        if (asset > type(uint160).max) return abi.encodeWithSelector(AssetOutOfRange.selector);
        if (amount > type(uint128).max) return abi.encodeWithSelector(AmountOutOfRange.selector);
        address token = address(uint160(asset));
        statement.token = token;

        if (statement.kind == StatementSignals.DEPOSIT_SHIELD) {
            if (position.isUnsound) return abi.encodeWithSelector(DepositsStopped.selector);
            if (amount == 0) return abi.encodeWithSelector(ZeroAmount.selector);
            if (!_isListed(token) && !statement.isPaid) return abi.encodeWithSelector(AssetUnsupported.selector, token);
            return "";
        }
        // What it shows is looked at when it is executed: there alone it means anything.
        statement.isAgain = transaction.authorization.length != 0;
        if ((asset == 0) != (amount == 0)) return abi.encodeWithSelector(AssetMismatch.selector);
        if (statement.kind == StatementSignals.PRIVATE_SWAP) {
            if (amount == 0) return abi.encodeWithSelector(ZeroAmount.selector);
            // One that comes again was traded, and needs no venue.
            bytes memory fault = statement.isAgain ? bytes("") : _swapFault(transaction.ext, token);
            if (fault.length != 0) return fault;
        } else {
            address recipient = Ext.party(transaction.ext);
            if ((recipient == address(0)) != (amount == 0)) return abi.encodeWithSelector(RecipientMismatch.selector);
            if (amount == 0) return "";
            if (recipient == address(this) || recipient == token) {
                return abi.encodeWithSelector(RecipientForbidden.selector, recipient);
            }
        }
        // For payments too: even a lying signer must not make the pool call an arbitrary contract.
        if (!_mayLeave(token)) return abi.encodeWithSelector(AssetUnsupported.selector, token);
        return "";
    }

    function _swapFault(bytes calldata ext, address token) private view returns (bytes memory) {
        address tokenOut = Ext.tokenOut(ext);
        if (tokenOut == address(0) || tokenOut == token) {
            return abi.encodeWithSelector(TokenOutInvalid.selector, tokenOut);
        }
        if (Ext.minAmountOut(ext) == 0) return abi.encodeWithSelector(FloorZero.selector);
        if (Ext.npkOut(ext) >= StatementSignals.FIELD_ORDER) return abi.encodeWithSelector(NpkOutOfRange.selector);

        address middle = Ext.middle(ext);
        uint24 feeSecond = Ext.feeSecond(ext);
        bool isOneHop = middle == address(0);
        if (
            !_isTier(Ext.feeFirst(ext)) || (isOneHop ? feeSecond != 0 : !_isTier(feeSecond)) || middle == token
                || middle == tokenOut
        ) return abi.encodeWithSelector(PathInvalid.selector);

        if (!_isListed(tokenOut)) return abi.encodeWithSelector(AssetUnsupported.selector, tokenOut);
        // Not only what arrives: a hostile token in the middle would run in the middle of the call.
        if (!isOneHop && !_isListed(middle)) return abi.encodeWithSelector(AssetUnsupported.selector, middle);
        if (currentExecutor == address(0)) return abi.encodeWithSelector(ExecutorAbsent.selector);
        return "";
    }

    function _isListed(address asset) internal view returns (bool) {
        return assets[asset].standing == Standing.Admitted;
    }

    /// @dev True also after delisting: whoever holds notes of it must never be locked in.
    function _mayLeave(address asset) private view returns (bool) {
        return assets[asset].standing != Standing.Unknown;
    }

    /// @dev Uniswap v3's, in hundredths of a basis point.
    function _isTier(uint24 fee) private pure returns (bool) {
        return fee == 500 || fee == 3000 || fee == 100 || fee == 10_000;
    }

    /// @dev What depends on what happened before.
    function _stateFault(uint256[] calldata signals, Statement memory statement) private view returns (bytes memory) {
        uint256 inputs = statement.inputs;
        if (inputs == 0) {
            // Only a proof says that these notes are worth the money that is here.
            bool isRepeated = deposited[statement.hash] != 0 && !(statement.isPaid && statement.isProved);
            if (isRepeated) return abi.encodeWithSelector(StatementRepeated.selector);
        } else {
            RootRecord memory record = roots[signals.root()];
            if (!_isRoot(record)) return abi.encodeWithSelector(RootUnknown.selector, signals.root());
            if (statement.isProved && block.timestamp < record.since + provedDelay) {
                return abi.encodeWithSelector(RootYoung.selector, record.since + provedDelay);
            }
            unchecked {
                statement.rootNumber = record.sequencePlusOne - 1;
            }
            uint256[] calldata nullifiers = signals.nullifiers(inputs);
            for (uint256 i = 0; i < inputs; ++i) {
                uint256 nullifier = nullifiers.item(i);
                if (spentBy[nullifier] != 0 && !statement.isAgain) return abi.encodeWithSelector(NullifierSpent.selector, nullifier);
                // The circuit forbids it as well; but then the same note would count twice towards the outputs.
                for (uint256 j = 0; j < i; ++j) {
                    if (nullifiers.item(j) == nullifier) return abi.encodeWithSelector(NullifiersNotDistinct.selector);
                }
            }
        }
        return _appendFault(signals.commitments(inputs, statement.outputs), statement.leaves);
    }

    // ------------------------------------------------------------------ changing

    /// @dev Only after `_faultOf` found nothing, in the same state.
    function _apply(Transaction calldata transaction, Statement memory statement) internal {
        uint256[] calldata signals = transaction.signals;
        uint256 inputs = statement.inputs;
        uint256[] calldata nullifiers = signals.nullifiers(inputs);
        uint256[] calldata commitments = signals.commitments(inputs, statement.outputs);
        uint64 firstLeafIndex = _append(commitments);
        uint256 mark = Marks.make(statement.hash, statement.proofHash, statement.rootNumber, firstLeafIndex);
        if (inputs == 0) deposited[statement.hash] = mark;
        for (uint256 i = 0; i < inputs; ++i) {
            spentBy[nullifiers.item(i)] = mark;
        }
        ExecutedLog.write(
            statement.hash,
            statement.kind,
            firstLeafIndex,
            statement.proofHash,
            signals.noteHashes(inputs, statement.outputs),
            Ext.ciphertexts(transaction.ext, statement.kind),
            _moved(transaction.ext, statement)
        );
    }

    /// @dev What the event says about tokens; empty where none move.
    function _moved(bytes calldata ext, Statement memory statement) private pure returns (bytes memory) {
        uint128 amount = uint128(statement.amount);
        if (amount == 0) return "";
        if (statement.kind == StatementSignals.PRIVATE_SWAP) return abi.encodePacked(statement.token, amount);
        return abi.encodePacked(statement.token, amount, Ext.party(ext));
    }
}
