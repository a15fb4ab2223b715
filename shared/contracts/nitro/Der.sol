// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

/// @title ASN.1 in DER (X.690): a tree of elements, no meaning
/// @notice Tags of one byte, lengths in the fewest bytes up to 65,535, eleven levels. `isTree` goes through all bytes once;
/// what it says yes to can be walked with `elementAt`, which check nothing but the tag.
library Der {
    uint8 internal constant BOOLEAN = 0x01;
    uint8 internal constant INTEGER = 0x02;
    uint8 internal constant BIT_STRING = 0x03;
    uint8 internal constant OCTET_STRING = 0x04;
    uint8 internal constant OBJECT_ID = 0x06;
    uint8 internal constant UTC_TIME = 0x17;
    uint8 internal constant GENERALIZED_TIME = 0x18;
    uint8 internal constant SEQUENCE = 0x30;

    uint256 private constant LEVELS = 11;
    uint256 private constant CONSTRUCTED = 0x20;

    /// @param tag 0 where there is no element
    /// @param start of the whole
    /// @param body where its content begins
    /// @param end first byte behind it
    struct Element {
        uint8 tag;
        uint256 start;
        uint256 body;
        uint256 end;
    }

    /// @dev Whether the bytes are one element, down to its last leaf.
    function isTree(bytes calldata der) internal pure returns (bool) {
        uint256[LEVELS] memory ends;
        uint256 depth = 0;
        uint256 place = 0;
        uint256 outer = der.length;
        do {
            (bool isGood, Element memory element) = _head(der, place, outer);
            if (!isGood || depth == LEVELS) return false;
            // What holds the whole ends with the bytes.
            if (depth == 0 && element.end != der.length) return false;
            if (element.tag & CONSTRUCTED != 0 && element.end > element.body) {
                if (depth + 1 == LEVELS) return false;
                ends[depth++] = outer;
                outer = element.end;
                place = element.body;
            } else {
                place = element.end;
            }
            while (depth > 0 && place == outer) outer = ends[--depth];
        } while (depth > 0);
        return true;
    }

    /// @dev The element at `place`, of some that end at `outer`. Tag 0 where none is left.
    function elementAt(bytes calldata der, uint256 place, uint256 outer) internal pure returns (Element memory element) {
        if (place < outer) (, element) = _head(der, place, outer);
        else element.end = outer;
    }

    /// @dev keccak256 of the whole element.
    function hashOf(bytes calldata der, Element memory element) internal pure returns (bytes32) {
        return keccak256(der[element.start:element.end]);
    }

    function _head(bytes calldata der, uint256 place, uint256 outer)
        private
        pure
        returns (bool isGood, Element memory element)
    {
        if (place + 2 > outer) return (false, element);
        uint8 tag = uint8(der[place]);
        uint256 length = uint8(der[place + 1]);
        if (tag == 0 || tag & 0x1f == 0x1f) return (false, element);
        uint256 body = place + 2;
        if (length >= 0x80) {
            // An open length (80) is none of DER's.
            uint256 more = length - 0x80;
            if (more == 0 || more > 2 || body + more > outer) return (false, element);
            length = more == 1 ? uint8(der[body]) : uint16(bytes2(der[body:body + 2]));
            if (length < (more == 1 ? 0x80 : 0x100)) return (false, element);
            body += more;
        }
        if (body + length > outer) return (false, element);
        return (true, Element(tag, place, body, body + length));
    }
}
