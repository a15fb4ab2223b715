// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

/// @title The shielded pool: what anyone may call, what it says, and every way it refuses
/// @notice Statements are proved on users' devices, verified and attested by enclaves, and carried here
/// by anyone. This contract believes an attestation by an accepted signer and nothing else; proofs ride
/// along in calldata so that every watcher can check them again.
interface IPool {
    /// @notice One statement, everything the chain needs to obey it.
    /// @param kind 1 deposit-shield, 2 spend, 3 spend9, 4 private-swap (5 and 6, exits, are reserved)
    /// @param deadline Unix seconds, chosen and bound by the user; nothing executes after it
    /// @param signals public signals in circuit order, see StatementSignals
    /// @param ext tightly packed terms of its kind; the context signal binds its hash
    /// @param proof 128 compressed bytes; not verified here, hashed into the attestation
    /// @param authorization deposits: r ‖ s ‖ v of the EIP-3009 authorization, or empty when the depositor
    /// itself sends the transaction and has approved the pool; empty for every other kind
    /// @param attestations at least `threshold` signatures of 65 bytes (r ‖ s ‖ v), signers strictly ascending
    struct Transaction {
        uint8 kind;
        uint64 deadline;
        uint256[] signals;
        bytes ext;
        bytes proof;
        bytes authorization;
        bytes attestations;
    }

    /// @notice The tree grew by a prefix of the queue. An empty update has toIndex == fromIndex == 0 and no attestations.
    struct RootUpdate {
        uint256 oldRoot;
        uint256 newRoot;
        uint64 fromIndex;
        uint64 toIndex;
        bytes32 headBefore;
        bytes32 headAfter;
        bytes attestations;
    }

    /// @notice Everything that is decided when the pool is made. See the constructor of Pool.
    /// @param owner may propose signers, assets and executors, and remove them; nothing else, for ever
    /// @param signers accepted from the start, in any order
    /// @param threshold attestations by distinct signers that a statement or root update needs; no more than
    /// there are signers
    /// @param changeDelay seconds between a proposal and the moment it may take effect; at least two days,
    /// except on chains for development (ids 31337, 31338 and 1337)
    /// @param assets tokens that the pool takes from the start
    /// @param executor the venue for swaps; 0 for none
    /// @param verifiers Groth16 verifiers by kind, from kind 1 on; they name the circuits
    /// @param noteHasher computes commitments that the pool completes itself
    struct Configuration {
        address owner;
        address[] signers;
        uint256 threshold;
        uint64 changeDelay;
        address[] assets;
        address executor;
        address[] verifiers;
        address noteHasher;
    }

    // ------------------------------------------------------------------ events

