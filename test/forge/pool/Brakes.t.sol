// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {IPool} from "../../../shared/contracts/interfaces/IPool.sol";
import {IPoolTypes} from "../../../shared/contracts/interfaces/IPoolTypes.sol";
import {Brake, Buckets} from "../support/Buckets.sol";
import {Proofs} from "../support/Proofs.sol";
import {TokenStandIn} from "../support/StandIns.sol";
import {Draft, Statements} from "../support/Statements.sol";
import {Outcome, World, WorldOptions} from "../support/World.sol";

/// @notice What the brakes let out, with amounts up to the widest, and claims that share it.
contract BrakesTest is World {
    using Brake for Buckets;

    address private constant RECIPIENT = address(0x4EC1);
    TokenStandIn private odd;
    /// By threshold, from 1 on; all with the same signers, one of each kind.
    IPool[2] private pools;
    bytes private constant TRUE = abi.encode(uint256(1));

    Buckets private buckets;
    /// By claims, when the last of them was made.
    uint256 private waitedFor;
    uint256[] private left;

    function setUp() external {
        minimumCap = 1000;
        provedDelay = 0;
        WorldOptions memory options = WorldOptions({signers: 2, threshold: 1, changeDelay: 100});
        _build(options);
        options.threshold = 2;
        pools = [pool, _deployPool(options)];
        odd = new TokenStandIn();
        odd.behave(TokenStandIn.Behaviour(1000, 1000, false, false, false, TRUE));
        for (uint256 i = 0; i < 2; ++i) {
            vm.prank(OWNER);
            pools[i].proposeAsset(address(odd), minimumCap);
        }
        vm.warp(block.timestamp + 100);
        for (uint256 i = 0; i < 2; ++i) {
            pools[i].addAsset(address(odd));
        }
    }

    // ------------------------------------------------------------------ figures

    /// @dev Balances far above what any cap can be, amounts up to 2^128 - 1: any few movements, at once or with time between,
    /// are let out, refused or made claims as the model has it.
    function testFuzz_countsAsWideNumbersDo(uint256 seed, uint256 balance, uint8 path) external {
        _usePool(pools[path / 3 % 2]);
        odd.mint(address(pool), _within(balance, 0, 1 << 250));
        if (path % 3 == 1) vm.warp(block.timestamp + 6 hours);
        if (path % 3 == 2) {
            vm.prank(GUARDIAN);
            pool.pause();
        }
        for (uint256 i = 0; i < 6; ++i) {
            seed = uint256(keccak256(abi.encode(seed, i)));
            if (seed >> 250 & 3 == 0) vm.warp(block.timestamp + (seed >> 200) % 30 hours);
            _move(seed);
            (uint256 attested, uint256 byProof) = pool.room(address(odd));
            vm.assertEq(attested, _attestedRoom(threshold), "room for what is attested");
            vm.assertEq(byProof, _provedRoom(), "room for proofs");
        }
    }

    function _amount(uint256 seed) private view returns (uint256 amount) {
        uint256 shape = seed % 8;
        if (shape == 0) return type(uint128).max;
        if (shape == 1) return 1;
        uint256 room = [_attestedRoom(1), _attestedRoom(2), _provedRoom()][seed / 8 % 3];
        // At the edge, one beside it, or a part.
        if (shape < 5) amount = room + shape < 3 ? 1 : room + shape - 3;
        else amount = room / 4 * (seed / 32 % 4) + seed / 128 % 100;
        return _within(amount, 1, type(uint128).max);
    }

    function _move(uint256 seed) private {
        uint256 amount = _amount(seed >> 16);
        uint256 what = seed % 4;
        bool isShut = _isShut();
        if (what == 0 || (isShut && what != 3)) return _moveIn(amount, isShut, seed);
        Draft memory draft = _withdrawal(Statements.SPEND, seed, address(odd), amount, RECIPIENT);
        if (what == 3) {
            draft.proof = Proofs.good();
            IPoolTypes.Transaction memory transaction = _bind(draft);
            verifiers[Statements.SPEND].register(transaction.signals);
            return _moveByProof(transaction, amount);
        }
        // At a threshold of one, two signers let out no more than one does.
        uint256 room = _attestedRoom(threshold);
        uint256 held = odd.balanceOf(address(pool));
        Outcome memory outcome = _executeOne(_attest(_bind(draft), _firstKeys(what < threshold ? threshold : what)));
        if (amount > room) return _assertRejected(outcome, IPoolTypes.CapReached.selector);
        if (amount > held) return _assertRejected(outcome, IPoolTypes.TransferRefused.selector);
        _assertExecuted(outcome);
        Buckets memory next = _now(held);
        next.letOut(amount);
        buckets = next;
    }

    function _moveIn(uint256 amount, bool isShut, uint256 salt) private {
        Draft memory draft = _draft(Statements.DEPOSIT, salt);
        (draft.asset, draft.amount) = (uint160(address(odd)), amount);
        odd.mint(depositor, amount);
        if (isShut) draft.proof = Proofs.good();
        IPoolTypes.Transaction memory transaction = _bind(draft);
        verifiers[Statements.DEPOSIT].register(transaction.signals);
        if (!isShut) transaction = _attest(transaction, _firstKeys(threshold));
        uint256 held = odd.balanceOf(address(pool));
        _assertExecuted(_execute(_one(transaction), _noUpdate(), depositor).members[0]);
        Buckets memory next = _now(held);
        next.takeIn(amount);
        buckets = next;
    }

    /// @dev What claims are allotted on the way is the pool's to say: never more than there is room for, and little less.
    function _moveByProof(IPoolTypes.Transaction memory transaction, uint256 amount) private {
        uint256 held = odd.balanceOf(address(pool));
        Buckets memory next = _now(held);
        uint256 waiting = waitedFor;
        uint256 part = waiting - _waiting();
        _mustBeRight(part, waiting, held);
        if (part != 0) next.letOutByProof(part, false);
        bool isRoom = part == waiting && amount <= next.provedRoom(false, _isGone());
        uint256 countable = type(uint128).max - _owed();
        Outcome memory outcome = _executeOne(transaction);
        if (amount > held || (!isRoom && amount > countable)) {
            return _assertRejected(outcome, isRoom ? IPoolTypes.TransferRefused.selector : IPoolTypes.ClaimTooLarge.selector);
        }
        _assertExecuted(outcome);
        vm.assertEq(outcome.claimed, isRoom ? 0 : amount, "paid, or a claim");
        if (isRoom) next.letOutByProof(amount, false);
        waitedFor = waiting - part + outcome.claimed;
        buckets = next;
    }

    function _mustBeRight(uint256 part, uint256 waiting, uint256 held) private view {
        uint256 most = _provedRoom();
        uint256 allotted = _owed() - waiting;
        uint256 free = held > allotted ? held - allotted : 0;
        if (most > free) most = free;
        if (most > waiting) most = waiting;
        vm.assertGe(most, part, "no more than there is room for");
        vm.assertGe(part + waiting / 2 ** 62 + 1, most, "and little less");
    }

    function _now(uint256 held) private view returns (Buckets memory) {
        return Brake.now_(buckets, held, minimumCap);
    }

    function _isShut() private view returns (bool) {
        (uint64 from,,) = pool.brakes();
        return block.timestamp < from;
    }

    function _attestedRoom(uint256 kinds) private view returns (uint256) {
        return _now(odd.balanceOf(address(pool))).attestedRoom(kinds, false);
    }

    function _provedRoom() private view returns (uint256) {
        return _now(odd.balanceOf(address(pool))).provedRoom(false, _isGone());
    }

    function _isGone() private view returns (bool) {
        (,, uint64 silentFrom) = pool.brakes();
        return _isShut() || block.timestamp >= silentFrom;
    }

    // ------------------------------------------------------------------ claims

    /// @dev Each is paid its part of what there was room for, at any time and in any order; in the end everything, once.
    /// Recipients whom the token refuses for a while lose nothing by it, and nobody else does.
    function testFuzz_sharesRoomAmongClaims(uint256 seed) external {
        odd.mint(address(pool), 1e6);
        uint256 count = seed % 4 + 2;
        uint256 total = 0;
        for (uint256 i = 0; i < count; ++i) {
            uint256 amount = 1 + uint256(keccak256(abi.encode(seed, i))) % 90_000;
            // The first finds no room, so the others find that it waits.
            if (i == 0) amount += 100_001;
            _claim(amount, i);
            total += amount;
        }
        uint256 paid = 0;
        for (uint256 step = 0; paid != total; ++step) {
            uint256 draw = uint256(keccak256(abi.encode(seed, "step", step)));
            bool isRefusing = step < 12 && draw % 4 == 0;
            odd.behave(TokenStandIn.Behaviour(1000, 1000, false, isRefusing, false, TRUE));
            paid += _pay(step < 12 ? draw / 8 % (count + 1) : step % count, isRefusing);
            if (draw / 64 % 3 == 0 || step >= 12) vm.warp(block.timestamp + 1 days);
            vm.assertEq(_owed(), total - paid, "nothing is lost");
        }
        vm.assertEq(odd.balanceOf(RECIPIENT), total, "exactly what was claimed");
    }

    function _claim(uint256 amount, uint256 salt) private {
        Draft memory draft = _withdrawal(Statements.SPEND, salt, address(odd), amount, RECIPIENT);
        draft.proof = Proofs.good();
        IPoolTypes.Transaction memory transaction = _bind(draft);
        verifiers[Statements.SPEND].register(transaction.signals);
        Outcome memory outcome = _executeOne(transaction);
        _assertExecuted(outcome);
        vm.assertEq(outcome.claimed, amount, "a claim");
        left.push(amount);
    }

    function _pay(uint256 id, bool isRefusing) private returns (uint256 paid) {
        uint256 before = odd.balanceOf(RECIPIENT);
        (, uint256 amount, uint256 due,) = pool.claim(address(odd), id);
        vm.assertEq(amount, id < left.length ? left[id] : 0, "what is left of it");
        vm.assertGe(amount, due, "no more than that");
        bytes4 fault = 0;
        if (amount == 0) fault = IPoolTypes.ClaimUnknown.selector;
        else if (due == 0) fault = IPoolTypes.CapReached.selector;
        else if (isRefusing) fault = IPoolTypes.TransferRefused.selector;
        try pool.payClaim(address(odd), id) {
            vm.assertEq(bytes32(fault), bytes32(0), "paid, although it should be refused");
        } catch (bytes memory reason) {
            vm.assertEq(bytes32(Statements.selectorOf(reason)), bytes32(fault), "why not");
        }
        paid = odd.balanceOf(RECIPIENT) - before;
        vm.assertEq(paid, fault == 0 ? due : 0, "paid what is due");
        if (paid != 0) left[id] -= paid;
    }

    function _owed() private view returns (uint256 owed) {
        (, owed,) = pool.claimTotals(address(odd));
    }

    function _waiting() private view returns (uint256 waiting) {
        (,, waiting) = pool.claimTotals(address(odd));
    }

    /// @dev Allotments of any width: what each claim may take is never more than what all were allotted, and within a
    /// unit and a 2^-60th of its part.
    function testFuzz_allotsNoMoreThanThereIs(uint256 seed, uint256 balance) external {
        odd.mint(address(pool), _within(balance, 1 << 20, 1 << 127));
        uint256 held = odd.balanceOf(address(pool));
        for (uint256 i = 0; i < 12; ++i) {
            seed = uint256(keccak256(abi.encode(seed, i)));
            uint256 share = seed >> 8 & 3 == 0 ? 1 : held >> (seed >> 16 & 63);
            if (seed & 3 != 0 && share != 0) _tryToClaim(share, i);
            else if (left.length != 0) _tryToPull((seed >> 32) % left.length);
            if (seed >> 4 & 3 != 0) vm.warp(block.timestamp + (seed >> 64) % 30 hours);
            uint256 due = 0;
            for (uint256 id = 0; id < left.length; ++id) {
                (, uint256 amount, uint256 part,) = pool.claim(address(odd), id);
                vm.assertEq(amount, left[id], "what is left of it");
                due += part;
            }
            vm.assertGe(_owed() - _waiting(), due, "no more is due than was allotted");
            vm.assertGe(odd.balanceOf(address(pool)), due, "and all of it is there");
        }
    }

    function _tryToClaim(uint256 amount, uint256 salt) private {
        Draft memory draft = _withdrawal(Statements.SPEND, salt, address(odd), amount, RECIPIENT);
        draft.proof = Proofs.good();
        IPoolTypes.Transaction memory transaction = _bind(draft);
        verifiers[Statements.SPEND].register(transaction.signals);
        Outcome memory outcome = _executeOne(transaction);
        if (outcome.claimed != 0) left.push(amount);
    }

    function _tryToPull(uint256 id) private {
        (,, uint256 due,) = pool.claim(address(odd), id);
        if (due == 0) return;
        pool.payClaim(address(odd), id);
        left[id] -= due;
    }
}
