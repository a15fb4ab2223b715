// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {ICreditSource} from "./ICreditSource.sol";

/// @title Addresses that can pay one note, one account or one refund address, and nothing else
/// @notice Each address is a vault whose CREATE2 salt commits to its terms, so whoever knows the terms computes it, and
/// nobody can send its money elsewhere. Terms are shown with every call; nothing of them is stored. Everything here may
/// be called by anyone; what a call can do is decided by the terms, by the balance that is there and by the clock.
///
/// One address on every chain: no constructor argument, deployed by the deterministic deployer with salt 0.
interface IForwarders is ICreditSource {
    // ------------------------------------------------------------------ terms

    /// @notice Whose note: see OpenNote.
    struct Receiver {
        uint256 npk;
        bytes32 ephemeralKey;
        bytes ciphertext;
    }

    /// @notice Money that arrives on the pool's chain becomes the receiver's note.
    /// @param feeCeiling most that all fees of one sweep may be together
    /// @param minimum less than this is not swept
    /// @param collector the only caller who may take fees; zero: nobody
    /// @param refund where the money goes when nobody sweeps it
    struct InTerms {
        address pool;
        address asset;
        Receiver receiver;
        uint128 feeCeiling;
        uint128 minimum;
        address collector;
        address refund;
    }

    /// @notice How a source address of that chain sends its money home.
    /// @param messenger CCTP's TokenMessengerV2
    /// @param domain of the home chain, in CCTP's own numbers
    /// @param minimum less than this is not sent
    /// @param feeCeiling most that the burn may offer as a fee
    struct Lane {
        uint64 chainId;
        address token;
        address messenger;
        uint32 domain;
        uint128 minimum;
        uint128 feeCeiling;
    }

    /// @notice Money that arrives on any lane's chain goes to `recipient` on the home chain. One address for all lanes.
    /// @param recipient the address on the home chain, left-padded
    struct SourceTerms {
        bytes32 recipient;
        Lane[] lanes;
        address refund;
    }

    /// @notice Where money of an out-address goes.
    /// @param caller who alone may deliver it there; zero: anybody
    /// @param hook for the recipient's contract there; empty: none
    struct Exit {
        address messenger;
        uint32 domain;
        bytes32 recipient;
        bytes32 caller;
        bytes hook;
    }

    /// @notice Money that arrives on the pool's chain goes to the exit, or comes back into the note of `refund`.
    struct OutTerms {
        address pool;
        address asset;
        Exit exit;
        uint128 feeCeiling;
        uint128 minimum;
        Receiver refund;
    }

    /// @param fees fees[i] goes into the note of collectors[i]; may be shorter than that list
    struct Sweep {
        InTerms terms;
        uint128[] fees;
    }

    // ------------------------------------------------------------------ events

    /// The refund clock of (vault, token) started.
    event Touched(address indexed vault, address indexed token, uint256 amount, bool hasMinimum);
    /// @param amount of the note; with `fees` it is what was there
    event Swept(address indexed vault, uint64 leafIndex, uint256 amount, uint256 fees);
    event SweepSkipped(address indexed vault, bytes reason);
    event Forwarded(address indexed vault, uint256 amount);
    event Flushed(address indexed vault, uint256 amount);
    event Refunded(address indexed vault, address token, address to, uint256 amount);
    event Returned(address indexed vault, address token, uint64 leafIndex, uint256 amount);

    // ------------------------------------------------------------------ errors

    /// Somebody calls in the middle of a call, or the pool asks for money that was not offered to it.
    error Reentered();
    error NotExpected();
    /// Nothing of the call could be swept; why the first could not.
    error NothingSwept(bytes reason);
    error BelowMinimum(uint256 held, uint256 minimum);
    error FeesAboveCeiling(uint256 fees, uint256 ceiling);
    error NotCollector(address caller);
    /// More fees than collectors.
    error FeesMalformed();
    /// Of another pool or asset than the first of the call.
    error Mixed();
    /// The pool would refuse this note: npk or ciphertext is none, or the amount has no room in a note.
    error NoteInvalid();
    /// No record, a record of less than the minimum, or one that is too young.
    error TooEarly(uint64 allowedFrom);
    error NothingHeld();
    /// The asset itself leaves by the clock.
    error OwnAsset(address token);
    error LaneElsewhere(uint64 chainId);
    /// Neither fast nor safe.
    error FinalityUnknown(uint32 finality);
    /// The messenger succeeded and left money behind that it should have taken.
    error NotTaken(uint256 left);
    error TransferRefused(bytes reason);
    /// The pool does not list the token, and the exit names no plain account of this chain.
    error NoWayBack(address token);

    // ------------------------------------------------------------------ addresses

    function vaultImplementation() external view returns (address);
    /// @notice keccak256 of a vault's creation code: with salt and this contract's address, all that CREATE2 takes.
    function vaultCodeHash() external view returns (bytes32);
    function inAddress(InTerms calldata terms) external view returns (address);
    function sourceAddress(SourceTerms calldata terms) external view returns (address);
    function outAddress(OutTerms calldata terms) external view returns (address);
    /// @notice The refund clock of a vault's token: when it started, and what was there then. Zero: it does not run.
    function since(address vault, address token) external view returns (uint64 startedAt, uint128 amount);

    // ------------------------------------------------------------------ in, on the pool's chain

    /// @notice Credits the balance of each address into its note, less fees, and each collector's fees into one note of
    /// theirs. All of one pool and one asset. One that cannot be swept is reported by `SweepSkipped` and leaves the
    /// others alone. Restarts the clock.
    /// @return done how many were swept
    function sweep(Sweep[] calldata sweeps, Receiver[] calldata collectors) external returns (uint256 done);
    /// @notice Starts the refund clock, when there is money: with the minimum there it is a clock for all of it, below
    /// the minimum one for dust alone.
    function touch(InTerms calldata terms) external;
    /// @notice Sends the whole balance to the refund address, one day after the clock started. Less than the minimum
    /// the refund address may take at once.
    function refund(InTerms calldata terms) external;
    /// @notice Sends any other token to the refund address at once. Token zero: the chain's own coin.
    function refundOther(InTerms calldata terms, address token) external;

    // ------------------------------------------------------------------ source, on any other chain

    /// @notice Sends the balance of the lane's token to the recipient on the home chain; of more than CCTP burns at once
    /// what it does burn, and the rest by the next call.
    /// @param maxFee most that CCTP may keep of it
    /// @param finality 1000 fast, 2000 safe
    function forward(SourceTerms calldata terms, uint256 lane, uint128 maxFee, uint32 finality) external;
    function touchSource(SourceTerms calldata terms, uint256 lane) external;
    function refundSource(SourceTerms calldata terms, uint256 lane) external;
    /// @notice A token that no lane of this chain names.
    function refundOtherSource(SourceTerms calldata terms, address token) external;

    // ------------------------------------------------------------------ out, on the pool's chain

    /// @notice Sends the balance to the exit. See `forward`.
    function flush(OutTerms calldata terms, uint128 maxFee, uint32 finality) external;
    function touchOut(OutTerms calldata terms) external;
    /// @notice Credits the whole balance into the refund note, one day after the clock started.
    function returnOut(OutTerms calldata terms) external;
    /// @notice Another token, at once: into the refund note when the pool lists it; else to the exit's recipient, when
    /// that is a plain account: 20 bytes, no hook, no caller.
    function returnOtherOut(OutTerms calldata terms, address token) external;
}
