// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {IPool} from "../../../shared/contracts/interfaces/IPool.sol";
import {IPoolTypes} from "../../../shared/contracts/interfaces/IPoolTypes.sol";
import {Draft, Statements} from "../support/Statements.sol";
import {Outcome, Result, World, WorldOptions} from "../support/World.sol";

/// @notice Whose word the pool takes: any list of signers, any bytes, any spelling, any other message.
contract AttestationsTest is World {
    /// By threshold, from 1 on; all with the same signers.
    IPool[3] private pools;

    /// Which of `signers` count. Two of the six were removed.
    bool[KEYS] private isAccepted;

    function setUp() external {
        WorldOptions memory options = WorldOptions({signers: KEYS, threshold: 1, changeDelay: 100});
        _build(options);
        for (options.threshold = 1; options.threshold <= 3; ++options.threshold) {
            IPool made = _deployPool(options);
            pools[options.threshold - 1] = made;
            for (uint256 k = 0; k < KEYS; ++k) {
                isAccepted[k] = k != 1 && k != 4;
                if (isAccepted[k]) continue;
                vm.prank(OWNER);
                made.removeSigner(signers[k]);
            }
        }
    }

    /// @dev So that the first two accepted ones are of both kinds.
    function _kindOf(uint256 i) internal pure override returns (uint8) {
        return uint8(1 + i / 2 % 2);
    }

    function _useThreshold(uint256 count) private {
        _usePool(pools[count - 1]);
    }

    /// @dev The ascending accepted keys, as many as `count`.
    function _accepted(uint256 count) private view returns (uint256[] memory list) {
        list = new uint256[](count);
        uint256 next = 0;
        for (uint256 k = 0; next < count; ++k) {
            if (isAccepted[k]) list[next++] = keys[k];
        }
    }

    // ------------------------------------------------------------------ lists

    function testFuzz_takesExactlyEnoughDistinctAcceptedSigners(uint256 seed, bool isUpdate, bool isSorted) external {
        _useThreshold(_within(seed, 1, 3));
        uint256[] memory by = _anyKeys(uint256(keccak256(abi.encode(seed))), isSorted);
        bytes memory fault = _expectedFault(by);
        if (isUpdate) {
            IPoolTypes.RootUpdate memory update = _update(4, _leafs(), 7);
            update = _signed(update, by);
            Result memory result = _execute(_one(_plainTransfer()), update, SENDER);
            vm.assertEq(result.isRooted, fault.length == 0, "rooted when enough signed");
            vm.assertEq(result.skipReason, fault, "why it was skipped");
            return;
        }
        Outcome memory outcome = _executeOne(_attest(_bind(_draft(Statements.SPEND, 1)), by));
        if (fault.length == 0) _assertExecuted(outcome);
        else _assertRejected(outcome, fault);
    }

    function _plainTransfer() private view returns (IPoolTypes.Transaction memory) {
        return _attest(_bind(_draft(Statements.SPEND, 1)), _accepted(threshold));
    }

    function _leafs() private view returns (bytes32) {
        return _headAfter(bytes32(0), _draft(Statements.SPEND, 1));
    }

    /// @dev Up to five keys: of accepted, removed and unknown signers, repeated or not, ascending or not.
    function _anyKeys(uint256 seed, bool isSorted) private view returns (uint256[] memory by) {
        by = new uint256[](seed % 6);
        for (uint256 i = 0; i < by.length; ++i) {
            seed = uint256(keccak256(abi.encode(seed)));
            // A stranger is one in sixteen, so that good lists are common.
            by[i] = seed % 16 == 0 ? seed % 1000 + 1 : keys[seed % 8 < 6 ? [0, 2, 3, 5, 0, 2][seed % 8] : seed % KEYS];
        }
        if (!isSorted) return by;
        for (uint256 i = 1; i < by.length; ++i) {
            for (uint256 k = i; k > 0 && vm.addr(by[k - 1]) > vm.addr(by[k]); --k) {
                (by[k - 1], by[k]) = (by[k], by[k - 1]);
            }
        }
    }

    function _expectedFault(uint256[] memory by) private view returns (bytes memory) {
        if (by.length < threshold) {
            return abi.encodeWithSelector(IPoolTypes.TooFewAttestations.selector, by.length, threshold);
        }
        address last = address(0);
        uint8 kinds = 0;
        for (uint256 i = 0; i < by.length; ++i) {
            address signer = vm.addr(by[i]);
            if (signer <= last) return abi.encodeWithSelector(IPoolTypes.SignersNotAscending.selector);
            if (!_isAccepted(signer)) return abi.encodeWithSelector(IPoolTypes.SignerUnknown.selector, signer);
            last = signer;
            for (uint256 k = 0; k < KEYS; ++k) {
                if (signers[k] == signer) kinds |= _kindOf(k);
            }
        }
        if (threshold > 1 && kinds != 3) return abi.encodeWithSelector(IPoolTypes.OneKindOnly.selector, kinds);
        return "";
    }

    function _isAccepted(address signer) private view returns (bool) {
        for (uint256 k = 0; k < KEYS; ++k) {
            if (signers[k] == signer) return isAccepted[k];
        }
        return false;
    }

    // ------------------------------------------------------------------ bytes

    function testFuzz_refusesBytesThatNobodySigned(uint8 kindSeed, bytes calldata attestations) external {
        _useThreshold(1);
        uint8 kind = uint8(_within(kindSeed, 1, 4));
        IPoolTypes.Transaction memory transaction = _bind(_draft(kind, 1));
        transaction.attestations = attestations;
        vm.record();
        Outcome memory outcome = _executeOne(transaction);
        _assertUnwritten();
        if (attestations.length % 65 != 0) {
            _assertRejected(outcome, abi.encodeWithSelector(IPoolTypes.AttestationLength.selector, attestations.length));
        } else if (attestations.length == 0) {
            _assertRejected(outcome, abi.encodeWithSelector(IPoolTypes.TooFewAttestations.selector, 0, 1));
        } else {
            vm.assertFalse(outcome.isExecuted, "nobody signed");
        }
    }

    /// @dev From one good signature: every v, both s, with what is left over or missing.
    function testFuzz_takesOneSpellingOfASignature(uint256 seed, uint8 v, bool isMirrored, int8 extra) external {
        _useThreshold(1);
        IPoolTypes.Transaction memory transaction = _bind(_draft(Statements.SPEND, seed));
        uint256 key = _accepted(3)[seed % 3];
        bytes32 digest = Statements.digestOf(home.domain, _keyHash(transaction.kind), transaction);
        (uint8 rightV, bytes32 r, bytes32 s) = vm.sign(key, digest);
        if (seed % 4 == 0) v = rightV;
        if (isMirrored) s = bytes32(CURVE_ORDER - uint256(s));
        bytes memory attestations = abi.encodePacked(r, s, v);
        if (seed % 8 >= 4) attestations = _resized(attestations, extra);
        transaction.attestations = attestations;

        Outcome memory outcome = _executeOne(transaction);
        if (attestations.length == 0) {
            _assertRejected(outcome, IPoolTypes.TooFewAttestations.selector);
        } else if (attestations.length % 65 != 0) {
            _assertRejected(outcome, IPoolTypes.AttestationLength.selector);
        } else if (isMirrored || (v != 27 && v != 28)) {
            _assertRejected(outcome, IPoolTypes.SignatureInvalid.selector);
        } else if (v != rightV) {
            vm.assertFalse(outcome.isExecuted, "the other v is somebody else's signature");
        } else if (attestations.length == 65) {
            _assertExecuted(outcome);
        } else {
            // A second signature of zeros.
            _assertRejected(outcome, IPoolTypes.SignatureInvalid.selector);
        }
    }

    /// @dev Cut at the end, or filled up with zeros.
    function _resized(bytes memory data, int8 extra) private pure returns (bytes memory resized) {
        int256 length = int256(data.length) + extra;
        resized = new bytes(length < 0 ? 0 : uint256(length));
        for (uint256 i = 0; i < resized.length && i < data.length; ++i) {
            resized[i] = data[i];
        }
    }

    // ------------------------------------------------------------------ messages

    /// @dev Signers who count, but who signed a message that differs in one bit.
    function testFuzz_refusesASignatureUnderAnotherMessage(uint8 kindSeed, uint8 field, uint8 bit) external {
        _useThreshold(2);
        uint8 kind = uint8(_within(kindSeed, 1, 4));
        IPoolTypes.Transaction memory transaction = _bind(_draft(kind, bit));
        bytes32[6] memory message = [
            home.domain,
            bytes32(uint256(kind)),
            _keyHash(kind),
            Statements.hashOf(transaction),
            keccak256(transaction.proof),
            bytes32(uint256(transaction.deadline))
        ];
        bytes32 rightDigest = _attestationDigest(message);
        vm.assertEq(
            rightDigest,
            Statements.digestOf(home.domain, _keyHash(kind), transaction),
            "the same message without the changed bit"
        );
        message[field % 6] ^= bytes32(uint256(1) << bit);
        transaction.attestations = _signatures(_attestationDigest(message), _accepted(2));
        vm.record();
        _assertRejected(_executeOne(transaction), IPoolTypes.SignerUnknown.selector);
        _assertUnwritten();
    }

    function _attestationDigest(bytes32[6] memory message) private pure returns (bytes32) {
        return Statements.typed(
            message[0],
            keccak256(
                abi.encode(
                    keccak256(
                        "Attestation(uint8 kind,bytes32 verifyingKeyHash,bytes32 statementHash,bytes32 proofHash,uint64 deadline)"
                    ),
                    message[1],
                    message[2],
                    message[3],
                    message[4],
                    message[5]
                )
            )
        );
    }

    /// @dev The proof is not looked into, but the enclave signed for this one.
    function testFuzz_refusesAnotherProofThanTheSignedOne(uint8 kindSeed, uint16 bit) external {
        _useThreshold(1);
        uint8 kind = uint8(_within(kindSeed, 1, 4));
        IPoolTypes.Transaction memory transaction = _attest(_bind(_draft(kind, bit)), _accepted(1));
        transaction.proof[bit % 128] ^= bytes1(uint8(1 << (bit >> 7) % 8));
        vm.record();
        _assertRejected(_executeOne(transaction), IPoolTypes.SignerUnknown.selector);
        _assertUnwritten();
    }

    /// @dev On a copy of the chain nothing signed here is worth anything, and a domain of its own stands there.
    function testFuzz_hasADomainOnEveryChain(uint64 chain) external {
        _useThreshold(1);
        uint256 chainId = _within(chain, 1, type(uint64).max);
        IPoolTypes.Transaction memory transaction = _attest(_bind(_draft(Statements.SPEND, chain)), _accepted(1));
        vm.chainId(chainId);
        vm.assertEq(pool.domainSeparator(), Statements.domainOf(chainId, address(pool)), "the domain");
        if (chainId == home.chainId) _assertExecuted(_executeOne(transaction));
        else _assertRefusedUntouched(transaction, abi.encodeWithSelector(IPoolTypes.ContextMismatch.selector));
        // Bound to the other chain, but signed for this one.
        home.chainId = chainId;
        Draft memory draft = _draft(Statements.SPEND, uint256(chain) + 1);
        transaction = _attest(_bind(draft), _accepted(1));
        if (pool.domainSeparator() == home.domain) return;
        _assertRejected(_executeOne(transaction), IPoolTypes.SignerUnknown.selector);
        home.domain = pool.domainSeparator();
        _assertExecuted(_executeOne(_attest(_bind(draft), _accepted(1))));
    }
}
