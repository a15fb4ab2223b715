// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {IPoolTypes} from "./IPoolTypes.sol";

/// @title What the pool asks its own module
/// @notice Nobody else can have it run in the pool's storage: the first is no function of the pool, the second one for itself.
interface IClaims is IPoolTypes {
    /// @notice Whether a proved amount may leave now, and then counts it. Else makes a claim of it.
    /// @param recipient zero for a swap, of which no claim is made: reverts with CapReached
    /// @param rootNumber of the root that the statement was proved on
    function takeProved(bytes32 statementHash, address asset, address recipient, uint256 amount, uint40 rootNumber)
        external
        returns (bool isRoom);

    /// @notice The pool's function of that name, for a statement that comes again.
    function executeMember(Transaction calldata transaction, Statement calldata statement, address sender) external;
}
