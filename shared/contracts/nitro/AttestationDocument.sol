// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {Cbor} from "./Cbor.sol";
import {INitroAttestations} from "./interfaces/INitroAttestations.sol";

/// @title What an attestation document says, all of it unverified
/// @notice COSE_Sign1 (RFC 9052) over a payload in CBOR, with the fields and limits of AWS's "Nitro Enclaves Attestation
/// Process". The same rules as shared/protocol/attestation-document.ts. Reverts with DocumentMalformed for anything else.
library AttestationDocument {
    uint256 internal constant MAX_BYTES = 16_384;
    uint256 private constant MAX_FIELD = 512;
    uint256 private constant MAX_CERTIFICATE = 1_024;
    uint256 private constant SIGNATURE_BYTES = 96;

    /// CBOR tag 18, which AWS allows and Nitro leaves out.
    bytes1 private constant COSE_SIGN1 = 0xd2;
    /// Nothing but algorithm (1) = ES384 (−35, RFC 9053 2.1).
    bytes4 private constant ES384_HEADER = hex"a1013822";

    bytes32 private constant MODULE_ID = keccak256("module_id");
    bytes32 private constant DIGEST = keccak256("digest");
    bytes32 private constant TIMESTAMP = keccak256("timestamp");
    bytes32 private constant PCRS = keccak256("pcrs");
    bytes32 private constant CERTIFICATE = keccak256("certificate");
    bytes32 private constant CABUNDLE = keccak256("cabundle");
    bytes32 private constant PUBLIC_KEY = keccak256("public_key");
    bytes32 private constant USER_DATA = keccak256("user_data");
    bytes32 private constant NONCE = keccak256("nonce");
    bytes32 private constant SHA384 = keccak256("SHA384");

    /// Of the fields above, by their place: the first six must be there.
    uint256 private constant NEEDED = (1 << 6) - 1;

    /// @dev All places are the document's.
    /// @param bundleStart of the list of the certificates above the leaf, root first: one at the least
    struct Parsed {
        uint256 payloadStart;
        uint256 payloadEnd;
        bytes signature;
        uint64 timestampMs;
        /// PCR0 ‖ PCR1 ‖ PCR2
        bytes registers;
        uint256 leafStart;
        uint256 leafEnd;
        uint256 bundleStart;
        bytes publicKey;
        bytes userData;
        bytes nonce;
    }

    function read(bytes calldata document) internal pure returns (Parsed memory parsed) {
        if (document.length > MAX_BYTES) revert INitroAttestations.DocumentTooLong();
        uint256 place = document.length > 0 && document[0] == COSE_SIGN1 ? 1 : 0;
        Cbor.Items memory items;
        (items, place) = Cbor.readItems(document, place, Cbor.LIST);
        bytes calldata content;

        place = _mustHave(document, place, items);
        (content, place) = Cbor.readString(document, place, Cbor.BYTES);
        _require(content.length == 4 && bytes4(content) == ES384_HEADER);

        // Nobody signs the unprotected header: what stood there could be changed at will.
        place = _mustHave(document, place, items);
        Cbor.Items memory unprotected;
        (unprotected, place) = Cbor.readItems(document, place, Cbor.MAP);
        place = _mustEnd(document, place, unprotected);

        place = _mustHave(document, place, items);
        (content, place) = Cbor.readString(document, place, Cbor.BYTES);
        _require(content.length > 0);
        (parsed.payloadStart, parsed.payloadEnd) = (place - content.length, place);

        place = _mustHave(document, place, items);
        (content, place) = Cbor.readString(document, place, Cbor.BYTES);
        _require(content.length == SIGNATURE_BYTES);
        parsed.signature = content;
        _require(_mustEnd(document, place, items) == document.length);

        _readPayload(document, parsed);
    }

    /// @dev The bytes that the signature is over: RFC 9052 4.4, no external data. Header and payload as they came.
    function signedBytes(bytes calldata document, Parsed memory parsed) internal pure returns (bytes memory) {
        bytes calldata payload = document[parsed.payloadStart:parsed.payloadEnd];
        bytes memory head = payload.length < 24
            ? abi.encodePacked(uint8(0x40 + payload.length))
            : payload.length < 256
                ? abi.encodePacked(uint8(0x58), uint8(payload.length))
                : abi.encodePacked(uint8(0x59), uint16(payload.length));
        return bytes.concat(hex"846a", "Signature1", hex"44", ES384_HEADER, hex"40", head, payload);
    }

    // ------------------------------------------------------------------ the payload

    function _readPayload(bytes calldata document, Parsed memory parsed) private pure {
        uint256 base = parsed.payloadStart;
        bytes calldata payload = document[base:parsed.payloadEnd];
        (Cbor.Items memory pairs, uint256 place) = Cbor.readItems(payload, 0, Cbor.MAP);
        uint256 seen = 0;
        bool isThere;
        for ((isThere, place) = Cbor.hasNext(payload, place, pairs); isThere;) {
            bytes calldata key;
            (key, place) = Cbor.readString(payload, place, Cbor.TEXT);
            uint256 field = _fieldOf(keccak256(key));
            // Another field, or the same again.
            _require(field != 0 && seen & field == 0);
            seen |= field;
            place = _readField(payload, place, field, base, parsed);
            (isThere, place) = Cbor.hasNext(payload, place, pairs);
        }
        _require(place == payload.length && seen & NEEDED == NEEDED);
    }

    function _fieldOf(bytes32 key) private pure returns (uint256) {
        if (key == MODULE_ID) return 1;
        if (key == DIGEST) return 1 << 1;
        if (key == TIMESTAMP) return 1 << 2;
        if (key == PCRS) return 1 << 3;
        if (key == CERTIFICATE) return 1 << 4;
        if (key == CABUNDLE) return 1 << 5;
        if (key == PUBLIC_KEY) return 1 << 6;
        if (key == USER_DATA) return 1 << 7;
        if (key == NONCE) return 1 << 8;
        return 0;
    }

    /// @param base of the payload in the document
    function _readField(bytes calldata payload, uint256 place, uint256 field, uint256 base, Parsed memory parsed)
        private
        pure
        returns (uint256 next)
    {
        bytes calldata content;
        if (field == 1) {
            (content, next) = Cbor.readString(payload, place, Cbor.TEXT);
            _require(content.length > 0 && Cbor.isUtf8(content));
        } else if (field == 1 << 1) {
            (content, next) = Cbor.readString(payload, place, Cbor.TEXT);
            _require(keccak256(content) == SHA384);
        } else if (field == 1 << 2) {
            uint256 number;
            (number, next) = Cbor.readNumber(payload, place);
            _require(number > 0);
            parsed.timestampMs = uint64(number);
        } else if (field == 1 << 3) {
            (parsed.registers, next) = _readRegisters(payload, place);
        } else if (field == 1 << 4) {
            (content, next) = _readCertificate(payload, place);
            (parsed.leafStart, parsed.leafEnd) = (base + next - content.length, base + next);
        } else if (field == 1 << 5) {
            parsed.bundleStart = base + place;
            next = _readBundle(payload, place);
        } else if (Cbor.isNull(payload, place)) {
            // Absent by either spelling: no key, or null.
            next = place + 1;
        } else {
            (content, next) = Cbor.readString(payload, place, Cbor.BYTES);
            if (field == 1 << 6) {
                _require(content.length > 0 && content.length <= MAX_CERTIFICATE);
                parsed.publicKey = content;
            } else {
                _require(content.length <= MAX_FIELD);
                if (field == 1 << 7) parsed.userData = content;
                else parsed.nonce = content;
            }
        }
    }

    /// @dev PCR0 to PCR2, which say what runs, are there and of SHA-384; others are of some hash.
    function _readRegisters(bytes calldata payload, uint256 place)
        private
        pure
        returns (bytes memory registers, uint256 next)
    {
        registers = new bytes(144);
        Cbor.Items memory pairs;
        (pairs, place) = Cbor.readItems(payload, place, Cbor.MAP);
        uint256 seen = 0;
        bool isThere;
        for ((isThere, place) = Cbor.hasNext(payload, place, pairs); isThere;) {
            uint256 index;
            bytes calldata register;
            (index, place) = Cbor.readNumber(payload, place);
            (register, place) = Cbor.readString(payload, place, Cbor.BYTES);
            _require(index < 32 && seen & (1 << index) == 0);
            seen |= 1 << index;
            if (index < 3) {
                _require(register.length == 48);
                assembly ("memory-safe") {
                    calldatacopy(add(add(registers, 32), mul(index, 48)), register.offset, 48)
                }
            } else {
                _require(register.length == 32 || register.length == 48 || register.length == 64);
            }
            (isThere, place) = Cbor.hasNext(payload, place, pairs);
        }
        _require(seen & 7 == 7);
        return (registers, place);
    }

    /// @dev Looks at the certificates and keeps none: there may be thousands, and a chain is a few.
    function _readBundle(bytes calldata payload, uint256 place) private pure returns (uint256) {
        Cbor.Items memory items;
        (items, place) = Cbor.readItems(payload, place, Cbor.LIST);
        place = _mustHave(payload, place, items);
        bool isThere = true;
        while (isThere) {
            (, place) = _readCertificate(payload, place);
            (isThere, place) = Cbor.hasNext(payload, place, items);
        }
        return place;
    }

    function _readCertificate(bytes calldata payload, uint256 place)
        private
        pure
        returns (bytes calldata certificate, uint256 next)
    {
        (certificate, next) = Cbor.readString(payload, place, Cbor.BYTES);
        _require(certificate.length > 0 && certificate.length <= MAX_CERTIFICATE);
    }

    // ------------------------------------------------------------------

    function _mustHave(bytes calldata data, uint256 place, Cbor.Items memory items) private pure returns (uint256) {
        (bool isThere, uint256 next) = Cbor.hasNext(data, place, items);
        _require(isThere);
        return next;
    }

    function _mustEnd(bytes calldata data, uint256 place, Cbor.Items memory items) private pure returns (uint256) {
        (bool isThere, uint256 next) = Cbor.hasNext(data, place, items);
        _require(!isThere);
        return next;
    }

    function _require(bool holds) private pure {
        if (!holds) revert INitroAttestations.DocumentMalformed();
    }
}
