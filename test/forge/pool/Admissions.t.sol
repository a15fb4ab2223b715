// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {IPool} from "../../../shared/contracts/interfaces/IPool.sol";
import {VenueStandIn} from "../support/StandIns.sol";
import {World, WorldOptions} from "../support/World.sol";

/// @notice The owner's three lists, driven at random beside a model of what each subject's standing is.
contract AdmissionsTest is World {
    enum Role {
        Signer,
        Asset,
        Executor
    }

    struct Subject {
        bool isAdmitted;
        bool wasRemoved;
        uint256 admissibleAt;
    }

    uint64 private constant DELAY = 100;
    uint256 private constant SUBJECTS = 4;

    mapping(Role => mapping(address => Subject)) private model;
    address private executor;
    /// Contracts: any of them can stand in any role. The last is none.
    address[SUBJECTS + 1] private subjects;

    function setUp() external {
        _build(WorldOptions({signers: 1, threshold: 1, changeDelay: DELAY}));
        for (uint256 i = 0; i < SUBJECTS; ++i) {
            subjects[i] = address(new VenueStandIn());
        }
        subjects[SUBJECTS] = address(0xC0DE1E55);
        executor = address(venue);
        model[Role.Executor][executor].isAdmitted = true;
    }

    /// @dev Twelve steps of the owner, of strangers and of time; each does what the model says, or nothing.
    function testFuzz_keepsTheListsAsAnnounced(uint256 seed) external {
        for (uint256 i = 0; i < 12; ++i) {
            seed = uint256(keccak256(abi.encode(seed)));
            if (seed % 4 == 0) vm.warp(block.timestamp + seed / 4 % (2 * DELAY));
            Role role = Role(seed / 1024 % 3);
            address subject = _anySubject(seed / 4096);
            uint256 step = seed / (1 << 20) % 3;
            address sender = seed / (1 << 24) % 8 == 0 ? SENDER : OWNER;
            if (step == 1) sender = SENDER;
            _take(step, role, subject, sender);
            vm.assertEq(pool.isSigner(subject), model[Role.Signer][subject].isAdmitted, "signer");
            vm.assertEq(pool.isAsset(subject), model[Role.Asset][subject].isAdmitted, "asset");
            vm.assertEq(pool.executor(), executor, "the executor");
        }
    }

    function _anySubject(uint256 seed) private view returns (address) {
        if (seed % 16 == 0) return address(0);
        if (seed % 16 == 1) return address(pool);
        if (seed % 16 == 2) return executor;
        return subjects[seed / 16 % subjects.length];
    }

    function _take(uint256 step, Role role, address subject, address sender) private {
        bytes memory fault = _expectedFault(step, role, subject, sender);
        vm.record();
        vm.prank(sender);
        (bool isDone, bytes memory answer) = address(pool).call(abi.encodePacked(_call(step, role, subject)));
        vm.assertEq(isDone, fault.length == 0, "allowed when the model allows it");
        vm.assertEq(answer, fault, "why not");
        if (!isDone) return _assertUnwritten();
        Subject storage entry = model[role][subject];
        if (step == 0) {
            entry.admissibleAt = block.timestamp + DELAY;
        } else if (step == 1) {
            if (role == Role.Executor) {
                if (executor != address(0)) _remove(model[role][executor]);
                executor = subject;
            }
            (entry.isAdmitted, entry.admissibleAt) = (true, 0);
        } else {
            _remove(entry);
            if (role == Role.Executor && executor == subject) executor = address(0);
        }
    }

    function _remove(Subject storage entry) private {
        (entry.isAdmitted, entry.wasRemoved, entry.admissibleAt) = (false, true, 0);
    }

    function _call(uint256 step, Role role, address subject) private pure returns (bytes memory) {
        if (role == Role.Signer) {
            if (step == 0) return abi.encodeCall(IPool.proposeSigner, (subject, "its genesis"));
            if (step == 1) return abi.encodeCall(IPool.addSigner, (subject));
            return abi.encodeCall(IPool.removeSigner, (subject));
        }
        if (role == Role.Asset) {
            if (step == 0) return abi.encodeCall(IPool.proposeAsset, (subject));
            if (step == 1) return abi.encodeCall(IPool.addAsset, (subject));
            return abi.encodeCall(IPool.delistAsset, (subject));
        }
        if (step == 0) return abi.encodeCall(IPool.proposeExecutor, (subject));
        if (step == 1) return abi.encodeCall(IPool.setExecutor, (subject));
        return abi.encodeCall(IPool.removeExecutor, (subject));
    }

    function _expectedFault(uint256 step, Role role, address subject, address sender)
        private
        view
        returns (bytes memory)
    {
        Subject memory entry = model[role][subject];
        if (step == 1) {
            if (entry.admissibleAt == 0) return abi.encodeWithSelector(IPool.NotProposed.selector, subject);
            if (block.timestamp >= entry.admissibleAt) return "";
            return abi.encodeWithSelector(IPool.TooEarly.selector, entry.admissibleAt);
        }
        if (step == 2) {
            if (sender != OWNER) return abi.encodeWithSelector(IPool.NotOwner.selector);
            if (entry.isAdmitted || entry.admissibleAt != 0) return "";
            return abi.encodeWithSelector(IPool.NotProposed.selector, subject);
        }
        // No contract: said before who asks is looked at.
        if (role != Role.Signer && subject.code.length == 0) {
            return abi.encodeWithSelector(IPool.Inadmissible.selector, subject);
        }
        if (role == Role.Signer && entry.wasRemoved) {
            return abi.encodeWithSelector(IPool.Inadmissible.selector, subject);
        }
        if (sender != OWNER) return abi.encodeWithSelector(IPool.NotOwner.selector);
        if (subject == address(0) || subject == address(pool)) {
            return abi.encodeWithSelector(IPool.Inadmissible.selector, subject);
        }
        if (entry.isAdmitted) return abi.encodeWithSelector(IPool.AlreadyAdmitted.selector, subject);
        if (entry.admissibleAt != 0) return abi.encodeWithSelector(IPool.AlreadyProposed.selector, subject);
        return "";
    }
}
