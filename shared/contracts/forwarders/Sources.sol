// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {Departures} from "./Departures.sol";
import {Salts} from "./Salts.sol";

/// @title Addresses on other chains whose money goes to one address at home
/// @notice The same address on each chain that a lane names; on a chain without a lane only `refundOtherSource` does
/// anything.
abstract contract Sources is Departures {
    using Salts for SourceTerms;

    function sourceAddress(SourceTerms calldata terms) public view returns (address) {
        return _addressOf(terms.salt());
    }

    function forward(SourceTerms calldata terms, uint256 lane, uint128 maxFee, uint32 finality)
        external
        locked
    {
        Lane calldata way = _lane(terms, lane);
        bytes32 salt = terms.salt();
        address vault = _addressOf(salt);
        // Anybody may deliver it: the recipient is all that matters.
        Departure memory how = Departure(
            way.token,
            way.messenger,
            way.domain,
            terms.recipient,
            0,
            way.minimum,
            way.feeCeiling,
            maxFee,
            finality
        );
        emit Forwarded(vault, _depart(vault, salt, how, ""));
    }

    function touchSource(SourceTerms calldata terms, uint256 lane) external locked {
        Lane calldata way = _lane(terms, lane);
        _touch(sourceAddress(terms), way.token, way.minimum);
    }

    function refundSource(SourceTerms calldata terms, uint256 lane) external locked {
        Lane calldata way = _lane(terms, lane);
        bytes32 salt = terms.salt();
        _refund(_addressOf(salt), salt, way.token, way.minimum, terms.refund);
    }

    function refundOtherSource(SourceTerms calldata terms, address token) external locked {
        for (uint256 i = 0; i < terms.lanes.length; ++i) {
            Lane calldata way = terms.lanes[i];
            if (way.chainId == block.chainid && way.token == token) revert OwnAsset(token);
        }
        bytes32 salt = terms.salt();
        _refundOther(_addressOf(salt), salt, token, terms.refund);
    }

    function _lane(SourceTerms calldata terms, uint256 lane) private view returns (Lane calldata way) {
        way = terms.lanes[lane];
        if (way.chainId != block.chainid) revert LaneElsewhere(way.chainId);
    }
}
