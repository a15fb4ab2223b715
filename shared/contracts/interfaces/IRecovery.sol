// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {IPoolTypes} from "./IPoolTypes.sol";

/// @title What anyone may do when signers are silent or lied, or money waits
/// @notice Each call reverts as a whole when anything about it is not right.
interface IRecovery is IPoolTypes {
    /// @notice Extends the tree by the first `count` waiting leaves, without a signer. Allowed while the attested path
    /// is closed, while doubtful leaves wait, and once the signers have not been abreast of the queue for six hours in which
    /// they could, until they are again: their newest root counts where it covers what waits, or by the age of what it left.
    /// @param frontier complete left siblings of the next leaf's path, level 0 first, left to right
    /// @param headBefore head over the rooted leaves; not known to the pool after a refutation, and then proved by
    /// what follows
    /// @param leaves the waiting leaves as they were queued (void ones too), at least `count`, up to a checkpoint or
    /// the end of the queue
    /// @param makers of the first `count` leaves, in their order: of each statement one nullifier, or the statement hash of a
    /// deposit; none for leaves that are void or credited. Needed after a refutation, for what was queued until then: what was
    /// proved on a revoked root is suspended (`LeavesSuspended`). Else it may be empty.
    function advance(
        uint256[] calldata frontier,
        uint64 count,
        bytes32 headBefore,
        uint256[] calldata leaves,
        bytes32[] calldata makers
    ) external;

    /// @notice Shows that signers vouched for a statement whose proof its verifier rejects. They are out, with all of
    /// their image, their bonds go to the caller, the attested path closes for `changeDelay` if one of them was still
    /// admitted. Of one that was out already, its image stays unless the pool executed that statement. Where that very statement and proof were executed, its leaves become void, its nullifiers unspent (or the suspended statement's
    /// again, which it pretended to confirm), and the roots that cover its leaves are revoked, unless they are empty there.
    /// @param lastGood the newest root that is not revoked and does not cover the leaves; anything when none covers them
    /// @param firstBad the root after it
    function refuteStatement(FalseStatement calldata statement, uint256 lastGood, uint256 firstBad) external;

    /// @notice Shows that signers vouched for a root that is not the one of these leaves. As above; where that very
    /// update was taken, its root and all later ones are revoked.
    /// @param frontier of the first `fromIndex` leaves
    /// @param leaves from `fromIndex` to `toIndex`
    function refuteRootUpdate(RootUpdate calldata update, uint256[] calldata frontier, uint256[] calldata leaves)
        external;

    /// @notice Pays a deposit whose leaves became void back to its depositor, where nobody has proved it again within
    /// `changeDelay`. Who carried it with a false proof, and why, does not matter: its money is here.
    /// @param ext of the deposit, as it was executed
    function returnDeposit(uint256[] calldata signals, uint64 deadline, bytes calldata ext) external;

    /// @notice Takes a proof that money left the empty tree. There is none unless the circuits or their keys are
    /// broken; then deposits and the attested path stop permanently, and claims are paid at the smallest share.
    /// @param signals of a spend or a swap, with the root of the empty tree and an amount that is not zero
    function reportUnsound(uint8 kind, uint256[] calldata signals, uint256[8] calldata proof) external;

    /// @notice Pays a claim what it was allotted: in proportion to what all claims of the asset wait for, as there is room. It
    /// reverts where the token refuses the recipient, and concerns nobody else.
    function payClaim(address asset, uint256 id) external;
    /// @notice Takes out a claim whose root was revoked. What it was allotted and not paid goes to the others.
    function removeClaim(address asset, uint256 id) external;

    /// @return made claims ever made
    /// @return owed by all of them, less what was removed
    /// @return waiting of that what is not allotted yet
    function claimTotals(address asset) external view returns (uint256 made, uint256 owed, uint256 waiting);
    /// @return recipient who alone is paid
    /// @return amount not paid yet; 0 for a claim that is paid or was never made
    /// @return due of that what `payClaim` pays now
    /// @return isRevoked its root was revoked: nothing is paid, and anyone may remove it
    function claim(address asset, uint256 id)
        external
        view
        returns (address recipient, uint256 amount, uint256 due, bool isRevoked);
}
