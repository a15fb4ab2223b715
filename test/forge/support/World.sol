// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {INoteHasher} from "../../../shared/contracts/interfaces/INoteHasher.sol";
import {IPool} from "../../../shared/contracts/interfaces/IPool.sol";
import {IPoolTypes} from "../../../shared/contracts/interfaces/IPoolTypes.sol";
import {ITreeHasher} from "../../../shared/contracts/interfaces/ITreeHasher.sol";
import {INitroAttestations} from "../../../shared/contracts/nitro/interfaces/INitroAttestations.sol";
import {TestToken} from "./TestToken.sol";
import {AttestationsStandIn, TreeStandIn, VenueStandIn, VerifierStandIn} from "./StandIns.sol";
import {Draft, Home, Statements, SwapTerms} from "./Statements.sol";
import {Cheats, Vm} from "./Vm.sol";

/// @dev What became of one member of a call.
struct Outcome {
    bool isExecuted;
    /// Of a rejected one: selector and arguments.
    bytes reason;
    uint64 firstLeafIndex;
    /// Of a swap: what `NoteHashed` said.
    bool hasNote;
    /// What a claim was made for instead of a payment.
    uint256 claimed;
    Hashed note;
}

struct Hashed {
    uint64 leafIndex;
    uint256 commitment;
    uint256 npk;
    address asset;
    uint256 value;
}

struct Result {
    Outcome[] members;
    bool isRooted;
    bool isSkipped;
    bytes skipReason;
    uint64 rootSequence;
}

struct WorldOptions {
    uint256 signers;
    uint256 threshold;
    uint64 changeDelay;
}

