// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

/// @title What goes into the pool, what it says, and every way it refuses
interface IPoolTypes {
    /// @notice One statement, everything the chain needs to obey it.
    /// Two ways lead in. *Attested*: the proof is compressed and not verified here, and enclaves vouch for it.
    /// *Proved*: the proof is uncompressed, the pool has it verified, and nobody vouches for anything.
    /// @param kind 1 deposit-shield, 2 spend, 3 spend9, 4 private-swap
    /// @param deadline Unix seconds, chosen and bound by the user; nothing executes after it
    /// @param signals public signals in circuit order, see StatementSignals
    /// @param ext tightly packed terms of its kind; the context signal binds its hash
    /// @param proof 128 compressed bytes, hashed into the attestation; or 256 bytes, a.x a.y b.x.c1 b.x.c0 b.y.c1
    /// b.y.c0 c.x c.y (the order of EIP-197), for the proved way
    /// @param authorization deposits: the EIP-3009 authorization, r ‖ s ‖ v or any other length for a smart
    /// account's signature (EIP-1271); or empty when the depositor itself sends the transaction and has approved
    /// the pool. For every other kind empty; or, where the statement was suspended and comes again, the earlier one's deadline,
    /// root and proof hash, 32 bytes each, and of a swap the value of its `NoteHashed` as well: of the first one, which moved what
    /// was moved
    /// @param attestations at least `threshold` signatures of 65 bytes (r ‖ s ‖ v), signers strictly ascending;
    /// none for the proved way
    struct Transaction {
        uint8 kind;
        uint64 deadline;
        uint256[] signals;
        bytes ext;
        bytes proof;
        bytes authorization;
        bytes attestations;
    }

    /// @notice What the pool reads from a transaction once and uses often.
    struct Statement {
        uint8 kind;
        uint64 deadline;
        uint256 inputs;
        uint256 outputs;
        uint256 leaves;
        bytes32 extHash;
        bytes32 hash;
        bytes32 proofHash;
        /// Of the root that it is proved on; 0 for a deposit.
        uint40 rootNumber;
        bool isProved;
        /// A deposit whose leaves a refutation voided: its money is here, its notes come again.
        bool isPaid;
        /// What it moved has moved: it says what it was proved on before (see Suspensions).
        bool isAgain;
        address token;
        /// amountIn of a deposit, amountOut of all others.
        uint256 amount;
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

    /// @notice An attested statement that its proof does not show, as its attestation names it.
    /// @param extHash keccak256 of its ext
    /// @param proof the 128 compressed bytes that the attestation is over
    /// @param words what they decompress to, in the order of EIP-197; anything when they decompress to nothing
    /// @param attestations at least one signature of 65 bytes, each by a signer that is or was admitted
    struct FalseStatement {
        uint8 kind;
        uint64 deadline;
        uint256[] signals;
        bytes32 extHash;
        bytes proof;
        uint256[8] words;
        bytes attestations;
    }

    /// @notice Everything that is decided when the pool is made. See PoolSettings.
    /// @param owner may propose images, assets and executors, and remove them and signers; nothing else, permanently. It
    /// admits no signer
    /// @param guardian may close the attested path for three days, with seven days before the next time; 0 for nobody
    /// @param images admitted from the start, see `proposeImage`: there are no signers until somebody registers one
    /// @param kinds of each of them
    /// @param threshold attestations by distinct signers that a statement or root update needs; from two on, of both kinds
    /// @param signerBond wei that stand for each signer, and come with it
    /// @param changeDelay seconds between a proposal and the moment it may take effect; at least two days more than
    /// `provedDelay`, except on chains for development (ids 31337, 31338 and 1337)
    /// @param provedDelay seconds that a root must be old before a proof may use it; at least two days, with the
    /// same exception
    /// @param assets tokens that the pool takes from the start
    /// @param minimumCaps of each of them the cap is never below, in the token's units, and not 0
    /// @param executor the venue for swaps; 0 for none
    /// @param verifiers Groth16 verifiers by kind, from kind 1 on; they name the circuits
    /// @param noteHasher computes commitments that the pool completes itself
    /// @param treeHasher computes roots where no signer does
    /// @param governance the module of that name, and
    /// @param recovery the second, and
    /// @param signerRegistry the third: their code runs in the pool's storage. It holds no settings, so it is the same, byte
    /// for byte, for every pool
    /// @param attestations verifies the documents by which signers are registered (INitroAttestations), under its own root
    /// @param maxDocumentAge seconds after which a document registers nobody any more
    struct Configuration {
        address owner;
        address guardian;
        bytes32[] images;
        uint8[] kinds;
        uint256 threshold;
        uint96 signerBond;
        uint64 changeDelay;
        uint64 provedDelay;
        address[] assets;
        uint104[] minimumCaps;
        address executor;
        address[] verifiers;
        address noteHasher;
        address treeHasher;
        address governance;
        address recovery;
        address signerRegistry;
        address attestations;
        uint64 maxDocumentAge;
    }

