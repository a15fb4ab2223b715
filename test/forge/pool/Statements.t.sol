// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {IPoolTypes} from "../../../shared/contracts/interfaces/IPoolTypes.sol";
import {Proofs} from "../support/Proofs.sol";
import {TestToken} from "../support/TestToken.sol";
import {Draft, Statements, SwapTerms} from "../support/Statements.sol";
import {Outcome, World, WorldOptions} from "../support/World.sol";

/// @notice Every rule of a statement. The signers sign whatever it says: the pool must not need them to be honest.
contract StatementsTest is World {
    TestToken private unlisted;
    address private constant RECIPIENT = address(0x4EC1);

    /// The rules that a statement breaks, by the error that each has. Which of them is named first is the
    /// pool's affair.
    bytes4[] private broken;

    function setUp() external {
        _build(WorldOptions({signers: 1, threshold: 1, changeDelay: 100}));
        unlisted = TestToken(_deployBuilt("TestUSDC", ""));
        usdc.mint(address(pool), type(uint128).max);
        usdc.mint(depositor, type(uint128).max);
        euro.mint(address(venue), type(uint128).max);
        yen.mint(address(venue), type(uint128).max);
        venue.willPay(1000);
    }

    function _anyKind(uint256 seed) private pure returns (uint8) {
        return uint8(seed % 4 + 1);
    }

    /// @dev Authorized when it is a deposit, so that only the rule at stake can refuse it.
    function _sealAll(Draft memory draft) private view returns (IPoolTypes.Transaction memory) {
        IPoolTypes.Transaction memory transaction = _seal(draft);
        if (draft.kind != Statements.DEPOSIT || draft.asset != uint160(address(usdc))) return transaction;
        return _authorize(transaction, DEPOSITOR_KEY, draft);
    }

    function _judge(IPoolTypes.Transaction memory transaction) private {
        bytes32 before = _fingerprint();
        Outcome memory outcome = _executeOne(transaction);
        if (broken.length == 0) return _assertExecuted(outcome);
        vm.assertFalse(outcome.isExecuted, "executed against a rule");
        vm.assertEq(_fingerprint(), before, "nothing changed");
        bytes4 given = Statements.selectorOf(outcome.reason);
        for (uint256 i = 0; i < broken.length; ++i) {
            if (broken[i] == given) return;
        }
        vm.assertEq(outcome.reason, abi.encodePacked(broken[0]), "a reason that is not one");
    }

    function _rule(bool holds, bytes4 otherwise) private {
        if (!holds) broken.push(otherwise);
    }

    // ------------------------------------------------------------------ context

    /// @dev One bit of chain, pool, kind, deadline or ext is another in the context than in the statement.
    function testFuzz_refusesTheContextOfAnotherPlace(uint256 kindSeed, uint8 field, uint16 bit) external {
        uint8 kind = _anyKind(kindSeed);
        Draft memory draft = _draft(kind, kindSeed);
        IPoolTypes.Transaction memory transaction = _bind(draft);
        vm.assertEq(transaction.signals[0], _contextWith(draft, 0, 0, 0, 0), "the same place has the same context");
        uint256 flip = 1 << (bit % 256);
        field %= 5;
        if (field == 0) transaction.signals[0] = _contextWith(draft, flip, 0, 0, 0);
        if (field == 1) transaction.signals[0] = _contextWith(draft, 0, uint160(1 << (bit % 160)), 0, 0);
        if (field == 2) transaction.signals[0] = _contextWith(draft, 0, 0, uint8(1 << (bit % 8)), 0);
        if (field == 3) transaction.signals[0] = _contextWith(draft, 0, 0, 0, uint64(1 << (bit % 64)));
        if (field == 4) {
            _flip(draft.ext, bit);
            transaction.signals[0] = _contextWith(draft, 0, 0, 0, 0);
            _flip(draft.ext, bit);
        }
        transaction = _attest(transaction, _firstKeys(1));
        _assertRefusedUntouched(transaction, abi.encodeWithSelector(IPoolTypes.ContextMismatch.selector));
    }

    function _contextWith(Draft memory draft, uint256 chainFlip, uint160 poolFlip, uint8 kindFlip, uint64 timeFlip)
        private
        view
        returns (uint256)
    {
        return Statements.contextOf(
            block.chainid ^ chainFlip,
            address(uint160(address(pool)) ^ poolFlip),
            draft.kind ^ kindFlip,
            draft.deadline ^ timeFlip,
            draft.ext
        );
    }

    function _flip(bytes memory data, uint256 bit) private pure {
        data[(bit / 8) % data.length] ^= bytes1(uint8(1 << (bit % 8)));
    }

    /// @dev What the user did not sign for is not done, whoever attests to it afterwards.
    function testFuzz_refusesWhatWasChangedAfterTheProof(uint256 kindSeed, uint8 what, uint256 bit, bool isAttested)
        external
    {
        uint8 kind = _anyKind(kindSeed);
        IPoolTypes.Transaction memory transaction = _sealAll(_draft(kind, kindSeed));
        what %= 4;
        if (what == 0) _flip(transaction.ext, bit);
        if (what == 1) transaction.deadline ^= uint64(1 << (bit % 64));
        if (what == 2) transaction.kind ^= uint8(1 << (bit % 8));
        if (what == 3) transaction.signals[0] ^= 1 << (bit % 256);
        if (isAttested) transaction = _attest(transaction, _firstKeys(1));
        vm.record();
        vm.assertFalse(_executeOne(transaction).isExecuted, "not what was signed");
        _assertUnwritten();
    }

    // ------------------------------------------------------------------ signals

    /// @dev x + k·r is one scalar with x to the pairing: a second spelling of a nullifier would be a second spend.
    function testFuzz_refusesEveryAliasOfEverySignal(uint256 kindSeed, uint256 position, uint8 multiple) external {
        uint8 kind = _anyKind(kindSeed);
        Draft memory draft = _draft(kind, kindSeed);
        IPoolTypes.Transaction memory transaction = _bind(draft);
        position %= transaction.signals.length;
        uint256 room = (type(uint256).max - transaction.signals[position]) / Statements.R;
        transaction.signals[position] += Statements.R * _within(multiple, 1, room);
        transaction = _attest(transaction, _firstKeys(1));
        _assertRefusedUntouched(transaction, abi.encodeWithSelector(IPoolTypes.SignalOutOfRange.selector, position));
    }

    /// @dev The nullifiers are any of twelve, of which four are spent.
    function testFuzz_spendsEachNullifierOnce(uint256 kindSeed, uint256 seed) external {
        _spendFour();
        uint8 kind = [Statements.SPEND, Statements.SPEND9, Statements.SWAP][kindSeed % 3];
        Draft memory draft = _draft(kind, kindSeed);
        bool[12] memory isNamed;
        for (uint256 i = 0; i < draft.nullifiers.length; ++i) {
            // A good list of nine needs help: mostly the next free one.
            uint256 choice = seed % 8 != 0 ? 4 + (i + seed / 8) % 8 : seed % 12;
            if (draft.nullifiers.length == 9 && seed % 4 != 0) choice = i + 3;
            draft.nullifiers[i] = _nullifier(choice);
            _rule(choice >= 4, IPoolTypes.NullifierSpent.selector);
            _rule(!isNamed[choice], IPoolTypes.NullifiersNotDistinct.selector);
            isNamed[choice] = true;
            seed = uint256(keccak256(abi.encode(seed)));
        }
        _judge(_seal(draft));
        for (uint256 i = 0; i < 12; ++i) {
            vm.assertEq(pool.isSpent(_nullifier(i)), i < 4 || (isNamed[i] && broken.length == 0), "spent when used");
        }
    }

    function _nullifier(uint256 n) private pure returns (uint256) {
        return Statements.field("known", n);
    }

    function _spendFour() private {
        for (uint256 i = 0; i < 2; ++i) {
            Draft memory draft = _draft(Statements.SPEND, uint256(keccak256(abi.encode("spend four", i))));
            (draft.nullifiers[0], draft.nullifiers[1]) = (_nullifier(2 * i), _nullifier(2 * i + 1));
            _assertExecuted(_executeOne(_seal(draft)));
        }
    }

    function testFuzz_refusesTheEmptyLeafAndRootsItNeverHad(uint256 kindSeed, uint256 position, uint256 root) external {
        uint8 kind = _anyKind(kindSeed);
        Draft memory draft = _draft(kind, kindSeed);
        uint256 place = position % (draft.commitments.length + 1);
        if (place < draft.commitments.length) {
            draft.commitments[place] = 0;
            broken.push(IPoolTypes.CommitmentZero.selector);
        }
        if (kind != Statements.DEPOSIT) {
            draft.root = root % 4 == 0 ? EMPTY_ROOT : root % Statements.R;
            _rule(draft.root == EMPTY_ROOT, IPoolTypes.RootUnknown.selector);
        }
        _judge(_sealAll(draft));
    }

    // ------------------------------------------------------------------ form

    function testFuzz_executesUntilTheDeadline(uint256 kindSeed, uint64 deadline, uint64 time, bool isNear) external {
        // Deposits have the token's own times as well; see the suite about tokens.
        Draft memory draft = _draft(uint8(kindSeed % 3 + 2), kindSeed);
        draft.deadline = deadline;
        uint256 timestamp = isNear ? uint256(deadline) + time % 3 : uint256(time) + 1;
        // On the first day of all the caps are none: windows are counted from there.
        vm.warp(timestamp < 1 days ? 1 days : timestamp);
        if (block.timestamp <= deadline) return _assertExecuted(_executeOne(_seal(draft)));
        _assertRefusedUntouched(_seal(draft), abi.encodeWithSelector(IPoolTypes.DeadlinePassed.selector, deadline));
    }

    function testFuzz_refusesOtherLengths(uint256 kindSeed, uint8 signalCount, uint16 extLength, uint8 proofLength)
        external
    {
        uint8 kind = _anyKind(kindSeed);
        Draft memory draft = _draft(kind, kindSeed);
        uint256 right = Statements.signalsOf(kind);
        IPoolTypes.Transaction memory transaction = _bind(draft);
        if (signalCount % 2 == 0) transaction.signals = new uint256[](signalCount / 2 % 32);
        if (extLength % 2 == 0) transaction.ext = new bytes(extLength / 2 % 1024);
        if (proofLength % 2 == 0) transaction.proof = new bytes(proofLength);
        _rule(transaction.signals.length == right, IPoolTypes.SignalCount.selector);
        _rule(transaction.ext.length == Statements.extBytesOf(kind), IPoolTypes.ExtLength.selector);
        _rule(transaction.proof.length == 128, IPoolTypes.ProofLength.selector);
        if (signalCount % 2 == 0 || extLength % 2 == 0) broken.push(IPoolTypes.ContextMismatch.selector);
        transaction = _attest(transaction, _firstKeys(1));
        if (kind == Statements.DEPOSIT) transaction = _authorize(transaction, DEPOSITOR_KEY, draft);
        _judge(transaction);
    }

    function testFuzz_knowsFourKinds(uint8 kind, uint256 shapeSeed) external {
        uint8 shape = _anyKind(shapeSeed);
        Draft memory draft = _draft(shape, shapeSeed);
        draft.kind = kind;
        vm.assume(kind == 0 || kind > 4);
        vm.assertEq(pool.verifyingKeyHash(kind), bytes32(0), "no key");
        vm.assertEq(pool.verifier(kind), address(0), "no verifier");
        vm.assertEq(pool.memberGas(kind), 0, "no gas");
        // Signed with no key and with the key of the kind whose shape it has.
        IPoolTypes.Transaction memory transaction = _bind(draft);
        transaction.attestations = _signatures(
            Statements.digestOf(home.domain, shapeSeed % 2 == 0 ? bytes32(0) : _keyHash(shape), transaction),
            _firstKeys(1)
        );
        _assertRefusedUntouched(transaction, abi.encodeWithSelector(IPoolTypes.UnknownKind.selector, kind));
    }

    // ------------------------------------------------------------------ terms

    function testFuzz_holdsTheTermsOfDepositsAndSpends(
        uint256 kindSeed,
        uint256 assetSeed,
        uint256 amountSeed,
        uint256 partySeed,
        bool isAuthorized
    ) external {
        uint8 kind = uint8(kindSeed % 3 + 1);
        Draft memory draft = _draft(kind, kindSeed);
        draft.asset = _anyAsset(assetSeed);
        draft.amount = _anyAmount(amountSeed);
        address party = _anyParty(partySeed, draft.asset);
        _rule(draft.asset <= type(uint160).max, IPoolTypes.AssetOutOfRange.selector);
        _rule(draft.amount <= type(uint128).max, IPoolTypes.AmountOutOfRange.selector);
        if (kind == Statements.DEPOSIT) {
            _rule(draft.amount != 0, IPoolTypes.ZeroAmount.selector);
            _rule(draft.asset == uint160(address(usdc)), IPoolTypes.AssetUnsupported.selector);
            return _judge(_sealAll(draft));
        }
        draft.ext = Statements.spendExt(party, Statements.anyCiphertexts(kind, kindSeed));
        _rule((draft.asset == 0) == (draft.amount == 0), IPoolTypes.AssetMismatch.selector);
        _rule((party == address(0)) == (draft.amount == 0), IPoolTypes.RecipientMismatch.selector);
        if (draft.amount != 0) {
            _rule(party != address(pool), IPoolTypes.RecipientForbidden.selector);
            _rule(uint160(party) != draft.asset, IPoolTypes.RecipientForbidden.selector);
            _rule(draft.asset == uint160(address(usdc)), IPoolTypes.AssetUnsupported.selector);
            _rule(draft.amount <= ROOM, IPoolTypes.CapReached.selector);
        }
        IPoolTypes.Transaction memory transaction = _seal(draft);
        if (isAuthorized) {
            transaction.authorization = new bytes(65);
            broken.push(IPoolTypes.AuthorizationMalformed.selector);
        }
        _judge(transaction);
    }

    /// @dev Nobody but the pool looks at a deposit that its depositor proves, sends and pays by an approval.
    function testFuzz_provesADepositOnlyWithASpan(uint64 validAfter, uint64 validBefore, bool isNear) external {
        if (isNear) {
            unchecked {
                validBefore = validAfter + validBefore % 3 - 1;
            }
        }
        Draft memory draft = _draft(Statements.DEPOSIT, validAfter);
        draft.ext = Statements.depositExt(
            depositor, validAfter, validBefore, Statements.anyCiphertexts(Statements.DEPOSIT, validAfter)
        );
        draft.proof = Proofs.good();
        IPoolTypes.Transaction memory transaction = _bind(draft);
        verifiers[Statements.DEPOSIT].register(transaction.signals);
        vm.prank(depositor);
        usdc.approve(address(pool), draft.amount);
        uint256 held = usdc.balanceOf(address(pool));
        Outcome memory outcome = _execute(_one(transaction), _noUpdate(), depositor).members[0];
        if (validAfter < validBefore) _assertExecuted(outcome);
        else _assertRejected(outcome, IPoolTypes.SpanEmpty.selector);
        vm.assertEq(usdc.balanceOf(address(pool)), held + (outcome.isExecuted ? draft.amount : 0), "paid, or not");
    }

    /// @dev Never euro or yen, which are listed as well.
    function _anyAsset(uint256 seed) private view returns (uint256) {
        if (seed % 8 < 4) return uint160(address(usdc));
        if (seed % 8 == 4) return 0;
        if (seed % 8 == 5) return uint160(address(unlisted));
        if (seed % 8 == 6) return uint160(address(usdc)) + (1 << 160) * (seed % (1 << 90) + 1);
        return (seed >> 3) % type(uint160).max + 1;
    }

    function _anyAmount(uint256 seed) private pure returns (uint256) {
        if (seed % 8 == 0) return 0;
        if (seed % 8 == 1) return type(uint128).max;
        if (seed % 8 == 2) return uint256(type(uint128).max) + 1;
        if (seed % 8 == 3) return seed % Statements.R;
        return uint128(seed) / 2 + 1;
    }

    function _anyParty(uint256 seed, uint256 asset) private view returns (address) {
        if (seed % 8 == 0) return address(0);
        if (seed % 8 == 1) return address(pool);
        if (seed % 8 == 2) return address(uint160(asset));
        return RECIPIENT;
    }

    function testFuzz_holdsTheTermsOfSwaps(uint256 seed, uint24 feeFirst, uint24 feeSecond) external {
        Draft memory draft = _draft(Statements.SWAP, seed);
        SwapTerms memory terms = _terms(seed);
        draft.asset = seed % 4 == 0 ? _anyAsset(seed / 4) : uint160(address(usdc));
        seed = uint256(keccak256(abi.encode(seed)));
        draft.amount = seed % 4 == 0 ? _anyAmount(seed / 4) : 1000;
        seed = uint256(keccak256(abi.encode(seed)));
        if (seed % 4 == 0) terms.tokenOut = _anyToken(seed / 4);
        if (seed / 32 % 4 == 0) terms.floor = uint128(seed / 128 % 2);
        if (seed / 256 % 4 == 0) terms.npk = [0, Statements.R - 1, Statements.R, type(uint256).max][seed / 1024 % 4];
        seed = uint256(keccak256(abi.encode(seed)));
        terms.feeFirst = seed % 4 == 0 ? feeFirst : _tier(seed);
        if (seed / 64 % 2 == 0) {
            terms.middle = _anyToken(seed / 128);
            terms.feeSecond = seed / 1024 % 4 == 0 ? feeSecond : _tier(seed / 4096);
        }
        if (seed / (1 << 20) % 8 == 0) terms.middle = address(0);
        draft.ext = Statements.swapExt(terms, Statements.anyCiphertexts(Statements.SWAP, seed));
        _rule(draft.amount <= ROOM, IPoolTypes.CapReached.selector);
        _ruleSwap(draft, terms);
        _judge(_seal(draft));
    }

    function _ruleSwap(Draft memory draft, SwapTerms memory terms) private {
        _rule(draft.asset <= type(uint160).max, IPoolTypes.AssetOutOfRange.selector);
        _rule(draft.amount <= type(uint128).max, IPoolTypes.AmountOutOfRange.selector);
        _rule(draft.amount != 0, IPoolTypes.ZeroAmount.selector);
        _rule((draft.asset == 0) == (draft.amount == 0), IPoolTypes.AssetMismatch.selector);
        _rule(draft.asset == uint160(address(usdc)), IPoolTypes.AssetUnsupported.selector);
        address token = address(uint160(draft.asset));
        _rule(terms.tokenOut != address(0) && terms.tokenOut != token, IPoolTypes.TokenOutInvalid.selector);
        _rule(pool.isAsset(terms.tokenOut), IPoolTypes.AssetUnsupported.selector);
        _rule(terms.floor != 0, IPoolTypes.FloorZero.selector);
        _rule(terms.npk < Statements.R, IPoolTypes.NpkOutOfRange.selector);
        _rule(_isTier(terms.feeFirst), IPoolTypes.PathInvalid.selector);
        if (terms.middle == address(0)) {
            _rule(terms.feeSecond == 0, IPoolTypes.PathInvalid.selector);
            return;
        }
        _rule(_isTier(terms.feeSecond), IPoolTypes.PathInvalid.selector);
        _rule(terms.middle != token && terms.middle != terms.tokenOut, IPoolTypes.PathInvalid.selector);
        _rule(pool.isAsset(terms.middle), IPoolTypes.AssetUnsupported.selector);
    }

    function _anyToken(uint256 seed) private view returns (address) {
        return [
            address(yen),
            address(yen),
            address(yen),
            address(euro),
            address(usdc),
            address(unlisted),
            address(0),
            address(pool)
        ][seed % 8];
    }

    function _tier(uint256 seed) private pure returns (uint24) {
        return [uint24(100), 500, 3000, 10000][seed / 4 % 4];
    }

    function _isTier(uint24 fee) private pure returns (bool) {
        return fee == 100 || fee == 500 || fee == 3000 || fee == 10000;
    }

    // ------------------------------------------------------------------ a good one

    /// @dev Beside the refusals: what keeps every rule is executed, once.
    function testFuzz_executesWhatKeepsEveryRuleOnce(uint256 kindSeed, uint256 salt) external {
        uint8 kind = _anyKind(kindSeed);
        Draft memory draft = _draft(kind, salt);
        IPoolTypes.Transaction memory transaction = _sealAll(draft);
        Outcome memory outcome = _executeOne(transaction);
        _assertExecuted(outcome);
        vm.assertEq(outcome.firstLeafIndex, uint256(0), "from the first leaf on");
        bytes32 expected = _headAfter(bytes32(0), draft);
        if (kind == Statements.SWAP) expected = Statements.nextHead(expected, outcome.note.commitment);
        (uint64 leafCount, bytes32 head) = pool.queue();
        vm.assertEq(leafCount, Statements.leavesOf(kind), "as many leaves as the kind says");
        vm.assertEq(head, expected, "in their order");
        for (uint256 i = 0; i < draft.nullifiers.length; ++i) {
            vm.assertTrue(pool.isSpent(draft.nullifiers[i]), "spent");
        }
        _assertRejected(
            _executeOne(transaction),
            kind == Statements.DEPOSIT ? IPoolTypes.StatementRepeated.selector : IPoolTypes.NullifierSpent.selector
        );
    }
}
