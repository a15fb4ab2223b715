// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {PoolStorage} from "./PoolStorage.sol";
import {TokenCalls} from "./libraries/TokenCalls.sol";

/// @title How much of an asset may leave in a day
/// @notice Who forges a note, with a stolen key or broken circuits, takes what a window lets out until somebody sees
/// it. The cap is over the net: counted gross, anyone could use it up by depositing and withdrawing the same money, and
/// nobody else could leave. So the pool ends a window with at least its balance at the beginning, less the cap, plus
/// nothing that came in meanwhile: what arrives in a window may leave in it.
///
/// Of the cap, a quarter belongs to the proved way alone, counted gross, so that attested payments cannot starve it. What
/// is proved and finds no room becomes a claim; claims are paid in their order, and while one waits nothing that is proved
/// passes it.
abstract contract Brakes is PoolStorage {
    uint256 private constant WINDOW = 1 days;
    /// The cap is the tenth part of the balance at the window's begin, or the minimum where that is more.
    uint256 private constant PART = 10;
    /// Where both kinds of verifier must vouch, a thief needs a key or a fault of each. Two signers of one kind share every
    /// fault of their program, and anybody may register them.
    uint256 private constant BY_BOTH = 2;
    uint256 private constant PROVED_PART = 4;
    /// Of the cap, once false statements can be proved: a proof is then worth nothing, and everybody can make one.
    uint256 private constant UNSOUND_PART = 16;

    /// Much longer than any pause between two batches of a service that is alive, much shorter than `provedDelay`.
    uint256 private constant SILENCE = 6 hours;

    /// @dev Before anything moves in the running window: fixes its cap. (A deposit of this very call would raise it.)
    function _openWindow(address asset) internal {
        uint256 number = block.timestamp / WINDOW;
        if (windows[asset].number == number) return;
        windows[asset].cap = _capNow(asset);
        windows[asset].number = uint40(number);
        flows[asset] = Flow(0, 0);
    }

    /// @dev The cap that the window would get if it began now.
    function _capNow(address asset) internal view returns (uint104) {
        uint256 cap = TokenCalls.balance(asset) / PART;
        uint256 minimum = windows[asset].minimum;
        if (cap < minimum) cap = minimum;
        return cap > type(uint104).max ? type(uint104).max : uint104(cap);
    }

    /// @dev Below the lowest number everything is the same: a limit is never so far away.
    function _countIn(address asset, uint256 amount) internal {
        int256 net = int256(flows[asset].net) - int256(amount);
        flows[asset].net = net < type(int128).min ? type(int128).min : int128(net);
    }

    /// @dev For what is attested: it leaves now or not at all.
    /// @param isByBoth whether both kinds of verifier have vouched
    function _countAttested(address asset, uint256 amount, bool isByBoth) internal {
        uint256 room = _attestedRoom(windows[asset].cap, flows[asset], isByBoth);
        if (amount > room) revert CapReached(asset, room);
        // No more than the cap, so it fits; the amount alone may be wider than an int128.
        flows[asset].net = int128(int256(flows[asset].net) + int256(amount));
    }

    /// @dev For what is proved.
    /// @return isRoom false, and nothing changed, when the window has no room for it or claims wait
    function _countProved(address asset, uint256 amount) internal returns (bool isRoom) {
        isRoom = amount <= _provedRoom(windows[asset].cap, flows[asset]) && claimsPaid[asset] == claims[asset].length;
        if (isRoom) flows[asset].proved += uint128(amount);
    }

    function _attestedRoom(uint256 cap, Flow memory flow, bool isByBoth) internal pure returns (uint256) {
        uint256 share = isByBoth ? cap * BY_BOTH : cap;
        uint256 proved = cap / PROVED_PART;
        // What is proved may have more than its part while nobody attests.
        if (flow.proved > proved) proved = flow.proved;
        int256 left = int256(share) - int256(proved) - flow.net;
        return left < 0 ? 0 : uint256(left);
    }

    /// @dev While nothing is attested, what is proved has all that the attested way left of the cap.
    function _provedRoom(uint256 cap, Flow memory flow) internal view returns (uint256) {
        uint256 share = cap / PROVED_PART;
        if (position.isUnsound) {
            share = cap / UNSOUND_PART;
        } else if (block.timestamp < position.attestedFrom || block.timestamp >= _silentFrom()) {
            uint256 out = flow.net > 0 ? uint128(flow.net) : 0;
            if (cap > out + share) share = cap - out;
        }
        return share > flow.proved ? share - flow.proved : 0;
    }

    /// @dev From then on the signers count as gone, until a root of theirs is taken. One that `advance` made is no sign
    /// of them: were it, a stranger could take one leaf every six hours, and nobody else any, and keep what is proved to
    /// its quarter. While the path was closed they could say nothing.
    function _silentFrom() internal view returns (uint256) {
        uint256 heardAt = position.rootedAt;
        if (heardAt < position.attestedFrom) heardAt = position.attestedFrom;
        return heardAt + SILENCE;
    }

    /// @return cap of the running window, or the one it will get
    function _window(address asset) internal view returns (uint256 cap, Flow memory flow) {
        if (windows[asset].number == block.timestamp / WINDOW) return (windows[asset].cap, flows[asset]);
        return (_capNow(asset), Flow(0, 0));
    }
}
