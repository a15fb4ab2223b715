// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {IExecutor} from "../../../shared/contracts/interfaces/IExecutor.sol";
import {IToken} from "../../../shared/contracts/interfaces/IToken.sol";
import {ITreeHasher} from "../../../shared/contracts/interfaces/ITreeHasher.sol";
import {IVerifier} from "../../../shared/contracts/interfaces/IVerifier.sol";
import {INitroAttestations} from "../../../shared/contracts/nitro/interfaces/INitroAttestations.sol";
import {Proofs} from "./Proofs.sol";
import {Statements} from "./Statements.sol";

/// @title Names a circuit's key, and says yes to a statement that was registered as true when the proof is the good one
/// @notice So a test decides what is true, and what is forged exists. What real verifiers do is tested elsewhere.
contract VerifierStandIn is IVerifier {
    uint256 public immutable signalCount;
    bytes32 public immutable verifyingKeyHash;
    mapping(bytes32 signals => bool) private isTrue;

    constructor(uint256 signalCount_, bytes32 verifyingKeyHash_) {
        signalCount = signalCount_;
        verifyingKeyHash = verifyingKeyHash_;
    }

    function register(uint256[] calldata signals) external {
        isTrue[keccak256(abi.encode(signals))] = true;
    }

    function verify(uint256[8] calldata proof, uint256[] calldata signals) external view returns (bool) {
        return isTrue[keccak256(abi.encode(signals))] && keccak256(abi.encode(proof)) == keccak256(Proofs.good());
    }
}

/// @title Believes every document: it is what it says, written down as Solidity does
/// @notice So anybody is registered whom a test wants. Real documents, and every way to refuse one, are in the other suites.
contract AttestationsStandIn is INitroAttestations {
    bytes32 public constant rootHash = keccak256("the root of no platform");
    address public constant revoker = address(0);

    function verifyDocument(bytes calldata document, bytes calldata) external pure returns (Verified memory) {
        return abi.decode(document, (Verified));
    }

    function isTrusted(bytes32) external pure returns (bool) {
        return true;
    }

    function isValidAt(bytes32, uint64) external pure returns (bool) {
        return true;
    }

    function verifyCertificate(bytes calldata, bytes32, bytes calldata) external pure returns (bytes32) {
        revert();
    }

    function revoke(bytes32) external pure {
        revert();
    }
}

/// @title A tree whose root is a chain over index and leaf of every leaf that is not empty
/// @notice It says as much of the leaves as a real root does, for a thousandth of its price: other leaves, another order
/// or another index have another root, and empty leaves leave it as it is. The frontier is the old root itself.
contract TreeStandIn is ITreeHasher {
    function append(uint256[] calldata frontier, uint64 fromIndex, uint256[] calldata leaves)
        external
        pure
        returns (uint256 oldRoot, uint256 newRoot)
    {
        if (frontier.length != 1) revert FrontierLength(frontier.length);
        oldRoot = newRoot = frontier[0];
        for (uint256 i = 0; i < leaves.length; ++i) {
            newRoot = next(newRoot, fromIndex + i, leaves[i]);
        }
    }

    function next(uint256 root, uint256 index, uint256 leaf) public pure returns (uint256) {
        if (leaf == 0) return root;
        return uint256(keccak256(abi.encode(root, index, leaf))) % Statements.R;
    }
}

