// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {IPool} from "./interfaces/IPool.sol";

/// @title What the owner may change, and how everybody learns of it first
/// @notice One mechanism for signers, assets and the executor: the owner proposes, anyone admits after the
/// delay and before the proposal expires, the owner takes back or removes at once. Nothing else is the owner's.
abstract contract Admissions is IPool {
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

    /// The service takes deadlines of up to a day: nobody's signed swap can meet an executor that was not
    /// announced when it was signed, and whoever reads a signer's genesis document has two days for it.
    uint64 private constant SHORTEST_DELAY = 2 days;
    /// Without an end, a proposal that everybody forgot would be good for ever: years later a stranger who came
    /// by its key could bring the signer in and empty the pool in the same block. A week is enough for anybody
    /// to send one transaction, and short enough that whoever saw the announcement is still looking.
    uint64 private constant ADMISSION_WINDOW = 7 days;

    address public immutable owner;
    uint64 public immutable changeDelay;

    constructor(address owner_, uint64 changeDelay_) {
        if (owner_ == address(0)) revert ConfigurationInvalid();
        if (changeDelay_ < SHORTEST_DELAY && !_isDevelopmentChain()) revert ConfigurationInvalid();
        owner = owner_;
        changeDelay = changeDelay_;
    }

    modifier onlyOwner() {
        if (msg.sender != owner) revert NotOwner();
        _;
    }

    function _propose(mapping(address subject => Admission) storage role, address subject)
        internal
        onlyOwner
        returns (uint64 admissibleAt, uint64 expiresAt)
    {
        Admission memory admission = role[subject];
        if (subject == address(0) || subject == address(this)) revert Inadmissible(subject);
        if (admission.standing == Standing.Admitted) revert AlreadyAdmitted(subject);
        // The announced times are the times: a proposal made again must neither shorten nor prolong them.
        if (_isPending(admission)) revert AlreadyProposed(subject);
        admissibleAt = uint64(block.timestamp) + changeDelay;
        expiresAt = admissibleAt + ADMISSION_WINDOW;
        role[subject].admissibleAt = admissibleAt;
    }

    /// @dev Uses the proposal up: whatever is removed later needs a new one, with a new delay.
    function _admit(mapping(address subject => Admission) storage role, address subject) internal {
        uint64 admissibleAt = role[subject].admissibleAt;
        if (admissibleAt == 0) revert NotProposed(subject);
        if (block.timestamp < admissibleAt) revert TooEarly(admissibleAt);
        uint64 expiresAt = admissibleAt + ADMISSION_WINDOW;
        if (block.timestamp >= expiresAt) revert ProposalExpired(expiresAt);
        role[subject] = Admission(Standing.Admitted, 0);
    }

    /// @dev One act for both, so that nobody can turn a withdrawal into nothing by admitting just before it.
    /// @return wasAdmitted false for a proposal that is withdrawn, which leaves the standing as it was
    function _remove(mapping(address subject => Admission) storage role, address subject)
        internal
        onlyOwner
        returns (bool wasAdmitted)
    {
        Admission memory admission = role[subject];
        wasAdmitted = admission.standing == Standing.Admitted;
        if (!wasAdmitted && !_isPending(admission)) revert NotProposed(subject);
        role[subject] = Admission(wasAdmitted ? Standing.Removed : admission.standing, 0);
    }

    /// @dev Proposed and not expired; before its time as well as in it.
    function _isPending(Admission memory admission) private view returns (bool) {
        return admission.admissibleAt != 0 && block.timestamp < admission.admissibleAt + ADMISSION_WINDOW;
    }

    /// @dev Ids that no chain with money has: anvil and Hardhat, our second local network, ganache.
    function _isDevelopmentChain() private view returns (bool) {
        return block.chainid == 31_337 || block.chainid == 31_338 || block.chainid == 1_337;
    }
}