    // ------------------------------------------------------------------ events

    /// @notice A statement was executed. The log's data is not ABI-encoded but tightly packed, integers big-endian;
    /// how many there are of each follows from `kind`:
    ///
    ///   kind[1] firstLeafIndex[8] proofHash[32] nullifiers[32 each] commitments[32 each]
    ///   ephemeralKey[32] ciphertexts[53 for each leaf]
    ///   and where money moves: asset[20] amount[16] party[20]
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
    /// @notice The pool made a note for money that a contract brought (see `credit`): one for each note, in order of the
    /// leaves. commitment = Poseidon(npk, asset, value); ephemeralKey is of this note alone, and the ciphertext its only one.
    event Credited(
        address indexed asset,
        uint64 leafIndex,
        uint256 commitment,
        uint256 npk,
        uint256 value,
        bytes32 ephemeralKey,
        bytes ciphertext
    );
    /// @notice A member of a batch failed and changed nothing. Anyone can cause this for any statement, by
    /// carrying it with a wrong attestation or after it was executed: it tells the sender of the call why the
    /// call did not do more, and says nothing about what the statement may still become or already is.
    /// @param reason the error's selector and arguments, at most 256 bytes
    event Rejected(bytes32 indexed statementHash, bytes reason);
    /// @notice `root` stands for the first `leafCount` leaves; `sequence` counts roots from 0 (the empty tree). The same
    /// root, with its own sequence again, when `advance` went over void leaves only.
    event RootUpdated(uint256 indexed root, uint64 leafCount, uint64 sequence);
    /// @notice The root update of this call did not match and was skipped.
    event RootUpdateSkipped(uint64 fromIndex, uint64 toIndex, bytes reason);
    /// @notice Anyone may admit the subject of a proposal while admissibleAt <= block.timestamp < expiresAt, unless
    /// the owner takes it back. expiresAt is seven days after admissibleAt; no event says that it has passed.
    /// @param kind which verifier it is, see `proposeImage`
    /// @param commit of the source that it is built from, and
    /// @param buildCommand how, for everybody to build it meanwhile and compare
    event ImageProposed(
        bytes32 indexed image,
        uint8 kind,
        uint64 admissibleAt,
        uint64 expiresAt,
        string commit,
        string buildCommand
    );
    event ImageAdmitted(bytes32 indexed image, uint8 kind);
    /// @notice Every signer of that image is out, permanently, and no other can come in. Also where it was only proposed.
    event ImageRevoked(bytes32 indexed image);
    /// @notice A document that the pool has verified says that this image holds this key.
    /// @param leaf the certificate that signed the document: the id of its chain, see INitroAttestations
    /// @param kmsKey which key of a key management service the image pins: keccak256 of its SPKI DER
    /// @param document as it came, for everybody to verify again
    event SignerRegistered(
        address indexed signer, bytes32 indexed image, uint8 kind, bytes32 leaf, bytes32 kmsKey, bytes document
    );
    /// @notice Permanently. Also one that was never registered, which then never will be.
    event SignerRemoved(address indexed signer);
    /// @notice It is removed because the certificate that vouched for it is trusted no more.
    event SignerExpelled(address indexed signer, bytes32 leaf);
    event BondPosted(address indexed signer, address poster, uint256 amount);
    /// @param to who refuted it, or who posted the bond
    event BondPaid(address indexed signer, address to, uint256 amount);
    /// @notice `to` did not take the coins, and can have them by `takeBonds`.
    event BondOwed(address indexed signer, address indexed to, uint256 amount);
    event BondsTaken(address indexed holder, address to, uint256 amount);
    event AssetProposed(address indexed asset, uint104 minimumCap, uint64 admissibleAt, uint64 expiresAt);
    event AssetAdded(address indexed asset);
    /// @notice The owner took the proposal back. Whether the asset can leave is as before.
    event AssetWithdrawn(address indexed asset);
    event AssetDelisted(address indexed asset);
    event ExecutorProposed(address indexed executor, uint64 admissibleAt, uint64 expiresAt);
    event ExecutorSet(address indexed executor);
    /// @notice The owner took the proposal back. The executor in use stays.
    event ExecutorWithdrawn(address indexed executor);
    event ExecutorRemoved(address indexed executor);

