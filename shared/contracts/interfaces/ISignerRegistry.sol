// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {IPoolTypes} from "./IPoolTypes.sol";

/// @title Whose word counts: images that the owner admits, and signers that prove to be of one
/// @notice The owner says which code may vouch, `changeDelay` seconds before it may. That a key lives in an enclave which
/// runs that code, the enclave's platform says, in a document that the pool verifies. Nobody's word admits a signer, the
/// owner's least of all.
interface ISignerRegistry is IPoolTypes {
    /// @param image keccak256(PCR0 ‖ PCR1 ‖ PCR2), 48 bytes each: image, kernel and application
    /// @param kind which verifier it runs: 1 the first, 2 the second
    /// @param commit of the source that it is built from, and
    /// @param buildCommand how. Neither is looked at here, see ImageProposed
    function proposeImage(bytes32 image, uint8 kind, string calldata commit, string calldata buildCommand) external;
    /// @notice Anyone, for seven days after the delay.
    function admitImage(bytes32 image) external;
    /// @notice At once and permanently: removes every signer of the image and refuses further ones. Also where it is only
    /// proposed, or was never: then it never will be.
    function revokeImage(bytes32 image) external;

    /// @notice Admits the signer that a document names. Anyone may call, with exactly `signerBond` wei: they go to whoever
    /// refutes the signer, or back. What else stands in the call follows from the document, so somebody who copies it can
    /// do nothing but pay for it.
    /// The document must be verified by `attestations` in this block (its certificates are there already, all valid now and
    /// none revoked), of an admitted image, at most `maxDocumentAge` old, made for a recent block, and say the
    /// configuration that fits this pool.
    /// @param hints for the document's signature
    /// @param blockNumber whose hash is the document's nonce: of the last 8,191 blocks (EIP-2935), or 256 without that
    /// @param kmsKey which key the image pins: keccak256(SPKI DER)
    function register(bytes calldata document, bytes calldata hints, uint64 blockNumber, bytes32 kmsKey) external payable;
    /// @notice The owner, at once and permanently; also one that was never registered. Also where fewer than `threshold` are left: then
    /// proofs are the only way until another is registered.
    function removeSigner(address signer) external;
    /// @notice Anyone, when the certificate that vouched for the signer, or one above it, is revoked. That it expired since
    /// is no reason: a certificate lives for hours, and the key stays where it was.
    function expel(address signer) external;
    /// @notice Pays the bond of a signer that was removed and not refuted back to whoever posted it, after as long as
    /// a change takes. Anyone may call.
    function releaseBond(address signer) external;
    /// @notice Pays what the caller is owed of bonds that could not be paid to it, to an account that can take coins.
    function takeBonds(address to) external;
}
