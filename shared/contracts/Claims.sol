// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {Brakes} from "./Brakes.sol";
import {RootLedger} from "./RootLedger.sol";
import {IClaims} from "./interfaces/IClaims.sol";
import {IRecovery} from "./interfaces/IRecovery.sol";
import {TokenCalls} from "./libraries/TokenCalls.sol";

/// @title What is proved and found no room: claims, which share what there is room for later
/// @notice There is no line. Room is allotted to all claims of the asset in proportion to what they wait for, and each is paid
/// what it was allotted, alone, whenever anybody asks. So nobody is first, a payee that fails keeps nobody else, and a claim
/// gains nothing by being split.
///
/// As a stability pool does it (Liquity, "Scalable Reward Distribution with Compounding Stakes"): one product, over all
/// allotments, of the part that was left waiting. A claim waits for its amount times what the product has become since.
/// Everything is rounded towards waiting longer: the pool allots no more than it counts as having left.
abstract contract Claims is Brakes, RootLedger, IClaims, IRecovery {
    uint256 private constant ONE = 2 ** 127;
    /// The product never falls below: it is lifted by that much and a bit, and the scale counts how often.
    uint256 private constant LOW = 2 ** 63;
    uint256 private constant LIFT_BITS = 64;
    /// The epoch of a claim that was removed.
    uint40 private constant REMOVED = type(uint40).max;

    // ------------------------------------------------------------------ coming and going

    /// @inheritdoc IClaims
    function takeProved(bytes32 statementHash, address asset, address recipient, uint256 amount, uint40 rootNumber)
        external
        returns (bool isRoom)
    {
        Sharing memory sharing = _allot(asset);
        if (sharing.waiting == 0 && amount <= _provedRoomNow(asset)) {
            _fillProved(asset, amount);
            return true;
        }
        if (recipient == address(0)) revert CapReached(asset, 0, 0);
        uint256 id = claims[asset].length;
        claims[asset].push();
        claimOf[statementHash] = id + 1;
        _wait(asset, id, recipient, amount, rootNumber, sharing);
        emit ClaimAdded(statementHash, asset, id, recipient, amount, rootNumber);
    }

    /// @dev From now on it waits for all of it.
    function _wait(
        address asset,
        uint256 id,
        address recipient,
        uint256 amount,
        uint40 rootNumber,
        Sharing memory sharing
    ) private {
        // No note is worth more than the pool holds, unless it is forged; and it would have all of every allotment.
        uint256 most = TokenCalls.balance(asset);
        uint256 countable = type(uint128).max - sharing.owed;
        if (most > countable) most = countable;
        if (amount > most) revert ClaimTooLarge(most);
        sharing.owed += uint128(amount);
        sharing.waiting += uint128(amount);
        sharings[asset] = sharing;
        claims[asset][id] = Claim(recipient, rootNumber, sharing.epoch, sharing.scale, uint128(amount), sharing.product);
    }

    /// @dev The claim of a statement that comes again. What it was allotted while it was removed went to the others.
    function _restoreClaim(bytes32 earlier, Statement calldata statement) internal {
        uint256 idPlusOne = claimOf[earlier];
        if (idPlusOne == 0) return;
        claimOf[statement.hash] = idPlusOne;
        (address asset, uint256 id) = (statement.token, idPlusOne - 1);
        Claim memory claim_ = claims[asset][id];
        // All of it was paid.
        if (claim_.amount == 0) return;
        if (claim_.epoch == REMOVED) {
            _openWindow(asset);
            _wait(asset, id, claim_.recipient, claim_.amount, statement.rootNumber, _allot(asset));
        } else {
            claims[asset][id].rootNumber = statement.rootNumber;
        }
        emit ClaimRooted(asset, id, statement.rootNumber);
    }

    /// @dev What restored it is false: it is suspended as it was.
    function _suspendClaim(bytes32 statementHash, address asset, uint40 rootNumber) internal {
        uint256 idPlusOne = claimOf[statementHash];
        if (idPlusOne == 0 || claims[asset][idPlusOne - 1].amount == 0) return;
        claims[asset][idPlusOne - 1].rootNumber = rootNumber;
        emit ClaimRooted(asset, idPlusOne - 1, rootNumber);
    }

    /// @inheritdoc IRecovery
    function payClaim(address asset, uint256 id) external locked {
        Claim memory claim_ = _mustExist(asset, id);
        if (_isSuspended(claim_)) revert ClaimRevoked(id);
        _openWindow(asset);
        Sharing memory sharing = _allot(asset);
        uint256 rest = _restOf(claim_, sharing);
        uint256 due = claim_.amount - rest;
        if (due == 0) revert CapReached(asset, 0, 0);

        sharings[asset].owed = sharing.owed - uint128(due);
        if (rest == 0) {
            delete claims[asset][id];
        } else {
            claims[asset][id] = Claim(
                claim_.recipient, claim_.rootNumber, sharing.epoch, sharing.scale, uint128(rest), sharing.product
            );
        }
        TokenCalls.push(asset, claim_.recipient, due);
        emit ClaimPaid(asset, id, due, rest);
    }

    /// @inheritdoc IRecovery
    function removeClaim(address asset, uint256 id) external locked {
        Claim memory claim_ = _mustExist(asset, id);
        if (claim_.epoch == REMOVED) revert ClaimUnknown(id);
        if (!_isSuspended(claim_)) revert ClaimStands(id);
        _openWindow(asset);
        Sharing memory sharing = _allot(asset);
        uint256 rest = _restOf(claim_, sharing);
        sharing.owed -= claim_.amount;
        sharing.waiting -= uint128(rest);
        if (sharing.waiting == 0) _endEpoch(sharing);
        // It counts as having left, and has not: the others get it.
        else _share(sharing, claim_.amount - rest);
        sharings[asset] = sharing;
        claims[asset][id].epoch = REMOVED;
        emit ClaimRemoved(asset, id, claim_.amount);
    }

    // ------------------------------------------------------------------ reading

    /// @inheritdoc IRecovery
    function claimTotals(address asset) external view returns (uint256 made, uint256 owed, uint256 waiting) {
        (Sharing memory sharing,) = _allotment(asset);
        return (claims[asset].length, sharing.owed, sharing.waiting);
    }

    /// @inheritdoc IRecovery
    function claim(address asset, uint256 id)
        external
        view
        returns (address recipient, uint256 amount, uint256 due, bool isRevoked)
    {
        if (id >= claims[asset].length) return (address(0), 0, 0, false);
        Claim memory claim_ = claims[asset][id];
        (recipient, amount, isRevoked) = (claim_.recipient, claim_.amount, _isSuspended(claim_));
        if (isRevoked) return (recipient, amount, 0, true);
        (Sharing memory sharing,) = _allotment(asset);
        due = amount - _restOf(claim_, sharing);
    }

    // ------------------------------------------------------------------ sharing

    /// @dev Of what there is room for now, as if it had left already.
    function _allot(address asset) private returns (Sharing memory sharing) {
        uint256 part;
        (sharing, part) = _allotment(asset);
        if (part == 0) return sharing;
        _fillProved(asset, part);
        sharings[asset] = sharing;
    }

    /// @dev Never more than the pool holds free: one that is short pays everybody the same share.
    function _allotment(address asset) private view returns (Sharing memory sharing, uint256 part) {
        sharing = sharings[asset];
        if (sharing.product == 0) sharing.product = uint128(ONE);
        if (sharing.waiting == 0) return (sharing, 0);
        uint256 held = TokenCalls.balance(asset);
        uint256 allotted = sharing.owed - sharing.waiting;
        uint256 free = held > allotted ? held - allotted : 0;
        part = _provedRoomNow(asset);
        part = _share(sharing, part < free ? part : free);
    }

    /// @param part of what is waited for, which is not nothing
    /// @return shared not more than `part`: what the product cannot say stays, and nobody can waste room by asking often
    function _share(Sharing memory sharing, uint256 part) private pure returns (uint256 shared) {
        uint256 waiting = sharing.waiting;
        if (part >= waiting) {
            _endEpoch(sharing);
            return waiting;
        }
        uint256 product = _ceilDiv(sharing.product * (waiting - part), waiting);
        uint256 rest = waiting * product / sharing.product;
        if (product < LOW) {
            product <<= LIFT_BITS;
            ++sharing.scale;
        }
        (sharing.product, sharing.waiting) = (uint128(product), uint128(rest));
        return waiting - rest;
    }

    /// @dev Nobody waits: whoever was in it has all of its claim.
    function _endEpoch(Sharing memory sharing) private pure {
        (sharing.waiting, sharing.product, sharing.scale) = (0, uint128(ONE), 0);
        ++sharing.epoch;
    }

    /// @dev What a claim still waits for: rounded up, and no more than all of them do.
    function _restOf(Claim memory claim_, Sharing memory sharing) private pure returns (uint256 rest) {
        if (claim_.epoch != sharing.epoch) return 0;
        uint256 lifts = sharing.scale - claim_.scale;
        // Beyond, it is less than one: an amount has 128 bits, the product 127.
        rest = 1;
        if (lifts < 3) {
            rest = _ceilDiv(uint256(claim_.amount) * sharing.product, uint256(claim_.product) << (LIFT_BITS * lifts));
        }
        if (rest > sharing.waiting) rest = sharing.waiting;
    }

    function _mustExist(address asset, uint256 id) private view returns (Claim memory) {
        if (id >= claims[asset].length || claims[asset][id].amount == 0) revert ClaimUnknown(id);
        return claims[asset][id];
    }

    /// @dev What was proved on a root that is none any more was perhaps never anybody's.
    function _isSuspended(Claim memory claim_) private view returns (bool) {
        return claim_.epoch == REMOVED || _isRevokedRoot(claim_.rootNumber);
    }

    function _provedRoomNow(address asset) private view returns (uint256 proved) {
        (, proved) = _rooms(asset, false);
    }

    function _ceilDiv(uint256 a, uint256 b) private pure returns (uint256) {
        unchecked {
            return a == 0 ? 0 : (a - 1) / b + 1;
        }
    }
}