    /// @notice No attested statement and no attested root before `until`, Unix seconds; 2^40 - 1 for never again.
    event AttestedPathClosed(uint64 until);
    /// @notice This signer vouched for what is false: the statement or root update whose digest (EIP-712) this is.
    event Refuted(address indexed signer, bytes32 indexed digest);
    /// @notice The statement that made these leaves is refuted. They are empty in the tree, and its nullifiers are unspent.
    event LeavesVoided(bytes32 indexed statementHash, uint64 firstLeafIndex, uint64 count);
    /// @notice What made these leaves was proved on a root that is revoked. They are empty in the tree; its nullifiers stay
    /// spent, and what it moved has moved. Whoever made it can show it again on a root that is good (see `Confirmed`).
    event LeavesSuspended(uint64 firstLeafIndex, uint64 count);
    /// @notice The statement whose `Executed` comes next is `earlier`, which moved what was moved, proved again: its leaves are made anew,
    /// and nothing moves.
    event Confirmed(bytes32 indexed statementHash, bytes32 indexed earlier);
    /// @notice The roots numbered so, both ends included, are no roots any more. The tree goes on from `root`.
    event RootsRevoked(uint64 first, uint64 last, uint256 root, uint64 leafCount);
    /// @notice A deposit whose leaves are void went back.
    event DepositReturned(bytes32 indexed statementHash, address indexed asset, address depositor, uint256 amount);
    /// @notice Somebody proved a false statement: the circuits or their keys are broken.
    event Unsound(uint8 kind);
    /// @notice A proved payment that there was no room for. `payClaim` pays it.
    /// @param rootNumber of the root that it was proved on
    event ClaimAdded(
        bytes32 indexed statementHash, address indexed asset, uint256 id, address recipient, uint256 amount, uint64 rootNumber
    );
    /// @param left what is still to be paid
    event ClaimPaid(address indexed asset, uint256 id, uint256 amount, uint256 left);
    /// @notice The claim counts now as proved on the root of that number: a good one where what made it is confirmed; the
    /// revoked one again where the confirmation is refuted.
    event ClaimRooted(address indexed asset, uint256 id, uint64 rootNumber);
    /// @notice Its root was revoked.
    /// @param amount that was not paid
    event ClaimRemoved(address indexed asset, uint256 id, uint256 amount);

    // ------------------------------------------------------------------ errors of a transaction

    error UnknownKind(uint8 kind);
    error DeadlinePassed(uint64 deadline);
    error SignalCount(uint256 given, uint256 expected);
    error SignalOutOfRange(uint256 position);
    error ExtLength(uint256 given, uint256 expected);
    /// Neither 128 bytes (attested) nor 256 (proved).
    error ProofLength(uint256 given);
    /// The verifier says no.
    error ProofRejected();
    /// A proved deposit whose validAfter is not below its validBefore.
    error SpanEmpty();
    /// A proof may use the root from then on.
    error RootYoung(uint64 usableFrom);
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
    /// Never recorded, or revoked.
    error RootUnknown(uint256 root);
    error NullifierSpent(uint256 nullifier);
    error NullifiersNotDistinct();
    error CommitmentZero();
    error TreeFull();
    /// This deposit was executed before. A spend cannot come here: its nullifiers are spent.
    error StatementRepeated();
    /// There is no more room for this asset than that now (see `room`); of what is proved a claim is made instead, but of a
    /// swap. An attested amount fits from `from` on at the earliest, in Unix seconds; zero: it is more than there is ever room
    /// for at once while the cap is what it is, or it is proved.
    error CapReached(address asset, uint256 room, uint64 from);
    /// A claim would be more than the pool holds, or all of them would be more than 128 bits hold.
    error ClaimTooLarge(uint256 most);
    /// The circuits are known to be broken (see `Unsound`): nothing is taken in any more.
    error DepositsStopped();
    /// Absent where the sender is not the depositor, or of another length where it says what was suspended.
    error AuthorizationMalformed();
    /// Not what spent these nullifiers: it can be named only as it was executed.
    error EarlierUnknown(bytes32 earlier);
    /// The root that it was proved on is good.
    error EarlierStands(bytes32 earlier);
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

    // ------------------------------------------------------------------ errors of a credit

