// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {IPool} from "./interfaces/IPool.sol";

/// @title What the owner may change, and how everybody learns of it first
/// @notice One mechanism for signers, assets and the executor: the owner proposes, anyone admits after the
/// delay, the owner removes at once. Nothing else is the owner's.
abstract contract Admissions is IPool {
    enum Standing {
        Unknown,
        Admitted,
        Removed
    }

    /// One slot. A pending proposal stands beside the standing, since what was removed may be proposed again.
    struct Admission {
        Standing standing;
        /// Zero unless proposed.
        uint64 admissibleAt;
    }

    address public immutable owner;
    uint64 public immutable changeDelay;

    constructor(address owner_, uint64 changeDelay_) {
        if (owner_ == address(0)) revert ConfigurationInvalid();
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
        returns (uint64 admissibleAt)
    {
        Admission memory admission = role[subject];
        if (subject == address(0) || subject == address(this)) revert Inadmissible(subject);
        if (admission.standing == Standing.Admitted) revert AlreadyAdmitted(subject);
        // The announced time is the time: a proposal made again must neither shorten nor prolong it.
        if (admission.admissibleAt != 0) revert AlreadyProposed(subject);
        admissibleAt = uint64(block.timestamp) + changeDelay;
        role[subject].admissibleAt = admissibleAt;
    }

    /// @dev Uses the proposal up: whatever is removed later needs a new one, with a new delay.
    function _admit(mapping(address subject => Admission) storage role, address subject) internal {
        uint64 admissibleAt = role[subject].admissibleAt;
        if (admissibleAt == 0) revert NotProposed(subject);
        if (block.timestamp < admissibleAt) revert TooEarly(admissibleAt);
        role[subject] = Admission(Standing.Admitted, 0);
    }

    /// @dev Also withdraws what is only proposed.
    function _remove(mapping(address subject => Admission) storage role, address subject) internal onlyOwner {
        Admission memory admission = role[subject];
        if (admission.standing != Standing.Admitted && admission.admissibleAt == 0) revert NotProposed(subject);
        role[subject] = Admission(Standing.Removed, 0);
    }
}
