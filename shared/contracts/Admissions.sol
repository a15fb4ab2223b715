// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {Removals} from "./Removals.sol";

/// @title How something comes in: the owner proposes, everybody sees it, anyone admits it in its week
/// @notice The same for assets, the executor and images of enclaves.
abstract contract Admissions is Removals {
    /// Without an end, a proposal that everybody forgot would stay valid permanently: years later a stranger who had waited
    /// for it could bring in what the owner no longer stands for. A week is enough for anybody to send one
    /// transaction, and short enough that whoever saw the announcement is still looking.
    uint64 private constant ADMISSION_WINDOW = 7 days;

    modifier onlyOwner() {
        if (msg.sender != _settings().owner()) revert NotOwner();
        _;
    }

    /// @dev Only for what is neither admitted nor pending: a proposal made again would shorten or prolong the times
    /// that were announced.
    function _announce(Admission storage admission) internal returns (uint64 admissibleAt, uint64 expiresAt) {
        admissibleAt = uint64(block.timestamp) + _settings().changeDelay();
        expiresAt = admissibleAt + ADMISSION_WINDOW;
        admission.admissibleAt = admissibleAt;
    }

    /// @dev Only for what is proposed. Uses the proposal up: whatever is removed later needs a new one, with a new delay.
    function _admit(Admission storage admission) internal {
        uint64 admissibleAt = admission.admissibleAt;
        if (block.timestamp < admissibleAt) revert TooEarly(admissibleAt);
        uint64 expiresAt = admissibleAt + ADMISSION_WINDOW;
        if (block.timestamp >= expiresAt) revert ProposalExpired(expiresAt);
        (admission.standing, admission.admissibleAt) = (Standing.Admitted, 0);
    }

    /// @dev Proposed and not expired; before its time as well as in it.
    function _isPending(Admission memory admission) internal view returns (bool) {
        return admission.admissibleAt != 0 && block.timestamp < admission.admissibleAt + ADMISSION_WINDOW;
    }
}
