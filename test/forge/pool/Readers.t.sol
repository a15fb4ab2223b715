// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {Draft, Statements, SwapTerms} from "../support/Statements.sol";
import {Cheats} from "../support/Vm.sol";

/// @dev `test/support/contracts/SignalsHarness.sol`.
interface SignalsHarness {
    function fieldOrder() external pure returns (uint256);
    function shapeOf(uint8 kind) external pure returns (uint256[5] memory);
    function read(uint8 kind, uint256[] calldata signals)
        external
        pure
        returns (
            uint256 context,
            uint256 root,
            uint256 asset,
            uint256 amount,
            uint256[] memory nullifiers,
            uint256[] memory commitments
        );
    function firstOutOfRange(uint256[] calldata signals) external pure returns (uint256);
    function ciphertexts(uint8 kind, bytes calldata ext) external pure returns (bytes memory);
    function readDeposit(bytes calldata ext) external pure returns (address, uint64, uint64);
    function readSpend(bytes calldata ext) external pure returns (address);
    function readSwap(bytes calldata ext) external pure returns (address, uint128, uint256, uint24, address, uint24);
}

/// @notice The readers of signals and ext, in hand-written assembly without checks: whatever was packed, in
/// any words, comes out again.
contract ReadersTest is Cheats {
    SignalsHarness private harness;

    function setUp() external {
        harness = SignalsHarness(_deployBuilt("SignalsHarness", ""));
    }

    function testFuzz_hasTheTableOfKinds(uint8 kind) external view {
        uint256[5] memory shape = harness.shapeOf(kind);
        if (kind == 0 || kind > 4) {
            vm.assertEq(shape[1], 0, "no such kind");
            return;
        }
        vm.assertEq(shape[0], Statements.inputsOf(kind), "inputs");
        vm.assertEq(shape[1], Statements.outputsOf(kind), "outputs");
        vm.assertEq(shape[2], Statements.leavesOf(kind), "leaves");
        vm.assertEq(shape[3], Statements.signalsOf(kind), "signals");
        vm.assertEq(shape[4], Statements.extBytesOf(kind), "bytes of ext");
        vm.assertEq(harness.fieldOrder(), Statements.R, "r");
    }

    function testFuzz_readsEverySignal(uint8 kindSeed, uint256[17] calldata words) external view {
        Draft memory draft;
        draft.kind = kindSeed % 4 + 1;
        (draft.root, draft.asset, draft.amount) = (words[0], words[1], words[2]);
        draft.nullifiers = new uint256[](Statements.inputsOf(draft.kind));
        draft.commitments = new uint256[](Statements.outputsOf(draft.kind));
        for (uint256 i = 0; i < draft.nullifiers.length; ++i) {
            draft.nullifiers[i] = words[3 + i];
        }
        for (uint256 i = 0; i < draft.commitments.length; ++i) {
            draft.commitments[i] = words[12 + i];
        }
        if (draft.kind == Statements.DEPOSIT) draft.root = 0;
        (
            uint256 context,
            uint256 root,
            uint256 asset,
            uint256 amount,
            uint256[] memory nullifiers,
            uint256[] memory commitments
        ) = harness.read(draft.kind, Statements.signals(draft, words[16]));
        vm.assertEq(
            abi.encode(context, root, asset, amount, nullifiers, commitments),
            abi.encode(words[16], draft.root, draft.asset, draft.amount, draft.nullifiers, draft.commitments),
            "what was written"
        );
    }

    /// @dev The first at or above r, among values that lie around it.
    function testFuzz_findsTheFirstOutOfRange(uint256[] calldata raw, uint256 seed) external view {
        uint256[] memory signals = new uint256[](raw.length);
        uint256 first = raw.length;
        for (uint256 i = raw.length; i > 0; --i) {
            seed = uint256(keccak256(abi.encode(seed)));
            signals[i - 1] = seed % 4 != 0 ? raw[i - 1] % Statements.R : Statements.R - 2 + seed / 4 % 4;
            if (seed % 32 == 1) signals[i - 1] = type(uint256).max;
            if (signals[i - 1] >= Statements.R) first = i - 1;
        }
        vm.assertEq(harness.firstOutOfRange(signals), first, "the first, or their number");
    }

    function testFuzz_readsTheTermsOfDepositsAndSpends(
        address party,
        uint64 validAfter,
        uint64 validBefore,
        uint256 salt
    ) external view {
        bytes memory sealed_ = Statements.anyCiphertexts(Statements.DEPOSIT, salt);
        bytes memory ext = Statements.depositExt(party, validAfter, validBefore, sealed_);
        (address depositor, uint64 after_, uint64 before) = harness.readDeposit(ext);
        vm.assertEq(depositor, party, "the depositor");
        vm.assertTrue(after_ == validAfter && before == validBefore, "the times");
        vm.assertEq(harness.ciphertexts(Statements.DEPOSIT, ext), sealed_, "the ciphertexts");
        uint8 kind = salt % 2 == 0 ? Statements.SPEND : Statements.SPEND9;
        sealed_ = Statements.anyCiphertexts(kind, salt);
        ext = Statements.spendExt(party, sealed_);
        vm.assertEq(harness.readSpend(ext), party, "the recipient");
        vm.assertEq(harness.ciphertexts(kind, ext), sealed_, "the ciphertexts");
    }

    function testFuzz_readsTheTermsOfSwaps(SwapTerms calldata terms, uint256 salt) external view {
        bytes memory sealed_ = Statements.anyCiphertexts(Statements.SWAP, salt);
        bytes memory ext = Statements.swapExt(terms, sealed_);
        (address tokenOut, uint128 floor, uint256 npk, uint24 feeFirst, address middle, uint24 feeSecond) =
            harness.readSwap(ext);
        vm.assertEq(abi.encode(tokenOut, floor, npk, feeFirst, middle, feeSecond), abi.encode(terms), "what was packed");
        vm.assertEq(harness.ciphertexts(Statements.SWAP, ext), sealed_, "the ciphertexts");
    }
}
