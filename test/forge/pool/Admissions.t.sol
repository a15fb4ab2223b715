// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {IGovernance} from "../../../shared/contracts/interfaces/IGovernance.sol";
import {IPool} from "../../../shared/contracts/interfaces/IPool.sol";
import {IPoolTypes} from "../../../shared/contracts/interfaces/IPoolTypes.sol";
import {ISignerRegistry} from "../../../shared/contracts/interfaces/ISignerRegistry.sol";
import {VenueStandIn} from "../support/StandIns.sol";
import {Vm} from "../support/Vm.sol";
import {World, WorldOptions} from "../support/World.sol";

/// @notice The owner's three lists, driven at random beside a model of what each subject's standing is.
contract AdmissionsTest is World {
    enum Role {
        Image,
        Asset,
        Executor
    }

    struct Subject {
        bool isAdmitted;
        bool wasRemoved;
        uint256 admissibleAt;
    }

    uint64 private constant DELAY = 100;
    /// Of the times in which a proposal can be admitted.
    uint256 private constant WINDOW = 7 days;
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
            Role role = Role(seed / 1024 % 3);
            address subject = _anySubject(seed / 4096);
            _passTime(seed, model[role][subject].admissibleAt);
            uint256 step = seed / (1 << 20) % 3;
            address sender = seed / (1 << 24) % 8 == 0 ? SENDER : OWNER;
            if (step == 1) sender = SENDER;
            _take(step, role, subject, sender);
            (bool isAdmitted,,) = pool.imageRecord(_image(subject));
            vm.assertEq(isAdmitted, model[Role.Image][subject].isAdmitted, "image");
            vm.assertFalse(pool.isSigner(subject), "no owner admits a signer");
            vm.assertEq(pool.isAsset(subject), model[Role.Asset][subject].isAdmitted, "asset");
            vm.assertEq(pool.executor(), executor, "the executor");
        }
    }

    /// @dev Some, or to one of the two ends of a proposal, or to the second before.
    function _passTime(uint256 seed, uint256 admissibleAt) private {
        if (seed % 8 == 0) vm.warp(block.timestamp + seed / 8 % (2 * DELAY));
        if (seed % 8 == 1) vm.warp(block.timestamp + seed / 8 % (2 * WINDOW));
        if (seed % 8 > 3 || admissibleAt == 0) return;
        uint256 end = (seed % 8 == 2 ? admissibleAt : admissibleAt + WINDOW) - seed / 8 % 2;
        if (seed % 8 >= 2 && end >= block.timestamp) vm.warp(end);
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
        vm.recordLogs();
        vm.prank(sender);
        (bool isDone, bytes memory answer) = address(pool).call(abi.encodePacked(_call(step, role, subject)));
        vm.assertEq(isDone, fault.length == 0, "allowed when the model allows it");
        vm.assertEq(answer, fault, "why not");
        if (!isDone) return _assertUnwritten();
        _assertSaid(step, role, model[role][subject].isAdmitted);
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
            if (role == Role.Executor && executor == subject) executor = address(0);
            if (entry.isAdmitted || role == Role.Image) _remove(entry);
            else entry.admissibleAt = 0;
        }
    }

    function _remove(Subject storage entry) private {
        (entry.isAdmitted, entry.wasRemoved, entry.admissibleAt) = (false, true, 0);
    }

    function _call(uint256 step, Role role, address subject) private view returns (bytes memory) {
        if (role == Role.Image) {
            bytes32 image = _image(subject);
            if (step == 0) return abi.encodeCall(ISignerRegistry.proposeImage, (image, 1, "its source", "how it is built"));
            if (step == 1) return abi.encodeCall(ISignerRegistry.admitImage, (image));
            return abi.encodeCall(ISignerRegistry.revokeImage, (image));
        }
        if (role == Role.Asset) {
            if (step == 0) return abi.encodeCall(IGovernance.proposeAsset, (subject, minimumCap));
            if (step == 1) return abi.encodeCall(IGovernance.addAsset, (subject));
            return abi.encodeCall(IGovernance.delistAsset, (subject));
        }
        if (step == 0) return abi.encodeCall(IGovernance.proposeExecutor, (subject));
        if (step == 1) return abi.encodeCall(IGovernance.setExecutor, (subject));
        return abi.encodeCall(IGovernance.removeExecutor, (subject));
    }

    function _expectedFault(uint256 step, Role role, address subject, address sender)
        private
        view
        returns (bytes memory)
    {
        if (role == Role.Image) return _expectedImageFault(step, subject, sender);
        Subject memory entry = model[role][subject];
        bool isContract = subject.code.length != 0;
        if (step == 1) {
            // Also what a proposal was made for, if its code is gone.
            if (!isContract) return abi.encodeWithSelector(IPoolTypes.Inadmissible.selector, subject);
            if (entry.admissibleAt == 0) return abi.encodeWithSelector(IPoolTypes.NotProposed.selector, subject);
            if (block.timestamp < entry.admissibleAt) {
                return abi.encodeWithSelector(IPoolTypes.TooEarly.selector, entry.admissibleAt);
            }
            if (block.timestamp < entry.admissibleAt + WINDOW) return "";
            return abi.encodeWithSelector(IPoolTypes.ProposalExpired.selector, entry.admissibleAt + WINDOW);
        }
        if (sender != OWNER) return abi.encodeWithSelector(IPoolTypes.NotOwner.selector);
        if (step == 2) {
            if (entry.isAdmitted || _isPending(entry)) return "";
            return abi.encodeWithSelector(IPoolTypes.NotProposed.selector, subject);
        }
        if (!isContract) {
            return abi.encodeWithSelector(IPoolTypes.Inadmissible.selector, subject);
        }
        if (subject == address(0) || subject == address(pool)) {
            return abi.encodeWithSelector(IPoolTypes.Inadmissible.selector, subject);
        }
        if (entry.isAdmitted) return abi.encodeWithSelector(IPoolTypes.AlreadyAdmitted.selector, subject);
        if (_isPending(entry)) return abi.encodeWithSelector(IPoolTypes.AlreadyProposed.selector, subject);
        return "";
    }

    /// @dev Its name as an image's.
    function _image(address subject) private pure returns (bytes32) {
        return bytes32(uint256(uint160(subject)));
    }

    function _expectedImageFault(uint256 step, address subject, address sender) private view returns (bytes memory) {
        Subject memory entry = model[Role.Image][subject];
        bytes32 image = _image(subject);
        if (step == 1) {
            if (entry.admissibleAt == 0) return abi.encodeWithSelector(IPoolTypes.ImageNotProposed.selector, image);
            if (block.timestamp < entry.admissibleAt) {
                return abi.encodeWithSelector(IPoolTypes.TooEarly.selector, entry.admissibleAt);
            }
            if (block.timestamp < entry.admissibleAt + WINDOW) return "";
            return abi.encodeWithSelector(IPoolTypes.ProposalExpired.selector, entry.admissibleAt + WINDOW);
        }
        if (sender != OWNER) return abi.encodeWithSelector(IPoolTypes.NotOwner.selector);
        if (step == 0 && image == 0) return abi.encodeWithSelector(IPoolTypes.ImageInadmissible.selector, image, 1);
        if (entry.wasRemoved) return abi.encodeWithSelector(IPoolTypes.ImageRevokedBefore.selector, image);
        if (step == 2) return "";
        if (entry.isAdmitted) return abi.encodeWithSelector(IPoolTypes.ImageAdmittedBefore.selector, image);
        if (_isPending(entry)) return abi.encodeWithSelector(IPoolTypes.ImageProposedBefore.selector, image);
        return "";
    }

    /// @dev Whatever the chain: where money can be, two days until a proof may use a root, and two more until a proposal
    /// takes effect; anything on the three chains for development.
    function testFuzz_isNotMadeWithAShortDelayWhereMoneyCanBe(uint256 seed, uint64 delay, uint64 proved) external {
        uint256[6] memory ids = [uint256(31_337), 31_338, 1_337, 1, 31_339, _within(seed, 1, type(uint64).max)];
        uint256 id = ids[seed % 6];
        provedDelay = uint64(seed / 6 % 4 == 0 ? 2 days - 1 + seed / 24 % 2 : _within(proved, 0, 4 days));
        delay = uint64(
            seed / 48 % 4 == 0 ? provedDelay + 2 days - 1 + seed / 192 % 2 : _within(delay, 0, 8 days)
        );
        bool isLong = provedDelay >= 2 days && delay >= provedDelay + 2 days;
        vm.chainId(id);
        bool isDevelopment = id == 31_337 || id == 31_338 || id == 1_337;
        try this.make(delay) returns (IPool made) {
            vm.assertTrue(isDevelopment || isLong, "made with a short delay");
            vm.assertEq(made.changeDelay(), delay, "its delay");
        } catch (bytes memory fault) {
            vm.assertFalse(isDevelopment || isLong, "not made");
            vm.assertEq(fault, abi.encodeWithSelector(IPoolTypes.ConfigurationInvalid.selector), "why not");
        }
    }

    function make(uint64 delay) external returns (IPool) {
        return _deployPool(WorldOptions({signers: 1, threshold: 1, changeDelay: delay}));
    }

    function _isPending(Subject memory entry) private view returns (bool) {
        return entry.admissibleAt != 0 && block.timestamp < entry.admissibleAt + WINDOW;
    }

    /// @dev The last event is the act's: taken back is not removed, and a proposal says both its ends.
    function _assertSaid(uint256 step, Role role, bool wasAdmitted) private {
        Vm.Log[] memory logs = vm.getRecordedLogs();
        Vm.Log memory log = logs[logs.length - 1];
        uint256 act = step == 2 && !wasAdmitted ? 3 : step;
        vm.assertEq(log.topics[0], _eventOf(act, role), "what it said");
        if (step != 0) return;
        // Behind an asset's cap, and an image's kind.
        bytes memory times = role == Role.Executor ? log.data : _tail(log.data, 32);
        (uint256 admissibleAt, uint256 expiresAt) = abi.decode(times, (uint256, uint256));
        vm.assertEq(admissibleAt, block.timestamp + DELAY, "admissible from");
        vm.assertEq(expiresAt, block.timestamp + DELAY + WINDOW, "expires at");
    }

    function _eventOf(uint256 act, Role role) private pure returns (bytes32) {
        bytes32[4][3] memory events = [
            [
                IPoolTypes.ImageProposed.selector,
                IPoolTypes.ImageAdmitted.selector,
                IPoolTypes.ImageRevoked.selector,
                IPoolTypes.ImageRevoked.selector
            ],
            [
                IPoolTypes.AssetProposed.selector,
                IPoolTypes.AssetAdded.selector,
                IPoolTypes.AssetDelisted.selector,
                IPoolTypes.AssetWithdrawn.selector
            ],
            [
                IPoolTypes.ExecutorProposed.selector,
                IPoolTypes.ExecutorSet.selector,
                IPoolTypes.ExecutorRemoved.selector,
                IPoolTypes.ExecutorWithdrawn.selector
            ]
        ];
        return events[uint256(role)][act];
    }
}
