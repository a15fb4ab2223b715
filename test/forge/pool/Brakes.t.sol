// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {IPool} from "../../../shared/contracts/interfaces/IPool.sol";
import {IPoolTypes} from "../../../shared/contracts/interfaces/IPoolTypes.sol";
import {Brake, Buckets} from "../support/Buckets.sol";
import {Proofs} from "../support/Proofs.sol";
import {TokenStandIn} from "../support/StandIns.sol";
import {Draft, Statements} from "../support/Statements.sol";
import {Outcome, World, WorldOptions} from "../support/World.sol";

/// @notice What the brakes let out, with amounts up to the widest, and claims in their line.
contract BrakesTest is World {
    using Brake for Buckets;

    address private constant RECIPIENT = address(0x4EC1);
    TokenStandIn private odd;
    /// By threshold, from 1 on; all with the same signers, one of each kind.
    IPool[2] private pools;
    bytes private constant TRUE = abi.encode(uint256(1));

    Buckets private buckets;
    uint256[] private left;
    uint256 private first;

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
            bool isRoom = amount <= _provedRoom() && left.length == first;
            uint256 before = odd.balanceOf(address(pool));
            return _moveByProof(_executeOne(transaction), amount, isRoom, before);
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

    function _moveByProof(Outcome memory outcome, uint256 amount, bool isRoom, uint256 held) private {
        if (isRoom && !outcome.isExecuted) {
            vm.assertGe(amount, held + 1, "refused although there was enough");
            return _assertRejected(outcome, IPoolTypes.TransferRefused.selector);
        }
        _assertExecuted(outcome);
        vm.assertEq(outcome.claimed, isRoom ? 0 : amount, "paid, or a claim");
        Buckets memory next = _now(held);
        if (isRoom) next.letOutByProof(amount, false);
        else left.push(amount);
        buckets = next;
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
        (,, uint64 silentFrom) = pool.brakes();
        return _now(odd.balanceOf(address(pool))).provedRoom(false, _isShut() || block.timestamp >= silentFrom);
    }

    // ------------------------------------------------------------------ claims

    /// @dev A line of claims, each paid whole or in parts over the windows, in order and once; some recipients the token
    /// refuses for a while: theirs stand aside, and can be paid when it does not.
    function testFuzz_paysClaimsInOrderAndOnce(uint256 seed) external {
        odd.mint(address(pool), 1e6);
        uint256 count = seed % 4 + 2;
        uint256 total = 0;
        for (uint256 i = 0; i < count; ++i) {
            uint256 amount = 1 + uint256(keccak256(abi.encode(seed, i))) % 90_000;
            // The first finds no room, so the others find a line.
            if (i == 0) amount += 100_001;
            _claim(amount, i);
            total += amount;
        }
        uint256 claimed = total;
        for (uint256 step = 0; total != 0; ++step) {
            uint256 draw = uint256(keccak256(abi.encode(seed, "step", step)));
            bool isRefusing = step < 12 && draw % 4 == 0;
            odd.behave(TokenStandIn.Behaviour(1000, 1000, false, isRefusing, false, TRUE));
            uint256 id = draw / 4 % 2 == 0 ? draw / 8 % (count + 1) : first;
            if (step >= 12) id = _firstUnpaid();
            total -= _pay(id, isRefusing);
            if (draw / 64 % 3 == 0 || step >= 12) vm.warp(block.timestamp + 1 days);
        }
        vm.assertEq(odd.balanceOf(RECIPIENT), claimed, "exactly what was claimed");
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

    function _firstUnpaid() private view returns (uint256 id) {
        while (left[id] == 0) ++id;
    }

    function _pay(uint256 id, bool isRefusing) private returns (uint256 paid) {
        (, uint256 room) = pool.room(address(odd));
        uint256 before = odd.balanceOf(RECIPIENT);
        bytes4 fault = 0;
        if (id >= left.length || left[id] == 0) fault = IPoolTypes.ClaimUnknown.selector;
        else if (id > first) fault = IPoolTypes.ClaimNotFirst.selector;
        else if (room == 0) fault = IPoolTypes.CapReached.selector;
        else if (isRefusing && id < first) fault = IPoolTypes.TransferRefused.selector;
        try pool.payClaim(address(odd), id) {
            vm.assertEq(bytes32(fault), bytes32(0), "paid, although it should be refused");
        } catch (bytes memory reason) {
            vm.assertEq(bytes32(Statements.selectorOf(reason)), bytes32(fault), "why not");
        }
        paid = odd.balanceOf(RECIPIENT) - before;
        if (fault != 0 || isRefusing) vm.assertEq(paid, 0, "nothing paid");
        else vm.assertEq(paid, left[id] < room ? left[id] : room, "as much as there is room for");
        if (fault != 0) return 0;
        left[id] -= paid;
        if (id == first && (isRefusing || left[id] == 0)) ++first;
        (, uint256 waits) = pool.claimLine(address(odd));
        vm.assertEq(waits, first, "the first that waits");
        (, uint256 rest) = pool.claim(address(odd), id);
        vm.assertEq(rest, left[id], "what is left of it");
    }
}
