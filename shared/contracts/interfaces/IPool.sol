// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {IGovernance} from "./IGovernance.sol";
import {IPoolSettings} from "./IPoolSettings.sol";
import {IRecovery} from "./IRecovery.sol";
import {ISignerRegistry} from "./ISignerRegistry.sol";

/// @title The shielded pool: what anyone may call
/// @notice Statements are proved on users' devices, and carried here by anyone: verified and attested by enclaves, or
/// with a proof that the pool has verified itself. Proofs ride along in calldata either way, so every watcher can check
/// them again.
interface IPool is IPoolSettings, ISignerRegistry, IGovernance, IRecovery {
    /// @notice Executes each transaction alone (one that fails is reported by `Rejected` and leaves its
    /// neighbours untouched), then takes the root update if it still matches. Anyone may call. Calldata that is
    /// no list of transactions at all reverts the call, as does too little gas (see GasShort).
    ///
    /// A proved transaction may use a root that is `provedDelay` seconds old; it needs no signer and no pause stops it. A proved
    /// deposit has validAfter below validBefore also where an approval pays for it.
    /// Of money that there is no room for it makes a claim.
    function execute(Transaction[] calldata transactions, RootUpdate calldata update) external;

    /// @notice Makes notes for money that the caller, a contract, brings: calls its `bringCredit` (see ICreditSource),
    /// measures by how much the pool's balance grew, and hashes one note after the other into the queue. Reverts unless
    /// the notes, 1 to 64, are together worth exactly that. Only for an asset that may be deposited; the money may leave
    /// again for twelve hours, as any that comes in. Needs no signer and no pause stops it.
    /// @return firstLeafIndex of the first note; the others follow it
    function credit(address asset, bytes calldata order) external returns (uint64 firstLeafIndex);

    /// @notice The newest root, and how many leaves of the queue it covers.
    function currentRoot() external view returns (uint256 root, uint64 leafCount, uint64 sequence);
    /// @notice Leaves in the queue, rooted or not, and the head over all of them.
    function queue() external view returns (uint64 leafCount, bytes32 head);
    /// @notice sequence + 1 of a root of the pool, 0 for any other number and for one that is revoked.
    function rootSequence(uint256 root) external view returns (uint64 sequencePlusOne);
    /// @notice The same, with the leaves that it covers and the moment from which a proof may use it; all 0 where there
    /// is none.
    function rootRecord(uint256 root)
        external
        view
        returns (uint64 sequencePlusOne, uint64 leafCount, uint64 provableFrom);
    /// @notice When a checkpoint of that many leaves and that head was recorded; 0 where there is none (any more).
    function checkpointTime(uint64 leafCount, bytes32 head) external view returns (uint64);
    function isVoid(uint64 leafIndex) external view returns (bool);
    function isSpent(uint256 nullifier) external view returns (bool);
    /// @notice Whether its word counts.
    function isSigner(address signer) external view returns (bool);
    /// @notice The image and the certificate (the id of its chain, see INitroAttestations) that it was registered with, 0 for one that never was; and
    /// when it was removed, permanently, 0 before.
    function signerRecord(address signer) external view returns (bytes32 image, bytes32 leaf, uint64 removedAt);
    /// @notice Whether signers of that image may be registered, which kind of verifier it is (0 for one that was never
    /// proposed), and how many of its signers' words count.
    function imageRecord(bytes32 image) external view returns (bool isAdmitted, uint8 kind, uint256 signers);
    /// @notice Whether the asset may be deposited, and swapped into or through. One that is delisted may not,
    /// but can still be withdrawn and swapped for another asset.
    function isAsset(address asset) external view returns (bool);
    /// @notice Zero while there is none.
    function executor() external view returns (address);
    /// @notice Unix seconds before which the attested path is closed; whether it is closed permanently; and when
    /// `advance` is allowed although it is open.
    function brakes() external view returns (uint64 attestedFrom, bool isUnsound, uint64 advanceableFrom);
    /// @notice What may leave now, by attestations and by proofs.
    function room(address asset) external view returns (uint256 attested, uint256 proved);
    /// @notice Gas that a transaction of this kind (0 for one that is not in the table) gets at least when it moves tokens. Whoever calls `execute` must
    /// leave as much to each of them, and may leave more: what is left is shared out among those that remain.
    function memberGas(uint8 kind) external pure returns (uint256);
    function domainSeparator() external view returns (bytes32);
}
