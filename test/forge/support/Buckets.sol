// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

/// Of one asset. Levels in ticks, as they were at `readAt`; a net below zero is a credit.
struct Buckets {
    uint256 cap;
    uint256 fixedAt;
    int256 net;
    uint256 proved;
    uint256 readAt;
    /// What the pool held when the cap was fixed.
    uint256 balance;
}

/// @title The brakes' two buckets, as shared/protocol/SPEC.md 8.4 has them
library Brake {
    uint256 internal constant FULL = 12 hours * 2 ** 40;

    /// @param balance what the pool holds
    function now_(Buckets memory levels, uint256 balance, uint256 minimum) internal view returns (Buckets memory) {
        uint256 drained = (block.timestamp - levels.readAt) * 2 ** 40;
        uint256 net = uint256(levels.net < 0 ? -levels.net : levels.net);
        net = net > drained ? net - drained : 0;
        levels.net = levels.net < 0 ? -int256(net) : int256(net);
        levels.proved = levels.proved > drained ? levels.proved - drained : 0;
        levels.readAt = block.timestamp;
        if (block.timestamp < levels.fixedAt + 1 days) return levels;
        uint256 cap = balance / 10 < minimum ? minimum : balance / 10;
        (levels.cap, levels.fixedAt, levels.balance) = (cap > type(uint104).max ? type(uint104).max : cap, block.timestamp, balance);
        return levels;
    }

    function takeIn(Buckets memory levels, uint256 amount) internal pure {
        levels.net -= int256(_ticks(amount, quarter(levels.cap)));
        if (levels.net < -int256(FULL)) levels.net = -int256(FULL);
    }

    function letOut(Buckets memory levels, uint256 amount) internal pure {
        levels.net += int256(_ticks(amount, quarter(levels.cap)));
    }

    function letOutByProof(Buckets memory levels, uint256 amount, bool isUnsound) internal pure {
        letOut(levels, amount);
        levels.proved += _ticks(amount, _provedSize(levels, isUnsound));
        if (levels.proved > FULL) levels.proved = FULL;
    }

    /// @param kinds of verifier that vouch
    function attestedRoom(Buckets memory levels, uint256 kinds, bool isUnsound) internal pure returns (uint256) {
        uint256 left = _left(quarter(levels.cap), int256(kinds * FULL) - levels.net);
        uint256 kept = _left(_provedSize(levels, isUnsound), int256(FULL - levels.proved));
        return left > kept ? left - kept : 0;
    }

    /// @param isGone whether nobody attests
    function provedRoom(Buckets memory levels, bool isUnsound, bool isGone) internal pure returns (uint256 room) {
        room = _left(_provedSize(levels, isUnsound), int256(FULL - levels.proved));
        if (isUnsound || !isGone) return room;
        uint256 all = _left(quarter(levels.cap), int256(FULL) - (levels.net > 0 ? levels.net : int256(0)));
        if (all > room) room = all;
    }

    function quarter(uint256 amount) internal pure returns (uint256) {
        return (amount + 3) / 4;
    }

    function _provedSize(Buckets memory levels, bool isUnsound) private pure returns (uint256) {
        uint256 size = quarter(quarter(levels.cap));
        return isUnsound ? quarter(size) : size;
    }

    function _ticks(uint256 amount, uint256 size) private pure returns (uint256) {
        return amount >= 4 * size ? 4 * FULL : amount * FULL / size;
    }

    function _left(uint256 size, int256 toFull) private pure returns (uint256) {
        return toFull < 0 ? 0 : uint256(toFull) * size / FULL;
    }
}
