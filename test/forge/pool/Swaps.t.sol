// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {IPool} from "../../../shared/contracts/interfaces/IPool.sol";
import {IPoolTypes} from "../../../shared/contracts/interfaces/IPoolTypes.sol";
import {Draft, Statements, SwapTerms} from "../support/Statements.sol";
import {UniswapWorld} from "../support/UniswapWorld.sol";
import {Outcome, World, WorldOptions} from "../support/World.sol";

/// @notice Swaps at a venue that pays what the fuzzer says, and at real Uniswap v3.
contract SwapsTest is World {
    function setUp() external {
        _build(WorldOptions({signers: 1, threshold: 1, changeDelay: 100}));
        usdc.mint(address(pool), 1 << 130);
        euro.mint(address(pool), 1 << 90);
        euro.mint(address(venue), 1 << 140);
    }

    function _swap(uint256 salt, uint128 amount, uint128 floor) private view returns (Draft memory draft) {
        draft = _draft(Statements.SWAP, salt);
        draft.amount = amount;
        SwapTerms memory terms = _terms(salt);
        terms.floor = floor;
        draft.ext = Statements.swapExt(terms, Statements.anyCiphertexts(Statements.SWAP, salt));
    }

    /// @dev The floor is the user's, the value is what came, and a swap that fails leaves the notes.
    function testFuzz_hashesWhatCameOrLeavesTheNotes(uint128 amount, uint256 payout, uint128 floor, uint256 seed)
        external
    {
        vm.assume(floor != 0);
        amount = uint128(_within(amount, 1, ROOM));
        // Around the floor, around the widest value, or anywhere.
        if (seed % 4 == 0) payout = uint256(floor) - 1 + seed / 4 % 3;
        if (seed % 4 == 1) payout = (uint256(1) << 128) - 1 + seed / 4 % 3;
        if (seed % 4 == 2) payout = _within(payout, floor, type(uint128).max);
        payout = _within(payout, 0, 1 << 140);
        venue.willPay(payout);
        Draft memory draft = _swap(seed, amount, floor);
        IPoolTypes.Transaction memory transaction = _seal(draft);
        uint256 held = usdc.balanceOf(address(pool));
        uint256 heldOut = euro.balanceOf(address(pool));
        bytes32 before = _fingerprint();

        Outcome memory outcome = _executeOne(transaction);
        if (payout >= floor && payout <= type(uint128).max) {
            return _assertSwapped(outcome, draft, seed, payout, held, heldOut);
        }
        vm.assertFalse(outcome.hasNote, "no note of a swap that failed");
        _assertRejected(
            outcome,
            payout < floor
                ? abi.encodeWithSelector(IPoolTypes.FloorMissed.selector, floor, payout)
                : abi.encodeWithSelector(IPoolTypes.AmountOutOfRange.selector)
        );
        vm.assertEq(_fingerprint(), before, "nothing changed");
        // The same signed statement, when the venue pays.
        venue.willPay(floor);
        _assertSwapped(_executeOne(transaction), draft, seed, floor, held, heldOut);
    }

    function _assertSwapped(
        Outcome memory outcome,
        Draft memory draft,
        uint256 salt,
        uint256 received,
        uint256 held,
        uint256 heldOut
    ) private view {
        _assertExecuted(outcome);
        vm.assertTrue(outcome.hasNote, "the output's note");
        vm.assertEq(outcome.note.value, received, "what came");
        vm.assertEq(outcome.note.asset, address(euro), "of what was asked for");
        vm.assertEq(outcome.note.npk, Statements.field("npk", salt), "for whom it was asked");
        vm.assertEq(usdc.balanceOf(address(pool)), held - draft.amount, "given exactly");
        vm.assertEq(euro.balanceOf(address(pool)), heldOut + received, "got");
        (uint64 leafCount, bytes32 head) = pool.queue();
        vm.assertEq(leafCount, outcome.firstLeafIndex + 4, "four leaves");
        vm.assertEq(head, Statements.nextHead(_headAfter(bytes32(0), draft), outcome.note.commitment), "in order");
    }

    function testFuzz_carriesTheVenuesReason(bytes calldata reason, uint16 more, bool burnsGas) external {
        bytes memory long = bytes.concat(reason, new bytes(more % 2048));
        if (burnsGas) venue.willBurnGas();
        else venue.willRevert(long);
        Draft memory draft = _swap(more, 1000, 1);
        bytes32 before = _fingerprint();
        bytes memory kept = burnsGas ? bytes("") : long.length > 128 ? _head(long, 128) : long;
        _assertRejected(_executeOne(_seal(draft)), abi.encodeWithSelector(IPoolTypes.SwapFailed.selector, kept));
        vm.assertEq(_fingerprint(), before, "nothing changed");
        vm.assertFalse(pool.isSpent(draft.nullifiers[0]), "the notes are unspent");
    }

    /// @dev The input leaves whole or not at all: what came back would belong to no note.
    function testFuzz_refusesAVenueThatGivesBack(uint128 amount, uint128 returned, uint256 salt) external {
        amount = uint128(_within(amount, 1, ROOM));
        returned = uint128(_within(returned, 0, amount));
        venue.willGiveBack(1000, returned);
        Draft memory draft = _swap(salt, amount, 1);
        bytes32 before = _fingerprint();
        Outcome memory outcome = _executeOne(_seal(draft));
        if (returned == 0) return _assertExecuted(outcome);
        _assertRejected(outcome, abi.encodeWithSelector(IPoolTypes.TransferMismatch.selector, amount, amount - returned));
        vm.assertEq(_fingerprint(), before, "nothing changed");
        vm.assertFalse(pool.isSpent(draft.nullifiers[0]), "the notes are unspent");
    }

    /// @dev Whatever the venue does with the pool during the swap, it counts as nothing.
    function testFuzz_refusesAVenueThatComesBack(uint8 entry, uint256 salt, uint64 payout) external {
        vm.assume(payout != 0);
        bytes memory message = abi.encodeCall(IPool.execute, (_one(_goodDeposit(salt)), _noUpdate()));
        if (entry % 3 == 1) {
            message = abi.encodeCall(IPool.execute, (new IPoolTypes.Transaction[](0), _noUpdate()));
        } else if (entry % 3 == 2) {
            message = abi.encodeCall(IPool.execute, (_one(_seal(_swap(salt, 1, 1))), _noUpdate()));
        }
        venue.willCall(address(pool), message, payout);
        Outcome memory outcome = _executeOne(_seal(_swap(salt ^ 1, 1000, 1)));
        _assertExecuted(outcome);
        vm.assertTrue(venue.wasCalled() && venue.wasRefused(), "it found the door closed");
        vm.assertEq(venue.answer(), abi.encodeWithSelector(IPoolTypes.Reentered.selector), "for that reason");
        vm.assertEq(outcome.note.value, payout, "and what it paid counts once");
    }

    /// @dev The venue is asked for exactly what the user signed.
    function testFuzz_asksForThePathThatWasSigned(uint256 seed, uint128 amount, bool hasTwoHops) external {
        amount = uint128(_within(amount, 1, ROOM));
        SwapTerms memory terms = _terms(seed);
        terms.feeFirst = [uint24(100), 500, 3000, 10000][seed % 4];
        if (hasTwoHops) {
            terms.middle = address(yen);
            terms.feeSecond = [uint24(100), 500, 3000, 10000][seed / 4 % 4];
        }
        Draft memory draft = _draft(Statements.SWAP, seed);
        draft.amount = amount;
        draft.ext = Statements.swapExt(terms, Statements.anyCiphertexts(Statements.SWAP, seed));
        venue.willPay(1);
        _assertExecuted(_executeOne(_seal(draft)));
        vm.assertEq(
            venue.asked(),
            abi.encode(address(usdc), amount, terms.feeFirst, terms.middle, terms.feeSecond, address(euro)),
            "asked for"
        );
    }

    /// @dev Into or through a delisted asset no more, out of it on and on; without a venue not at all.
    function testFuzz_heedsTheLists(uint8 what, uint256 salt) external {
        venue.willPay(1000);
        SwapTerms memory terms = _terms(salt);
        (terms.middle, terms.feeSecond) = (address(yen), 500);
        Draft memory draft = _draft(Statements.SWAP, salt);
        draft.ext = Statements.swapExt(terms, Statements.anyCiphertexts(Statements.SWAP, salt));
        address delisted = [address(usdc), address(euro), address(yen), address(0)][what % 4];
        vm.prank(OWNER);
        if (delisted == address(0)) pool.removeExecutor(address(venue));
        else pool.delistAsset(delisted);
        if (delisted == address(usdc)) return _assertExecuted(_executeOne(_seal(draft)));
        _assertRefusedUntouched(
            _seal(draft),
            delisted == address(0)
                ? abi.encodeWithSelector(IPoolTypes.ExecutorAbsent.selector)
                : abi.encodeWithSelector(IPoolTypes.AssetUnsupported.selector, delisted)
        );
    }
}