/// @title A pool, its tokens and signers, and what devices and enclaves do for it
/// @notice The enclave of these tests signs whatever it is handed: what an honest one would refuse is up to
/// the test.
abstract contract World is Cheats {
    address internal constant OWNER = address(0x0117E2);
    address internal constant GUARDIAN = address(0x60A7D1A);
    address internal constant SENDER = address(0x5E17DE2);
    uint64 internal constant DEADLINE = 4_000_000_000;
    uint256 internal constant EMPTY_ROOT = 0x151399c724e17408a7a43cdadba2fc000da9339c56e4d49c6cdee6c4356fbc68;
    /// Half the order of secp256k1, and the order.
    uint256 internal constant MAX_S = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0;
    uint256 internal constant CURVE_ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141;

    /// Keys whose addresses ascend. The first `options.signers` of them are accepted from the start.
    uint256 internal constant KEYS = 6;
    uint256[KEYS] internal keys;
    address[KEYS] internal signers;

    uint256 internal constant DEPOSITOR_KEY = 0xDE0517;
    address internal depositor;

    IPool internal pool;
    TestToken internal usdc;
    TestToken internal euro;
    TestToken internal yen;
    VenueStandIn internal venue;
    INoteHasher internal hasher;
    Home internal home;
    uint256 internal threshold;

    /// Of the pools that are made; a test may set others before it makes one. Caps are out of the way.
    uint64 internal provedDelay = 2 days;
    uint96 internal signerBond;
    uint104 internal minimumCap = type(uint104).max;
    /// What attestations of one kind let out of the largest cap.
    uint256 internal constant ROOM = 3 << 100;
    ITreeHasher internal tree;
    AttestationsStandIn internal documents;
    VerifierStandIn[5] internal verifiers;

    function _build(WorldOptions memory options) internal {
        vm.warp(1_800_000_000);
        _makeKeys();
        depositor = vm.addr(DEPOSITOR_KEY);
        usdc = TestToken(_deployBuilt("TestUSDC", ""));
        euro = TestToken(_deployBuilt("TestUSDC", ""));
        yen = TestToken(_deployBuilt("TestUSDC", ""));
        venue = new VenueStandIn();
        hasher = INoteHasher(_deployBuilt("PoseidonNoteHasher", ""));
        if (address(tree) == address(0)) tree = new TreeStandIn();
        _deployVerifiers();
        _usePool(_deployPool(options));
    }

    function _usePool(IPool which) internal {
        pool = which;
        threshold = which.threshold();
        home = Home(block.chainid, address(pool), Statements.domainOf(block.chainid, address(pool)));
    }

    function _deployPool(WorldOptions memory options) internal returns (IPool) {
        IPoolTypes.Configuration memory configuration;
        configuration.owner = OWNER;
        configuration.guardian = GUARDIAN;
        (configuration.images, configuration.kinds) = _images();
        configuration.threshold = options.threshold;
        configuration.signerBond = signerBond;
        configuration.changeDelay = options.changeDelay;
        configuration.provedDelay = provedDelay;
        configuration.assets = new address[](3);
        configuration.minimumCaps = new uint104[](3);
        for (uint256 i = 0; i < 3; ++i) {
            configuration.assets[i] = [address(usdc), address(euro), address(yen)][i];
            configuration.minimumCaps[i] = minimumCap;
        }
        configuration.executor = address(venue);
        configuration.verifiers = new address[](4);
        for (uint8 kind = 1; kind <= 4; ++kind) {
            configuration.verifiers[kind - 1] = address(verifiers[kind]);
        }
        configuration.noteHasher = address(hasher);
        configuration.treeHasher = address(tree);
        configuration.governance = _deployBuilt("Governance", "");
        configuration.recovery = _deployBuilt("Recovery", "");
        configuration.signerRegistry = _deployBuilt("SignerRegistry", "");
        if (address(documents) == address(0)) documents = new AttestationsStandIn();
        configuration.attestations = address(documents);
        configuration.maxDocumentAge = 1 hours;
        IPool made = IPool(_deployBuilt("Pool", abi.encode(configuration)));
        for (uint256 i = 0; i < options.signers; ++i) {
            _register(made, signers[i], _imageOf(i));
        }
        return made;
    }

    /// @dev Of all keys, each once: who is registered later needs no other.
    function _images() private view returns (bytes32[] memory images, uint8[] memory kinds) {
        (images, kinds) = (new bytes32[](KEYS), new uint8[](KEYS));
        uint256 count = 0;
        for (uint256 i = 0; i < KEYS; ++i) {
            if (i > 0 && _imageOf(i) == _imageOf(i - 1)) continue;
            (images[count], kinds[count]) = (_imageOf(i), _kindOf(i));
            ++count;
        }
        assembly ("memory-safe") {
            mstore(images, count)
            mstore(kinds, count)
        }
    }

    /// @dev Of a key. Neighbours may share one.
    function _imageOf(uint256 i) internal view virtual returns (bytes32) {
        return keccak256(abi.encode("image", i));
    }

    /// @dev Of a key's image: by turns, so that the first two are enough for any threshold of two.
    function _kindOf(uint256 i) internal view virtual returns (uint8) {
        return uint8(1 + i % 2);
    }

    /// @dev By a document that is all it should be; what others come to is tested elsewhere, with real ones.
    function _register(IPool made, address signer, bytes32 image) internal {
        uint256 bond = made.signerBond();
        vm.deal(address(this), address(this).balance + bond);
        made.register{value: bond}(_document(made, signer, image), "", uint64(block.number - 1), bytes32(0));
    }

    function _document(IPool made, address signer, bytes32 image) private view returns (bytes memory) {
        bytes memory keyHashes;
        for (uint8 kind = 1; kind <= 4; ++kind) {
            keyHashes = bytes.concat(keyHashes, made.verifyingKeyHash(kind));
        }
        bytes32 configuration = keccak256(bytes.concat(keccak256(keyHashes), bytes32(0), made.attestationRoot()));
        bytes memory said = abi.encodePacked("cloister-enclave", uint8(2), uint8(3), signer, configuration);
        bytes memory nonce = abi.encodePacked(blockhash(block.number - 1));
        return abi.encode(
            INitroAttestations.Verified(
                uint64(block.timestamp * 1000), image, keccak256(abi.encode("leaf", signer)), nonce, said, ""
            )
        );
    }

    function _deployVerifiers() private {
        for (uint8 kind = 1; kind <= 4; ++kind) {
            verifiers[kind] = new VerifierStandIn(Statements.signalsOf(kind), _keyHash(kind));
        }
    }

    function _makeKeys() private {
        for (uint256 i = 0; i < KEYS; ++i) {
            uint256 key = uint256(keccak256(abi.encode("signer", i)));
            address signer = vm.addr(key);
            uint256 place = i;
            for (; place > 0 && signers[place - 1] > signer; --place) {
                (keys[place], signers[place]) = (keys[place - 1], signers[place - 1]);
            }
            (keys[place], signers[place]) = (key, signer);
        }
    }

    function _keyHash(uint8 kind) internal pure returns (bytes32) {
        return keccak256(abi.encode("verifying key", kind));
    }

    // ------------------------------------------------------------------ statements

    /// @dev A statement of that kind that keeps every rule, told apart by `salt`: a deposit of 1,000, a private
    /// transfer, a swap of 1,000 from usdc to euro.
    function _draft(uint8 kind, uint256 salt) internal view returns (Draft memory draft) {
        draft.kind = kind;
        draft.deadline = DEADLINE;
        draft.root = kind == Statements.DEPOSIT ? 0 : EMPTY_ROOT;
        draft.nullifiers = _fields("nullifier", salt, Statements.inputsOf(kind));
        draft.commitments = _fields("commitment", salt, Statements.outputsOf(kind));
        draft.proof = abi.encode(salt, uint256(1), uint256(2), uint256(3));
        bytes memory ciphertexts = Statements.anyCiphertexts(kind, salt);
        if (kind == Statements.DEPOSIT) {
            (draft.asset, draft.amount) = (uint160(address(usdc)), 1000);
            draft.ext = Statements.depositExt(depositor, 0, DEADLINE, ciphertexts);
        } else if (kind == Statements.SWAP) {
            (draft.asset, draft.amount) = (uint160(address(usdc)), 1000);
            draft.ext = Statements.swapExt(_terms(salt), ciphertexts);
        } else {
            draft.ext = Statements.spendExt(address(0), ciphertexts);
        }
    }

    function _terms(uint256 salt) internal view returns (SwapTerms memory) {
        return SwapTerms(address(euro), 1, Statements.field("npk", salt), 3000, address(0), 0);
    }

    function _withdrawal(uint8 kind, uint256 salt, address token, uint256 amount, address recipient)
        internal
        view
        returns (Draft memory draft)
    {
        draft = _draft(kind, salt);
        (draft.asset, draft.amount) = (uint160(token), amount);
        draft.ext = Statements.spendExt(recipient, Statements.anyCiphertexts(kind, salt));
    }

    function _fields(bytes memory label, uint256 salt, uint256 count) internal pure returns (uint256[] memory list) {
        list = new uint256[](count);
        for (uint256 i = 0; i < count; ++i) {
            list[i] = Statements.field(abi.encode(label, salt), i);
        }
    }

    /// @dev As a device and honest enclaves make it: bound to the pool, signed by the first signers.
    function _seal(Draft memory draft) internal view returns (IPoolTypes.Transaction memory) {
        return _attest(_bind(draft), _firstKeys(threshold));
    }

    /// @dev Without attestations.
    function _bind(Draft memory draft) internal view returns (IPoolTypes.Transaction memory transaction) {
        transaction.kind = draft.kind;
        transaction.deadline = draft.deadline;
        transaction.signals = Statements.signals(
            draft, Statements.contextOf(home.chainId, home.pool, draft.kind, draft.deadline, draft.ext)
        );
        transaction.ext = draft.ext;
        transaction.proof = draft.proof;
        transaction.authorization = draft.authorization;
    }

    function _attest(IPoolTypes.Transaction memory transaction, uint256[] memory by)
        internal
        view
        returns (IPoolTypes.Transaction memory)
    {
        transaction.attestations =
            _signatures(Statements.digestOf(home.domain, _keyHash(transaction.kind), transaction), by);
        return transaction;
    }

    function _firstKeys(uint256 count) internal view returns (uint256[] memory list) {
        list = new uint256[](count);
        for (uint256 i = 0; i < count; ++i) {
            list[i] = keys[i];
        }
    }

    function _signatures(bytes32 digest, uint256[] memory by) internal pure returns (bytes memory all) {
        for (uint256 i = 0; i < by.length; ++i) {
            all = bytes.concat(all, _signature(digest, by[i]));
        }
    }

    function _signature(bytes32 digest, uint256 key) internal pure returns (bytes memory) {
        (uint8 v, bytes32 r, bytes32 s) = vm.sign(key, digest);
        return abi.encodePacked(r, s, v);
    }

    /// @dev The depositor's EIP-3009 authorization, made for the statement's hash.
    function _authorize(IPoolTypes.Transaction memory transaction, uint256 key, Draft memory draft)
        internal
        view
        returns (IPoolTypes.Transaction memory)
    {
        transaction.authorization = _signature(
            Statements.typed(
                TestToken(address(uint160(draft.asset))).DOMAIN_SEPARATOR(),
                _receiveHash(vm.addr(key), home.pool, draft.amount, 0, DEADLINE, Statements.hashOf(transaction))
            ),
            key
        );
        return transaction;
    }

    function _receiveHash(
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce
    ) internal pure returns (bytes32) {
        return keccak256(
            abi.encode(
                keccak256(
                    "ReceiveWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)"
                ),
                from,
                to,
                value,
                validAfter,
                validBefore,
                nonce
            )
        );
    }

    /// @dev A deposit of usdc that will be executed: paid for, authorized, attested.
    function _goodDeposit(uint256 salt) internal returns (IPoolTypes.Transaction memory) {
        Draft memory draft = _draft(Statements.DEPOSIT, salt);
        usdc.mint(depositor, draft.amount);
        return _authorize(_seal(draft), DEPOSITOR_KEY, draft);
    }

    // ------------------------------------------------------------------ root updates

    function _update(uint64 toIndex, bytes32 headAfter, uint256 newRoot)
        internal
        view
        returns (IPoolTypes.RootUpdate memory)
    {
        return _signed(
            IPoolTypes.RootUpdate(EMPTY_ROOT, newRoot, 0, toIndex, bytes32(0), headAfter, ""), _firstKeys(threshold)
        );
    }

    function _signed(IPoolTypes.RootUpdate memory update, uint256[] memory by)
        internal
        view
        returns (IPoolTypes.RootUpdate memory)
    {
        update.attestations = _signatures(Statements.digestOf(home.domain, update), by);
        return update;
    }

    function _noUpdate() internal pure returns (IPoolTypes.RootUpdate memory update) {}

    /// @dev The head of the queue after this statement's leaves, for one whose commitments are all known.
    function _headAfter(bytes32 head, Draft memory draft) internal pure returns (bytes32) {
        for (uint256 i = 0; i < draft.commitments.length; ++i) {
            head = Statements.nextHead(head, draft.commitments[i]);
        }
        return head;
    }

    // ------------------------------------------------------------------ execution

    function _one(IPoolTypes.Transaction memory transaction) internal pure returns (IPoolTypes.Transaction[] memory list) {
        list = new IPoolTypes.Transaction[](1);
        list[0] = transaction;
    }

    function _executeOne(IPoolTypes.Transaction memory transaction) internal returns (Outcome memory) {
        return _execute(_one(transaction), _noUpdate(), SENDER).members[0];
    }

    function _execute(IPoolTypes.Transaction[] memory transactions, IPoolTypes.RootUpdate memory update, address sender)
        internal
        returns (Result memory result)
    {
        (uint256 leafCount,) = pool.queue();
        vm.recordLogs();
        vm.prank(sender);
        // Enough for each, and not all there is: what burns its gas burns an equal part of what the call brings.
        pool.execute{gas: 3_000_000 * (1 + transactions.length)}(transactions, update);
        result = _read(vm.getRecordedLogs(), transactions);
        for (uint256 i = 0; i < transactions.length; ++i) {
            if (!result.members[i].isExecuted) continue;
            if (result.members[i].firstLeafIndex != leafCount) revert("a gap between leaves");
            leafCount += Statements.leavesOf(transactions[i].kind);
        }
        (uint256 leafCountAfter,) = pool.queue();
        vm.assertEq(leafCountAfter, leafCount, "as many leaves as were announced");
    }

    /// @dev Reads the pool's events, and holds them against the interface: one outcome a member, in order, each
    /// under its statement's hash, the update's own last.
    ///
    /// Forge also reports what was said in a call that failed. A member that failed in the middle of its tokens
    /// has therefore said Executed before Rejected; which of the two stands, the reason tells.
    function _read(Vm.Log[] memory logs, IPoolTypes.Transaction[] memory transactions)
        internal
        view
        returns (Result memory result)
    {
        result.members = new Outcome[](transactions.length);
        uint256 next = 0;
        for (uint256 i = 0; i < logs.length; ++i) {
            if (logs[i].emitter != address(pool)) continue;
            bytes32 topic = logs[i].topics[0];
            if (topic == IPoolTypes.Executed.selector || topic == IPoolTypes.Rejected.selector) {
                if (result.isRooted || result.isSkipped) revert("a member after the root update");
                if (next > 0 && _isTakenBack(logs[i], transactions[next - 1], result.members[next - 1])) --next;
                result.members[next] = _readMember(logs[i], transactions[next]);
                ++next;
            } else if (topic == IPoolTypes.NoteHashed.selector) {
                _readNote(logs[i], transactions[next - 1], result.members[next - 1]);
            } else if (topic == IPoolTypes.RootUpdated.selector) {
                result.isRooted = true;
                (, result.rootSequence) = abi.decode(logs[i].data, (uint64, uint64));
            } else if (topic == IPoolTypes.RootUpdateSkipped.selector) {
                result.isSkipped = true;
                (,, result.skipReason) = abi.decode(logs[i].data, (uint64, uint64, bytes));
            } else if (topic == IPoolTypes.ClaimAdded.selector) {
                result.members[next - 1].claimed = _readClaim(logs[i], transactions[next - 1]);
            } else if (
                topic != IPoolTypes.Confirmed.selector && topic != IPoolTypes.LeavesSuspended.selector
                    && topic != IPoolTypes.ClaimRooted.selector
            ) {
                revert("an event that no execution has");
            }
        }
        vm.assertEq(next, transactions.length, "one outcome a member");
    }

    /// @dev Whether this event rejects the member that said Executed just before: for a reason that only the
    /// moving of its tokens can have, so it is no second copy of the statement that follows the first.
    function _isTakenBack(Vm.Log memory log, IPoolTypes.Transaction memory transaction, Outcome memory outcome)
        private
        pure
        returns (bool)
    {
        if (log.topics[0] != IPoolTypes.Rejected.selector || !outcome.isExecuted) return false;
        if (log.topics[1] != Statements.hashOf(transaction)) return false;
        bytes4 reason = Statements.selectorOf(abi.decode(log.data, (bytes)));
        if (reason == IPoolTypes.AuthorizationMalformed.selector) return transaction.kind == Statements.DEPOSIT;
        return reason == IPoolTypes.TransferRefused.selector || reason == IPoolTypes.TransferMismatch.selector
            || reason == IPoolTypes.SwapFailed.selector || reason == IPoolTypes.FloorMissed.selector
            || reason == IPoolTypes.CapReached.selector || reason == IPoolTypes.ClaimTooLarge.selector || reason == IPoolTypes.AmountOutOfRange.selector || reason == IPoolTypes.GasExhausted.selector;
    }

    function _readMember(Vm.Log memory log, IPoolTypes.Transaction memory transaction)
        private
        pure
        returns (Outcome memory outcome)
    {
        if (log.topics[1] != Statements.hashOf(transaction)) revert("another statement's name");
        if (log.topics[0] == IPoolTypes.Rejected.selector) {
            outcome.reason = abi.decode(log.data, (bytes));
            if (outcome.reason.length < 4 || outcome.reason.length > 256) {
                revert("a reason is a selector and little more");
            }
            return outcome;
        }
        outcome.isExecuted = true;
        outcome.firstLeafIndex = _firstLeafIndexIn(log.data);
        vm.assertEq(log.topics.length, 2, "the statement's name alone is a topic");
        vm.assertEq(log.data, _said(transaction, outcome.firstLeafIndex), "the event of this very statement");
    }

    function _firstLeafIndexIn(bytes memory data) private pure returns (uint64 firstLeafIndex) {
        if (data.length < 9) revert("an event that is cut");
        assembly ("memory-safe") {
            firstLeafIndex := shr(192, mload(add(data, 33)))
        }
    }

    /// @dev The whole of what the pool must say, by the specification.
    function _said(IPoolTypes.Transaction memory transaction, uint64 firstLeafIndex)
        private
        pure
        returns (bytes memory said)
    {
        uint8 kind = transaction.kind;
        uint256 count = Statements.inputsOf(kind) + Statements.outputsOf(kind);
        said = abi.encodePacked(kind, firstLeafIndex, keccak256(transaction.proof));
        uint256 from = transaction.signals.length - count;
        for (uint256 i = 0; i < count; ++i) {
            said = bytes.concat(said, bytes32(transaction.signals[from + i]));
        }
        said = bytes.concat(said, _tail(transaction.ext, Statements.termsBytesOf(kind)));
        (uint256 asset, uint256 amount) = (transaction.signals[from - 2], transaction.signals[from - 1]);
        // What comes again moves nothing.
        bool isAgain = kind != Statements.DEPOSIT && transaction.authorization.length != 0;
        if (amount == 0 || isAgain) return said;
        said = abi.encodePacked(said, uint160(asset), uint128(amount));
        if (kind != Statements.SWAP) said = bytes.concat(said, bytes20(transaction.ext));
    }

    function _readClaim(Vm.Log memory log, IPoolTypes.Transaction memory transaction) private pure returns (uint256 amount) {
        vm.assertEq(log.topics[1], Statements.hashOf(transaction), "the claim's statement");
        vm.assertEq(uint256(log.topics[2]), transaction.signals[2], "the claim's asset");
        (,, amount,) = abi.decode(log.data, (uint256, address, uint256, uint64));
        vm.assertEq(amount, transaction.signals[3], "the claim's amount");
    }

    function _head(bytes memory data, uint256 length) internal pure returns (bytes memory head) {
        head = new bytes(length);
        assembly ("memory-safe") {
            mcopy(add(head, 32), add(data, 32), length)
        }
    }

    function _tail(bytes memory data, uint256 from) internal pure returns (bytes memory tail) {
        tail = new bytes(data.length - from);
        assembly ("memory-safe") {
            mcopy(add(tail, 32), add(add(data, 32), from), mload(tail))
        }
    }

    function _readNote(Vm.Log memory log, IPoolTypes.Transaction memory transaction, Outcome memory outcome) private view {
        vm.assertTrue(outcome.isExecuted && transaction.kind == Statements.SWAP, "a note stands after its swap");
        vm.assertFalse(outcome.hasNote, "one note a swap");
        vm.assertEq(log.topics[1], Statements.hashOf(transaction), "the note's statement");
        outcome.hasNote = true;
        outcome.note = abi.decode(log.data, (Hashed));
        vm.assertEq(outcome.note.leafIndex, uint256(outcome.firstLeafIndex) + 3, "the note is the fourth leaf");
        vm.assertEq(
            outcome.note.commitment,
            hasher.hash(outcome.note.npk, uint160(outcome.note.asset), outcome.note.value),
            "the note's hash"
        );
    }

    // ------------------------------------------------------------------ judgement

    function _assertExecuted(Outcome memory outcome) internal pure {
        vm.assertEq(outcome.reason, "", "rejected");
        vm.assertTrue(outcome.isExecuted, "executed");
    }

    function _assertRejected(Outcome memory outcome, bytes memory reason) internal pure {
        vm.assertFalse(outcome.isExecuted, "executed, although it should be refused");
        vm.assertEq(outcome.reason, reason, "the reason");
    }

    function _assertRejected(Outcome memory outcome, bytes4 selector) internal pure {
        vm.assertFalse(outcome.isExecuted, "executed, although it should be refused");
        vm.assertEq(bytes32(Statements.selectorOf(outcome.reason)), bytes32(selector), "the reason's selector");
    }

    /// @dev All that a stranger must not be able to change: the queue, the roots, what the pool holds.
    function _fingerprint() internal view returns (bytes32) {
        (uint64 leafCount, bytes32 head) = pool.queue();
        (uint256 root, uint64 rooted, uint64 sequence) = pool.currentRoot();
        return keccak256(
            abi.encode(
                leafCount,
                head,
                root,
                rooted,
                sequence,
                usdc.balanceOf(address(pool)),
                euro.balanceOf(address(pool)),
                yen.balanceOf(address(pool)),
                address(pool).balance
            )
        );
    }

    /// @dev Runs the one member, which must be refused for that reason, and not one slot of the pool may be written.
    function _assertRefusedUntouched(IPoolTypes.Transaction memory transaction, bytes memory reason) internal {
        vm.record();
        _assertRejected(_executeOne(transaction), reason);
        _assertUnwritten();
    }

    /// @dev While leaves wait, a call says where the queue ends, unless one before has said so; nothing else may be written.
    function _assertOnlyMarked() internal {
        (, bytes32[] memory writes) = vm.accesses(address(pool));
        (uint64 leafCount,) = pool.queue();
        (, uint64 rooted,) = pool.currentRoot();
        vm.assertLe(writes.length, leafCount == rooted ? 0 : 1, "slots written beside the checkpoint");
    }

    /// @dev Since the last `vm.record()`.
    function _assertUnwritten() internal {
        (, bytes32[] memory writes) = vm.accesses(address(pool));
        vm.assertEq(writes.length, 0, "slots written");
    }
}
