// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {IPoolTypes} from "./interfaces/IPoolTypes.sol";

/// @title Everything that the pool remembers, in one place
/// @notice The pool and its three modules inherit this and declare no storage of their own, so the four agree on
/// every slot: a module runs in the pool's storage.
abstract contract PoolStorage is IPoolTypes {
    // ------------------------------------------------------------------ what the owner admitted

    enum Standing {
        Unknown,
        Admitted,
        Removed
    }

    /// One slot. A proposal stands beside the standing, since what was removed may be proposed again.
    struct Admission {
        Standing standing;
        /// Zero unless proposed. Stays behind when the proposal expires, until the next one.
        uint64 admissibleAt;
    }

    mapping(address asset => Admission) internal assets;
    mapping(address executor => Admission) internal executors;
    address internal currentExecutor;

    /// What the proposal says, see Window.
    mapping(address asset => uint104) internal proposedMinimums;

    // ------------------------------------------------------------------ images, and signers that proved to be of one

    /// One slot, read once for every signature.
    struct SignerRecord {
        /// The kind of verifier that vouches (see FIRST_VERIFIER), while its word counts; 0 before and after.
        uint8 voice;
        /// Registered at some time. Only what was can be refuted.
        bool wasAdmitted;
        /// When it was removed, permanently; zero before.
        uint64 removedAt;
    }

    struct Image {
        Admission admission;
        uint8 kind;
        /// Those whose word counts. Bounded: all of them go in one call.
        address[] signers;
    }

    struct Bond {
        address poster;
        uint96 amount;
    }

    /// Two programs that judge statements, written apart from one another. As bits, so that one word says which vouched.
    uint8 internal constant FIRST_VERIFIER = 1;
    uint8 internal constant SECOND_VERIFIER = 2;
    /// keccak256 of 144 zero bytes: PCR0 to 2 of an enclave in debug mode, whose memory its host reads.
    bytes32 internal constant DEBUG_IMAGE = keccak256(new bytes(144));

    mapping(address signer => SignerRecord) internal signers;
    /// Of every signer that was ever registered.
    mapping(address signer => bytes32) internal imageOf;
    /// The certificate that vouched for it: the id of its chain (see INitroAttestations).
    mapping(address signer => bytes32) internal leafOf;
    mapping(bytes32 image => Image) internal images;
    mapping(address signer => Bond) internal bonds;
    /// Bonds that could not be paid to whom they belong.
    mapping(address holder => uint256) internal owedBonds;

    // ------------------------------------------------------------------ the queue and its tree

    /// One slot, read by every transaction. Times are Unix seconds.
    struct Position {
        uint40 leafCount;
        uint40 rootedCount;
        /// Of the newest root; roots are counted from 0, the empty tree, and a number is never used again.
        uint40 rootSequence;
        /// No root after this one is revoked: the attested path reads no interval for the others.
        uint40 revokedUpTo;
        /// The attested path is closed before.
        uint40 attestedFrom;
        /// When the signers were last abreast of the queue: the time of their newest root, or of the place that it ends at
        /// where leaves wait behind it. So nothing that waits is older.
        uint40 rootedAt;
        /// A false statement was proved (see `reportUnsound`).
        bool isUnsound;
    }

    /// One slot.
    struct RootRecord {
        /// Zero where there is no such root.
        uint40 sequencePlusOne;
        /// Leaves of the queue that it covers.
        uint40 leafCount;
        /// Since when all its leaves were in the queue, as far as the pool can tell: the time of recording, or that
        /// of the checkpoint that `advance` reached.
        uint40 since;
        /// The attested update that made it: the low 136 bits of its digest. Zero when the pool computed the root
        /// itself, which nobody can refute.
        uint136 origin;
    }

    /// Both ends included.
    struct Interval {
        uint40 first;
        uint40 last;
    }

    Position internal position;
    bytes32 internal queueHead;
    uint256 internal newestRoot;
    /// The head over the rooted leaves while others wait; stale when none does, since `queueHead` says it then.
    /// (Writing it only then saves 5,000 gas in the usual call, whose update covers everything.)
    bytes32 internal rootedHeadWhileWaiting;

    mapping(uint256 root => RootRecord) internal roots;
    /// Ascending and apart: a new one always reaches the newest root, and swallows what it touches.
    Interval[] internal revoked;

    /// By place, see CommitmentQueue: 216 bits of keccak256(leafCount, head) and the time in the low 40.
    mapping(uint256 place => uint256) internal checkpoints;

    /// Bit i of word w: leaf 256 w + i was made by a statement that was refuted or suspended, and is empty in the tree.
    mapping(uint256 word => uint256) internal voidLeaves;
    /// In the same way: a credit's, which no statement made. So nothing it was proved on can be revoked.
    mapping(uint256 word => uint256) internal creditedLeaves;
    /// From here on no leaf is void or proved on a revoked root. Up to here only `advance` may extend the tree.
    uint256 internal doubtfulUpTo;

    // ------------------------------------------------------------------ statements

    /// By nullifier: 0 while unspent, else the mark of the statement that spent it (see Marks).
    mapping(uint256 nullifier => uint256) internal spentBy;
    /// By statement hash of a deposit: the same mark, when it became void, or Marks.RETURNED. A spend can only be made once because of its
    /// nullifiers; a deposit has none.
    mapping(bytes32 statementHash => uint256) internal deposited;
    /// By nullifier whose mark says that the statement came again: the mark of the one that was first suspended.
    mapping(uint256 nullifier => uint256) internal suspendedMarks;

    // ------------------------------------------------------------------ brakes

    /// One slot.
    struct Window {
        /// When the cap was fixed.
        uint40 fixedAt;
        /// Of the first bucket: a quarter of the cap.
        uint104 size;
        /// The cap is never below.
        uint104 minimum;
    }

    /// One slot. Times in ticks (see Brakes) at which the buckets are empty again, if nothing more leaves.
    struct Flow {
        /// Over whatever left, less whatever came in.
        uint80 netUntil;
        /// Over what left by proofs.
        uint80 provedUntil;
        /// More came in: until `netUntil` it is a credit.
        bool isCredit;
    }

    /// One slot and another. See Claims.
    struct Claim {
        address recipient;
        /// Of the root that it was proved on.
        uint40 rootNumber;
        /// Of `sharing`, when `amount` was what is not paid.
        uint40 epoch;
        uint16 scale;
        uint128 amount;
        uint128 product;
    }

    /// Of all claims of an asset. Two slots.
    struct Sharing {
        /// Not paid.
        uint128 owed;
        /// Of that, not allotted.
        uint128 waiting;
        /// What is left of a unit that has waited since the epoch began, as a part of 2^127 that was lifted `scale` times.
        uint128 product;
        uint40 epoch;
        uint16 scale;
    }

    mapping(address asset => Window) internal windows;
    mapping(address asset => Flow) internal flows;
    mapping(address asset => Claim[]) internal claims;
    /// By statement hash: its claim's id, and one; 0 where it has none.
    mapping(bytes32 statementHash => uint256) internal claimOf;
    mapping(address asset => Sharing) internal sharings;

    uint40 internal guardianReadyAt;

    // ------------------------------------------------------------------ the lock

    bool private transient isEntered;

    /// @dev One lock over every entry: a token may call anyone, and what a venue, an asset or a signer is must not change
    /// in the middle of what it does.
    modifier locked() {
        if (isEntered) revert Reentered();
        isEntered = true;
        _;
        isEntered = false;
    }
}
