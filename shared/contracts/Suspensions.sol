// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {Claims} from "./Claims.sol";
import {IClaims} from "./interfaces/IClaims.sol";
import {INoteHasher} from "./interfaces/INoteHasher.sol";
import {IPoolSettings} from "./interfaces/IPoolSettings.sol";
import {ExecutedLog} from "./libraries/ExecutedLog.sol";
import {Ext} from "./libraries/Ext.sol";
import {Marks} from "./libraries/Marks.sol";
import {StatementSignals} from "./libraries/StatementSignals.sol";

/// @title What was proved on a root that is revoked, and how the honest part of it comes again
/// @notice A true proof on a false root may spend a note that never was: a thief pays a forged note on before anybody
/// looks. So all that was proved on a revoked root is suspended: its leaves are empty, its nullifiers stay, its claims wait.
///
/// Who can prove the same again on a good root (nullifiers, amount, commitments and ext) gets the leaves anew, and nothing
/// moves: it has moved. A note that was forged, or paid out of one, is in no good tree, so what is paid with it stays empty.
abstract contract Suspensions is Claims {
    using StatementSignals for uint256[];

    /// Of statements with inputs.
    uint256 private constant SPEND_LEAVES = 4;
    uint256 private constant DEPOSIT_LEAVES = 3;

    // ------------------------------------------------------------------ leaving out

    /// @dev Whose maker is not shown does not enter the tree: a caller who named none could bring forged notes in.
    /// @param makers see IRecovery.advance
    function _suspendTainted(uint256 from, uint256 end, bytes32[] calldata makers) internal {
        if (end > doubtfulUpTo) end = doubtfulUpTo;
        uint256 used = 0;
        while (from < end) {
            if (_isIn(voidLeaves, from) || _isIn(creditedLeaves, from)) {
                ++from;
                continue;
            }
            if (used == makers.length) revert MakerUnknown(from);
            (uint256 mark, uint256 leaves) = _markOf(makers[used++]);
            uint256 first = Marks.firstLeafIndex(mark);
            // Not from its first leaf on, where an earlier call ended in the middle of it.
            if (leaves == 0 || from < first || from >= first + leaves) revert MakerUnknown(from);
            if (_isRevokedRoot(Marks.rootNumber(mark))) _suspend(first, leaves);
            from = first + leaves;
        }
    }

    /// @return mark of what the pool knows by that name
    /// @return leaves 0 where that is nothing
    function _markOf(bytes32 name) private view returns (uint256 mark, uint256 leaves) {
        mark = spentBy[uint256(name)];
        if (mark != 0) return (mark, SPEND_LEAVES);
        mark = deposited[name];
        // Of a voided one a time stands here, which is no place.
        if (mark != 0 && Marks.voidedAt(mark) == 0) leaves = DEPOSIT_LEAVES;
    }

    function _suspend(uint256 first, uint256 leaves) private {
        _empty(first, leaves);
        emit LeavesSuspended(uint64(first), uint64(leaves));
    }

    // ------------------------------------------------------------------ coming again

    /// @inheritdoc IClaims
    function executeMember(Transaction calldata transaction, Statement calldata statement, address) external {
        if (msg.sender != address(this)) revert OnlySelf();
        bytes32 earlier = _takeFrom(transaction, statement);
        emit Confirmed(statement.hash, earlier);
        (uint256 inputs, uint256 outputs) = (statement.inputs, statement.outputs);
        ExecutedLog.write(
            statement.hash,
            statement.kind,
            _append(transaction.signals.commitments(inputs, outputs)),
            statement.proofHash,
            transaction.signals.noteHashes(inputs, outputs),
            Ext.ciphertexts(transaction.ext, statement.kind),
            ""
        );
        if (_isSwap(statement)) _appendMeasured(transaction, statement.hash);
        else _restoreClaim(earlier, statement);
    }

    /// @dev What moved money is named, however often it has come again since: who made it needs to know no more. Its nullifiers are
    /// this statement's from now on; where this one is refuted they are the first one's again, so nobody spends them a second time.
    function _takeFrom(Transaction calldata transaction, Statement calldata statement) private returns (bytes32 earlier) {
        bytes32 proofHash;
        (earlier, proofHash) = _earlierOf(transaction, statement);
        uint256[] calldata nullifiers = transaction.signals.nullifiers(statement.inputs);
        uint256 mark = spentBy[nullifiers.item(0)];
        if (!Marks.isOf(_firstMark(nullifiers.item(0)), earlier, proofHash)) revert EarlierUnknown(earlier);
        if (!_isRevokedRoot(Marks.rootNumber(mark))) revert EarlierStands(earlier);
        uint256 first = Marks.firstLeafIndex(mark);
        // Its mark is needed no more to tell that they are.
        if (!_isIn(voidLeaves, first)) _suspend(first, statement.leaves);

        uint256 next = _markOf(statement, statement.proofHash);
        for (uint256 i = 0; i < nullifiers.length; ++i) {
            uint256 nullifier = nullifiers.item(i);
            uint256 before = _firstMark(nullifier);
            uint256 behind = next;
            if (i == 1 && _isSwap(statement)) {
                bytes32 received = _received(transaction);
                if (!Marks.isOf(before, earlier, received)) revert EarlierUnknown(earlier);
                behind = _markOf(statement, received);
            }
            (suspendedMarks[nullifier], spentBy[nullifier]) = (before, behind);
        }
    }

    function _firstMark(uint256 nullifier) private view returns (uint256 mark) {
        mark = spentBy[nullifier];
        if (Marks.isAgain(mark)) mark = suspendedMarks[nullifier];
    }

    /// @dev Of one that comes again; its leaves come next.
    function _markOf(Statement calldata statement, bytes32 shown) private view returns (uint256) {
        return Marks.asAgain(Marks.make(statement.hash, shown, statement.rootNumber, position.leafCount));
    }

    /// @dev The same statement but for deadline and root, and so for its context. All of the rest is this one's, or what is
    /// named is another statement.
    function _earlierOf(Transaction calldata transaction, Statement calldata statement)
        private
        view
        returns (bytes32 earlier, bytes32 proofHash)
    {
        bytes calldata shown = transaction.authorization;
        if (shown.length != (_isSwap(statement) ? 128 : 96)) revert AuthorizationMalformed();
        uint64 deadline = uint64(uint256(bytes32(shown)));
        uint256[] memory signals = transaction.signals;
        bytes32 context = keccak256(abi.encode(block.chainid, address(this), statement.kind, deadline, statement.extHash));
        (signals[0], signals[1]) = (uint256(context) % StatementSignals.FIELD_ORDER, uint256(bytes32(shown[32:])));
        earlier = keccak256(abi.encode(statement.kind, deadline, signals, statement.extHash));
        proofHash = bytes32(shown[64:]);
    }

    /// @dev The note that the swap brought, of the value that the pool measured then.
    function _appendMeasured(Transaction calldata transaction, bytes32 statementHash) private {
        address tokenOut = Ext.tokenOut(transaction.ext);
        uint256 npk = Ext.npkOut(transaction.ext);
        uint256 received = uint256(_received(transaction));
        address hasher = IPoolSettings(address(this)).noteHasher();
        uint256 commitment = INoteHasher(hasher).hash(npk, uint160(tokenOut), received);
        emit NoteHashed(statementHash, _appendHashed(commitment), commitment, npk, tokenOut, received);
    }

    function _received(Transaction calldata transaction) private pure returns (bytes32) {
        return bytes32(transaction.authorization[96:]);
    }

    function _isSwap(Statement calldata statement) private pure returns (bool) {
        return statement.kind == StatementSignals.PRIVATE_SWAP;
    }

    // ------------------------------------------------------------------ sets of leaves

    /// @param leaves of one statement: they are in one word, or in two
    function _empty(uint256 first, uint256 leaves) internal {
        (uint256 bits, uint256 shift) = ((1 << leaves) - 1, first & 255);
        voidLeaves[first >> 8] |= bits << shift;
        if (shift + leaves > 256) voidLeaves[(first >> 8) + 1] |= bits >> (256 - shift);
    }

    function _isIn(mapping(uint256 word => uint256) storage set, uint256 leafIndex) internal view returns (bool) {
        return set[leafIndex >> 8] >> (leafIndex & 255) & 1 == 1;
    }
}
