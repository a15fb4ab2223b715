// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {AttestationGate} from "./AttestationGate.sol";
import {StatementRules} from "./StatementRules.sol";
import {IPool} from "./interfaces/IPool.sol";
import {Ext} from "./libraries/Ext.sol";
import {TokenCalls} from "./libraries/TokenCalls.sol";

/// @title The shielded pool
/// @notice Holds the tokens of every note. Trusts attestations by accepted signers, and otherwise only what
/// it computes or measures itself. Not upgradable.
contract Pool is StatementRules {
    /// What a transaction that moves tokens may use, whatever its neighbours did: several times what an
    /// honest one needs with a token behind a proxy. A token that burns gas burns this much and no more.
    uint256 private constant MEMBER_GAS = 500_000;
    /// With the 64th that the EVM keeps back (EIP-150), and the price of the call itself.
    uint256 private constant MEMBER_GAS_NEEDED = MEMBER_GAS + MEMBER_GAS / 63 + 5_000;

    /// The one lock over every entry that moves tokens.
    bool private transient isEntered;

    /// @param owner_ may propose and remove signers, and nothing else, for ever
    /// @param signers_ accepted from the start, in any order
    /// @param threshold_ attestations by distinct signers that a statement or root update needs
    /// @param signerDelay_ seconds between a signer's proposal and its admission
    /// @param assets_ tokens that the pool takes and pays
    /// @param verifyingKeyHashes_ by kind, from kind 1 on
    constructor(
        address owner_,
        address[] memory signers_,
        uint256 threshold_,
        uint64 signerDelay_,
        address[] memory assets_,
        bytes32[] memory verifyingKeyHashes_
    ) AttestationGate(owner_, signers_, threshold_, signerDelay_) StatementRules(assets_, verifyingKeyHashes_) {}

    /// @inheritdoc IPool
    function execute(Transaction[] calldata transactions, RootUpdate calldata update) external {
        if (isEntered) revert Reentered();
        isEntered = true;

        bytes32 rootedHead = _rootedHead();
        (uint256 leafCount, bytes32 head) = queue();
        uint256 lastCheckpoint = leafCount;
        bool isBoundary = false;
        for (uint256 i = 0; i < transactions.length; ++i) {
            if (_needsCheckpoint(leafCount, lastCheckpoint)) {
                _recordCheckpoint(leafCount, head);
                lastCheckpoint = leafCount;
            }
            _executeAlone(transactions[i]);
            (leafCount, head) = queue();
            if (leafCount == update.toIndex && head == update.headAfter) isBoundary = true;
        }

        _close(update, rootedHead, isBoundary, leafCount == lastCheckpoint);
        isEntered = false;
    }

    /// @dev Succeeds as a whole, or changes nothing but the log.
    function _executeAlone(Transaction calldata transaction) private {
        // Nothing made here outlives the call: the next transaction gets the same memory.
        uint256 free;
        assembly ("memory-safe") {
            free := mload(0x40)
        }
        Statement memory statement = _nameOf(transaction);
        bytes memory fault = _faultOf(transaction, statement);
        if (fault.length == 0) {
            if (statement.amount == 0) _apply(transaction, statement);
            else fault = _executeWithTokens(transaction, statement);
        }
        if (fault.length != 0) emit Rejected(statement.hash, fault);
        assembly ("memory-safe") {
            mstore(0x40, free)
        }
    }

    /// @dev Tokens can fail in any way after the notes have changed, so these go through a call to ourselves,
    /// which fails as a whole. The caller must leave it its full share of gas: anyone may carry anyone's
    /// transaction, and carrying it with too little would otherwise mark it as failed.
    function _executeWithTokens(Transaction calldata transaction, Statement memory statement)
        private
        returns (bytes memory fault)
    {
        bytes memory data = abi.encodeCall(this.executeMember, (transaction, statement, msg.sender));
        if (gasleft() < MEMBER_GAS_NEEDED) revert GasShort(MEMBER_GAS_NEEDED);
        bool isDone;
        (isDone, fault) = address(this).call{gas: MEMBER_GAS}(data);
        if (isDone) return "";
        // Only running out of gas says nothing; every refusal of ours has a selector.
        if (fault.length == 0) fault = abi.encodeWithSelector(GasExhausted.selector);
    }

    /// @notice For the pool itself, in the middle of `execute`.
    /// @param statement completed and found without fault
    /// @param sender who called `execute`
    function executeMember(Transaction calldata transaction, Statement memory statement, address sender) external {
        if (msg.sender != address(this)) revert OnlySelf();
        // All effects first, tokens last: a token may call anyone.
        _apply(transaction, statement);
        if (statement.inputs == 0) _collect(transaction, statement, sender);
        else TokenCalls.push(statement.token, statement.party, statement.amount);
    }

    function _collect(Transaction calldata transaction, Statement memory statement, address sender) private {
        bytes calldata authorization = transaction.authorization;
        if (authorization.length == 0) {
            // An approval is to the pool, not to a note: only the depositor may say where the money goes.
            if (sender != statement.party) revert AuthorizationMalformed();
            TokenCalls.pull(statement.token, statement.party, statement.amount);
            return;
        }
        if (authorization.length != 65) revert AuthorizationMalformed();
        TokenCalls.pullAuthorized(
            statement.token,
            statement.party,
            statement.amount,
            Ext.validAfter(transaction.ext),
            Ext.validBefore(transaction.ext),
            statement.hash,
            authorization
        );
    }
}
