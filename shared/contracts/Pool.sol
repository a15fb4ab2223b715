// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {Admissions} from "./Admissions.sol";
import {Allowlist} from "./Allowlist.sol";
import {AttestationGate} from "./AttestationGate.sol";
import {Circuits} from "./Circuits.sol";
import {SwapDesk} from "./SwapDesk.sol";
import {IPool} from "./interfaces/IPool.sol";
import {Ext} from "./libraries/Ext.sol";
import {StatementSignals} from "./libraries/StatementSignals.sol";
import {TokenCalls} from "./libraries/TokenCalls.sol";

/// @title The shielded pool
/// @notice Holds the tokens of every note. Trusts attestations by accepted signers, and otherwise only what
/// it computes or measures itself. Not upgradable.
contract Pool is SwapDesk {
    /// What a transaction that moves tokens may use, whatever its neighbours did: several times what an
    /// honest one needs with a token behind a proxy. A token that burns gas burns this much and no more.
    uint256 private constant MEMBER_GAS = 500_000;
    /// Two hops that cross a dozen ticks between them fit.
    uint256 private constant SWAP_GAS = 1_000_000;

    /// The one lock over every entry that moves tokens.
    bool private transient isEntered;

    constructor(Configuration memory configuration)
        Admissions(configuration.owner, configuration.changeDelay)
        AttestationGate(configuration.signers, configuration.threshold)
        Allowlist(configuration.assets, configuration.executor)
        Circuits(configuration.verifiers)
        SwapDesk(configuration.noteHasher)
    {}

    /// @inheritdoc IPool
    function memberGas(uint8 kind) public pure returns (uint256) {
        if (kind == 0 || kind > StatementSignals.KINDS) return 0;
        return kind == StatementSignals.PRIVATE_SWAP ? SWAP_GAS : MEMBER_GAS;
    }

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
        uint256 share = memberGas(statement.kind);
        // With the 64th that the EVM keeps back (EIP-150), and the price of the call itself.
        uint256 needed = share + share / 63 + 5_000;
        if (gasleft() < needed) revert GasShort(needed);
        bool isDone;
        (isDone, fault) = address(this).call{gas: share}(data);
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
        if (statement.kind == StatementSignals.DEPOSIT_SHIELD) _collect(transaction, statement, sender);
        else if (statement.kind == StatementSignals.PRIVATE_SWAP) _swap(transaction.ext, statement);
        else TokenCalls.push(statement.token, Ext.party(transaction.ext), statement.amount);
    }

    function _collect(Transaction calldata transaction, Statement memory statement, address sender) private {
        bytes calldata authorization = transaction.authorization;
        address depositor = Ext.party(transaction.ext);
        if (authorization.length == 0) {
            // An approval is to the pool, not to a note: only the depositor may say where the money goes.
            if (sender != depositor) revert AuthorizationMalformed();
            TokenCalls.pull(statement.token, depositor, statement.amount);
            return;
        }
        if (authorization.length != 65) revert AuthorizationMalformed();
        TokenCalls.pullAuthorized(
            statement.token,
            depositor,
            statement.amount,
            Ext.validAfter(transaction.ext),
            Ext.validBefore(transaction.ext),
            statement.hash,
            authorization
        );
    }
}
