// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

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
        list[0].selectors = new bytes4[](14);
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
    }

    function invariant_poolRecoversAsTheModelSays() external view {
        handler.check();
    }

    function afterInvariant() external {
        handler.finish();
    }
}