    /// @notice A statement was executed. The log's data is not ABI-encoded but tightly packed, integers big-endian;
    /// how many there are of each follows from `kind`:
    ///
    ///   kind[1] firstLeafIndex[8] proofHash[32] nullifiers[32 each] commitments[32 each]
    ///   ephemeralKey[32] ciphertexts[53 for each leaf]
    ///   and where the amount is not zero: asset[20] amount[16] party[20]
    ///
    /// Leaves are firstLeafIndex, firstLeafIndex + 1, … in order of the commitments; of a swap there is one leaf and
    /// one ciphertext more than commitments, which `NoteHashed` reports. proofHash is keccak256 of the proof as it
    /// stands in calldata. party is the depositor of a deposit and the recipient of a spend; a swap has none.
    event Executed(bytes32 indexed statementHash);
    /// @notice The pool completed a note itself, from the value that it measured: the output of the swap whose
    /// `Executed` stands before in the same call. commitment = Poseidon(npk, asset, value); its ciphertext is
    /// the last one of that event.
    event NoteHashed(
        bytes32 indexed statementHash,
        uint64 leafIndex,
        uint256 commitment,
        uint256 npk,
        address asset,
        uint256 value
    );
    /// @notice A member of a batch failed and changed nothing. Anyone can cause this for any statement, by
    /// carrying it with a wrong attestation or after it was executed: it tells the sender of the call why the
    /// call did not do more, and says nothing about what the statement may still become or already is.
    /// @param reason the error's selector and arguments, at most 256 bytes
    event Rejected(bytes32 indexed statementHash, bytes reason);
    /// @notice `root` stands for the first `leafCount` leaves; `sequence` counts roots from 0 (the empty tree).
    event RootUpdated(uint256 indexed root, uint64 leafCount, uint64 sequence);
    /// @notice The root update of this call did not match and was skipped.
    event RootUpdateSkipped(uint64 fromIndex, uint64 toIndex, bytes reason);
    /// @notice Anyone may admit the subject of a proposal while admissibleAt <= block.timestamp < expiresAt, unless
    /// the owner takes it back. expiresAt is seven days after admissibleAt; no event says that it has passed.
    /// @param genesisDocument the signer's proof of which code holds its key, for everybody to verify meanwhile
    event SignerProposed(address indexed signer, uint64 admissibleAt, uint64 expiresAt, bytes genesisDocument);
    event SignerAdded(address indexed signer);
    /// @notice The owner took the proposal back; it was never admitted, and this signer never will be.
    event SignerWithdrawn(address indexed signer);
    event SignerRemoved(address indexed signer);
    event AssetProposed(address indexed asset, uint64 admissibleAt, uint64 expiresAt);
    event AssetAdded(address indexed asset);
    /// @notice The owner took the proposal back. Whether the asset can leave is as before.
    event AssetWithdrawn(address indexed asset);
    event AssetDelisted(address indexed asset);
    event ExecutorProposed(address indexed executor, uint64 admissibleAt, uint64 expiresAt);
    event ExecutorSet(address indexed executor);
    /// @notice The owner took the proposal back. The executor in use stays.
    event ExecutorWithdrawn(address indexed executor);
    event ExecutorRemoved(address indexed executor);

    // ------------------------------------------------------------------ errors of a transaction

    error UnknownKind(uint8 kind);
    error DeadlinePassed(uint64 deadline);
    error SignalCount(uint256 given, uint256 expected);
    error SignalOutOfRange(uint256 position);
    error ExtLength(uint256 given, uint256 expected);
    error ProofLength(uint256 given);
    error ContextMismatch();
    /// Asset above 160 bits or amount above 128 bits.
    error AssetOutOfRange();
    error AmountOutOfRange();
    /// A deposit or a swap of nothing.
    error ZeroAmount();
    /// An asset without an amount or the reverse.
    error AssetMismatch();
    /// A recipient without an amount or the reverse.
    error RecipientMismatch();
    /// The recipient is the pool or the token itself: the money would be stuck.
    error RecipientForbidden(address recipient);
    error AssetUnsupported(address asset);
    /// The asset to receive is zero or the asset that is given.
    error TokenOutInvalid(address tokenOut);
    /// A swap without a floor: whoever stands around it could take the whole amount.
    error FloorZero();
    /// The output note's npk is not below r: no wallet could spend it.
    error NpkOutOfRange();
    /// An unknown fee tier, half a second hop, or a middle token that is one of the two ends.
    error PathInvalid();
    /// The pool has no executor now.
    error ExecutorAbsent();
    error RootUnknown(uint256 root);
    error NullifierSpent(uint256 nullifier);
    error NullifiersNotDistinct();
    error CommitmentZero();
    error TreeFull();
    /// This deposit was executed before. A spend cannot come here: its nullifiers are spent.
    error StatementRepeated();
    /// Not r ‖ s ‖ v, or absent where the sender is not the depositor, or present where none belongs.
    error AuthorizationMalformed();
    /// The token moved another amount than the statement says (fee on transfer, rebasing).
    error TransferMismatch(uint256 expected, uint256 measured);
    /// The token refused (reverted, returned false, or is no contract). Carries the token's own reason, at most 128 bytes.
    error TransferRefused(bytes reason);
    /// The venue refused. Carries its own reason, at most 128 bytes.
    error SwapFailed(bytes reason);
    /// The venue paid less than the user's floor.
    error FloorMissed(uint256 floor, uint256 received);
    /// The transaction used up the gas that its kind allows (a token or venue that burns gas).
    error GasExhausted();

    // ------------------------------------------------------------------ errors of an attestation

    error AttestationLength(uint256 given);
    error TooFewAttestations(uint256 given, uint256 threshold);
    error SignerUnknown(address signer);
    error SignersNotAscending();
    error SignatureInvalid();