/// @notice The same pool at real Uniswap v3.
contract UniswapSwapsTest is UniswapWorld {
    function setUp() external {
        _build(WorldOptions({signers: 1, threshold: 1, changeDelay: 100}));
        _useUniswap();
        usdc.mint(address(pool), 1 << 100);
    }

    /// @dev What the same swap pays is asked of a copy of the world; the floor is at, below or above it.
    function testFuzz_holdsTheFloorAtUniswap(uint64 amount, int8 distance, bool hasTwoHops, uint256 salt) external {
        SwapTerms memory terms = _terms(salt);
        if (hasTwoHops) (terms.middle, terms.feeSecond) = (address(yen), 3000);
        Draft memory draft = _draft(Statements.SWAP, salt);
        // Less than this and the fee eats it.
        draft.amount = _within(amount, 10, type(uint64).max);
        uint256 quote = _quote(draft, terms);
        terms.floor = uint128(_within(uint256(int256(quote) + distance / 16), 1, type(uint128).max));
        draft.ext = Statements.swapExt(terms, Statements.anyCiphertexts(Statements.SWAP, salt));
        uint256 held = usdc.balanceOf(address(pool));
        Outcome memory outcome = _executeOne(_seal(draft));
        if (terms.floor > quote) {
            _assertRejected(outcome, abi.encodeWithSelector(IPoolTypes.FloorMissed.selector, terms.floor, quote));
            vm.assertEq(usdc.balanceOf(address(pool)), held, "nothing given");
            vm.assertFalse(pool.isSpent(draft.nullifiers[0]), "the notes are unspent");
            return;
        }
        _assertExecuted(outcome);
        vm.assertEq(outcome.note.value, quote, "what Uniswap pays");
        vm.assertEq(euro.balanceOf(address(pool)), quote, "and paid");
        vm.assertEq(usdc.balanceOf(address(pool)), held - draft.amount, "given exactly");
        vm.assertEq(usdc.balanceOf(pool.executor()) + yen.balanceOf(pool.executor()), 0, "nothing stays on the way");
    }

    function _quote(Draft memory draft, SwapTerms memory terms) private returns (uint256 quote) {
        terms.floor = 1;
        draft.ext = Statements.swapExt(terms, Statements.anyCiphertexts(Statements.SWAP, draft.amount));
        uint256 copy = vm.snapshotState();
        Outcome memory outcome = _executeOne(_seal(draft));
        vm.assertTrue(vm.revertToStateAndDelete(copy), "back");
        // Too little to buy one unit.
        if (!outcome.isExecuted) {
            vm.assertEq(outcome.reason, abi.encodeWithSelector(IPoolTypes.FloorMissed.selector, 1, 0), "quote");
        }
        return outcome.note.value;
    }

    /// @dev A pool that does not exist, or has too little: refused, the notes unspent.
    function testFuzz_leavesTheNotesWhenUniswapCannot(uint128 amount, uint8 tier, uint256 salt) external {
        SwapTerms memory terms = _terms(salt);
        terms.feeFirst = [uint24(100), 500, 10000, 3000][tier % 4];
        Draft memory draft = _draft(Statements.SWAP, salt);
        // More than all liquidity, where there is any.
        draft.amount = _within(amount, 1 << 98, 1 << 99);
        draft.ext = Statements.swapExt(terms, Statements.anyCiphertexts(Statements.SWAP, salt));
        bytes32 before = _fingerprint();
        _assertRejected(_executeOne(_seal(draft)), IPoolTypes.SwapFailed.selector);
        vm.assertEq(_fingerprint(), before, "nothing changed");
        vm.assertFalse(pool.isSpent(draft.nullifiers[0]), "the notes are unspent");
    }
}
