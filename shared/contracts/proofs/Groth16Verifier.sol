// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {IVerifier} from "../interfaces/IVerifier.sol";

/// @title Groth16 over BN254 for one verifying key, by the precompiles of EIP-196 and EIP-197
/// @notice Accepts e(A, B) = e(alpha, beta) · e(IC[0] + Σ signal[i] · IC[i + 1], gamma) · e(C, delta) for
/// canonical numbers only: x and x + q are one coordinate, x and x + r one scalar, and a second spelling of a
/// signal would be a second nullifier. Same verdict as the enclave (enclave/verify.ts) on every input.
contract Groth16Verifier is IVerifier {
    /// Order of the base field: coordinates are below it.
    uint256 private constant Q = 0x30644e72e131a029b85045b68181585d97816a916871ca8d3c208c16d87cfd47;
    /// Order of the group: signals are below it.
    uint256 private constant R = 0x30644e72e131a029b85045b68181585d2833e84879b9709143e1f593f0000001;

    /// alpha, beta, gamma, delta, IC[0…], in the order that `verifyingKeyHash` hashes.
    uint256 private constant ALPHA = 0;
    uint256 private constant BETA = 2;
    uint256 private constant GAMMA = 6;
    uint256 private constant DELTA = 10;
    uint256 private constant IC = 14;

    address private constant EC_ADD = address(6);
    address private constant EC_MUL = address(7);
    address private constant PAIRING = address(8);

    /// EIP-1108: 45,000 and 34,000 for each of four pairs is 181,000. With less than this no answer is given.
    uint256 private constant PAIRING_GAS = 500_000;

    bytes32 public immutable verifyingKeyHash;
    uint256 public immutable signalCount;
    /// The code of this account is a zero byte (it can never run) and the key's words.
    address private immutable keyAccount;

    error KeyInvalid();

    /// @param key the words of shared/protocol/SPEC.md, section 7
    constructor(bytes memory key) {
        // IC has one point more than there are signals; and it must fit into one account.
        if (key.length % 64 != 0 || key.length < (IC + 2) * 32 || key.length >= 24_576) revert KeyInvalid();
        // C would be added to what the signals make: whoever takes A = −alpha, B = beta and C to fit has proved anything.
        if (_isSameUpToSign(key, GAMMA, DELTA)) revert KeyInvalid();
        verifyingKeyHash = keccak256(key);
        signalCount = (key.length / 32 - IC) / 2 - 1;
        // PUSH2 length, DUP1, PUSH1 10, PUSH0, CODECOPY, PUSH0, RETURN: the account is what follows.
        bytes memory code = abi.encodePacked(hex"61", uint16(key.length + 1), hex"80600a5f395ff3", hex"00", key);
        address made;
        assembly ("memory-safe") {
            made := create(0, add(code, 32), mload(code))
        }
        if (made == address(0)) revert KeyInvalid();
        keyAccount = made;
    }

    /// @inheritdoc IVerifier
    function verify(uint256[8] calldata proof, uint256[] calldata signals) external view returns (bool) {
        if (signals.length != signalCount) return false;
        for (uint256 i = 0; i < signals.length; ++i) {
            if (signals[i] >= R) return false;
        }
        for (uint256 i = 0; i < 8; ++i) {
            if (proof[i] >= Q) return false;
        }
        // The point at infinity is (0, 0) here. Honest provers never meet it, and the enclave refuses it.
        if (proof[0] | proof[1] == 0 || proof[6] | proof[7] == 0) return false;
        if (proof[2] | proof[3] | proof[4] | proof[5] == 0) return false;

        uint256[] memory key = _key();
        (uint256 x, uint256 y) = _combine(key, signals);
        return _pairing(key, proof, x, y);
    }

    /// @dev Two points of G2 with one x are one point or its negative.
    function _isSameUpToSign(bytes memory key, uint256 one, uint256 other) private pure returns (bool) {
        for (uint256 i = 0; i < 2; ++i) {
            if (_word(key, one + i) != _word(key, other + i)) return false;
        }
        return true;
    }

    function _word(bytes memory key, uint256 index) private pure returns (uint256 word) {
        assembly ("memory-safe") {
            word := mload(add(key, mul(add(index, 1), 32)))
        }
    }

    function _key() private view returns (uint256[] memory key) {
        uint256 words = IC + 2 * (signalCount + 1);
        key = new uint256[](words);
        address account = keyAccount;
        assembly ("memory-safe") {
            extcodecopy(account, add(key, 32), 1, mul(words, 32))
        }
    }

    /// @dev IC[0] + Σ signals[i] · IC[i + 1].
    function _combine(uint256[] memory key, uint256[] calldata signals) private view returns (uint256 x, uint256 y) {
        (x, y) = (key[IC], key[IC + 1]);
        for (uint256 i = 0; i < signals.length; ++i) {
            // Of a private transfer asset and amount are zero: 12,000 gas.
            if (signals[i] == 0) continue;
            uint256 place = IC + 2 * (i + 1);
            (uint256 termX, uint256 termY) = _point(EC_MUL, abi.encode(key[place], key[place + 1], signals[i]));
            (x, y) = _point(EC_ADD, abi.encode(x, y, termX, termY));
        }
    }

    /// @dev On points of the key these fail for want of gas only (or by a key that is none), never for the proof.
    function _point(address precompile, bytes memory input) private view returns (uint256, uint256) {
        (bool isDone, bytes memory output) = precompile.staticcall(input);
        if (!isDone || output.length != 64) revert GasShort();
        return abi.decode(output, (uint256, uint256));
    }

    /// @dev e(−A, B) · e(alpha, beta) · e(X, gamma) · e(C, delta) = 1. The precompile also checks that A and C
    /// are on the curve and B in its subgroup.
    function _pairing(uint256[] memory key, uint256[8] calldata proof, uint256 x, uint256 y)
        private
        view
        returns (bool)
    {
        bytes memory input = bytes.concat(
            abi.encode(proof[0], (Q - proof[1]) % Q, proof[2], proof[3], proof[4], proof[5]),
            abi.encode(key[ALPHA], key[ALPHA + 1], key[BETA], key[BETA + 1], key[BETA + 2], key[BETA + 3]),
            abi.encode(x, y, key[GAMMA], key[GAMMA + 1], key[GAMMA + 2], key[GAMMA + 3]),
            abi.encode(proof[6], proof[7], key[DELTA], key[DELTA + 1], key[DELTA + 2], key[DELTA + 3])
        );
        // A precompile that is given a point off the curve or outside its group burns all that it gets, of a batch or of
        // a refutation: never more than an eighth of what is left. In a transaction of 2^24 gas (EIP-7825) that is enough
        // for eleven times the price.
        uint256 share = gasleft() / 8;
        if (share < PAIRING_GAS) share = PAIRING_GAS;
        if (gasleft() < share + share / 32) revert GasShort();
        (bool isDone, bytes memory output) = PAIRING.staticcall{gas: share}(input);
        if (isDone) return output.length == 32 && abi.decode(output, (uint256)) == 1;
        _mustBeEnough(key, share);
        return false;
    }

    /// @dev A precompile that lacks gas fails exactly like one that is given such a point. So its failure says something
    /// only where the same gas is enough for as many points that are: whatever gas will cost one day, a good proof never
    /// looks bad.
    function _mustBeEnough(uint256[] memory key, uint256 share) private view {
        bytes memory pair =
            abi.encode(key[ALPHA], key[ALPHA + 1], key[BETA], key[BETA + 1], key[BETA + 2], key[BETA + 3]);
        if (gasleft() < share + share / 32) revert GasShort();
        (bool isDone,) = PAIRING.staticcall{gas: share}(bytes.concat(pair, pair, pair, pair));
        if (!isDone) revert GasShort();
    }
}
