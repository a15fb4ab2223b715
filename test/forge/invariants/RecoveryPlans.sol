// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {IPoolTypes} from "../../../shared/contracts/interfaces/IPoolTypes.sol";
import {Brake, Buckets} from "../support/Buckets.sol";
import {Proofs} from "../support/Proofs.sol";
import {Draft, Statements, SwapTerms} from "../support/Statements.sol";
import {TestToken} from "../support/TestToken.sol";
import {Outcome} from "../support/World.sol";
import {Act, RecoveryModel, Root, Signer, Waiting} from "./RecoveryModel.sol";

/// @title Statements of both ways, true and forged, and what has to become of each
/// @notice Any signer may be robbed: then it vouches for a true statement with a false proof, or for one that makes money.
abstract contract RecoveryPlans is RecoveryModel {
    using Brake for Buckets;

    uint256 private constant MOST = 4e14;
    uint256 internal constant PAYOUT = 1e12;
    address internal constant RECIPIENT = address(0x4EC1);
    uint256 private drawn;

    /// How often each thing was done.
    mapping(bytes32 what => uint256) public done;

    function _draw() internal returns (uint256) {
        return uint256(keccak256(abi.encode("drawn", ++drawn)));
    }

    function _asset(uint256 seed) internal view returns (address) {
        return [address(usdc), address(euro), address(yen)][seed % 3];
    }

    // ------------------------------------------------------------------ what is said

    function _planDeposit(uint256 seed) internal returns (Act memory act) {
        _choose(act, seed);
        act.asset = _asset(seed / 64);
        act.amount = seed / 256 % MOST + 4;
        act.values = _split(act.isTrue ? act.amount : 2 * act.amount, 3);
        Draft memory draft = _draft(Statements.DEPOSIT, _draw());
        (draft.asset, draft.amount) = (uint160(act.asset), act.amount);
        TestToken(act.asset).mint(depositor, act.amount);
        _say(act, draft);
    }

    /// @param kind SPEND, SPEND9 or SWAP
    function _planSpend(uint8 kind, uint256 seed) internal returns (Act memory act) {
        _choose(act, seed);
        act.asset = _asset(seed / 64);
        uint256 root = _chooseRoot(seed / 256);
        uint256 sum = _chooseInputs(act, kind, root, seed >> 32);
        // Over a false root a good proof makes money. So does a robbed signer.
        bool isFromNothing = roots[root].isFalse || !act.isTrue;
        act.isBalanced = !isFromNothing;
        if (isFromNothing) sum += (seed >> 64) % MOST;
        uint256 part = (seed >> 40) % 4;
        if (part != 0) act.amount = part == 1 ? sum : sum / (1 << (part * 2));
        if (kind == Statements.SWAP && act.amount == 0) kind = Statements.SPEND;
        act.values = _split(sum - act.amount, Statements.outputsOf(kind));
        Draft memory draft = _draft(kind, _draw());
        draft.root = roots[root].root;
        for (uint256 i = 0; i < act.inputs.length; ++i) {
            draft.nullifiers[i] = _nullifierOf(act.inputs[i]);
        }
        (draft.asset, draft.amount) = (act.amount == 0 ? 0 : uint160(act.asset), act.amount);
        draft.ext = _ext(kind, act.amount, _asset(seed / 64 + 1));
        _say(act, draft);
    }

    function _ext(uint8 kind, uint256 amount, address tokenOut) private view returns (bytes memory) {
        bytes memory sealed_ = Statements.anyCiphertexts(kind, drawn);
        if (kind != Statements.SWAP) return Statements.spendExt(amount == 0 ? address(0) : RECIPIENT, sealed_);
        SwapTerms memory terms = _terms(drawn);
        terms.tokenOut = tokenOut;
        return Statements.swapExt(terms, sealed_);
    }

    /// @dev Somebody proves nine notes at once and takes all.
    function _planLeave(address asset) internal returns (Act memory act) {
        (act.isTrue, act.asset) = (true, asset);
        act.inputs = new uint256[](9);
        uint256 count = 0;
        for (uint256 id = 0; id < notes.length && count < 9; ++id) {
            bool isThere = !notes[id].isSpent && !isVoid[notes[id].leafIndex] && notes[id].asset == asset;
            if (!isThere) continue;
            act.inputs[count++] = id;
            act.amount += notes[id].value;
        }
        uint256[] memory inputs = act.inputs;
        assembly ("memory-safe") {
            mstore(inputs, count)
        }
        act.values = new uint256[](4);
        Draft memory draft = _withdrawal(Statements.SPEND9, _draw(), asset, act.amount, RECIPIENT);
        draft.root = roots[newest].root;
        for (uint256 i = 0; i < count; ++i) {
            draft.nullifiers[i] = _nullifierOf(act.inputs[i]);
        }
        draft.proof = Proofs.good();
        act.transaction = _bind(draft);
        verifiers[Statements.SPEND9].register(act.transaction.signals);
    }

    /// @dev Half attested, half proved; a quarter of the attested forged, some of the proved with a bad proof.
    function _choose(Act memory act, uint256 seed) private pure {
        act.isAttested = seed % 2 == 0;
        act.isForged = act.isAttested && seed / 2 % 4 == 0;
        // A true statement with a false proof, or a false one.
        act.isTrue = !act.isForged || seed / 8 % 2 == 0;
    }

    /// @dev Any, and mostly one of those that stand.
    function _chooseRoot(uint256 seed) internal view returns (uint256 which) {
        which = seed % roots.length;
        if (seed >> 16 & 15 == 0) return which;
        if (seed >> 20 & 1 == 0) which = newest;
        while (!_isRoot(which)) which = which == 0 ? newest : which - 1;
    }

    /// @dev Unspent notes that this root truly covers, up to two of them.
    function _chooseInputs(Act memory act, uint8 kind, uint256 root, uint256 seed) private view returns (uint256 sum) {
        act.inputs = new uint256[](Statements.inputsOf(kind));
        uint256 count = 0;
        uint256 most = roots[root].isFalse ? 0 : notes.length;
        for (uint256 i = 0; i < most && i < 40 && count < act.inputs.length; ++i) {
            uint256 id = (seed % most + i) % most;
            bool isThere = notes[id].leafIndex < roots[root].count && !isVoid[notes[id].leafIndex];
            if (notes[id].asset != act.asset || notes[id].isSpent || !isThere) continue;
            act.inputs[count++] = id;
            sum += notes[id].value;
        }
        uint256[] memory inputs = act.inputs;
        assembly ("memory-safe") {
            mstore(inputs, count)
        }
    }

    function _split(uint256 sum, uint256 count) private pure returns (uint256[] memory parts) {
        parts = new uint256[](count);
        parts[0] = sum / 2;
        parts[1] = sum - sum / 2;
    }

    function _say(Act memory act, Draft memory draft) private {
        draft.proof = act.isAttested ? Proofs.compressed(!act.isForged || !act.isTrue) : Proofs.good();
        if (act.isForged && act.isTrue && drawn % 3 == 0) draft.proof = Proofs.pointless();
        if (!act.isAttested && drawn % 16 == 0) draft.proof = Proofs.bad();
        act.transaction = _bind(draft);
        if (act.isTrue) verifiers[draft.kind].register(act.transaction.signals);
        if (!act.isAttested) return;
        bytes32 digest = Statements.digestOf(home.domain, _keyHash(draft.kind), act.transaction);
        act.transaction.attestations = _signatures(digest, _signing(_draw()));
    }

    /// @dev One or two of those who are admitted; now and then somebody who was.
    function _signing(uint256 seed) internal view returns (uint256[] memory by) {
        by = new uint256[](2);
        uint256 count = 0;
        bool isAny = seed % 16 == 0;
        for (uint256 i = 0; i < people.length && count < (seed / 16 % 3 == 0 ? 2 : 1); ++i) {
            Signer storage signer = people[(seed / 64 + i) % people.length];
            if (isAny ? signer.wasAdmitted : signer.isAdmitted) by[count++] = signer.key;
        }
        if (count == 0) by[count++] = people[0].key;
        if (count == 2 && vm.addr(by[0]) > vm.addr(by[1])) (by[0], by[1]) = (by[1], by[0]);
        assembly ("memory-safe") {
            mstore(by, count)
        }
    }

    // ------------------------------------------------------------------ what has to become of it

    function _attestationFault(bytes32 digest, bytes memory attestations) internal view returns (bytes4) {
        if (!_isOpen()) return IPoolTypes.AttestedPathShut.selector;
        for (uint256 i = 0; i < attestations.length / 65; ++i) {
            if (!_signerOf(digest, _tail(attestations, 65 * i)).isAdmitted) return IPoolTypes.SignerUnknown.selector;
        }
        return 0;
    }

    /// @param isPaid a deposit whose leaves are void: proved again it brings no money
    function _expectedFault(Act memory act, bool isPaid) internal view returns (bytes4) {
        IPoolTypes.Transaction memory transaction = act.transaction;
        bool isDeposit = transaction.kind == Statements.DEPOSIT;
        if (isDeposit && isUnsound) return IPoolTypes.DepositsStopped.selector;
        if (!isDeposit) {
            uint256 number = numberOf[transaction.signals[1]];
            if (number == 0 || !_isRoot(number - 1)) return IPoolTypes.RootUnknown.selector;
            if (!act.isAttested && block.timestamp < roots[number - 1].since + provedDelay) {
                return IPoolTypes.RootYoung.selector;
            }
        }
        if (!act.isAttested) {
            bytes32 proof = keccak256(transaction.proof);
            if (proof != keccak256(Proofs.good())) return IPoolTypes.ProofRejected.selector;
        } else {
            bytes32 digest = Statements.digestOf(home.domain, _keyHash(transaction.kind), transaction);
            bytes4 fault = _attestationFault(digest, transaction.attestations);
            if (fault != 0) return fault;
        }
        return isPaid || isDeposit || act.amount == 0 ? bytes4(0) : _capFault(act);
    }

    function _capFault(Act memory act) private view returns (bytes4) {
        Buckets memory buckets = _buckets(act.asset);
        bool isEnough = act.amount <= TestToken(act.asset).balanceOf(address(pool));
        // The pool asks for one signer: a second one lets out no more.
        bool isRoom = act.amount <= buckets.attestedRoom(1, isUnsound);
        bool isSwap = act.transaction.kind == Statements.SWAP;
        if (!act.isAttested) {
            uint256 part = _allotment(act.asset, buckets);
            if (part != 0) buckets.letOutByProof(part, isUnsound);
            isRoom = part == waiting[act.asset] && act.amount <= _provedRoom(buckets);
        }
        if (!isRoom) {
            if (act.isAttested || isSwap) return IPoolTypes.CapReached.selector;
            return isEnough ? bytes4(IPoolTypes.ClaimAdded.selector) : IPoolTypes.ClaimTooLarge.selector;
        }
        // Only what was forged can leave the pool without enough.
        return isEnough ? bytes4(0) : IPoolTypes.TransferRefused.selector;
    }

    // ------------------------------------------------------------------ what became of it

    function _run(Act memory act, bool isPaid) internal {
        bytes4 expected = _expectedFault(act, isPaid);
        // A claim is no refusal.
        bool isClaim = expected == bytes4(IPoolTypes.ClaimAdded.selector);
        Buckets memory buckets = _buckets(act.asset);
        address tokenOut = act.transaction.kind == Statements.SWAP ? address(bytes20(_head(act.transaction.ext, 20))) : address(0);
        Buckets memory bucketsOut = _buckets(tokenOut == address(0) ? act.asset : tokenOut);
        if ((expected == 0 || isClaim) && _leavesByProof(act)) _allot(act.asset, buckets);
        Outcome memory outcome = _execute(_one(act.transaction), _noUpdate(), depositor).members[0];
        ++done[isClaim ? bytes32("claims made") : bytes32(expected)];
        if (expected != 0 && !isClaim) {
            _assertRejected(outcome, expected);
        } else {
            _assertExecuted(outcome);
            vm.assertEq(outcome.claimed, isClaim ? act.amount : 0, "a claim where there is no room");
            ++done[act.isAttested ? act.isForged ? bytes32("forged") : bytes32("attested") : bytes32("proved")];
            _place(act);
            if (!isPaid && act.amount != 0) _settleMoney(act, buckets, isClaim);
            if (isPaid) excess[act.asset] += int256(act.amount);
            _settleNotes(act);
            if (tokenOut != address(0)) _settleSwap(tokenOut, bucketsOut, outcome);
        }
        if (act.isExecuted || act.isAttested) acts.push(act);
        _addEnd();
    }

    function _place(Act memory act) private view {
        act.isExecuted = true;
        act.firstLeaf = leaves_.length;
        act.firstNote = notes.length;
        if (act.transaction.kind != Statements.DEPOSIT) act.root = numberOf[act.transaction.signals[1]] - 1;
    }

    function _leavesByProof(Act memory act) private pure returns (bool) {
        return !act.isAttested && act.amount != 0 && act.transaction.kind != Statements.DEPOSIT;
    }

    function _settleMoney(Act memory act, Buckets memory buckets, bool isClaim) private {
        if (act.transaction.kind == Statements.DEPOSIT) {
            buckets.takeIn(act.amount);
        } else if (act.isAttested) {
            buckets.letOut(act.amount);
        } else if (isClaim) {
            uint256 root = numberOf[act.transaction.signals[1]] - 1;
            claims_[act.asset].push(Waiting(act.amount, act.amount << 64, root, false));
            act.claim = claims_[act.asset].length;
            owed[act.asset] += act.amount;
            waiting[act.asset] += act.amount;
        } else {
            buckets.letOutByProof(act.amount, isUnsound);
        }
        buckets_[act.asset] = buckets;
    }

    /// @dev The leaves, the notes, and by how much they are more than what was there.
    function _settleNotes(Act memory act) private {
        bool isDeposit = act.transaction.kind == Statements.DEPOSIT;
        int256 made = isDeposit ? -int256(act.amount) : int256(act.amount);
        for (uint256 i = 0; i < act.inputs.length; ++i) {
            _spend(act.inputs[i], acts.length);
            made -= int256(notes[act.inputs[i]].value);
        }
        uint256[] memory signals = act.transaction.signals;
        for (uint256 i = 0; i < act.values.length; ++i) {
            if (act.values[i] != 0) _addNote(act.asset, act.values[i], leaves_.length);
            made += int256(act.values[i]);
            _addLeaf(signals[signals.length - act.values.length + i]);
        }
        excess[act.asset] += made;
    }

    function _settleSwap(address tokenOut, Buckets memory buckets, Outcome memory outcome) private {
        vm.assertEq(outcome.note.value, PAYOUT, "what the venue paid");
        buckets.takeIn(PAYOUT);
        buckets_[tokenOut] = buckets;
        _addNote(tokenOut, PAYOUT, leaves_.length);
        _addLeaf(outcome.note.commitment);
    }

    // ------------------------------------------------------------------ what comes again

    /// @dev The same once more, as of that root.
    /// @return false where nobody would say it: it is false, and to be proved
    function _planAgain(uint256 which, uint256 root, uint256 seed) internal returns (bool, Act memory act) {
        act = acts[which];
        uint8 kind = act.transaction.kind;
        (act.isExecuted, act.isRefuted, act.isReplaced) = (false, false, false);
        act.before = act.before == 0 ? which + 1 : act.before;
        _choose(act, seed);
        if (!_isTrueOn(act, root)) {
            if (!act.isAttested) return (false, act);
            (act.isForged, act.isTrue) = (true, false);
        }
        Draft memory draft = _draft(kind, _draw());
        uint256[] memory signals = act.transaction.signals;
        // Said once: what is true of it does not change.
        draft.deadline = DEADLINE + uint64(drawn);
        (draft.root, draft.asset, draft.amount) = (roots[root].root, signals[2], signals[3]);
        for (uint256 i = 4; i < signals.length; ++i) {
            uint256 inputs = draft.nullifiers.length;
            if (i < 4 + inputs) draft.nullifiers[i - 4] = signals[i];
            else draft.commitments[i - 4 - inputs] = signals[i];
        }
        draft.ext = act.transaction.ext;
        IPoolTypes.Transaction memory first = acts[act.before - 1].transaction;
        draft.authorization = abi.encode(first.deadline, first.signals[1], keccak256(first.proof));
        if (kind == Statements.SWAP) draft.authorization = bytes.concat(draft.authorization, abi.encode(PAYOUT));
        _say(act, draft);
        return (true, act);
    }

    /// @dev Of an act and all that came in its place, the one that has the notes; itself where none has.
    function _currentOf(uint256 which) internal view returns (uint256) {
        uint256 first = acts[which].before == 0 ? which + 1 : acts[which].before;
        for (uint256 i = 0; i < acts.length; ++i) {
            if ((i + 1 == first || acts[i].before == first) && _stands(acts[i])) return i;
        }
        return which;
    }

    function _againFault(uint256 which) private view returns (bytes4) {
        Act storage act = acts[which];
        if (!_stands(act)) return IPoolTypes.EarlierUnknown.selector;
        if (!roots[act.root].isRevoked) return IPoolTypes.EarlierStands.selector;
        if (act.claim == 0) return 0;
        Waiting storage one = claims_[act.asset][act.claim - 1];
        bool isTooLarge = one.isRemoved && one.left > TestToken(act.asset).balanceOf(address(pool));
        return isTooLarge ? IPoolTypes.ClaimTooLarge.selector : bytes4(0);
    }

    function _runAgain(Act memory act, uint256 which) internal {
        bytes4 expected = _expectedFault(act, true);
        if (expected == 0) expected = _againFault(which);
        Buckets memory buckets = _buckets(act.asset);
        Outcome memory outcome = _execute(_one(act.transaction), _noUpdate(), depositor).members[0];
        ++done[bytes32(expected)];
        if (expected != 0) {
            _assertRejected(outcome, expected);
        } else {
            _assertExecuted(outcome);
            ++done[act.isForged ? bytes32("forged again") : bytes32("came again")];
            if (!isVoid[acts[which].firstLeaf]) _empty(acts[which]);
            acts[which].isReplaced = true;
            _place(act);
            _settleAgain(act);
            if (act.transaction.kind == Statements.SWAP) _settleSwapAgain(act, outcome);
            if (act.claim != 0) _settleClaimAgain(act, buckets);
        }
        if (act.isExecuted || act.isAttested) acts.push(act);
        _addEnd();
    }

    /// @dev Its leaves and notes, and nothing else: what it spent is spent, what it moved has moved.
    function _settleAgain(Act memory act) private {
        uint256[] memory signals = act.transaction.signals;
        for (uint256 i = 0; i < act.values.length; ++i) {
            if (act.values[i] != 0) _addNote(act.asset, act.values[i], leaves_.length);
            excess[act.asset] += int256(act.values[i]);
            _addLeaf(signals[signals.length - act.values.length + i]);
        }
    }

    function _settleSwapAgain(Act memory act, Outcome memory outcome) private {
        address tokenOut = address(bytes20(_head(act.transaction.ext, 20)));
        vm.assertEq(outcome.note.value, PAYOUT, "what the venue paid then");
        excess[tokenOut] += int256(PAYOUT);
        _addNote(tokenOut, PAYOUT, leaves_.length);
        _addLeaf(outcome.note.commitment);
    }

    function _settleClaimAgain(Act memory act, Buckets memory buckets) private {
        Waiting storage one = claims_[act.asset][act.claim - 1];
        if (one.left == 0) return;
        ++done["claims confirmed"];
        one.root = act.root;
        if (!one.isRemoved) return;
        _allot(act.asset, buckets);
        buckets_[act.asset] = buckets;
        (one.isRemoved, one.weight) = (false, one.left << 64);
        owed[act.asset] += one.left;
        excess[act.asset] += int256(one.left);
        waiting[act.asset] += one.left;
        ++done["claims restored"];
    }
}
