// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {IPoolTypes} from "../../../shared/contracts/interfaces/IPoolTypes.sol";
import {Cheats} from "../support/Vm.sol";
import {PoolHandler} from "./PoolHandler.sol";

/// @notice Two campaigns of random steps: one signer is enough and swaps go to real Uniswap (or to the venue
/// that replaces it); two of three are needed and swaps go to a venue with behaviours.
abstract contract PoolInvariants {
    struct FuzzSelector {
        address addr;
        bytes4[] selectors;
    }

    PoolHandler internal handler;

    function targetContracts() external view returns (address[] memory list) {
        list = new address[](1);
        list[0] = address(handler);
    }

    function targetSelectors() external view returns (FuzzSelector[] memory list) {
        list = new FuzzSelector[](1);
        list[0].addr = address(handler);
        list[0].selectors = new bytes4[](13);
        list[0].selectors[0] = PoolHandler.deposit.selector;
        list[0].selectors[1] = PoolHandler.spend.selector;
        list[0].selectors[2] = PoolHandler.swap.selector;
        list[0].selectors[3] = PoolHandler.mixed.selector;
        list[0].selectors[4] = PoolHandler.flood.selector;
        list[0].selectors[5] = PoolHandler.root.selector;
        list[0].selectors[6] = PoolHandler.time.selector;
        list[0].selectors[7] = PoolHandler.donate.selector;
        list[0].selectors[8] = PoolHandler.venueBehaviour.selector;
        list[0].selectors[9] = PoolHandler.changeSigners.selector;
        list[0].selectors[10] = PoolHandler.changeAssets.selector;
        list[0].selectors[11] = PoolHandler.changeExecutor.selector;
        list[0].selectors[12] = PoolHandler.garbage.selector;
    }

    function invariant_poolIsWhatTheModelSays() external view {
        handler.check();
    }

    function afterInvariant() external {
        handler.finish();
    }
}

contract UniswapPoolInvariants is PoolInvariants {
    function setUp() external {
        handler = new PoolHandler();
        handler.begin(1, true);
    }
}

contract VenuePoolInvariants is PoolInvariants {
    function setUp() external {
        handler = new PoolHandler();
        handler.begin(2, false);
    }
}

/// @notice That the campaigns are about something: some hundred steps of the same handler do everything at
/// least once, so a passing campaign is not one in which nothing happened.
contract PoolHandlerTest is Cheats {
    PoolHandler private handler;

    function _drive(uint256 steps) private {
        for (uint256 i = 0; i < steps; ++i) {
            uint256 seed = uint256(keccak256(abi.encode("step", i)));
            if (i % 8 == 0) handler.deposit(seed);
            if (i % 8 == 1) handler.spend(seed);
            if (i % 8 == 2) handler.mixed(seed);
            if (i % 8 == 3) handler.swap(seed);
            if (i % 8 == 4) handler.root(seed);
            if (i % 8 == 5) handler.venueBehaviour(seed);
            if (i % 8 == 6) handler.changeSigners(seed);
            if (i % 64 == 7) handler.flood(seed);
            handler.check();
        }
        handler.finish();
    }

    function test_doesEverythingAtAVenueWithBehaviours() external {
        handler = new PoolHandler();
        handler.begin(2, false);
        _drive(1_000);
        _assertDone(true);
    }

    function test_doesEverythingAtUniswap() external {
        handler = new PoolHandler();
        handler.begin(1, true);
        _drive(1_000);
        _assertDone(false);
    }

    function _assertDone(bool hasBehaviours) private view {
        for (uint256 kind = 1; kind <= 4; ++kind) {
            vm.assertGe(handler.done(bytes32(kind)), 20, "executed of each kind");
        }
        vm.assertGe(handler.done(0), 20, "roots taken");
        bytes4[23] memory refusals = [
            IPoolTypes.TooFewAttestations.selector,
            IPoolTypes.SignerUnknown.selector,
            IPoolTypes.DeadlinePassed.selector,
            IPoolTypes.ContextMismatch.selector,
            IPoolTypes.SignalOutOfRange.selector,
            IPoolTypes.NullifierSpent.selector,
            IPoolTypes.NullifiersNotDistinct.selector,
            IPoolTypes.RootUnknown.selector,
            IPoolTypes.CommitmentZero.selector,
            IPoolTypes.ProofLength.selector,
            IPoolTypes.TransferRefused.selector,
            IPoolTypes.AuthorizationMalformed.selector,
            IPoolTypes.AssetUnsupported.selector,
            IPoolTypes.RecipientMismatch.selector,
            IPoolTypes.FloorZero.selector,
            IPoolTypes.FloorMissed.selector,
            IPoolTypes.PathInvalid.selector,
            IPoolTypes.StatementRepeated.selector,
            IPoolTypes.RootUpdateStale.selector,
            IPoolTypes.RootUpdateSize.selector,
            IPoolTypes.RootUpdateHead.selector,
            IPoolTypes.AttestationLength.selector,
            IPoolTypes.SwapFailed.selector
        ];
        for (uint256 i = 0; i < refusals.length; ++i) {
            if (refusals[i] == IPoolTypes.SwapFailed.selector && !hasBehaviours) continue;
            vm.assertGe(
                handler.done(bytes32(refusals[i])), 1, string(abi.encodePacked("never refused for ", _hex(refusals[i])))
            );
        }
    }

    function _hex(bytes4 selector) private pure returns (string memory) {
        bytes memory digits = "0123456789abcdef";
        bytes memory text = new bytes(8);
        for (uint256 i = 0; i < 8; ++i) {
            text[i] = digits[uint8(selector[i / 2]) >> (i % 2 == 0 ? 4 : 0) & 15];
        }
        return string(text);
    }
}