    // ------------------------------------------------------------------ errors of a root update

    error RootUpdateStale();
    error RootUpdateSize();
    error RootUpdateHead();

    // ------------------------------------------------------------------ errors of a call

    /// Less gas was left than the next transaction is entitled to. The call reverts as a whole, so nobody can
    /// make a stranger's transaction fail by carrying it with too little.
    error GasShort(uint256 needed);
    /// A constructor argument makes no sense.
    error ConfigurationInvalid();
    error NotOwner();
    error Reentered();
    error OnlySelf();
    /// Proposed (and not expired) or admitted already. A proposal made twice does not start a second clock.
    error AlreadyProposed(address subject);
    error AlreadyAdmitted(address subject);
    /// Neither admitted nor proposed; what is withdrawn may also have expired.
    error NotProposed(address subject);
    error TooEarly(uint64 admissibleAt);
    /// Nobody admitted it in its week. It may be proposed again, and then waits again.
    error ProposalExpired(uint64 expiresAt);
    /// The zero address, an asset or executor that is no contract, the pool itself, or a signer that was removed
    /// or withdrawn.
    error Inadmissible(address subject);

    // ------------------------------------------------------------------ calls

    /// @notice Executes each transaction alone (one that fails is reported by `Rejected` and leaves its
    /// neighbours untouched), then takes the root update if it still matches. Anyone may call. Calldata that is
    /// no list of transactions at all reverts the call, as does too little gas (see GasShort).
    function execute(Transaction[] calldata transactions, RootUpdate calldata update) external;

    /// @notice The newest root, and how many leaves of the queue it covers.
    function currentRoot() external view returns (uint256 root, uint64 leafCount, uint64 sequence);
    /// @notice Leaves in the queue, rooted or not, and the head over all of them.
    function queue() external view returns (uint64 leafCount, bytes32 head);
    /// @notice sequence + 1 of a root that the pool ever had, 0 for any other number.
    function rootSequence(uint256 root) external view returns (uint64 sequencePlusOne);
    function isSpent(uint256 nullifier) external view returns (bool);
    function isSigner(address signer) external view returns (bool);
    /// @notice Whether the asset may be deposited, and swapped into or through. One that is delisted may not,
    /// but can still be withdrawn and swapped for another asset.
    function isAsset(address asset) external view returns (bool);
    /// @notice Zero while there is none.
    function executor() external view returns (address);
    function threshold() external view returns (uint256);
    function owner() external view returns (address);
    function changeDelay() external view returns (uint64);
    /// @notice Zero for a kind that is not in the table, as are `verifyingKeyHash` and `memberGas`.
    function verifier(uint8 kind) external view returns (address);
    function verifyingKeyHash(uint8 kind) external view returns (bytes32);
    function noteHasher() external view returns (address);
    /// @notice Gas that a transaction of this kind gets when it moves tokens. Whoever calls `execute` must leave
    /// as much to each of them.
    function memberGas(uint8 kind) external pure returns (uint256);
    function domainSeparator() external view returns (bytes32);

    // One way in for signers, assets and the executor: the owner proposes, everybody sees it for `changeDelay`
    // seconds, then anyone may admit, for seven days; after that it is as if it had not been proposed. One way out:
    // the owner removes, at once, also what is only proposed. A proposal cannot be changed while it is pending.

    /// @param genesisDocument not looked at here, see SignerProposed
    function proposeSigner(address signer, bytes calldata genesisDocument) external;
    function addSigner(address signer) external;
    /// @notice Permanently, in use or only proposed. Also where fewer than `threshold` are left: then nothing is
    /// executed until another is admitted, and no money moves meanwhile.
    function removeSigner(address signer) external;

    function proposeAsset(address asset) external;
    function addAsset(address asset) external;
    /// @notice Stops deposits of it and swaps into or through it; withdrawals and swaps out of it go on. Takes it
    /// back when it is only proposed.
    function delistAsset(address asset) external;

    function proposeExecutor(address venue) external;
    /// @notice It replaces the one there is.
    function setExecutor(address venue) external;
    /// @notice Takes the address, so that it removes the one that was meant, in use or only proposed.
    function removeExecutor(address venue) external;
}
