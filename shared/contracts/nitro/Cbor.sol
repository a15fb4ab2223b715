// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {INitroAttestations} from "./interfaces/INitroAttestations.sol";

/// @title CBOR (RFC 8949) as far as the security module writes it
/// @notice A cursor over bytes: numbers, byte and text strings, lists and maps, which may be of indefinite length. A longer
/// head than needed, and whatever else is there than was asked for, is refused with DocumentMalformed.
library Cbor {
    uint256 private constant OPEN = type(uint256).max;
    uint256 private constant BREAK = 0xff;
    uint256 private constant NULL = 0xf6;
    /// Greatest integer that JavaScript's readers of documents know exactly.
    uint256 private constant MAX_NUMBER = 2 ** 53 - 1;

    uint256 internal constant NUMBER = 0;
    uint256 internal constant BYTES = 2;
    uint256 internal constant TEXT = 3;
    uint256 internal constant LIST = 4;
    uint256 internal constant MAP = 5;

    /// @dev What is left of a list or a map: so many items, or OPEN until a break.
    struct Items {
        uint256 left;
    }

    function isNull(bytes calldata data, uint256 place) internal pure returns (bool) {
        return place < data.length && uint8(data[place]) == NULL;
    }

    /// @return number not negative
    /// @return next place behind it
    function readNumber(bytes calldata data, uint256 place) internal pure returns (uint256 number, uint256 next) {
        return _head(data, place, NUMBER);
    }

    /// @dev A byte string (BYTES) or a text (TEXT).
    function readString(bytes calldata data, uint256 place, uint256 major)
        internal
        pure
        returns (bytes calldata content, uint256 next)
    {
        uint256 length;
        (length, place) = _head(data, place, major);
        if (length > data.length - place) revert INitroAttestations.DocumentMalformed();
        next = place + length;
        content = data[place:next];
    }

    /// @dev The beginning of a LIST or a MAP. Of a map, as many pairs.
    function readItems(bytes calldata data, uint256 place, uint256 major)
        internal
        pure
        returns (Items memory items, uint256 next)
    {
        if (place < data.length && uint8(data[place]) == ((major << 5) | 0x1f)) return (Items(OPEN), place + 1);
        (items.left, next) = _head(data, place, major);
    }

    /// @dev Whether another item, or pair, follows at `place`, and where.
    function hasNext(bytes calldata data, uint256 place, Items memory items)
        internal
        pure
        returns (bool isThere, uint256 next)
    {
        if (items.left == OPEN) {
            if (place >= data.length) revert INitroAttestations.DocumentMalformed();
            return uint8(data[place]) == BREAK ? (false, place + 1) : (true, place);
        }
        if (items.left == 0) return (false, place);
        --items.left;
        return (true, place);
    }

    /// @dev UTF-8 (RFC 3629): nothing that another reader could replace.
    function isUtf8(bytes calldata text) internal pure returns (bool) {
        for (uint256 i = 0; i < text.length;) {
            uint256 first = uint8(text[i++]);
            if (first < 0x80) continue;
            uint256 more = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : 1;
            if (first < 0xc2 || first > 0xf4 || text.length - i < more) return false;
            // The first of those that follow is bounded where a shorter form, a surrogate or more than 10ffff would begin.
            uint256 low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
            uint256 high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
            for (; more > 0; --more) {
                uint256 next = uint8(text[i++]);
                if (next < low || next > high) return false;
                (low, high) = (0x80, 0xbf);
            }
        }
        return true;
    }

    /// @dev The number in an item's head, in the fewest bytes: nothing has two spellings.
    function _head(bytes calldata data, uint256 place, uint256 major)
        private
        pure
        returns (uint256 value, uint256 next)
    {
        if (place >= data.length) revert INitroAttestations.DocumentMalformed();
        uint256 first = uint8(data[place]);
        uint256 info = first & 0x1f;
        next = place + 1;
        if (first >> 5 != major || info > 27) revert INitroAttestations.DocumentMalformed();
        if (info < 24) return (info, next);
        uint256 size = 1 << (info - 24);
        if (size > data.length - next) revert INitroAttestations.DocumentMalformed();
        for (uint256 i = 0; i < size; ++i) value = (value << 8) | uint8(data[next + i]);
        next += size;
        uint256 least = size == 1 ? 24 : 1 << (4 * size);
        if (value < least || value > MAX_NUMBER) revert INitroAttestations.DocumentMalformed();
    }
}
