// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {Attestations} from "./Attestations.sol";
import {Removals} from "./Removals.sol";
import {Suspensions} from "./Suspensions.sol";
import {IPool} from "./interfaces/IPool.sol";
import {IRecovery} from "./interfaces/IRecovery.sol";
import {ITreeHasher} from "./interfaces/ITreeHasher.sol";
import {IVerifier} from "./interfaces/IVerifier.sol";
import {CompressedProof} from "./libraries/CompressedProof.sol";
import {Ext} from "./libraries/Ext.sol";
import {Marks} from "./libraries/Marks.sol";
import {StatementSignals} from "./libraries/StatementSignals.sol";
import {TokenCalls} from "./libraries/TokenCalls.sol";

/// @title Showing that signers vouched for what is false, and what the pool does then
/// @notice Two questions, kept apart. Who signed it is out, whatever became of it. What it made is undone where it was
/// executed: leaves, roots and nullifiers; money that has left has left.
abstract contract Refutations is Attestations, Removals, Suspensions {
    using StatementSignals for uint256[];

    uint256 private constant COMPRESSED_BYTES = 128;

    /// @inheritdoc IRecovery
    function refuteStatement(FalseStatement calldata statement, uint256 lastGood, uint256 firstBad) external locked {
        address circuit = _settings().verifier(statement.kind);
        if (circuit == address(0)) revert UnknownKind(statement.kind);
        if (statement.proof.length != COMPRESSED_BYTES) revert ProofLength(statement.proof.length);
        bytes32 statementHash =
            statement.signals.statementHash(statement.kind, statement.deadline, statement.extHash);
        bytes32 proofHash = keccak256(statement.proof);
        bytes32 digest = _attestationDigest(
            statement.kind, _settings().verifyingKeyHash(statement.kind), statementHash, proofHash, statement.deadline
        );
        // Both revert when gas is short, or a caller could make a true statement look false.
        bool isTrue = CompressedProof.standing(statement.proof, statement.words)
            && IVerifier(circuit).verify(statement.words, statement.signals);
        if (isTrue) revert StatementTrue();

        bool wasExecuted = _voidLeaves(statement, statementHash, proofHash, lastGood, firstBad);
        _convict(digest, statement.attestations, wasExecuted);
    }

    /// @inheritdoc IRecovery
    function refuteRootUpdate(RootUpdate calldata update, uint256[] calldata frontier, uint256[] calldata leaves)
        external
        locked
    {
        bytes32 head = update.headBefore;
        for (uint256 i = 0; i < leaves.length; ++i) {
            head = _nextHead(head, leaves[i]);
        }
        bool isWhole = update.toIndex >= update.fromIndex && update.toIndex - update.fromIndex == leaves.length;
        if (!isWhole || head != update.headAfter) revert LeavesMismatch();
        (uint256 oldRoot, uint256 newRoot) = ITreeHasher(_settings().treeHasher()).append(frontier, update.fromIndex, leaves);
        if (oldRoot != update.oldRoot) revert FrontierMismatch(oldRoot);
        if (newRoot == update.newRoot) revert StatementTrue();

        bytes32 digest = _rootUpdateDigest(update);
        RootRecord memory record = roots[update.newRoot];
        // Not by its name alone: the same root may be somebody's true one.
        bool wasTaken = record.origin == uint136(uint256(digest));
        if (wasTaken && _isRoot(record)) {
            _revokeFrom(record.sequencePlusOne - 1, update.oldRoot, roots[update.oldRoot].leafCount);
        }
        _convict(digest, update.attestations, wasTaken);
    }

    /// @inheritdoc IRecovery
    function returnDeposit(uint256[] calldata signals, uint64 deadline, bytes calldata ext) external locked {
        bytes32 statementHash = signals.statementHash(StatementSignals.DEPOSIT_SHIELD, deadline, keccak256(ext));
        // What has a time here was executed, so signals and ext have the length of a deposit's.
        uint256 voidedAt = Marks.voidedAt(deposited[statementHash]);
        if (voidedAt == 0) revert DepositStands();
        uint64 from = uint64(voidedAt) + _settings().changeDelay();
        if (block.timestamp < from) revert TooEarly(from);
        deposited[statementHash] = Marks.RETURNED;
        // No cap counts it: it is the depositor's own, and what it was credited when it came in has drained.
        (address asset, uint256 amount) = (address(uint160(signals.asset(0))), signals.amount(0));
        address depositor = Ext.party(ext);
        TokenCalls.push(asset, depositor, amount);
        emit DepositReturned(statementHash, asset, depositor, amount);
    }

    /// @inheritdoc IRecovery
    function reportUnsound(uint8 kind, uint256[] calldata signals, uint256[8] calldata proof) external locked {
        (uint256 inputs,,) = StatementSignals.shapeOf(kind);
        // Out of the empty tree nothing can come: the circuits let an input of value 0 alone be without a leaf.
        bool isFalse = inputs != 0 && signals.length > 3 && signals.root() == EMPTY_ROOT && signals.amount(inputs) != 0;
        if (!isFalse || !IVerifier(_settings().verifier(kind)).verify(proof, signals)) revert NotUnsound();
        position.isUnsound = true;
        emit Unsound(kind);
        _closeAttestedPath(type(uint40).max);
    }

    function _domainSeparator() internal view override returns (bytes32) {
        return IPool(address(this)).domainSeparator();
    }

    // ------------------------------------------------------------------ what it made

    /// @return wasExecuted false, and nothing changed, where the statement, with this very proof, was not
    function _voidLeaves(
        FalseStatement calldata statement,
        bytes32 statementHash,
        bytes32 proofHash,
        uint256 lastGood,
        uint256 firstBad
    ) private returns (bool wasExecuted) {
        (uint256 inputs, uint256 outputs, uint256 leaves) = StatementSignals.shapeOf(statement.kind);
        if (statement.signals.length != StatementSignals.count(inputs, outputs)) return false;
        uint256[] calldata nullifiers = statement.signals.nullifiers(inputs);
        uint256 mark = inputs == 0 ? deposited[statementHash] : spentBy[nullifiers.item(0)];
        if (!Marks.isOf(mark, statementHash, proofHash)) return false;

        // A note that somebody else owns was not spent by a statement that is false. Nor was one that is suspended confirmed by it.
        bool isAgain = inputs != 0 && Marks.isAgain(mark);
        for (uint256 i = 0; i < inputs; ++i) {
            uint256 nullifier = nullifiers.item(i);
            if (isAgain) spentBy[nullifier] = suspendedMarks[nullifier];
            else delete spentBy[nullifier];
        }
        if (isAgain) {
            address asset = address(uint160(statement.signals.asset(inputs)));
            _suspendClaim(statementHash, asset, Marks.rootNumber(spentBy[nullifiers.item(0)]));
        }
        // Its money is here. Whoever can prove it gets the notes again; else it goes back, see `returnDeposit`.
        if (inputs == 0) deposited[statementHash] = block.timestamp;

        uint64 first = Marks.firstLeafIndex(mark);
        // Suspended before: it is empty in every root that there is.
        bool wasEmpty = _isIn(voidLeaves, first);
        _empty(first, leaves);
        emit LeavesVoided(statementHash, first, uint64(leaves));
        if (wasEmpty) return true;

        if (first < position.rootedCount) {
            _revokeCovering(first, lastGood, firstBad);
        } else {
            if (doubtfulUpTo < first + leaves) doubtfulUpTo = first + leaves;
            rootedHeadWhileWaiting = UNKNOWN_HEAD;
        }
        return true;
    }

    function _revokeCovering(uint64 leafIndex, uint256 lastGood, uint256 firstBad) private {
        RootRecord memory good = roots[lastGood];
        RootRecord memory bad = roots[firstBad];
        bool isAround = _isRoot(good) && _isRoot(bad) && good.leafCount <= leafIndex && leafIndex < bad.leafCount;
        // Named too early, a good root would be revoked with the bad ones, and all its leaves had to be hashed again.
        bool isNext = good.sequencePlusOne + 1 == bad.sequencePlusOne
            || (good.sequencePlusOne < bad.sequencePlusOne
                && _isRevoked(good.sequencePlusOne, bad.sequencePlusOne - 2));
        if (!isAround || !isNext) revert RootsNotAdjacent();
        _revokeFrom(bad.sequencePlusOne - 1, lastGood, good.leafCount);
    }

    /// @dev Every root from that number on: each was built on the one before.
    /// @param root the newest that stays, and the one that the tree goes on from
    function _revokeFrom(uint40 first, uint256 root, uint40 leafCount) private {
        uint40 last = position.rootSequence;
        emit RootsRevoked(first, last, root, leafCount);
        while (revoked.length != 0 && revoked[revoked.length - 1].last + 1 >= first) {
            uint40 earlier = revoked[revoked.length - 1].first;
            if (earlier < first) first = earlier;
            revoked.pop();
        }
        revoked.push(Interval(first, last));
        position.revokedUpTo = last;
        // What waits may be proved on one of them, and what comes later cannot.
        doubtfulUpTo = position.leafCount;
        position.rootedCount = leafCount;
        newestRoot = root;
        rootedHeadWhileWaiting = UNKNOWN_HEAD;
    }

    // ------------------------------------------------------------------ who signed it

    /// @param wasBelieved the pool has taken what they vouched for
    function _convict(bytes32 digest, bytes calldata attestations, bool wasBelieved) private {
        uint256 count = attestations.length / SIGNATURE_BYTES;
        if (count == 0 || attestations.length != count * SIGNATURE_BYTES) {
            revert AttestationLength(attestations.length);
        }
        for (uint256 i = 0; i < count; ++i) {
            address signer = _recover(digest, attestations, i * SIGNATURE_BYTES);
            if (signer == address(0)) revert SignatureInvalid();
            if (!signers[signer].wasAdmitted) revert SignerUnknown(signer);
            emit Refuted(signer, digest);
            // One that is out already closes nothing, and what nobody believed takes nobody with it: its key could be used to
            // stop the others permanently.
            bool isHeard = signers[signer].voice != 0;
            if (isHeard) _closeAttestedPath(block.timestamp + _settings().changeDelay());
            // Its key left the enclave, or the enclave is wrong: the same holds for all of that image, and it goes with them.
            bytes32 image = imageOf[signer];
            if ((isHeard || wasBelieved) && images[image].admission.standing != Standing.Removed) _revokeImage(image);
            _payBond(signer, msg.sender);
        }
    }
}
