// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

/// @title The cheats of forge that these tests use, and no other
/// @dev Our own few lines instead of a library: a reviewer sees here all that a test can do to its world.
interface Vm {
    struct Log {
        bytes32[] topics;
        bytes data;
        address emitter;
    }

    // The world
    function warp(uint256 timestamp) external;
    function chainId(uint256 id) external;
    function prank(address sender) external;
    function deal(address account, uint256 balance) external;
    function load(address account, bytes32 slot) external view returns (bytes32);
    function store(address account, bytes32 slot, bytes32 value) external;
    function snapshotState() external returns (uint256 id);
    function revertToStateAndDelete(uint256 id) external returns (bool);

    // What happened
    function recordLogs() external;
    function getRecordedLogs() external returns (Log[] memory);
    function record() external;
    function accesses(address account) external returns (bytes32[] memory reads, bytes32[] memory writes);

    // Keys
    function addr(uint256 privateKey) external pure returns (address);
    function sign(uint256 privateKey, bytes32 digest) external pure returns (uint8 v, bytes32 r, bytes32 s);

    // Files
    function getCode(string calldata artefact) external view returns (bytes memory);
    function envOr(string calldata name, string calldata otherwise) external view returns (string memory);

    // Judgement
    function assume(bool condition) external pure;
    function assertTrue(bool value, string calldata message) external pure;
    function assertFalse(bool value, string calldata message) external pure;
    function assertEq(uint256 given, uint256 wanted, string calldata message) external pure;
    function assertEq(address given, address wanted, string calldata message) external pure;
    function assertEq(bytes32 given, bytes32 wanted, string calldata message) external pure;
    function assertEq(bytes calldata given, bytes calldata wanted, string calldata message) external pure;
    function assertEq(bool given, bool wanted, string calldata message) external pure;
    function assertLe(uint256 given, uint256 limit, string calldata message) external pure;
    function assertGe(uint256 given, uint256 limit, string calldata message) external pure;
}

abstract contract Cheats {
    Vm internal constant vm = Vm(address(uint160(uint256(keccak256("hevm cheat code")))));

    /// @dev `x` itself when it lies in [min, max], so that the edges a fuzzer likes stay edges; else folded in.
    function _within(uint256 x, uint256 min, uint256 max) internal pure returns (uint256) {
        if (x >= min && x <= max) return x;
        uint256 size = max - min + 1;
        return size == 0 ? x : min + x % size;
    }

    /// @dev Deploys what scripts/build/contracts.ts made: the very bytes that go to a chain. The folder can be
    /// another one only for the check that these tests notice a broken pool.
    function _deployBuilt(string memory name, bytes memory arguments, uint256 value) internal returns (address) {
        string memory folder = vm.envOr("CLOISTER_FORGE_CONTRACTS", ".cloister/build/contracts");
        return _deploy(string.concat(folder, "/", name, ".json"), arguments, value);
    }

    function _deployBuilt(string memory name, bytes memory arguments) internal returns (address) {
        return _deployBuilt(name, arguments, 0);
    }

    function _deploy(string memory file, bytes memory arguments, uint256 value) internal returns (address deployed) {
        bytes memory code = bytes.concat(vm.getCode(file), arguments);
        assembly ("memory-safe") {
            deployed := create(value, add(code, 32), mload(code))
            if iszero(deployed) {
                // The constructor's own refusal.
                returndatacopy(0, 0, returndatasize())
                revert(0, returndatasize())
            }
        }
    }
}
