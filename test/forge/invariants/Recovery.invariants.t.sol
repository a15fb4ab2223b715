// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {IPoolTypes} from "../../../shared/contracts/interfaces/IPoolTypes.sol";
import {Cheats} from "../support/Vm.sol";
import {RecoveryHandler} from "./RecoveryHandler.sol";

/// @notice A campaign of both ways in, forgeries, refutations, silence, pauses, removals, caps and claims.
contract RecoveryInvariants {
    struct FuzzSelector {
        address addr;
        bytes4[] selectors;
    }

    RecoveryHandler private handler;

    function setUp() external {
        handler = new RecoveryHandler();
        handler.begin();
    }

    function targetContracts() external view returns (address[] memory list) {
        list = new address[](1);
        list[0] = address(handler);
    }

    function targetSelectors() external view returns (FuzzSelector[] memory list) {
        list = new FuzzSelector[](1);
        list[0].addr = address(handler);
        list[0].selectors = new bytes4[](15);
        list[0].selectors[0] = RecoveryHandler.deposit.selector;
        list[0].selectors[1] = RecoveryHandler.spend.selector;
        list[0].selectors[2] = RecoveryHandler.swap.selector;
        list[0].selectors[3] = RecoveryHandler.proveAgain.selector;
        list[0].selectors[4] = RecoveryHandler.root.selector;
        list[0].selectors[5] = RecoveryHandler.advance.selector;
        list[0].selectors[6] = RecoveryHandler.refute.selector;
        list[0].selectors[7] = RecoveryHandler.refuteRoot.selector;
        list[0].selectors[8] = RecoveryHandler.changeSigners.selector;
        list[0].selectors[9] = RecoveryHandler.pause.selector;
        list[0].selectors[10] = RecoveryHandler.reportUnsound.selector;
        list[0].selectors[11] = RecoveryHandler.payClaim.selector;
        list[0].selectors[12] = RecoveryHandler.time.selector;
        list[0].selectors[13] = RecoveryHandler.donate.selector;
        list[0].selectors[14] = RecoveryHandler.again.selector;
    }

    function invariant_poolRecoversAsTheModelSays() external view {
        handler.check();
    }

    function afterInvariant() external {
        handler.finish();
    }
}

/// @notice That the campaign is about something: a few hundred fixed steps of the same handler do everything.
contract RecoveryHandlerTest is Cheats {
    function test_doesEverythingThatCanGoWrong() external {
        string[19] memory deeds = [
            "attested",
            "proved",
            "forged",
            "claims made",
            "claims paid",
            "claims removed",
            "roots",
            "advanced",
            "passed over",
            "refuted",
            "refuted roots",
            "proved again",
            "came again",
            "forged again",
            "put back",
            "refuted, empty before",
            "claims confirmed",
            "claims restored",
            "confirmed in the end"
        ];
        uint256[19] memory count;
        uint256 refusals = 0;
        // Several short lives: in a long one everybody is out, or the circuits are broken.
        for (uint256 life = 0; life < 40; ++life) {
            RecoveryHandler handler = new RecoveryHandler();
            handler.begin();
            _drive(handler, life);
            for (uint256 i = 0; i < deeds.length; ++i) {
                count[i] += handler.done(bytes32(bytes(deeds[i])));
            }
            refusals += _refusals(handler);
        }
        bytes memory missing;
        for (uint256 i = 0; i < deeds.length; ++i) {
            if (count[i] == 0) missing = bytes.concat(missing, bytes(deeds[i]), ", ");
        }
        vm.assertEq(missing, "", "never done");
        vm.assertEq(refusals, (1 << 16) - 1, "every refusal was met");
    }

    function _drive(RecoveryHandler handler, uint256 life) private {
        for (uint256 i = 0; i < 120; ++i) {
            uint256 seed = uint256(keccak256(abi.encode("step", life, i)));
            uint256 what = seed >> 128;
            if (what % 16 < 3) handler.deposit(seed);
            else if (what % 16 < 6) handler.spend(seed);
            else if (what % 16 == 6) handler.swap(seed);
            else if (what % 16 == 7) handler.proveAgain(seed);
            else if (what % 16 < 10) handler.root(seed);
            else if (what % 16 == 10) handler.advance(seed);
            else if (what % 16 == 11 && i > 40) handler.refute(seed);
            else if (what % 16 == 12 && i > 40) handler.refuteRoot(seed);
            else if (what % 16 == 13) handler.payClaim(seed);
            else if (what % 16 == 14) handler.changeSigners(seed);
            else if (what % 48 == 15) handler.pause();
            else if (what % 4 != 0) handler.time(seed);
            if (what % 16 == 11) handler.advance(seed);
            if (what % 5 == 0) handler.again(seed);
            if (life % 4 == 3 && i >= 80) handler.reportUnsound(seed);
            handler.check();
        }
        handler.finish();
    }

    uint256 private met;

    /// @dev A bit for each refusal that some life has met so far; only new ones are returned.
    function _refusals(RecoveryHandler handler) private returns (uint256 fresh) {
        bytes4[16] memory refusals = [
            IPoolTypes.RootYoung.selector,
            IPoolTypes.RootUnknown.selector,
            IPoolTypes.ProofRejected.selector,
            IPoolTypes.AttestedPathShut.selector,
            IPoolTypes.SignerUnknown.selector,
            IPoolTypes.CapReached.selector,
            IPoolTypes.TransferRefused.selector,
            IPoolTypes.StatementTrue.selector,
            IPoolTypes.RootsNotAdjacent.selector,
            IPoolTypes.RootUpdateStale.selector,
            IPoolTypes.RootUpdateSize.selector,
            IPoolTypes.RootUpdateHead.selector,
            IPoolTypes.DepositsStopped.selector,
            IPoolTypes.MakerUnknown.selector,
            IPoolTypes.EarlierUnknown.selector,
            IPoolTypes.EarlierStands.selector
        ];
        for (uint256 i = 0; i < refusals.length; ++i) {
            if (met >> i & 1 == 1 || handler.done(bytes32(refusals[i])) == 0) continue;
            met |= 1 << i;
            fresh |= 1 << i;
        }
    }
}