/// @title A venue that does as it is told, also what no venue should
/// @notice The real one is in the suites beside this one; this one can do what Uniswap never would.
contract VenueStandIn is IExecutor {
    enum Behaviour {
        Pays,
        Reverts,
        BurnsGas,
        Reenters
    }

    Behaviour private behaviour;
    uint256 private payout;
    uint256 private returned;
    bytes private reason;
    address private target;
    bytes private message;

    /// What came of calling `target`, and what the last swap was asked for.
    bool public wasCalled;
    bool public wasRefused;
    bytes public answer;
    bytes public asked;

    /// @dev Pays `payout_` whatever comes in.
    function willPay(uint256 payout_) external {
        behaviour = Behaviour.Pays;
        payout = payout_;
    }

    /// @dev Pays, and gives a part of the input back.
    function willGiveBack(uint256 payout_, uint256 returned_) external {
        behaviour = Behaviour.Pays;
        payout = payout_;
        returned = returned_;
    }

    function willRevert(bytes calldata reason_) external {
        behaviour = Behaviour.Reverts;
        reason = reason_;
    }

    function willBurnGas() external {
        behaviour = Behaviour.BurnsGas;
    }

    /// @dev Then pays.
    function willCall(address target_, bytes calldata message_, uint256 payout_) external {
        behaviour = Behaviour.Reenters;
        target = target_;
        message = message_;
        payout = payout_;
        wasCalled = false;
        wasRefused = false;
    }

    function swap(
        address tokenIn,
        uint256 amountIn,
        uint24 feeFirst,
        address middle,
        uint24 feeSecond,
        address tokenOut
    ) external {
        asked = abi.encode(tokenIn, amountIn, feeFirst, middle, feeSecond, tokenOut);
        if (behaviour == Behaviour.Reverts) {
            bytes memory data = reason;
            assembly ("memory-safe") {
                revert(add(data, 32), mload(data))
            }
        }
        if (behaviour == Behaviour.BurnsGas) {
            assembly ("memory-safe") {
                invalid()
            }
        }
        if (behaviour == Behaviour.Reenters) {
            (bool isDone, bytes memory found) = target.call(message);
            (wasCalled, wasRefused, answer) = (true, !isDone, found);
        }
        if (returned != 0) require(IToken(tokenIn).transfer(msg.sender, returned), "venue: not given back");
        if (payout != 0) require(IToken(tokenOut).transfer(msg.sender, payout), "venue: not paid");
    }
}

/// @title A token whose every answer is chosen from outside
contract TokenStandIn {
    struct Behaviour {
        /// Of the amount asked for, what leaves the payer and what reaches the payee, in thousandths.
        uint16 taken;
        uint16 given;
        /// Calls `target` before anything moves.
        bool calls;
        bool reverts;
        bool burnsGas;
        /// Of the answer: what it is, or the reason of the revert.
        bytes answer;
    }

    Behaviour private behaviour;
    mapping(address account => uint256) private balances;
    address private target;
    bytes private message;
    bool private isCalling;
    bool public wasCalled;
    bytes4 public refusal;

    function behave(Behaviour calldata behaviour_) external {
        behaviour = behaviour_;
    }

    function setCall(address target_, bytes calldata message_) external {
        target = target_;
        message = message_;
    }

    function mint(address to, uint256 value) external {
        balances[to] += value;
    }

    function balanceOf(address account) external view returns (uint256) {
        return balances[account];
    }

    function transfer(address to, uint256 value) external {
        _move(msg.sender, to, value);
    }

    function transferFrom(address from, address to, uint256 value) external {
        _move(from, to, value);
    }

    function receiveWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256,
        uint256,
        bytes32,
        uint8,
        bytes32,
        bytes32
    ) external {
        _move(from, to, value);
    }

    function _move(address from, address to, uint256 value) private {
        Behaviour memory now_ = behaviour;
        if (now_.calls && !isCalling) {
            isCalling = true;
            (bool isDone, bytes memory found) = target.call(message);
            isCalling = false;
            wasCalled = true;
            refusal = isDone ? bytes4(0) : bytes4(found);
        }
        if (now_.burnsGas) {
            assembly ("memory-safe") {
                invalid()
            }
        }
        balances[from] -= value * now_.taken / 1000;
        balances[to] += value * now_.given / 1000;
        bytes memory data = now_.answer;
        if (now_.reverts) {
            assembly ("memory-safe") {
                revert(add(data, 32), mload(data))
            }
        }
        assembly ("memory-safe") {
            return(add(data, 32), mload(data))
        }
    }
}
