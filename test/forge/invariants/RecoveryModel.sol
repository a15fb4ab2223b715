// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {IPoolTypes} from "../../../shared/contracts/interfaces/IPoolTypes.sol";
import {Brake, Buckets} from "../support/Buckets.sol";
import {TestToken} from "../support/TestToken.sol";
import {Statements} from "../support/Statements.sol";
import {World} from "../support/World.sol";

/// @dev A statement that was sent, with what it is in truth.
struct Act {
    IPoolTypes.Transaction transaction;
    bool isAttested;
    /// Vouched for, and its proof does not show it.
    bool isForged;
    /// Registered: a good proof of it exists.
    bool isTrue;
    bool isExecuted;
    bool isRefuted;
    address asset;
    uint256 amount;
    uint256[] inputs;
    uint256[] values;
    uint256 firstLeaf;
    uint256 firstNote;
    /// Number of the root that it was executed on.
    uint256 root;
    /// Its claim's id, and one; 0 where it has none.
    uint256 claim;
    /// It makes no more than it spends.
    bool isBalanced;
    /// Another act has come in its place.
    bool isReplaced;
    /// The number of the first act in whose place it comes, and one; 0 for an act that moves what it says.
    uint256 before;
}

struct Note {
    address asset;
    uint256 value;
    uint256 leafIndex;
    bool isSpent;
    /// The act that spent it.
    uint256 by;
}

struct Root {
    uint256 root;
    uint256 count;
    uint256 since;
    /// Its number among the roots is the sequence; this is the one it was built on.
    uint256 parent;
    bool isRevoked;
    /// Forged, or built on a forged one.
    bool isFalse;
    bool isAttested;
    bool isForged;
    IPoolTypes.RootUpdate update;
}

struct Signer {
    uint256 key;
    address account;
    bytes32 image;
    bool isAdmitted;
    bool wasAdmitted;
    bool isRemoved;
    uint256 admissibleAt;
    uint256 bond;
}

struct Waiting {
    /// What is not paid.
    uint256 left;
    /// Of that, what is not allotted: in parts of 2^64.
    uint256 weight;
    /// The root that it was proved on.
    uint256 root;
    bool isRemoved;
}

