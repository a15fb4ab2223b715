// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {IPoolTypes} from "../../../shared/contracts/interfaces/IPoolTypes.sol";
import {TestToken} from "../support/TestToken.sol";
import {UniswapWorld} from "../support/UniswapWorld.sol";
import {Draft, Statements, SwapTerms} from "../support/Statements.sol";
import {Model} from "./Model.sol";

/// @dev A member of a call, and what it has to become.
struct Plan {
    IPoolTypes.Transaction transaction;
    /// The error it has to be rejected with; zero when it has to be executed.
    bytes4 expected;
    address asset;
    uint256 amount;
    /// The notes it spends, by their number in the model.
    uint256[] inputs;
    /// Of the notes that its proof makes, in order.
    uint256[] values;
    /// Of a swap.
    address tokenOut;
}

/// @title Devices and honest enclaves: statements that balance, and one flaw at a time in some of them
/// @notice A plan is made against the model as it will be when its turn comes, so it says exactly what the
/// pool has to do with it. What is signed always balances; flaws are everything else that can go wrong.
abstract contract Plans is Model, UniswapWorld {
    enum Flaw {
        None,
        Unsigned,
        SignedByStranger,
        SignedByTooFew,
        SignedForAnother,
        TooLate,
        ExtChanged,
        Alias,
        SpentAgain,
        NamedTwice,
        RootUnknown,
        EmptyLeaf,
        ProofCut,
        // Of one kind only; of others they mean Unsigned.
        NotPaid,
        ByAnother,
        Unlisted,
        ToNobody,
        FloorZero,
        FloorMissed,
        PathInvalid
    }

    uint256 internal constant FLAWS = 20;
    uint256 private constant MOST = 1e15;
    uint256[2] internal depositorKeys = [uint256(0xDE01), 0xDE02];
    address[2] internal depositors;
    TestToken internal unlisted;
    address internal uniswap;
    /// What the stand-in venue does now.
    uint256 internal venuePays;
    bool internal venueFails;
    uint256 private drawn;

    function _draw() internal returns (uint256) {
        return uint256(keccak256(abi.encode("drawn", ++drawn)));
    }

    // ------------------------------------------------------------------ who signs

    /// @dev At least `threshold` accepted signers, of each kind that there is, ascending; now and then all of them.
    function _signing(uint256 seed) internal view returns (uint256[] memory by) {
        by = new uint256[](KEYS);
        uint256 count = 0;
        uint256 skippable = _acceptedCount() - threshold;
        bool[3] memory hasKind;
        for (uint256 i = 0; i < KEYS; ++i) {
            if (!signerOf[signers[i]].isAdmitted) continue;
            if (skippable > 0 && (seed >> i) % 2 == 0 && (hasKind[_kindOf(i)] || _hasAnother(i, i + 1))) {
                --skippable;
                continue;
            }
            by[count++] = keys[i];
            hasKind[_kindOf(i)] = true;
        }
        assembly ("memory-safe") {
            mstore(by, count)
        }
    }

    /// @dev Whether an accepted one of the same kind is among the keys from `first` on.
    function _hasAnother(uint256 which, uint256 first) internal view returns (bool) {
        for (uint256 i = first; i < KEYS; ++i) {
            if (i != which && _kindOf(i) == _kindOf(which) && signerOf[signers[i]].isAdmitted) return true;
        }
        return false;
    }

    function _acceptedCount() internal view returns (uint256 count) {
        for (uint256 i = 0; i < KEYS; ++i) {
            if (signerOf[signers[i]].isAdmitted) ++count;
        }
    }

    /// @dev Somebody whose word does not count: removed, only proposed, or never heard of.
    function _strangersKey(uint256 seed) private view returns (uint256) {
        for (uint256 i = 0; i < KEYS; ++i) {
            uint256 which = (seed + i) % KEYS;
            if (!signerOf[signers[which]].isAdmitted) return keys[which];
        }
        return seed % 1000 + 1;
    }

    // ------------------------------------------------------------------ statements that balance

    /// @dev Takes effect in the model at once as far as it spends; what it makes is added when it has happened.
    function _plan(uint8 kind, uint256 seed, Flaw flaw, address sender) internal returns (Plan memory plan) {
        address asset = _asset(seed);
        Draft memory draft;
        if (kind == Statements.DEPOSIT) {
            draft = _planDeposit(plan, asset, seed, flaw, sender);
        } else {
            uint256 sum = _chooseInputs(plan, kind, asset, seed);
            if (kind == Statements.SWAP && (sum < 10 || currentExecutor == address(0))) kind = Statements.SPEND;
            draft =
                kind == Statements.SWAP ? _planSwap(plan, asset, seed, sum) : _planSpend(plan, kind, asset, seed, sum);
            draft.root = _rootOver(plan.inputs, seed);
            draft.nullifiers = _nullifiersOf(plan.inputs, Statements.inputsOf(kind));
        }
        flaw = _spoil(plan, draft, seed, flaw);
        plan.transaction = _bind(draft);
        if (kind == Statements.DEPOSIT) _pay(plan, draft, seed, flaw, sender);
        _sign(plan, seed, flaw);
        if (plan.expected != 0) return plan;
        for (uint256 i = 0; i < plan.inputs.length; ++i) {
            _spendNote(plan.inputs[i]);
        }
    }

    function _asset(uint256 seed) internal view returns (address) {
        return [address(usdc), address(euro), address(yen)][seed / 7 % 3];
    }

    function _newDraft(uint8 kind, address asset, uint256 amount) private returns (Draft memory draft) {
        uint256 salt = _draw();
        draft = _draft(kind, salt);
        draft.asset = amount == 0 ? 0 : uint160(asset);
        draft.amount = amount;
    }

    function _planDeposit(Plan memory plan, address asset, uint256 seed, Flaw flaw, address sender)
        private
        returns (Draft memory draft)
    {
        plan.asset = asset;
        plan.amount = seed / 11 % MOST + 1;
        plan.values = _split(plan.amount, 3, seed);
        draft = _newDraft(Statements.DEPOSIT, asset, plan.amount);
        draft.ext = Statements.depositExt(
            _payer(seed, flaw, sender), 0, DEADLINE, Statements.anyCiphertexts(Statements.DEPOSIT, drawn)
        );
        if (!assetOf[asset].isAdmitted) plan.expected = IPoolTypes.AssetUnsupported.selector;
    }

    /// @dev Who pays: the sender himself when the deposit is to be a plain one.
    function _payer(uint256 seed, Flaw flaw, address sender) private view returns (address) {
        bool isFirst = sender == depositors[0] || (sender != depositors[1] && seed / 13 % 2 == 0);
        if (flaw == Flaw.ByAnother) isFirst = sender != depositors[0];
        return depositors[isFirst ? 0 : 1];
    }

    /// @dev With the authorization, or an approval of the sender's own.
    function _pay(Plan memory plan, Draft memory draft, uint256 seed, Flaw flaw, address sender) private {
        if (plan.expected != 0) return;
        address payer = address(bytes20(_head(draft.ext, 20)));
        uint256 key = payer == depositors[0] ? depositorKeys[0] : depositorKeys[1];
        if (flaw == Flaw.NotPaid) {
            // Authorized for another amount.
            draft.amount += 1;
            plan.transaction = _authorize(plan.transaction, key, draft);
            plan.expected = IPoolTypes.TransferRefused.selector;
            return;
        }
        TestToken(plan.asset).mint(payer, plan.amount);
        if (flaw == Flaw.ByAnother) {
            // An approval that lies there, and somebody else's call.
            plan.expected = IPoolTypes.AuthorizationMalformed.selector;
        } else if (payer != sender || seed / 17 % 2 == 0) {
            plan.transaction = _authorize(plan.transaction, key, draft);
        }
    }

    function _planSpend(Plan memory plan, uint8 kind, address asset, uint256 seed, uint256 sum)
        private
        returns (Draft memory draft)
    {
        plan.asset = asset;
        // All of it, a part, or nothing in public.
        if (sum != 0 && seed / 19 % 3 != 0) plan.amount = seed / 19 % 3 == 1 ? sum : seed / 64 % sum + 1;
        plan.values = _split(sum - plan.amount, 4, seed);
        draft = _newDraft(kind, asset, plan.amount);
        address recipient = plan.amount == 0 ? address(0) : address(uint160(0x4EC1 + seed % 3));
        draft.ext = Statements.spendExt(recipient, Statements.anyCiphertexts(kind, drawn));
    }

    function _planSwap(Plan memory plan, address asset, uint256 seed, uint256 sum)
        private
        returns (Draft memory draft)
    {
        plan.asset = asset;
        plan.amount = seed / 23 % 2 == 0 ? sum : 10 + seed / 64 % (sum - 9);
        plan.values = _split(sum - plan.amount, 3, seed);
        SwapTerms memory terms = _terms(_draw());
        terms.tokenOut = _otherThan(asset, seed / 29);
        if (seed / 31 % 3 == 0) {
            terms.middle = _third(asset, terms.tokenOut);
            terms.feeSecond = 3000;
        }
        // Fees take less than a hundredth, or one unit of very little.
        terms.floor = currentExecutor == uniswap ? uint128(plan.amount / 2) : uint128(venuePays);
        plan.tokenOut = terms.tokenOut;
        draft = _newDraft(Statements.SWAP, asset, plan.amount);
        draft.ext = Statements.swapExt(terms, Statements.anyCiphertexts(Statements.SWAP, drawn));
        if (!assetOf[terms.tokenOut].isAdmitted || (terms.middle != address(0) && !assetOf[terms.middle].isAdmitted)) {
            plan.expected = IPoolTypes.AssetUnsupported.selector;
        } else if (currentExecutor == address(venue) && venueFails) {
            plan.expected = IPoolTypes.SwapFailed.selector;
        }
    }

    function _otherThan(address asset, uint256 seed) private view returns (address) {
        if (asset == address(usdc)) return seed % 2 == 0 ? address(euro) : address(yen);
        if (asset == address(euro)) return seed % 2 == 0 ? address(usdc) : address(yen);
        return seed % 2 == 0 ? address(usdc) : address(euro);
    }

    function _third(address one, address other) private view returns (address) {
        if (one != address(usdc) && other != address(usdc)) return address(usdc);
        return one != address(euro) && other != address(euro) ? address(euro) : address(yen);
    }

    /// @dev The parts of a sum; some of them nothing, as in a wallet.
    function _split(uint256 sum, uint256 count, uint256 seed) private pure returns (uint256[] memory parts) {
        parts = new uint256[](count);
        for (uint256 i = 0; i + 1 < count; ++i) {
            parts[i] = (seed >> (8 * i)) % 3 == 0 ? 0 : (seed >> 64) % (sum + 1);
            sum -= parts[i];
        }
        parts[count - 1] = sum;
    }

    /// @dev Notes of the asset that are in the tree; fewer than asked for when there are not so many.
    function _chooseInputs(Plan memory plan, uint8 kind, address asset, uint256 seed)
        private
        view
        returns (uint256 sum)
    {
        uint256[] storage list = unspent[asset];
        uint256 most = Statements.inputsOf(kind);
        plan.inputs = new uint256[](most);
        uint256 count = 0;
        for (uint256 i = 0; i < list.length && i < 2 * most && count < most; ++i) {
            uint256 id = list[(seed / 37 % list.length + i) % list.length];
            if (notes[id].leafIndex >= _rooted()) continue;
            plan.inputs[count++] = id;
            sum += notes[id].value;
        }
        uint256[] memory inputs = plan.inputs;
        assembly ("memory-safe") {
            mstore(inputs, count)
        }
    }

    /// @dev Dummies, with fresh nullifiers, fill the rest.
    function _nullifiersOf(uint256[] memory inputs, uint256 count) private returns (uint256[] memory nullifiers) {
        nullifiers = new uint256[](count);
        for (uint256 i = 0; i < count; ++i) {
            nullifiers[i] = i < inputs.length ? _nullifierOf(inputs[i]) : Statements.field("dummy", _draw());
        }
    }

    /// @dev Any root that covers all of them, old or new.
    function _rootOver(uint256[] memory inputs, uint256 seed) private view returns (uint256) {
        uint256 which = seed / 41 % roots.length;
        for (uint256 i = 0; i < inputs.length; ++i) {
            while (rootCounts[which] <= notes[inputs[i]].leafIndex) ++which;
        }
        return roots[which];
    }

    // ------------------------------------------------------------------ flaws

    /// @dev Those that the device could have made. One flaw only: a statement that fails already gets none, so
    /// that the expected error is the only one there is.
    function _spoil(Plan memory plan, Draft memory draft, uint256 seed, Flaw flaw) private view returns (Flaw) {
        if (plan.expected != 0) return Flaw.None;
        bool isDeposit = draft.kind == Statements.DEPOSIT;
        bool isSwap = draft.kind == Statements.SWAP;
        if (flaw == Flaw.TooLate) {
            draft.deadline = uint64(block.timestamp - 1 - seed % 1000);
            plan.expected = IPoolTypes.DeadlinePassed.selector;
        } else if (flaw == Flaw.SpentAgain && !isDeposit && _aSpentNote(seed) != type(uint256).max) {
            draft.nullifiers[seed % draft.nullifiers.length] = _nullifierOf(_aSpentNote(seed));
            plan.expected = IPoolTypes.NullifierSpent.selector;
        } else if (flaw == Flaw.NamedTwice && !isDeposit) {
            draft.nullifiers[1] = draft.nullifiers[0];
            plan.expected = IPoolTypes.NullifiersNotDistinct.selector;
        } else if (flaw == Flaw.RootUnknown && !isDeposit) {
            draft.root = Statements.field("no root", seed);
            plan.expected = IPoolTypes.RootUnknown.selector;
        } else if (flaw == Flaw.EmptyLeaf) {
            draft.commitments[seed % draft.commitments.length] = 0;
            plan.expected = IPoolTypes.CommitmentZero.selector;
        } else if (flaw == Flaw.Unlisted && plan.amount != 0) {
            draft.asset = uint160(address(unlisted));
            plan.expected = IPoolTypes.AssetUnsupported.selector;
        } else if (flaw == Flaw.ToNobody && !isDeposit && !isSwap && plan.amount != 0) {
            draft.ext = Statements.spendExt(address(0), Statements.anyCiphertexts(draft.kind, seed));
            plan.expected = IPoolTypes.RecipientMismatch.selector;
        } else if (isSwap && (flaw == Flaw.FloorZero || flaw == Flaw.FloorMissed || flaw == Flaw.PathInvalid)) {
            _spoilSwap(plan, draft, flaw);
        } else {
            return flaw;
        }
        return Flaw.None;
    }

    function _spoilSwap(Plan memory plan, Draft memory draft, Flaw flaw) private pure {
        bytes memory ext = draft.ext;
        if (flaw == Flaw.PathInvalid) {
            ext[68] ^= 0x80;
            plan.expected = IPoolTypes.PathInvalid.selector;
            return;
        }
        bytes1 filling = flaw == Flaw.FloorZero ? bytes1(0x00) : bytes1(0xff);
        for (uint256 i = 20; i < 36; ++i) {
            ext[i] = filling;
        }
        plan.expected = flaw == Flaw.FloorZero ? IPoolTypes.FloorZero.selector : IPoolTypes.FloorMissed.selector;
    }

    function _aSpentNote(uint256 seed) private view returns (uint256) {
        for (uint256 i = 0; i < notes.length && i < 8; ++i) {
            uint256 id = (seed / 43 + i) % notes.length;
            if (notes[id].isSpent) return id;
        }
        return type(uint256).max;
    }

    /// @dev Attestations, and what somebody on the way can do to a statement.
    function _sign(Plan memory plan, uint256 seed, Flaw flaw) private view {
        IPoolTypes.Transaction memory transaction = plan.transaction;
        uint256[] memory by = _signing(seed / 47);
        if (plan.expected != 0 || flaw == Flaw.None) {
            _attest(transaction, by);
        } else if (flaw == Flaw.SignedByStranger) {
            by[0] = _strangersKey(seed);
            _attest(transaction, by);
            plan.expected = IPoolTypes.SignerUnknown.selector;
        } else if (flaw == Flaw.SignedByTooFew) {
            uint256 tooFew = threshold - 1;
            assembly ("memory-safe") {
                mstore(by, tooFew)
            }
            _attest(transaction, by);
            plan.expected = IPoolTypes.TooFewAttestations.selector;
        } else if (flaw == Flaw.SignedForAnother) {
            transaction.deadline ^= 1;
            _attest(transaction, by);
            transaction.deadline ^= 1;
            plan.expected = IPoolTypes.SignerUnknown.selector;
        } else if (flaw == Flaw.ExtChanged) {
            _attest(transaction, by);
            transaction.ext[seed % transaction.ext.length] ^= bytes1(uint8(1 << (seed / 1024 % 8)));
            plan.expected = IPoolTypes.ContextMismatch.selector;
        } else if (flaw == Flaw.Alias) {
            transaction.signals[seed % transaction.signals.length] += Statements.R;
            _attest(transaction, by);
            plan.expected = IPoolTypes.SignalOutOfRange.selector;
        } else if (flaw == Flaw.ProofCut) {
            transaction.proof = _head(transaction.proof, 127);
            _attest(transaction, by);
            plan.expected = IPoolTypes.ProofLength.selector;
        } else {
            plan.expected = IPoolTypes.TooFewAttestations.selector;
        }
    }
}
