// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {IPoolTypes} from "./IPoolTypes.sol";

/// @title What the owner and the guardian may do, and nothing else
/// @notice One way in for signers, assets and the executor: the owner proposes, everybody sees it for `changeDelay`
/// seconds, then anyone may admit, for seven days; after that it is as if it had not been proposed. One way out:
/// the owner removes, at once, also what is only proposed. A proposal cannot be changed while it is pending.
interface IGovernance is IPoolTypes {
    /// @param image which code holds the key: keccak256(PCR0 ‖ PCR1 ‖ PCR2), 48 bytes each, of the genesis document. The
    /// pool cannot check it (whoever reads the document does); it is what `revokeImage` goes by. 0 where none is known
    /// @param genesisDocument not looked at here, see SignerProposed
    function proposeSigner(address signer, bytes32 image, bytes calldata genesisDocument) external;
    /// @notice The call brings exactly `signerBond` wei: they go to whoever refutes the signer, or back.
    function addSigner(address signer) external payable;
    /// @notice Permanently, in use or only proposed. Also where fewer than `threshold` are left: then proofs are the only
    /// way until another is admitted.
    function removeSigner(address signer) external;
    /// @notice Removes every signer of the image, proposed ones too, and refuses further ones. At most 32 share an image.
    function revokeImage(bytes32 image) external;
    /// @notice Pays the bond of a signer that was removed and not refuted back to whoever posted it, after as long as
    /// a change takes. Anyone may call.
    function releaseBond(address signer) external;

    /// @param minimumCap the least that may leave in a window, in the token's units. Never less than before
    function proposeAsset(address asset, uint104 minimumCap) external;
    function addAsset(address asset) external;
    /// @notice Stops deposits of it and swaps into or through it; withdrawals and swaps out of it go on. Takes it
    /// back when it is only proposed.
    function delistAsset(address asset) external;

    function proposeExecutor(address venue) external;
    /// @notice It replaces the one there is.
    function setExecutor(address venue) external;
    /// @notice Takes the address, so that it removes the one that was meant, in use or only proposed.
    function removeExecutor(address venue) external;

    /// @notice The guardian closes the attested path for three days. Not again until seven days after that.
    function pause() external;
}
