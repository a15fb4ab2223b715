// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {IGovernance} from "../../../shared/contracts/interfaces/IGovernance.sol";
import {IPool} from "../../../shared/contracts/interfaces/IPool.sol";
import {IPoolTypes} from "../../../shared/contracts/interfaces/IPoolTypes.sol";
import {TokenStandIn} from "../support/StandIns.sol";
import {Draft, Statements} from "../support/Statements.sol";
import {Outcome, World, WorldOptions} from "../support/World.sol";

/// @notice Deposits and withdrawals with tokens that do as any fuzzer says, and who may move whose money.
contract TokensTest is World {
    TokenStandIn private odd;
    address private constant RECIPIENT = address(0x4EC1);
    bytes private constant TRUE = abi.encode(uint256(1));

    function setUp() external {
        _build(WorldOptions({signers: 1, threshold: 1, changeDelay: 100}));
        odd = new TokenStandIn();
        vm.prank(OWNER);
        pool.proposeAsset(address(odd), minimumCap);
        vm.warp(block.timestamp + 100);
        pool.addAsset(address(odd));
        odd.mint(address(pool), 1 << 140);
        odd.mint(depositor, 1 << 140);
        usdc.mint(address(pool), 1 << 100);
    }

    // ------------------------------------------------------------------ what a token does

    /// @dev Taken or paid exactly, said in one of the two accepted ways, or nothing happened.
    function testFuzz_believesWhatItMeasuresAndNothingElse(
        TokenStandIn.Behaviour memory behaviour,
        uint128 amount,
        uint256 seed
    ) external {
        vm.assume(amount != 0);
        uint8 kind = uint8(seed % 3 + 1);
        _tame(behaviour, seed / 4);
        odd.behave(behaviour);
        Draft memory draft = _oddDraft(kind, amount);
        IPoolTypes.Transaction memory transaction = _seal(draft);
        if (kind == Statements.DEPOSIT) transaction.authorization = new bytes(65);
        bytes32 before = _oddFingerprint(draft);
        uint256 held = odd.balanceOf(address(pool));

        Outcome memory outcome = _executeOne(transaction);
        bytes4 fault = _expectedFault(behaviour, kind, amount);
        if (fault != 0) {
            _assertRejected(outcome, fault);
            vm.assertEq(_oddFingerprint(draft), before, "nothing changed");
            return;
        }
        _assertExecuted(outcome);
        uint256 expected = kind == Statements.DEPOSIT ? held + amount : held - amount;
        vm.assertEq(odd.balanceOf(address(pool)), expected, "moved exactly");
    }

    /// @dev Most of a struct's values are far from anything; these are the interesting ones.
    function _tame(TokenStandIn.Behaviour memory behaviour, uint256 seed) private pure {
        behaviour.calls = false;
        behaviour.reverts = behaviour.reverts && seed % 4 == 0;
        behaviour.burnsGas = behaviour.burnsGas && seed / 4 % 4 == 0;
        behaviour.taken = [uint16(1000), 1000, 1000, behaviour.taken % 2001][seed / 16 % 4];
        behaviour.given = [uint16(1000), 1000, 1000, behaviour.given % 2001][seed / 64 % 4];
        uint256 how = seed / 256 % 8;
        if (how < 3) behaviour.answer = TRUE;
        if (how == 3) behaviour.answer = "";
        if (how == 4) behaviour.answer = abi.encode(seed / 2048 % 3, behaviour.answer);
        if (how == 5) behaviour.answer = new bytes(2_000);
    }

    function _oddDraft(uint8 kind, uint256 amount) private view returns (Draft memory draft) {
        if (kind != Statements.DEPOSIT) return _withdrawal(kind, amount, address(odd), amount, RECIPIENT);
        draft = _draft(kind, amount);
        (draft.asset, draft.amount) = (uint160(address(odd)), amount);
    }

    function _expectedFault(TokenStandIn.Behaviour memory behaviour, uint8 kind, uint256 amount)
        private
        pure
        returns (bytes4)
    {
        if (kind != Statements.DEPOSIT && amount > ROOM) return IPoolTypes.CapReached.selector;
        if (behaviour.burnsGas || behaviour.reverts) return IPoolTypes.TransferRefused.selector;
        bytes memory answer = behaviour.answer;
        if (answer.length != 0 && (answer.length < 32 || abi.decode(answer, (uint256)) != 1)) {
            return IPoolTypes.TransferRefused.selector;
        }
        uint256 thousandths = kind == Statements.DEPOSIT ? behaviour.given : behaviour.taken;
        return amount * thousandths / 1000 == amount ? bytes4(0) : IPoolTypes.TransferMismatch.selector;
    }

    function _oddFingerprint(Draft memory draft) private view returns (bytes32) {
        bool isAnySpent = draft.nullifiers.length != 0 && pool.isSpent(draft.nullifiers[0]);
        return keccak256(abi.encode(_fingerprint(), odd.balanceOf(address(pool)), odd.balanceOf(depositor), isAnySpent));
    }

    /// @dev 128 bytes of a reason are kept, whatever its length.
    function testFuzz_keepsAShortReason(uint8 kindSeed, bytes calldata reason, uint16 more) external {
        uint8 kind = uint8(kindSeed % 3 + 1);
        bytes memory long = bytes.concat(reason, new bytes(more % 2048));
        odd.behave(TokenStandIn.Behaviour(1000, 1000, false, true, false, long));
        IPoolTypes.Transaction memory transaction = _seal(_oddDraft(kind, 7));
        if (kind == Statements.DEPOSIT) transaction.authorization = new bytes(65);
        bytes memory kept = long.length > 128 ? _head(long, 128) : long;
        _assertRejected(_executeOne(transaction), abi.encodeWithSelector(IPoolTypes.TransferRefused.selector, kept));
    }

    /// @dev Whatever the token calls while the pool's effects are half done, it finds a closed door.
    function testFuzz_refusesATokenThatComesBack(uint8 kindSeed, uint8 entry, uint256 salt) external {
        uint8 kind = uint8(kindSeed % 3 + 1);
        (bytes memory message, bytes4 refusal) = _comeBack(entry, salt);
        odd.setCall(address(pool), message);
        odd.behave(TokenStandIn.Behaviour(1000, 1000, true, false, false, TRUE));
        IPoolTypes.Transaction memory transaction = _seal(_oddDraft(kind, 7));
        if (kind == Statements.DEPOSIT) transaction.authorization = new bytes(65);
        Outcome memory outcome = _executeOne(transaction);
        _assertExecuted(outcome);
        vm.assertTrue(odd.wasCalled(), "the token did call");
        vm.assertEq(bytes32(odd.refusal()), bytes32(refusal), "what it found");
        (uint64 leafCount,) = pool.queue();
        vm.assertEq(leafCount, Statements.leavesOf(kind), "one statement's leaves");
        // And the door is open again.
        _assertExecuted(_executeOne(_seal(_draft(Statements.SPEND, uint256(keccak256(abi.encode(salt)))))));
    }

    function _comeBack(uint8 entry, uint256 salt) private returns (bytes memory, bytes4) {
        entry %= 4;
        IPoolTypes.Transaction memory good = _seal(_draft(Statements.SPEND, salt));
        if (entry == 0) return (abi.encodeCall(IPool.execute, (_one(good), _noUpdate())), IPoolTypes.Reentered.selector);
        if (entry == 1) {
            good = _goodDeposit(salt);
            return (abi.encodeCall(IPool.execute, (_one(good), _noUpdate())), IPoolTypes.Reentered.selector);
        }
        if (entry == 2) return (abi.encodeCall(IGovernance.delistAsset, (address(usdc))), IPoolTypes.Reentered.selector);
        return (abi.encodeCall(IPool.execute, (new IPoolTypes.Transaction[](0), _noUpdate())), IPoolTypes.Reentered.selector);
    }

    // ------------------------------------------------------------------ who may move whose money

    /// @dev An authorization serves the statement, payer, amount and times that it was signed for.
    function testFuzz_refusesAnAuthorizationForSomethingElse(uint8 field, uint8 bit, uint256 salt) external {
        Draft memory draft = _draft(Statements.DEPOSIT, salt);
        usdc.mint(depositor, type(uint128).max);
        IPoolTypes.Transaction memory transaction = _seal(draft);
        bytes32[6] memory message = [
            bytes32(uint256(uint160(depositor))),
            bytes32(uint256(uint160(address(pool)))),
            bytes32(draft.amount),
            bytes32(0),
            bytes32(uint256(DEADLINE)),
            Statements.hashOf(transaction)
        ];
        field %= 7;
        if (field < 6) message[field] ^= bytes32(uint256(1) << bit);
        transaction.authorization = _signature(_receiveDigest(message), DEPOSITOR_KEY);
        if (field == 6) transaction.authorization[bit % 65] ^= bytes1(uint8(1 << (bit / 65 % 8)));
        bytes32 before = _fingerprint();
        _assertRejected(_executeOne(transaction), IPoolTypes.TransferRefused.selector);
        vm.assertEq(_fingerprint(), before, "nothing changed");
        // Beside it, the right one.
        _assertExecuted(_executeOne(_authorize(transaction, DEPOSITOR_KEY, draft)));
    }

    function _receiveDigest(bytes32[6] memory message) private view returns (bytes32) {
        bytes32 typeHash = keccak256(
            "ReceiveWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)"
        );
        return Statements.typed(usdc.DOMAIN_SEPARATOR(), keccak256(abi.encodePacked(typeHash, message)));
    }

    /// @dev Of any length but 65, also for a sender who has approved: of a deposit it is the depositor's code that
    /// would know it, and here there is none.
    function testFuzz_refusesAuthorizationsOfOtherLengths(uint8 kindSeed, bytes calldata authorization) external {
        vm.assume(authorization.length != 65 && authorization.length != 0);
        uint8 kind = uint8(kindSeed % 4 + 1);
        usdc.mint(depositor, 1000);
        vm.prank(depositor);
        usdc.approve(address(pool), 1000);
        IPoolTypes.Transaction memory transaction = _seal(_draft(kind, kindSeed));
        transaction.authorization = authorization;
        bytes32 before = _fingerprint();
        _assertRejected(
            _execute(_one(transaction), _noUpdate(), depositor).members[0],
            kind == Statements.DEPOSIT
                ? IPoolTypes.TransferRefused.selector
                : IPoolTypes.AuthorizationMalformed.selector
        );
        vm.assertEq(_fingerprint(), before, "nothing changed");
    }

    /// @dev An approval is to the pool: only the depositor may say which note it becomes.
    function testFuzz_takesAnApprovedAmountForItsOwnerOnly(
        uint8 senderSeed,
        uint128 amount,
        uint128 approved,
        uint128 owned,
        bool isEnough
    ) external {
        vm.assume(amount != 0);
        if (isEnough) {
            approved = uint128(_within(approved, amount, type(uint128).max));
            owned = uint128(_within(owned, amount, type(uint128).max));
        }
        address sender = [depositor, depositor, SENDER, OWNER, address(venue)][senderSeed % 5];
        usdc.mint(depositor, owned);
        vm.prank(depositor);
        usdc.approve(address(pool), approved);
        Draft memory draft = _draft(Statements.DEPOSIT, amount);
        draft.amount = amount;
        bytes32 before = _fingerprint();
        Outcome memory outcome = _execute(_one(_seal(draft)), _noUpdate(), sender).members[0];
        if (sender == depositor && approved >= amount && owned >= amount) {
            _assertExecuted(outcome);
            vm.assertEq(usdc.balanceOf(depositor), uint256(owned) - amount, "taken exactly");
            return;
        }
        _assertRejected(
            outcome, sender == depositor ? IPoolTypes.TransferRefused.selector : IPoolTypes.AuthorizationMalformed.selector
        );
        vm.assertEq(_fingerprint(), before, "nothing changed");
    }

    function testFuzz_paysExactlyTheRecipientOrNobody(uint8 kindSeed, uint128 amount, address recipient) external {
        vm.assume(amount != 0 && recipient != address(0) && recipient != address(pool) && recipient != address(usdc));
        uint8 kind = uint8(kindSeed % 2 + 2);
        uint256 held = usdc.balanceOf(address(pool));
        uint256 owned = usdc.balanceOf(recipient);
        Draft memory draft = _withdrawal(kind, amount, address(usdc), amount, recipient);
        Outcome memory outcome = _executeOne(_seal(draft));
        if (amount > ROOM) {
            _assertRejected(outcome, abi.encodeWithSelector(IPoolTypes.CapReached.selector, address(usdc), ROOM, 0));
            return vm.assertFalse(pool.isSpent(draft.nullifiers[0]), "the notes are unspent");
        }
        if (amount > held) {
            _assertRejected(outcome, IPoolTypes.TransferRefused.selector);
            vm.assertFalse(pool.isSpent(draft.nullifiers[0]), "the notes are unspent");
            usdc.mint(address(pool), amount);
            _assertExecuted(_executeOne(_seal(draft)));
            held += amount;
        } else {
            _assertExecuted(outcome);
        }
        vm.assertEq(usdc.balanceOf(recipient), owned + amount, "paid");
        vm.assertEq(usdc.balanceOf(address(pool)), held - amount, "and no more");
    }

    /// @dev A delisted asset is not taken any more, and goes on to be paid, whatever becomes of a proposal to take
    /// it again.
    function testFuzz_paysADelistedAsset(uint8 kindSeed, uint96 amount, uint8 proposal) external {
        vm.assume(amount != 0);
        vm.prank(OWNER);
        pool.delistAsset(address(usdc));
        if (proposal % 4 != 0) {
            vm.prank(OWNER);
            pool.proposeAsset(address(usdc), minimumCap);
        }
        if (proposal % 4 == 1) vm.warp(block.timestamp + 100 + 7 days);
        if (proposal % 4 == 2) {
            vm.prank(OWNER);
            pool.delistAsset(address(usdc));
        }
        uint8 kind = uint8(kindSeed % 3 + 1);
        if (kind == Statements.DEPOSIT) {
            _assertRejected(
                _executeOne(_goodDeposit(amount)),
                abi.encodeWithSelector(IPoolTypes.AssetUnsupported.selector, address(usdc))
            );
        } else {
            _assertExecuted(_executeOne(_seal(_withdrawal(kind, amount, address(usdc), amount, RECIPIENT))));
            vm.assertEq(usdc.balanceOf(RECIPIENT), amount, "paid");
        }
    }

    /// @dev Coins have no way in.
    function testFuzz_refusesCoins(uint96 value, bytes calldata data) external {
        vm.assume(value != 0);
        vm.deal(address(this), value);
        (bool isDone,) = address(pool).call{value: value}(data);
        vm.assertFalse(isDone, "took coins");
        (isDone,) = address(pool).call{value: value}(
            abi.encodeCall(IPool.execute, (_one(_seal(_draft(Statements.SPEND, value))), _noUpdate()))
        );
        vm.assertFalse(isDone, "took coins");
    }
}
