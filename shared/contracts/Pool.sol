// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {CreditDesk} from "./CreditDesk.sol";
import {Genesis} from "./Genesis.sol";
import {PoolSettings} from "./PoolSettings.sol";
import {SwapDesk} from "./SwapDesk.sol";
import {IGovernance} from "./interfaces/IGovernance.sol";
import {IPool} from "./interfaces/IPool.sol";
import {IClaims} from "./interfaces/IClaims.sol";
import {IRecovery} from "./interfaces/IRecovery.sol";
import {Ext} from "./libraries/Ext.sol";
import {StatementSignals} from "./libraries/StatementSignals.sol";
import {TokenCalls} from "./libraries/TokenCalls.sol";

/// @title The shielded pool
/// @notice Holds the tokens of every note. Trusts attestations by accepted signers, proofs that its verifiers accept, and
/// otherwise only what it computes or measures itself. Not upgradable.
///
/// What is called rarely lies in three modules, whose code runs here by delegatecall: this contract alone would be too
/// long for EIP-170. The functions that go there are named one by one at the end: there is no other way in, and nothing
/// that could be replaced.
contract Pool is Genesis, SwapDesk, CreditDesk, IPool {
    /// What a transaction that moves tokens may use at least, whatever its neighbours did: several times what an
    /// honest one needs with a token behind a proxy.
    uint256 private constant MEMBER_GAS = 500_000;
    /// Two hops that cross a dozen ticks between them fit.
    uint256 private constant SWAP_GAS = 1_000_000;

    constructor(Configuration memory configuration) PoolSettings(configuration) Genesis(configuration) {}

    /// @inheritdoc IPool
    function memberGas(uint8 kind) public pure returns (uint256) {
        if (kind == 0 || kind > StatementSignals.KINDS) return 0;
        return kind == StatementSignals.PRIVATE_SWAP ? SWAP_GAS : MEMBER_GAS;
    }

    /// @inheritdoc IPool
    function execute(Transaction[] calldata transactions, RootUpdate calldata update) external locked {
        bytes32 rootedHead = _rootedHead();
        (uint256 leafCount, bytes32 head) = queue();
        bool isBoundary = false;
        for (uint256 i = 0; i < transactions.length; ++i) {
            unchecked {
                _executeAlone(transactions[i], transactions.length - i);
            }
            uint256 before = leafCount;
            (leafCount, head) = queue();
            _recordWindow(before, leafCount, head);
            if (leafCount == update.toIndex && head == update.headAfter) isBoundary = true;
        }
        _close(update, rootedHead, isBoundary);
    }

    /// @inheritdoc IPool
    function credit(address asset, bytes calldata order) external locked returns (uint64 firstLeafIndex) {
        return _credit(asset, order);
    }

    /// @dev Succeeds as a whole, or changes nothing but the log.
    /// @param remaining transactions of the call, this one included
    function _executeAlone(Transaction calldata transaction, uint256 remaining) private {
        // Nothing made here outlives the call: the next transaction gets the same memory.
        uint256 free;
        assembly ("memory-safe") {
            free := mload(0x40)
        }
        Statement memory statement = _nameOf(transaction);
        bytes memory fault = _faultOf(transaction, statement);
        if (fault.length == 0) {
            if (statement.amount == 0 && !statement.isAgain) _apply(transaction, statement);
            else fault = _executeWithTokens(transaction, statement, remaining);
        }
        if (fault.length != 0) emit Rejected(statement.hash, fault);
        assembly ("memory-safe") {
            mstore(0x40, free)
        }
    }

    /// @dev Tokens can fail in any way after the notes have changed, so these go through a call to ourselves,
    /// which fails as a whole. The caller must leave it its full share of gas: anyone may carry anyone's
    /// transaction, and carrying it with too little would otherwise mark it as failed. Whoever leaves more gives each of
    /// those that remain an equal part, so that none fails because prices of gas have changed since this was
    /// written, and a token that burns gas burns its own part alone. One part more is for the end of the call: else the
    /// last member could burn what the root update needs, and revert its neighbours with it.
    function _executeWithTokens(Transaction calldata transaction, Statement memory statement, uint256 remaining)
        private
        returns (bytes memory fault)
    {
        bytes memory data = abi.encodeCall(this.executeMember, (transaction, statement, msg.sender));
        uint256 share = memberGas(statement.kind);
        // With the 64th that the EVM keeps back (EIP-150), and the price of the call itself.
        uint256 needed = share + share / 63 + 5_000;
        uint256 left = gasleft();
        if (left < needed) revert GasShort(needed);
        uint256 equal = (left - left / 64) / (remaining + 1);
        if (share < equal) share = equal;
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
        if (statement.isAgain) _delegate(recovery);
        // All effects first, tokens last: a token may call anyone.
        _apply(transaction, statement);
        if (statement.isPaid) return;
        _openWindow(statement.token);
        if (statement.kind == StatementSignals.DEPOSIT_SHIELD) {
            _countIn(statement.token, statement.amount);
            _collect(transaction, statement, sender);
        } else {
            _letOut(transaction, statement);
        }
    }

    function _letOut(Transaction calldata transaction, Statement memory statement) private {
        bytes calldata ext = transaction.ext;
        address token = statement.token;
        bool isSwap = statement.kind == StatementSignals.PRIVATE_SWAP;
        if (statement.isProved) {
            address recipient = isSwap ? address(0) : Ext.party(ext);
            if (!_takeProved(statement, recipient)) return;
        } else {
            _countAttested(token, statement.amount, _needsBothKinds());
        }
        if (isSwap) _swap(ext, statement, StatementSignals.secondNullifier(transaction.signals));
        else TokenCalls.push(token, Ext.party(ext), statement.amount);
    }

    /// @return isRoom else it is a claim now
    function _takeProved(Statement memory statement, address recipient) private returns (bool isRoom) {
        bytes memory data = abi.encodeCall(
            IClaims.takeProved,
            (statement.hash, statement.token, recipient, statement.amount, statement.rootNumber)
        );
        (bool isDone, bytes memory answer) = recovery.delegatecall(data);
        if (!isDone) {
            assembly ("memory-safe") {
                revert(add(answer, 32), mload(answer))
            }
        }
        return abi.decode(answer, (bool));
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

    // ------------------------------------------------------------------ reading

    function currentRoot() external view returns (uint256 root, uint64 leafCount, uint64 sequence) {
        return (newestRoot, position.rootedCount, position.rootSequence);
    }

    function queue() public view returns (uint64 leafCount, bytes32 head) {
        return (position.leafCount, queueHead);
    }

    function rootSequence(uint256 root) external view returns (uint64 sequencePlusOne) {
        RootRecord memory record = roots[root];
        return _isRoot(record) ? record.sequencePlusOne : 0;
    }

    function rootRecord(uint256 root)
        external
        view
        returns (uint64 sequencePlusOne, uint64 leafCount, uint64 provableFrom)
    {
        RootRecord memory record = roots[root];
        if (_isRoot(record)) return (record.sequencePlusOne, record.leafCount, record.since + provedDelay);
    }

    function checkpointTime(uint64 leafCount, bytes32 head) external view returns (uint64) {
        return uint64(_checkpointTime(leafCount, head));
    }

    function isVoid(uint64 leafIndex) external view returns (bool) {
        return voidLeaves[leafIndex >> 8] >> (leafIndex & 255) & 1 == 1;
    }

    function isSpent(uint256 nullifier) external view returns (bool) {
        return spentBy[nullifier] != 0;
    }

    function isAsset(address asset) external view returns (bool) {
        return _isListed(asset);
    }

    function isSigner(address signer) external view returns (bool) {
        return signers[signer].voice != 0;
    }

    function signerRecord(address signer) external view returns (bytes32 image, bytes32 leaf, uint64 removedAt) {
        return (imageOf[signer], leafOf[signer], signers[signer].removedAt);
    }

    function imageRecord(bytes32 image) external view returns (bool isAdmitted, uint8 kind, uint256 count) {
        Image storage record = images[image];
        return (record.admission.standing == Standing.Admitted, record.kind, record.signers.length);
    }

    function executor() external view returns (address) {
        return currentExecutor;
    }

    function domainSeparator() external view returns (bytes32) {
        return _domainSeparator();
    }

    function brakes() external view returns (uint64 attestedFrom, bool isUnsound, uint64 advanceableFrom) {
        return (position.attestedFrom, position.isUnsound, uint64(_silentFrom()));
    }

    function room(address asset) external view returns (uint256 attested, uint256 proved) {
        return _rooms(asset, _needsBothKinds());
    }

    // ------------------------------------------------------------------ what lies in the modules

    function proposeImage(bytes32, uint8, string calldata, string calldata) external {
        _delegate(signerRegistry);
    }

    function admitImage(bytes32) external {
        _delegate(signerRegistry);
    }

    function revokeImage(bytes32) external {
        _delegate(signerRegistry);
    }

    function register(bytes calldata, bytes calldata, uint64, bytes32) external payable {
        _delegate(signerRegistry);
    }

    function removeSigner(address) external {
        _delegate(signerRegistry);
    }

    function expel(address) external {
        _delegate(signerRegistry);
    }

    function releaseBond(address) external {
        _delegate(signerRegistry);
    }

    function takeBonds(address) external {
        _delegate(signerRegistry);
    }

    function proposeAsset(address, uint104) external {
        _delegate(governance);
    }

    function addAsset(address) external {
        _delegate(governance);
    }

    function delistAsset(address) external {
        _delegate(governance);
    }

    function proposeExecutor(address) external {
        _delegate(governance);
    }

    function setExecutor(address) external {
        _delegate(governance);
    }

    function removeExecutor(address) external {
        _delegate(governance);
    }

    function pause() external {
        _delegate(governance);
    }

    function advance(uint256[] calldata, uint64, bytes32, uint256[] calldata, bytes32[] calldata) external {
        _delegate(recovery);
    }

    function refuteStatement(FalseStatement calldata, uint256, uint256) external {
        _delegate(recovery);
    }

    function refuteRootUpdate(RootUpdate calldata, uint256[] calldata, uint256[] calldata) external {
        _delegate(recovery);
    }

    function returnDeposit(uint256[] calldata, uint64, bytes calldata) external {
        _delegate(recovery);
    }

    function reportUnsound(uint8, uint256[] calldata, uint256[8] calldata) external {
        _delegate(recovery);
    }

    function payClaim(address, uint256) external {
        _delegate(recovery);
    }

    function removeClaim(address, uint256) external {
        _delegate(recovery);
    }

    function claimTotals(address) external view returns (uint256, uint256, uint256) {
        _readFrom(recovery);
    }

    function claim(address, uint256) external view returns (address, uint256, uint256, bool) {
        _readFrom(recovery);
    }

    /// @dev The call as it came, with its sender and its value, in this contract's storage.
    function _delegate(address module) private {
        assembly ("memory-safe") {
            let start := mload(0x40)
            calldatacopy(start, 0, calldatasize())
            let isDone := delegatecall(gas(), module, start, calldatasize(), 0, 0)
            returndatacopy(start, 0, returndatasize())
            if iszero(isDone) { revert(start, returndatasize()) }
            return(start, returndatasize())
        }
    }

    /// @dev The same for who only asks. The module's function is `view`, which the compiler cannot see from here.
    function _readFrom(address module) private view {
        function(address) internal forward = _delegate;
        function(address) internal view reader;
        assembly ("memory-safe") {
            reader := forward
        }
        reader(module);
        // It has answered: nothing comes here.
        revert();
    }
}
