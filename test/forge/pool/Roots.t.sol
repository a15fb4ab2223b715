// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {IPoolTypes} from "../../../shared/contracts/interfaces/IPoolTypes.sol";
import {Draft, Statements} from "../support/Statements.sol";
import {Outcome, Result, World, WorldOptions} from "../support/World.sol";

/// @notice Root updates of any shape over a queue that is known leaf by leaf, and the edges of queue and tree.
contract RootsTest is World {
    /// heads[n]: over the first n leaves.
    bytes32[] private heads;
    /// Where a call ended, by leaf count.
    mapping(uint256 leafCount => bool) private isCallEnd;

    function setUp() external {
        _build(WorldOptions({signers: 3, threshold: 2, changeDelay: 100}));
        heads.push(bytes32(0));
        // Leaves 0 to 4 in a call; 4 to 12; 12 to 16; and 2 of the tree already.
        _callOf(1, 1);
        _callOf(2, 2);
        _callOf(1, 3);
        _root(4, 77);
    }

    function _callOf(uint256 count, uint256 salt) private {
        IPoolTypes.Transaction[] memory list = new IPoolTypes.Transaction[](count);
        for (uint256 i = 0; i < count; ++i) {
            Draft memory draft = _draft(Statements.SPEND, uint256(keccak256(abi.encode(salt, i))));
            list[i] = _seal(draft);
            for (uint256 k = 0; k < 4; ++k) {
                heads.push(Statements.nextHead(heads[heads.length - 1], draft.commitments[k]));
            }
        }
        _execute(list, _noUpdate(), SENDER);
        isCallEnd[heads.length - 1] = true;
    }

    function _root(uint64 toIndex, uint256 newRoot) private {
        (uint256 oldRoot, uint64 fromIndex,) = pool.currentRoot();
        IPoolTypes.RootUpdate memory update =
            IPoolTypes.RootUpdate(oldRoot, newRoot, fromIndex, toIndex, heads[fromIndex], heads[toIndex], "");
        Result memory result = _execute(new IPoolTypes.Transaction[](0), _signed(update, _firstKeys(2)), SENDER);
        vm.assertTrue(result.isRooted, "rooted");
    }

    /// @dev Every field any of the plausible values; taken exactly when all fit.
    function testFuzz_takesTheUpdateThatFitsAndNoOther(uint256 seed, uint256 newRoot, bool isSigned) external {
        IPoolTypes.RootUpdate memory update = IPoolTypes.RootUpdate(77, 78, 4, 12, heads[4], heads[12], "");
        if (seed % 8 == 0) update.oldRoot = [EMPTY_ROOT, 77, 78, newRoot][seed / 8 % 4];
        if (seed / 32 % 4 == 0) update.newRoot = [EMPTY_ROOT, 77, newRoot, newRoot % Statements.R][seed / 128 % 4];
        seed = uint256(keccak256(abi.encode(seed)));
        if (seed % 8 == 0) update.fromIndex = uint64(seed / 8 % 20);
        if (seed / 256 % 2 == 0) {
            update.toIndex = uint64(seed / 512 % 20);
            update.headAfter = heads[update.toIndex % heads.length];
        }
        seed = uint256(keccak256(abi.encode(seed)));
        if (seed % 8 == 0) update.headBefore = heads[seed / 8 % heads.length];
        if (seed / 1024 % 8 == 0) update.headAfter = heads[seed / 8192 % heads.length];
        // A position that has the place of another one in the ring.
        if (seed / (1 << 20) % 4 == 0) update.toIndex += 256;
        update = isSigned ? _signed(update, _firstKeys(2)) : _signed(update, _firstKeys(1));

        Result memory result = _execute(new IPoolTypes.Transaction[](0), update, SENDER);
        (uint256 root, uint64 rooted, uint64 sequence) = pool.currentRoot();
        bytes4 fault = _expectedFault(update, isSigned);
        vm.assertEq(bytes32(Statements.selectorOf(result.skipReason)), bytes32(fault), "why it was skipped");
        vm.assertEq(result.isRooted, fault == 0, "taken when all fits");
        vm.assertEq(root, fault == 0 ? update.newRoot : 77, "the root");
        vm.assertEq(rooted, fault == 0 ? update.toIndex : 4, "what it covers");
        vm.assertEq(sequence, fault == 0 ? 2 : 1, "its number");
        vm.assertTrue(pool.rootSequence(EMPTY_ROOT) == 1 && pool.rootSequence(77) == 2, "older roots go on");
        if (fault == 0) vm.assertEq(pool.rootSequence(update.newRoot), 3, "the new one serves");
    }

    function _expectedFault(IPoolTypes.RootUpdate memory update, bool isSigned) private view returns (bytes4) {
        if (update.oldRoot != 77 || update.fromIndex != 4) return IPoolTypes.RootUpdateStale.selector;
        if (update.newRoot == 77 || update.newRoot == EMPTY_ROOT) return IPoolTypes.RootUpdateStale.selector;
        if (update.toIndex <= 4 || update.toIndex > 4 + 256) return IPoolTypes.RootUpdateSize.selector;
        if (update.headBefore != heads[4] || !isCallEnd[update.toIndex]) return IPoolTypes.RootUpdateHead.selector;
        if (update.headAfter != heads[update.toIndex]) return IPoolTypes.RootUpdateHead.selector;
        return isSigned ? bytes4(0) : IPoolTypes.TooFewAttestations.selector;
    }

    /// @dev Any bit of a signed update, changed by whoever carries it.
    function testFuzz_takesNoUpdateThatWasChanged(uint8 field, uint8 bit) external {
        IPoolTypes.RootUpdate memory update =
            _signed(IPoolTypes.RootUpdate(77, 78, 4, 12, heads[4], heads[12], ""), _firstKeys(2));
        field %= 6;
        if (field == 0) update.oldRoot ^= 1 << bit;
        if (field == 1) update.newRoot ^= 1 << bit;
        if (field == 2) update.fromIndex ^= uint64(1 << (bit % 64));
        if (field == 3) update.toIndex ^= uint64(1 << (bit % 64));
        if (field == 4) update.headBefore ^= bytes32(uint256(1) << bit);
        if (field == 5) update.headAfter ^= bytes32(uint256(1) << bit);
        vm.record();
        Result memory result = _execute(new IPoolTypes.Transaction[](0), update, SENDER);
        _assertOnlyMarked();
        vm.assertTrue(result.isSkipped, "not what was signed");
    }

    /// @dev A stranger adds leaves before a call: its payments are executed, its root is skipped, and the next
    /// update over what is mined is taken, however often he does it.
    function testFuzz_letsNoRacerStopTheTree(uint8 rounds, uint256 salt) external {
        for (uint256 i = 0; i < (rounds % 4 == 0 ? 2 : 1); ++i) {
            uint64 mined = uint64(heads.length - 1);
            bytes32 head = heads[mined];
            Draft memory draft = _draft(Statements.SPEND, uint256(keccak256(abi.encode("payer", salt, i))));
            (uint256 oldRoot, uint64 fromIndex,) = pool.currentRoot();
            IPoolTypes.RootUpdate memory update = _signed(
                IPoolTypes.RootUpdate(oldRoot, 100 + i, fromIndex, mined + 4, heads[fromIndex], _headAfter(head, draft), ""),
                _firstKeys(2)
            );
            _callOf(1, uint256(keccak256(abi.encode("racer", salt, i))));
            Result memory result = _execute(_one(_seal(draft)), update, SENDER);
            _assertExecuted(result.members[0]);
            vm.assertEq(result.skipReason, abi.encodeWithSelector(IPoolTypes.RootUpdateHead.selector), "the racer won");
            for (uint256 k = 0; k < 4; ++k) {
                heads.push(Statements.nextHead(heads[heads.length - 1], draft.commitments[k]));
            }
            _root(mined, 200 + i);
        }
        _root(uint64(heads.length - 1), 300);
    }

    /// @dev Signers who were silent over a call of hundreds of leaves: from any start the tree reaches the end in
    /// steps of at most 256, and never by a step of more.
    function testFuzz_catchesUpAfterASilence(uint8 first, uint16 second, uint8 salt) external {
        uint256 place = heads.length - 1;
        _callOf(uint256(first) % 2 + 1, uint256(keccak256(abi.encode(salt, "first"))));
        // One run in 512 is a long one: 65 to 80 members, so the call needs a checkpoint on its way.
        // Drawn, because fuzzers like the round numbers.
        uint256 draw = uint256(keccak256(abi.encode(second, salt)));
        uint256 members = draw % 512 == 0 ? 65 + draw / 512 % 16 : second % 3;
        _callOf(members, uint256(keccak256(abi.encode(salt, "second"))));
        uint256 end = heads.length - 1;
        if (end - 4 > 256) _assertTooMany(end);
        _root(uint64(place), 900);
        for (uint256 newRoot = 1000; place < end; ++newRoot) {
            uint256 next = _farthest(place, end);
            _root(uint64(next), newRoot);
            place = next;
        }
    }

    /// @dev A stranger fills the queue while the signers are silent, up to the position that shares a place of the ring
    /// with the first that waits, and overwrites it. What the ring loses, the window's checkpoint keeps.
    function test_reachesTheEndHoweverLongTheSilence() external {
        _callOf(1, uint256(keccak256("first")));
        uint256 first = heads.length - 1;
        _callOf(64, uint256(keccak256("much later")));
        vm.assertEq(heads.length - 1, first + 256, "the same place of the ring");
        _callOf(1, uint256(keccak256("last")));
        uint256 end = heads.length - 1;
        IPoolTypes.RootUpdate memory update = IPoolTypes.RootUpdate(77, 5, 4, uint64(first), heads[4], heads[first], "");
        Result memory result = _execute(new IPoolTypes.Transaction[](0), _signed(update, _firstKeys(2)), SENDER);
        vm.assertEq(result.skipReason, abi.encodeWithSelector(IPoolTypes.RootUpdateHead.selector), "overwritten");
        _root(252, 900);
        _root(uint64(first + 256), 901);
        _root(uint64(end), 902);
    }

    function _assertTooMany(uint256 end) private {
        IPoolTypes.RootUpdate memory update = IPoolTypes.RootUpdate(77, 5, 4, uint64(end), heads[4], heads[end], "");
        Result memory result = _execute(new IPoolTypes.Transaction[](0), _signed(update, _firstKeys(2)), SENDER);
        vm.assertEq(result.skipReason, abi.encodeWithSelector(IPoolTypes.RootUpdateSize.selector), "more than 256 leaves");
    }

    /// @dev The farthest end that the pool takes, asked of copies of the world.
    function _farthest(uint256 place, uint256 end) private returns (uint256) {
        for (uint256 to = end < place + 256 ? end : place + 256; to > place; --to) {
            if (isCallEnd[to]) return to;
            if ((to - 16) % 4 != 0) continue;
            uint256 copy = vm.snapshotState();
            (uint256 oldRoot,,) = pool.currentRoot();
            IPoolTypes.RootUpdate memory update =
                IPoolTypes.RootUpdate(oldRoot, 5, uint64(place), uint64(to), heads[place], heads[to], "");
            Result memory result = _execute(new IPoolTypes.Transaction[](0), _signed(update, _firstKeys(2)), SENDER);
            vm.assertTrue(vm.revertToStateAndDelete(copy), "back");
            if (result.isRooted) return to;
        }
        revert("no update of at most 256 leaves reaches a checkpoint: the tree has stopped");
    }

    /// @dev The last place of the tree stays empty, for every kind.
    function testFuzz_fillsTheTreeToTheLastPlaceButOne(uint256 kindSeed, uint8 free) external {
        uint8 kind = uint8(kindSeed % 4 + 1);
        usdc.mint(address(pool), 1000);
        euro.mint(address(venue), 1);
        venue.willPay(1);
        uint64 leafCount = uint64((uint256(1) << 32) - 1 - free % 8);
        _setLeafCount(leafCount);
        Draft memory draft = _draft(kind, kindSeed);
        usdc.mint(depositor, 1000);
        IPoolTypes.Transaction memory transaction = _seal(draft);
        if (kind == Statements.DEPOSIT) transaction = _authorize(transaction, DEPOSITOR_KEY, draft);
        Outcome memory outcome = _executeOne(transaction);
        if (free % 8 >= Statements.leavesOf(kind)) _assertExecuted(outcome);
        else _assertRejected(outcome, abi.encodeWithSelector(IPoolTypes.TreeFull.selector));
    }

    /// @dev The one slot that is written from outside: nobody can wait for 2^32 leaves.
    function _setLeafCount(uint64 leafCount) private {
        vm.record();
        pool.queue();
        (bytes32[] memory reads,) = vm.accesses(address(pool));
        uint256 word = uint256(vm.load(address(pool), reads[0]));
        vm.store(address(pool), reads[0], bytes32(word & ~uint256(type(uint64).max) | leafCount));
        (uint64 now_,) = pool.queue();
        vm.assertEq(now_, leafCount, "the slot of the leaf count");
    }
}
