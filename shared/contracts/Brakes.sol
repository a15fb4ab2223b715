// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {PoolStorage} from "./PoolStorage.sol";
import {TokenCalls} from "./libraries/TokenCalls.sol";

/// @title How much of an asset may leave
/// @notice Who forges a note, with a stolen key or broken circuits, takes what the brakes let out until somebody sees it. In no
/// 24 hours, whenever they begin, more leaves than came in by the cap: the tenth part of the balance.
///
/// Two leaky buckets, filled by what leaves; a full one is empty after 12 hours. The first has a quarter of the cap and is
/// over the net: counted gross, anyone could fill it by depositing and withdrawing the same money, and nobody else could
/// leave. What comes in empties it, and beyond that is a credit, which is no more than the bucket again and gone after 12
/// hours: else deposits would widen a thief's day. So the cap is a quarter at once, two that drain in a day, and one of credit.
///
/// The second, a quarter of the first, is over what leaves by proofs, and what it has room for is kept free in the first, so
/// that attested payments cannot starve proofs. What is proved and finds no room becomes a claim (see Claims), and while one
/// waits nothing that is proved passes it.
abstract contract Brakes is PoolStorage {
    /// A cap stays for so long, whatever moves.
    uint256 private constant CAP_STAYS = 1 days;
    /// The cap is the tenth part of the balance when it is fixed, or the minimum where that is more.
    uint256 private constant PART = 10;
    /// Of the cap at once; of that by proofs; and of that by proofs once false statements can be proved: a proof is then
    /// worth nothing, and everybody can make one.
    uint256 private constant QUARTER = 4;
    /// Where both kinds of verifier must vouch, a thief needs a key or a fault of each, and the first bucket has twice its
    /// size. Two signers of one kind share every fault of their program, and anybody may register them.
    uint256 private constant BY_BOTH = 2;

    /// Levels are the times that it takes to drain them, so no rounding slows a bucket that is touched in every block.
    uint256 private constant TICKS_A_SECOND = 2 ** 40;
    /// From full to empty, in ticks.
    uint256 private constant FULL = 12 hours * TICKS_A_SECOND;

    /// Much longer than any pause between two batches of a service that is alive, much shorter than `provedDelay`.
    uint256 private constant SILENCE = 6 hours;

    // ------------------------------------------------------------------ the cap

    /// @dev Before anything moves: fixes a cap that is old. (A deposit of this very call would raise it.)
    function _openWindow(address asset) internal {
        if (!_isOld(asset)) return;
        windows[asset].size = _sizeNow(asset);
        windows[asset].fixedAt = uint40(block.timestamp);
    }

    function _isOld(address asset) private view returns (bool) {
        return block.timestamp >= windows[asset].fixedAt + CAP_STAYS;
    }

    /// @dev Rounded up, as every quarter is: the last unit of an asset can leave.
    function _sizeNow(address asset) private view returns (uint104) {
        uint256 cap = TokenCalls.balance(asset) / PART;
        uint256 minimum = windows[asset].minimum;
        if (cap < minimum) cap = minimum;
        return uint104(_quarter(cap > type(uint104).max ? type(uint104).max : cap));
    }

    // ------------------------------------------------------------------ what moves, after `_openWindow`

    function _countIn(address asset, uint256 amount) internal {
        (int256 net, uint256 proved) = _levels(asset);
        unchecked {
            net -= int256(_ticks(amount, windows[asset].size));
        }
        _keep(asset, net < -int256(FULL) ? -int256(FULL) : net, proved);
    }

    /// @dev For what is attested: it leaves now or not at all.
    /// @param isByBoth whether both kinds of verifier have vouched
    function _countAttested(address asset, uint256 amount, bool isByBoth) internal {
        uint256 size = windows[asset].size;
        (int256 net, uint256 proved) = _levels(asset);
        uint256 room = _attestedRoom(size, net, proved, isByBoth);
        if (amount > room) revert CapReached(asset, room, _fitsFrom(size, net, isByBoth, amount));
        unchecked {
            _keep(asset, net + int256(_ticks(amount, size)), proved);
        }
    }

    /// @dev For what is proved, where there is room for it.
    function _fillProved(address asset, uint256 amount) internal {
        uint256 size = windows[asset].size;
        (int256 net, uint256 proved) = _levels(asset);
        unchecked {
            proved += _ticks(amount, _provedSize(size));
            // While nobody attests it may be more than the bucket holds.
            _keep(asset, net + int256(_ticks(amount, size)), proved > FULL ? FULL : proved);
        }
    }

    // ------------------------------------------------------------------ what there is room for

    /// @return attested and proved, also where nothing has opened the window yet
    function _rooms(address asset, bool isByBoth) internal view returns (uint256, uint256) {
        uint256 size = _isOld(asset) ? _sizeNow(asset) : windows[asset].size;
        (int256 net, uint256 proved) = _levels(asset);
        return (_attestedRoom(size, net, proved, isByBoth), _provedRoom(size, net, proved));
    }

    function _attestedRoom(uint256 size, int256 net, uint256 proved, bool isByBoth) private view returns (uint256) {
        uint256 left = _left(size, net, _full(isByBoth));
        uint256 kept = _left(_provedSize(size), int256(proved), FULL);
        unchecked {
            return left > kept ? left - kept : 0;
        }
    }

    /// @dev While nothing is attested, what is proved has all that is left in the first bucket.
    function _provedRoom(uint256 size, int256 net, uint256 proved) private view returns (uint256 room) {
        room = _left(_provedSize(size), int256(proved), FULL);
        if (position.isUnsound || (block.timestamp >= position.attestedFrom && block.timestamp < _silentFrom())) return room;
        uint256 left = _left(size, net < 0 ? int256(0) : net, FULL);
        if (left > room) room = left;
    }

    /// @dev When an attested amount fits at the earliest, if nothing else leaves; 0 where it is more than there is ever room for.
    function _fitsFrom(uint256 size, int256 net, bool isByBoth, uint256 amount) private view returns (uint64) {
        unchecked {
            int256 over = int256(_ticks(amount + _provedSize(size), size) + 1) - int256(_full(isByBoth));
            if (over > 0) return 0;
            over += net;
            return uint64(block.timestamp + (over < 0 ? 0 : uint256(over) / TICKS_A_SECOND) + 1);
        }
    }

    /// @dev From then on the signers count as gone, until a root of theirs is taken. One that `advance` made is no sign
    /// of them, nor is one that leaves old leaves waiting: were it, a stranger, or a proxy alone, could take one leaf every six
    /// hours, and nobody else any, and keep what is proved to its quarter. While the path was closed they could say nothing.
    function _silentFrom() internal view returns (uint256) {
        uint256 heardAt = position.rootedAt;
        if (heardAt < position.attestedFrom) heardAt = position.attestedFrom;
        return heardAt + SILENCE;
    }

    // ------------------------------------------------------------------ the buckets

    // Unchecked: no level is above 6 FULL, which is less than 2^59, no size above 2^102, and what is multiplied with FULL is less
    // than four sizes. The pool is at the limit of EIP-170.

    function _quarter(uint256 amount) private pure returns (uint256) {
        unchecked {
            return (amount + QUARTER - 1) / QUARTER;
        }
    }

    /// @param size of the first bucket
    function _provedSize(uint256 size) private view returns (uint256) {
        size = _quarter(size);
        return position.isUnsound ? _quarter(size) : size;
    }

    function _left(uint256 size, int256 level, uint256 full) private pure returns (uint256) {
        unchecked {
            int256 left = int256(full) - level;
            return left < 0 ? 0 : uint256(left) * size / FULL;
        }
    }

    /// @dev Rounded down: less than 2^-55 of a bucket, each time. What is more than four buckets is cut: no level is.
    function _ticks(uint256 amount, uint256 size) private pure returns (uint256) {
        unchecked {
            return amount >= 4 * size ? 4 * FULL : amount * FULL / size;
        }
    }

    function _full(bool isByBoth) private pure returns (uint256) {
        return isByBoth ? BY_BOTH * FULL : FULL;
    }

    /// @dev Of now, in ticks. A net below zero is a credit.
    function _levels(address asset) private view returns (int256 net, uint256 proved) {
        Flow memory flow = flows[asset];
        unchecked {
            uint256 nowTicks = block.timestamp * TICKS_A_SECOND;
            net = flow.netUntil > nowTicks ? int256(flow.netUntil - nowTicks) : int256(0);
            if (flow.isCredit) net = -net;
            proved = flow.provedUntil > nowTicks ? flow.provedUntil - nowTicks : 0;
        }
    }

    function _keep(address asset, int256 net, uint256 proved) private {
        unchecked {
            uint256 nowTicks = block.timestamp * TICKS_A_SECOND;
            flows[asset] = Flow(uint80(nowTicks + uint256(net < 0 ? -net : net)), uint80(nowTicks + proved), net < 0);
        }
    }
}