    /// None, or more than 64.
    error NoteCount(uint256 given);
    /// Not 53 bytes.
    error CiphertextLength(uint256 given);

    // ------------------------------------------------------------------ errors of an attestation

    error AttestationLength(uint256 given);
    error TooFewAttestations(uint256 given, uint256 threshold);
    error SignerUnknown(address signer);
    error SignersNotAscending();
    error SignatureInvalid();
    /// All who signed are of one kind of verifier, and the pool asks for two.
    error OneKindOnly(uint8 kind);
    /// Paused, or the signers vouched for what is false. Proved transactions go on.
    error AttestedPathShut(uint64 until);

    // ------------------------------------------------------------------ errors of a registration
    // Beside those of INitroAttestations, for a document that is none.

    /// Never admitted, or not yet.
    error ImageNotAdmitted(bytes32 image);
    error ImageRevokedBefore(bytes32 image);
    /// As many of its signers' words count as can be taken back in one call.
    error ImageFull(bytes32 image);
    /// Unix milliseconds of the document's making: more than a minute ahead of the chain's clock,
    error DocumentFromFuture(uint64 timestampMs);
    /// or older than `maxDocumentAge`.
    error DocumentStale(uint64 timestampMs);
    /// Not a block of the last 8,191 (256 on a chain without EIP-2935).
    error BlockUnknown(uint64 blockNumber);
    /// The document's nonce is not that block's hash.
    error NonceMismatch(bytes32 blockHash);
    /// Not what an enclave says of itself when it makes a key, or holds one.
    error UserDataInvalid();
    /// Other circuits, another KMS key, or another root than the document's.
    error ConfigurationMismatch(bytes32 expected);
    /// A key that was ever in doubt never comes back.
    error SignerRemovedBefore(address signer);
    error SignerRegisteredBefore(address signer);
    /// The certificate that vouched for it is trusted.
    error SignerTrusted(address signer);
    /// No image, that of debug mode, or no kind of verifier.
    error ImageInadmissible(bytes32 image, uint8 kind);
    error ImageProposedBefore(bytes32 image);
    error ImageAdmittedBefore(bytes32 image);
    error ImageNotProposed(bytes32 image);

    // ------------------------------------------------------------------ errors of a root update

    error RootUpdateStale();
    error RootUpdateSize();
    error RootUpdateHead();

    // ------------------------------------------------------------------ errors of `advance` and of a refutation

    /// The signers are at work: `advance` is for when they are not. From `allowedFrom` on, if they stay silent.
    error SignersAtWork(uint64 allowedFrom);
    /// No leaf, or more than the leaves that are shown.
    error PrefixLength(uint256 count, uint256 shown);
    /// The head before the shown leaves is not the rooted one, or the one behind them is no checkpoint.
    error PrefixUnknown();
    /// Which statement made this leaf is not shown, and what it was proved on may be revoked.
    error MakerUnknown(uint256 leafIndex);
    /// The frontier does not give the root that it should.
    error FrontierMismatch(uint256 root);
    /// The shown leaves are not those between the two heads.
    error LeavesMismatch();
    /// What was attested is true.
    error StatementTrue();
    /// `lastGood` and `firstBad` are not two roots, one right after the other, of which only the second covers the leaf.
    error RootsNotAdjacent();
    /// Nothing false was proved, or the statement is not false on its face.
    error NotUnsound();
    /// No such deposit, or its leaves are not void, or it went back.
    error DepositStands();
    /// No such claim, or paid, or removed.
    error ClaimUnknown(uint256 id);
    /// Its root was revoked.
    error ClaimRevoked(uint256 id);
    /// Its root was not.
    error ClaimStands(uint256 id);

    // ------------------------------------------------------------------ errors of a call

    /// Less gas was left than the next transaction is entitled to. The call reverts as a whole, so nobody can
    /// make a stranger's transaction fail by carrying it with too little.
    error GasShort(uint256 needed);
    /// A constructor argument makes no sense.
    error ConfigurationInvalid();
    error NotOwner();
    error NotGuardian();
    /// The guardian may pause again from then on.
    error GuardianResting(uint64 until);
    /// The bond that comes with a signer is another one, or there is none, or it is not free yet.
    error BondMismatch(uint256 expected);
    error BondHeld(uint64 until);
    error BondRefused();
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
    /// The zero address, an asset or executor that is no contract or an account with delegated code (EIP-7702: its
    /// holder can change it at any time), or the pool itself.
    error Inadmissible(address subject);
}
