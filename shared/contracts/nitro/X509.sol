// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {Der} from "./Der.sol";
import {INitroAttestations} from "./interfaces/INitroAttestations.sol";

/// @title Certificates (RFC 5280) as a platform's chain has them
/// @notice Version 3, P-384, ecdsa-with-SHA384, in strict DER; whatever else a certificate could be is refused. The same
/// rules, in the same order, as shared/protocol/x509.ts.
library X509 {
    using Der for bytes;

    /// No limit of authorities below.
    uint256 internal constant UNLIMITED = type(uint16).max;

    uint256 private constant DIGITAL_SIGNATURE = 0x80;
    uint256 private constant KEY_CERT_SIGN = 0x04;

    uint8 private constant VERSION = 0xa0;
    uint8 private constant EXTENSIONS = 0xa3;
    bytes32 private constant VERSION_3 = keccak256(hex"a003020102");
    /// 1.2.840.10045.4.3.3, no parameters.
    bytes32 private constant ECDSA_WITH_SHA384 = keccak256(hex"300a06082a8648ce3d040303");
    /// id-ecPublicKey on secp384r1, and 04, which says that x and y follow. Its lengths fix all the rest.
    bytes24 private constant P384_KEY = hex"3076301006072a8648ce3d020106052b8104002203620004";
    uint256 private constant POINT_BYTES = 96;
    bytes3 private constant BASIC_CONSTRAINTS = hex"551d13";
    bytes3 private constant KEY_USAGE = hex"551d0f";
    /// Of an extension: its own head, and those of an empty id and an empty value.
    uint256 private constant LEAST_EXTENSION = 6;

    /// @param signedStart of the bytes that are signed, up to `signedEnd`
    /// @param signature r ‖ s
    /// @param issuer keccak256 of the name as it stands; names are never read
    /// @param notBefore Unix seconds; 0 for a time before 1970
    /// @param key x ‖ y, not yet known to be on the curve
    /// @param below how many authorities may stand between this one and the leaf
    struct Certificate {
        uint256 signedStart;
        uint256 signedEnd;
        bytes signature;
        bytes32 issuer;
        bytes32 subject;
        uint64 notBefore;
        uint64 notAfter;
        bytes key;
        bool isAuthority;
        bool mayCertify;
        bool maySign;
        uint256 below;
    }

    /// @dev Reverts with CertificateMalformed for anything but exactly one certificate of the kind above. One whose
    /// signature is no pair of numbers has an empty signature.
    function read(bytes calldata der) internal pure returns (Certificate memory certificate) {
        if (!der.isTree()) revert INitroAttestations.CertificateMalformed();
        Der.Element memory whole = _take(der, 0, der.length, Der.SEQUENCE);
        Der.Element memory signed = _take(der, whole.body, whole.end, Der.SEQUENCE);
        Der.Element memory algorithm = _take(der, signed.end, whole.end, Der.SEQUENCE);
        Der.Element memory signature = _take(der, algorithm.end, whole.end, Der.BIT_STRING);
        _require(signature.end == whole.end && signature.end > signature.body && der[signature.body] == 0);
        _require(der.hashOf(algorithm) == ECDSA_WITH_SHA384);
        certificate.signedStart = signed.start;
        certificate.signedEnd = signed.end;
        certificate.signature = _readSignature(der[signature.body + 1:signature.end]);
        _readFields(der, signed, certificate);
    }

    function _readFields(bytes calldata der, Der.Element memory signed, Certificate memory certificate) private pure {
        Der.Element memory field = _take(der, signed.body, signed.end, VERSION);
        _require(der.hashOf(field) == VERSION_3);
        field = _take(der, field.end, signed.end, Der.INTEGER);
        // The inner name of the algorithm is signed and the outer one is not: they are one.
        field = _take(der, field.end, signed.end, Der.SEQUENCE);
        _require(der.hashOf(field) == ECDSA_WITH_SHA384);
        field = _take(der, field.end, signed.end, Der.SEQUENCE);
        certificate.issuer = der.hashOf(field);
        field = _take(der, field.end, signed.end, Der.SEQUENCE);
        (certificate.notBefore, certificate.notAfter) = _readValidity(der, field);
        field = _take(der, field.end, signed.end, Der.SEQUENCE);
        certificate.subject = der.hashOf(field);
        field = _take(der, field.end, signed.end, Der.SEQUENCE);
        _require(field.end - field.start == P384_KEY.length + POINT_BYTES);
        _require(bytes24(der[field.start:field.start + P384_KEY.length]) == P384_KEY);
        certificate.key = der[field.start + P384_KEY.length:field.end];
        field = _take(der, field.end, signed.end, EXTENSIONS);
        _require(field.end == signed.end);
        Der.Element memory list = _take(der, field.body, field.end, Der.SEQUENCE);
        _require(list.end == field.end);
        _readRights(der, list, certificate);
    }

    // ------------------------------------------------------------------ rights

    function _readRights(bytes calldata der, Der.Element memory list, Certificate memory certificate) private pure {
        bool isConstraintCritical = false;
        bool hasConstraints = false;
        bool hasUsage = false;
        certificate.below = UNLIMITED;
        bytes32[] memory seen = new bytes32[]((list.end - list.body) / LEAST_EXTENSION);
        uint256 count = 0;
        uint256 place = list.body;
        while (place < list.end) {
            Der.Element memory extension = _take(der, place, list.end, Der.SEQUENCE);
            (bool isCritical, Der.Element memory id, Der.Element memory value) = _readExtension(der, extension);
            _requireUnseen(seen, count, der.hashOf(id));
            seen[count++] = der.hashOf(id);
            bytes calldata content = der[value.body:value.end];
            if (_is(der, id, BASIC_CONSTRAINTS)) {
                hasConstraints = true;
                isConstraintCritical = isCritical;
                (certificate.isAuthority, certificate.below) = _readConstraints(content);
            } else if (_is(der, id, KEY_USAGE)) {
                hasUsage = true;
                (certificate.mayCertify, certificate.maySign) = _readUsage(content);
            } else {
                // A critical extension that is not understood could take back what the certificate seems to grant.
                _require(!isCritical);
            }
            place = extension.end;
        }
        _require(hasUsage);
        // RFC 5280 4.2.1.9: critical in every authority.
        _require(!hasConstraints || !certificate.isAuthority || isConstraintCritical);
    }

    function _readExtension(bytes calldata der, Der.Element memory extension)
        private
        pure
        returns (bool isCritical, Der.Element memory id, Der.Element memory value)
    {
        id = _take(der, extension.body, extension.end, Der.OBJECT_ID);
        value = der.elementAt(id.end, extension.end);
        if (value.tag == Der.BOOLEAN) {
            // True is one byte, ff, and "not critical" is said by leaving it out (X.690 11.1, 11.5).
            _require(value.end - value.body == 1 && der[value.body] == 0xff);
            isCritical = true;
            value = der.elementAt(value.end, extension.end);
        }
        _require(value.tag == Der.OCTET_STRING && value.end == extension.end);
    }

    /// @dev No id twice: which of the two counts, another reader may see otherwise.
    function _requireUnseen(bytes32[] memory seen, uint256 count, bytes32 id) private pure {
        for (uint256 i = 0; i < count; ++i) _require(seen[i] != id);
    }

    function _is(bytes calldata der, Der.Element memory id, bytes3 wanted) private pure returns (bool) {
        return id.end - id.body == 3 && bytes3(der[id.body:id.end]) == wanted;
    }

    /// @dev Empty; or cA, true; or that and a path length below 128.
    function _readConstraints(bytes calldata value) private pure returns (bool isAuthority, uint256 below) {
        if (value.length == 2) {
            _require(bytes2(value) == 0x3000);
            return (false, UNLIMITED);
        }
        if (value.length == 5) {
            _require(bytes5(value) == 0x30030101ff);
            return (true, UNLIMITED);
        }
        _require(value.length == 8 && bytes7(value[:7]) == 0x30060101ff0201 && uint8(value[7]) < 0x80);
        return (true, uint8(value[7]));
    }

    /// @dev A bit string of one byte, and how many of its bits are padding: zeros, behind a one (X.690 11.2).
    function _readUsage(bytes calldata value) private pure returns (bool mayCertify, bool maySign) {
        _require(value.length == 4 && bytes2(value[:2]) == 0x0302 && uint8(value[2]) < 8);
        uint256 unused = uint8(value[2]);
        uint256 usage = uint8(value[3]);
        _require(usage & ((2 << unused) - 1) == 1 << unused);
        return (usage & KEY_CERT_SIGN != 0, usage & DIGITAL_SIGNATURE != 0);
    }

    // ------------------------------------------------------------------ times

    function _readValidity(bytes calldata der, Der.Element memory validity)
        private
        pure
        returns (uint64 notBefore, uint64 notAfter)
    {
        Der.Element memory first = der.elementAt(validity.body, validity.end);
        Der.Element memory last = der.elementAt(first.end, validity.end);
        _require(first.tag != 0 && last.tag != 0 && last.end == validity.end);
        return (_readTime(der, first), _readTime(der, last));
    }

    /// @dev Unix seconds of UTCTime (1950 to 2049) or GeneralizedTime, to the second and in Z (RFC 5280 4.1.2.5). A 31st in
    /// a shorter month is read as the 1st of the next.
    function _readTime(bytes calldata der, Der.Element memory time) private pure returns (uint64) {
        bytes calldata text = der[time.body:time.end];
        uint256 year;
        if (time.tag == Der.UTC_TIME) {
            _require(text.length == 13);
            year = _digits(text, 0);
            year += text[0] < "5" ? 2000 : 1900;
            text = text[2:];
        } else {
            _require(time.tag == Der.GENERALIZED_TIME && text.length == 15);
            year = _digits(text, 0) * 100 + _digits(text, 2);
            text = text[4:];
        }
        (uint256 month, uint256 day) = (_digits(text, 0), _digits(text, 2));
        (uint256 hour, uint256 minute, uint256 second) = (_digits(text, 4), _digits(text, 6), _digits(text, 8));
        _require(month > 0 && month < 13 && day > 0 && day < 32);
        _require(hour < 24 && minute < 60 && second < 60 && text[10] == "Z");
        // Years begin in March here, so that a leap day is their last; the first day is 1 March of the year 0. Before
        // that no number is needed, as before 1970.
        if (year < 1970) return 0;
        uint256 months = 12 * year + month - 3;
        uint256 y = months / 12;
        uint256 daysOfYears = 365 * y + y / 4 - y / 100 + y / 400;
        uint256 daysOfMonths = (153 * (months - 12 * y) + 2) / 5;
        uint256 sum = daysOfYears + daysOfMonths + day - 1 - 719_468;
        return uint64(((sum * 24 + hour) * 60 + minute) * 60 + second);
    }

    function _digits(bytes calldata text, uint256 place) private pure returns (uint256) {
        (uint256 tens, uint256 ones) = (uint8(text[place]), uint8(text[place + 1]));
        _require(tens >= 0x30 && tens <= 0x39 && ones >= 0x30 && ones <= 0x39);
        return (tens - 0x30) * 10 + ones - 0x30;
    }

    // ------------------------------------------------------------------ the signature's two numbers

    /// @dev r ‖ s, 48 bytes each, from a sequence of two integers in DER; empty for anything else.
    function _readSignature(bytes calldata der) private pure returns (bytes memory) {
        if (der.length < 2 || der[0] != 0x30 || uint8(der[1]) != der.length - 2) return "";
        (bool isGood, bytes memory r, uint256 end) = _readNumber(der, 2);
        if (!isGood) return "";
        bytes memory s;
        (isGood, s, end) = _readNumber(der, end);
        return isGood && end == der.length ? bytes.concat(r, s) : bytes("");
    }

    function _readNumber(bytes calldata der, uint256 place)
        private
        pure
        returns (bool isGood, bytes memory number, uint256 end)
    {
        if (place + 3 > der.length || uint8(der[place]) != Der.INTEGER) return (false, "", 0);
        uint256 length = uint8(der[place + 1]);
        uint256 from = place + 2;
        end = from + length;
        if (length == 0 || end > der.length) return (false, "", 0);
        uint256 first = uint8(der[from]);
        // Negative, or a zero in front that no sign needs.
        if (first >= 0x80 || (first == 0 && length > 1 && uint8(der[from + 1]) < 0x80)) return (false, "", 0);
        if (first == 0 && length > 1) ++from;
        if (end - from > 48) return (false, "", 0);
        return (true, bytes.concat(new bytes(48 - (end - from)), der[from:end]), end);
    }

    // ------------------------------------------------------------------

    function _take(bytes calldata der, uint256 place, uint256 outer, uint8 tag)
        private
        pure
        returns (Der.Element memory element)
    {
        element = der.elementAt(place, outer);
        _require(element.tag == tag);
    }

    function _require(bool holds) private pure {
        if (!holds) revert INitroAttestations.CertificateMalformed();
    }
}
