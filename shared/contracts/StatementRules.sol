// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {Allowlist} from "./Allowlist.sol";
import {Circuits} from "./Circuits.sol";
import {CommitmentQueue} from "./CommitmentQueue.sol";
import {IPool} from "./interfaces/IPool.sol";
import {ExecutedLog} from "./libraries/ExecutedLog.sol";
import {Ext} from "./libraries/Ext.sol";
import {StatementSignals} from "./libraries/StatementSignals.sol";

/// @title Every rule of a statement, and the state that the rules are about
/// @notice `_faultOf` looks and changes nothing; `_apply` changes and cannot fail. Between the two stands
/// nothing, so a transaction without tokens needs no call of its own to be isolated from its neighbours
/// (which saves about 4,000 gas a transfer). A fault is a value: the error that `Rejected` will carry.
abstract contract StatementRules is CommitmentQueue, Allowlist, Circuits {
    using StatementSignals for uint256[];

    /// @dev What is read from a transaction once and used often.
    struct Statement {
        uint8 kind;
        uint64 deadline;
        uint256 inputs;
        uint256 outputs;
        uint256 leaves;
        bytes32 extHash;
        bytes32 hash;
        bytes32 proofHash;
        address token;
        /// amountIn of a deposit, amountOut of all others.
        uint256 amount;
    }

    uint256 private constant PROOF_BYTES = 128;

    /// Unspent, by its absence. A number: a reservation by an exit will be another state.
    uint256 private constant SPENT = 1;

    mapping(uint256 nullifier => uint256) private nullifierStates;
    /// A spend can only be made once because of its nullifiers; a deposit has none.
    mapping(bytes32 statementHash => bool) private deposited;

    function isSpent(uint256 nullifier) external view returns (bool) {
        return nullifierStates[nullifier] == SPENT;
    }

    /// @dev The statement's name is known even when nothing else about it is right: `Rejected` needs it.
    function _nameOf(Transaction calldata transaction) internal pure returns (Statement memory statement) {
        statement.kind = transaction.kind;
        statement.deadline = transaction.deadline;
        statement.extHash = keccak256(transaction.ext);
        statement.hash = keccak256(
            abi.encode(statement.kind, statement.deadline, transaction.signals, statement.extHash)
        );
    }

    // ------------------------------------------------------------------ looking

    /// @dev Completes `statement` on the way. Empty when every rule holds.
    function _faultOf(Transaction calldata transaction, Statement memory statement)
        internal
        view
        returns (bytes memory fault)
    {
        uint256[] calldata signals = transaction.signals;
        fault = _formFault(signals, transaction.ext, transaction.proof.length, statement);
        if (fault.length == 0) fault = _termsFault(transaction, statement);
        if (fault.length == 0) fault = _stateFault(signals, statement);
        if (fault.length == 0) {
            statement.proofHash = keccak256(transaction.proof);
            bytes32 digest = _attestationDigest(
                statement.kind,
                verifyingKeyHash(statement.kind),
                statement.hash,
                statement.proofHash,
                statement.deadline
            );
            fault = _attestationFault(digest, transaction.attestations);
        }
    }

    /// @dev Lengths, ranges and the tie between proof and terms: what makes the later readers safe.
    function _formFault(
        uint256[] calldata signals,
        bytes calldata ext,
        uint256 proofLength,
        Statement memory statement
    ) private view returns (bytes memory) {
        uint8 kind = statement.kind;
        uint64 deadline = statement.deadline;
        (uint256 inputs, uint256 outputs, uint256 leaves) = StatementSignals.shapeOf(kind);
        if (outputs == 0) return abi.encodeWithSelector(UnknownKind.selector, kind);
        if (block.timestamp > deadline) return abi.encodeWithSelector(DeadlinePassed.selector, deadline);

        uint256 count = StatementSignals.count(inputs, outputs);
        if (signals.length != count) return abi.encodeWithSelector(SignalCount.selector, signals.length, count);
        uint256 position = signals.firstOutOfRange();
        if (position != count) return abi.encodeWithSelector(SignalOutOfRange.selector, position);

        uint256 extLength = Ext.length(kind, leaves);
        if (ext.length != extLength) return abi.encodeWithSelector(ExtLength.selector, ext.length, extLength);
        if (proofLength != PROOF_BYTES) return abi.encodeWithSelector(ProofLength.selector, proofLength);

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
            if (amount == 0) return abi.encodeWithSelector(ZeroAmount.selector);
            if (!isAsset(token)) return abi.encodeWithSelector(AssetUnsupported.selector, token);
            return "";
        }
        if (transaction.authorization.length != 0) return abi.encodeWithSelector(AuthorizationMalformed.selector);
        if ((asset == 0) != (amount == 0)) return abi.encodeWithSelector(AssetMismatch.selector);
        if (statement.kind == StatementSignals.PRIVATE_SWAP) {
            if (amount == 0) return abi.encodeWithSelector(ZeroAmount.selector);
            bytes memory fault = _swapFault(transaction.ext, token);
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

        if (!isAsset(tokenOut)) return abi.encodeWithSelector(AssetUnsupported.selector, tokenOut);
        // Not only what arrives: a hostile token in the middle would run in the middle of the call.
        if (!isOneHop && !isAsset(middle)) return abi.encodeWithSelector(AssetUnsupported.selector, middle);
        if (executor == address(0)) return abi.encodeWithSelector(ExecutorAbsent.selector);
        return "";
    }

    /// @dev Uniswap v3's, in hundredths of a basis point.
    function _isTier(uint24 fee) private pure returns (bool) {
        return fee == 500 || fee == 3000 || fee == 100 || fee == 10_000;
    }

    /// @dev What depends on what happened before.
    function _stateFault(uint256[] calldata signals, Statement memory statement) private view returns (bytes memory) {
        uint256 inputs = statement.inputs;
        if (inputs == 0) {
            if (deposited[statement.hash]) return abi.encodeWithSelector(StatementRepeated.selector);
        } else {
            if (rootSequence(signals.root()) == 0) return abi.encodeWithSelector(RootUnknown.selector, signals.root());
            uint256[] calldata nullifiers = signals.nullifiers(inputs);
            for (uint256 i = 0; i < inputs; ++i) {
                uint256 nullifier = nullifiers.item(i);
                if (nullifierStates[nullifier] != 0) return abi.encodeWithSelector(NullifierSpent.selector, nullifier);
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
        if (inputs == 0) deposited[statement.hash] = true;
        for (uint256 i = 0; i < inputs; ++i) {
            nullifierStates[nullifiers.item(i)] = SPENT;
        }
        uint256[] calldata commitments = signals.commitments(inputs, statement.outputs);
        uint64 firstLeafIndex = _append(commitments);
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