/// @title What refutations, brakes, claims and the tree should be after everything that happened
/// @notice Naive on purpose: every root, leaf and claim has an entry of its own, and nothing is packed or merged.
abstract contract RecoveryModel is World {
    uint64 internal constant CHANGE_DELAY = 4 days;
    uint256 internal constant NEVER = type(uint40).max;

    Act[] internal acts;
    Note[] internal notes;
    Signer[] internal people;
    mapping(bytes32 image => bool) internal isImageRevoked;

    // ------------------------------------------------------------------ money

    /// Unspent notes that are not void.
    mapping(address asset => uint256) internal worth;
    mapping(address asset => uint256) internal owed;
    mapping(address asset => uint256) internal donated;
    /// By how much notes, claims and gifts are more than the money: what was forged and moved on. Less than nothing when
    /// money is there whose notes are void.
    mapping(address asset => int256) internal excess;
    mapping(address asset => Buckets) internal buckets_;
    mapping(address asset => Waiting[]) internal claims_;
    /// Of what is owed, what is not allotted.
    mapping(address asset => uint256) internal waiting;

    function _addNote(address asset, uint256 value, uint256 leafIndex) internal {
        notes.push(Note(asset, value, leafIndex, false, 0));
        worth[asset] += value;
    }

    function _spend(uint256 id, uint256 by) internal {
        Note storage note = notes[id];
        require(!note.isSpent && !isVoid[note.leafIndex], "model: spent twice, or void");
        (note.isSpent, note.by) = (true, by);
        worth[note.asset] -= note.value;
    }

    function _nullifierOf(uint256 id) internal pure returns (uint256) {
        return Statements.field("nullifier of note", id);
    }

    /// @dev What becomes undone when an executed act is refuted; money that has left has left.
    function _undo(uint256 which) internal {
        Act storage act = acts[which];
        act.isRefuted = true;
        if (!isVoid[act.firstLeaf]) {
            _empty(act);
            uint256 end = act.firstLeaf + Statements.leavesOf(act.transaction.kind);
            if (doubtfulUpTo < end) doubtfulUpTo = end;
            isHeadUnknown = true;
        }
        if (act.before != 0) return _putBack(act.before - 1);
        for (uint256 i = 0; i < act.inputs.length; ++i) {
            Note storage note = notes[act.inputs[i]];
            note.isSpent = false;
            if (isVoid[note.leafIndex]) continue;
            worth[note.asset] += note.value;
            excess[note.asset] += int256(note.value);
        }
    }

    /// @dev What came in its place is false: its notes are spent by it, and its claim is as good as its root.
    function _putBack(uint256 which) private {
        Act storage act = acts[which];
        act.isReplaced = false;
        if (act.claim != 0) claims_[act.asset][act.claim - 1].root = act.root;
    }

    /// @dev What it made is nobody's any more.
    function _empty(Act storage act) internal {
        uint256 leaves = Statements.leavesOf(act.transaction.kind);
        for (uint256 id = act.firstNote; id < notes.length && notes[id].leafIndex < act.firstLeaf + leaves; ++id) {
            if (notes[id].isSpent) continue;
            worth[notes[id].asset] -= notes[id].value;
            excess[notes[id].asset] -= int256(notes[id].value);
        }
        for (uint256 i = 0; i < leaves; ++i) {
            isVoid[act.firstLeaf + i] = true;
        }
    }

    /// @dev Executed, and neither undone nor come again.
    function _stands(Act storage act) internal view returns (bool) {
        return act.isExecuted && !act.isRefuted && !act.isReplaced;
    }

    // ------------------------------------------------------------------ what was proved on a revoked root

    /// @dev In order of the leaves, once each, up to a place.
    function _doubtful(uint256 from, uint256 end) internal view returns (uint256[] memory who) {
        if (end > doubtfulUpTo) end = doubtfulUpTo;
        who = new uint256[](end > from ? end - from : 0);
        uint256 count = 0;
        for (uint256 i = from; i < end; ++i) {
            uint256 which = madeBy[i];
            if (isVoid[i] || (count != 0 && who[count - 1] == which)) continue;
            who[count++] = which;
        }
        assembly ("memory-safe") {
            mstore(who, count)
        }
    }

    function _suspend(uint256[] memory who) internal {
        for (uint256 i = 0; i < who.length; ++i) {
            if (roots[acts[who[i]].root].isRevoked) _empty(acts[who[i]]);
        }
    }

    function _makerOf(uint256 which) internal view returns (bytes32) {
        IPoolTypes.Transaction memory transaction = acts[which].transaction;
        bool isDeposit = transaction.kind == Statements.DEPOSIT;
        return isDeposit ? Statements.hashOf(transaction) : bytes32(transaction.signals[4]);
    }

    /// @dev Whether a proof on that root shows it: over a false root one shows anything.
    function _isTrueOn(Act memory act, uint256 root) internal view returns (bool) {
        if (roots[root].isFalse) return true;
        for (uint256 i = 0; i < act.inputs.length; ++i) {
            uint256 leaf = notes[act.inputs[i]].leafIndex;
            if (isVoid[leaf] || leaf >= roots[root].count) return false;
        }
        return act.isBalanced;
    }

    // ------------------------------------------------------------------ brakes

    uint256 internal attestedFrom;
    uint256 internal guardianReadyAt;
    bool internal isUnsound;

    function _isOpen() internal view returns (bool) {
        return block.timestamp >= attestedFrom;
    }

    function _isSilent() internal view returns (bool) {
        return block.timestamp >= _silentFrom();
    }

    /// @dev Six hours after a root that signers vouched for, not counting those in which they could not.
    function _silentFrom() internal view returns (uint256) {
        return (heardAt > attestedFrom ? heardAt : attestedFrom) + 6 hours;
    }

    /// @dev As a movement would find them. What is allotted counts as having left.
    function _buckets(address asset) internal view returns (Buckets memory levels) {
        uint256 held = TestToken(asset).balanceOf(address(pool));
        uint256 fixedAt = buckets_[asset].fixedAt;
        levels = Brake.now_(buckets_[asset], held, minimumCap);
        if (levels.fixedAt != fixedAt) levels.balance = _free(asset);
    }

    function _free(address asset) internal view returns (uint256) {
        uint256 held = TestToken(asset).balanceOf(address(pool));
        uint256 allotted = owed[asset] - waiting[asset];
        return held > allotted ? held - allotted : 0;
    }

    // ------------------------------------------------------------------ claims

    /// @dev What `claims_` get now, all together: what there is room for, and what is there.
    function _allotment(address asset, Buckets memory levels) internal view returns (uint256 part) {
        part = _provedRoom(levels);
        if (part > _free(asset)) part = _free(asset);
        if (part > waiting[asset]) part = waiting[asset];
    }

    /// @dev With them the buckets have counted it.
    function _allot(address asset, Buckets memory levels) internal {
        uint256 part = _allotment(asset, levels);
        if (part == 0) return;
        Brake.letOutByProof(levels, part, isUnsound);
        _share(asset, part);
    }

    /// @dev In proportion to what each waits for.
    function _share(address asset, uint256 part) internal {
        uint256 all = waiting[asset];
        if (part > all) part = all;
        for (uint256 i = 0; i < claims_[asset].length; ++i) {
            Waiting storage one = claims_[asset][i];
            one.weight = part == all ? 0 : one.weight * (all - part) / all;
        }
        waiting[asset] = all - part;
    }

    /// @dev What the pool says is due now, which may be a unit less than it exactly is.
    function _dueOf(address asset, uint256 id, uint256 said) internal view returns (bool) {
        Waiting storage one = claims_[asset][id];
        if (_isSuspended(one)) return said == 0;
        uint256 part = _allotment(asset, _buckets(asset));
        uint256 all = waiting[asset];
        uint256 weight = part == all ? 0 : one.weight * (all - part) / all;
        if (weight > (all - part) << 64) weight = (all - part) << 64;
        uint256 due = one.left - (weight >> 64);
        return said <= due && said + 2 >= due;
    }

    function _isSuspended(Waiting storage one) internal view returns (bool) {
        return one.isRemoved || roots[one.root].isRevoked;
    }

    function _provedRoom(Buckets memory levels) internal view returns (uint256) {
        return Brake.provedRoom(levels, isUnsound, !_isOpen() || _isSilent());
    }

    // ------------------------------------------------------------------ the queue and its tree

    uint256[] internal leaves_;
    bytes32[] internal heads;
    mapping(uint256 index => bool) internal isVoid;
    mapping(uint256 index => uint256 act) internal madeBy;
    uint256 internal doubtfulUpTo;
    Root[] internal roots;
    /// By root: its last number and one.
    mapping(uint256 root => uint256) internal numberOf;
    uint256 internal newest;
    uint256 internal rooted;
    uint256 internal heardAt;
    bool internal isHeadUnknown;
    mapping(uint256 place => uint256) private ends;
    mapping(uint256 place => uint256) private endTimes;
    mapping(uint256 window => uint256) private firsts;
    mapping(uint256 window => uint256) private firstTimes;

    function _addLeaf(uint256 commitment) internal {
        madeBy[leaves_.length] = acts.length;
        leaves_.push(commitment);
        heads.push(Statements.nextHead(heads[heads.length - 1], commitment));
    }

    /// @dev At the end of every call; of all calls here one member ends.
    function _addEnd() internal {
        uint256 count = leaves_.length;
        if (firsts[count / 252] == 0 && count >= 252) (firsts[count / 252], firstTimes[count / 252]) = (count, block.timestamp);
        // The end keeps its time while nothing is added.
        if (count > rooted && ends[count % 256] != count) {
            (ends[count % 256], endTimes[count % 256]) = (count, block.timestamp);
        }
    }

    function _checkpointTime(uint256 count) internal view returns (uint256) {
        if (count == 0) return 0;
        if (ends[count % 256] == count) return endTimes[count % 256];
        return firsts[count / 252] == count ? firstTimes[count / 252] : 0;
    }

    function _record(Root memory root) internal {
        numberOf[root.root] = roots.length + 1;
        newest = roots.length;
        rooted = root.count;
        // What they leave waiting is not older.
        if (root.isAttested) heardAt = root.count == leaves_.length ? block.timestamp : _checkpointTime(root.count);
        roots.push(root);
    }

    function _isRoot(uint256 number) internal view returns (bool) {
        return !roots[number].isRevoked && numberOf[roots[number].root] == number + 1;
    }

    /// @dev Every one from that number on.
    function _revokeFrom(uint256 number) internal {
        newest = roots[number].parent;
        rooted = roots[newest].count;
        isHeadUnknown = true;
        doubtfulUpTo = leaves_.length;
        for (; number < roots.length; ++number) {
            roots[number].isRevoked = true;
        }
    }

    /// @dev The root over `from` to `to` on top of another, void leaves empty.
    function _above(uint256 root, uint256 from, uint256 to) internal view returns (uint256) {
        for (uint256 i = from; i < to; ++i) {
            if (isVoid[i]) continue;
            root = uint256(keccak256(abi.encode(root, i, leaves_[i]))) % Statements.R;
        }
        return root;
    }

    function _slice(uint256 from, uint256 to) internal view returns (uint256[] memory part) {
        part = new uint256[](to - from);
        for (uint256 i = from; i < to; ++i) {
            part[i - from] = leaves_[i];
        }
    }

    // ------------------------------------------------------------------ who signs

    function _dismiss(Signer storage signer) internal {
        (signer.isAdmitted, signer.isRemoved, signer.admissibleAt) = (false, true, 0);
    }

    function _revokeImage(bytes32 image) internal {
        isImageRevoked[image] = true;
        for (uint256 i = 0; i < people.length; ++i) {
            if (people[i].image == image && !people[i].isRemoved) _dismiss(people[i]);
        }
    }

    /// @dev Who signed these bytes is out, with all of the image unless that was out before and nobody believed it.
    /// @return bonds that come free
    function _convict(bytes32 digest, bytes memory attestations, bool wasBelieved) internal returns (uint256 bonds) {
        for (uint256 i = 0; i < attestations.length / 65; ++i) {
            Signer storage signer = _signerOf(digest, _tail(attestations, 65 * i));
            bool isHeard = signer.isAdmitted;
            if (isHeard) {
                if (attestedFrom < block.timestamp + CHANGE_DELAY) attestedFrom = block.timestamp + CHANGE_DELAY;
                _dismiss(signer);
            }
            bool isGuilty = isHeard || wasBelieved;
            if (isGuilty && signer.image != 0 && !isImageRevoked[signer.image]) _revokeImage(signer.image);
            bonds += signer.bond;
            signer.bond = 0;
        }
    }

    function _signerOf(bytes32 digest, bytes memory signature) internal view returns (Signer storage) {
        (bytes32 r, bytes32 s) = abi.decode(_head(signature, 64), (bytes32, bytes32));
        address account = ecrecover(digest, uint8(signature[64]), r, s);
        for (uint256 i = 0; i < people.length; ++i) {
            if (people[i].account == account) return people[i];
        }
        revert("model: nobody's signature");
    }
}
