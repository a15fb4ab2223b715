// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {AttestationDocument} from "./AttestationDocument.sol";
import {Cbor} from "./Cbor.sol";
import {Sha384} from "./Sha384.sol";
import {X509} from "./X509.sol";
import {INitroAttestations} from "./interfaces/INitroAttestations.sol";
import {IP384} from "./interfaces/IP384.sol";

/// @title Attestation documents of AWS Nitro, verified on the chain
contract NitroAttestations is INitroAttestations {
    /// What is kept of a certificate under its chain's id.
    struct Link {
        bytes32 parent;
        /// keccak256 of what its issuer signed; never zero in one that is kept.
        bytes32 certificate;
        /// Of all the chain down to here: the latest beginning and the earliest end. Unix seconds.
        uint64 notBefore;
        uint64 notAfter;
        /// How many authorities may still stand between this one and a leaf, by its own word and by those above.
        uint16 below;
        bool mayCertify;
        bool maySign;
        bytes32 subject;
        bytes32[3] key;
    }

    uint256 private constant MAX_CERTIFICATE = 1_024;
    bytes32 private constant NOTHING_MEASURED = keccak256(new bytes(144));

    bytes32 public immutable rootHash;
    address public immutable revoker;
    IP384 private immutable p384;

    mapping(bytes32 id => Link) private links;
    /// By what the issuer signed, and not by the whole: whoever sees a signature (r, s) can make (r, n − s), which is as good,
    /// and would bring a revoked certificate back as another.
    mapping(bytes32 certificate => bool) private revoked;

    constructor(bytes32 root, address revoker_, IP384 p384_) {
        rootHash = root;
        revoker = revoker_;
        p384 = p384_;
    }

    // ------------------------------------------------------------------ certificates

    /// @inheritdoc INitroAttestations
    function verifyCertificate(bytes calldata certificate, bytes32 parent, bytes calldata hints)
        external
        returns (bytes32 id)
    {
        if (certificate.length > MAX_CERTIFICATE) revert CertificateTooLong();
        id = _idOf(parent, keccak256(certificate));
        if (links[id].certificate != 0) return id;
        X509.Certificate memory read = X509.read(certificate);
        Link memory above = links[parent];
        if (parent == 0) {
            // Trusted already, so its own signature says nothing; everything else about it counts.
            if (sha256(certificate) != rootHash) revert RootUnknown();
            above.notAfter = type(uint64).max;
            above.below = uint16(X509.UNLIMITED);
        } else {
            if (above.certificate == 0) revert ChainUnknown(parent);
            if (!above.mayCertify || (read.isAuthority && above.below == 0)) revert NotAnAuthority(parent);
            if (read.issuer != above.subject) revert IssuerMismatch();
            if (!_isSigned(certificate[read.signedStart:read.signedEnd], read.signature, above.key, hints)) revert SignatureInvalid();
        }
        bytes32 signed = keccak256(certificate[read.signedStart:read.signedEnd]);
        links[id] = _linkOf(read, above, parent, signed);
        emit CertificateVerified(id, signed, parent);
    }

    /// @inheritdoc INitroAttestations
    function revoke(bytes32 certificate) external {
        if (msg.sender != revoker) revert NotRevoker();
        revoked[certificate] = true;
        emit CertificateRevoked(certificate);
    }

    /// @inheritdoc INitroAttestations
    function isTrusted(bytes32 id) public view returns (bool) {
        if (links[id].certificate == 0) return false;
        for (; id != 0; id = links[id].parent) {
            if (revoked[links[id].certificate]) return false;
        }
        return true;
    }

    /// @inheritdoc INitroAttestations
    function isValidAt(bytes32 id, uint64 time) external view returns (bool) {
        return isTrusted(id) && links[id].notBefore <= time && time <= links[id].notAfter;
    }

    // ------------------------------------------------------------------ documents

    /// @inheritdoc INitroAttestations
    /// @dev In this order: is it a document, of the root, under a chain that holds now, signed by it, of real code.
    function verifyDocument(bytes calldata document, bytes calldata hints) external view returns (Verified memory) {
        AttestationDocument.Parsed memory parsed = AttestationDocument.read(document);
        bytes32 leaf = _chainOf(document, parsed);
        Link storage link = links[leaf];
        // An authority as leaf could sign documents nobody issued it for.
        if (link.mayCertify || !link.maySign) revert NotALeaf();
        if (block.timestamp > link.notAfter) revert ChainExpired(link.notAfter);
        if (block.timestamp < link.notBefore) revert ChainNotYetValid(link.notBefore);
        bytes memory signed = AttestationDocument.signedBytes(document, parsed);
        if (!_isSigned(signed, parsed.signature, link.key, hints)) revert SignatureInvalid();
        bytes32 image = keccak256(parsed.registers);
        if (image == NOTHING_MEASURED) revert DebugMode();
        return Verified(parsed.timestampMs, image, leaf, parsed.nonce, parsed.userData, parsed.publicKey);
    }

    /// @dev Of the certificates that the document carries, each under the one before it.
    function _chainOf(bytes calldata document, AttestationDocument.Parsed memory parsed)
        private
        view
        returns (bytes32 id)
    {
        (Cbor.Items memory items, uint256 place) = Cbor.readItems(document, parsed.bundleStart, Cbor.LIST);
        bool isThere;
        for ((isThere, place) = Cbor.hasNext(document, place, items); isThere;) {
            bytes calldata certificate;
            (certificate, place) = Cbor.readString(document, place, Cbor.BYTES);
            if (id == 0 && sha256(certificate) != rootHash) revert RootUnknown();
            id = _below(id, certificate);
            (isThere, place) = Cbor.hasNext(document, place, items);
        }
        return _below(id, document[parsed.leafStart:parsed.leafEnd]);
    }

    function _below(bytes32 parent, bytes calldata certificate) private view returns (bytes32 id) {
        id = _idOf(parent, keccak256(certificate));
        bytes32 signed = links[id].certificate;
        if (signed == 0) revert ChainUnknown(id);
        if (revoked[signed]) revert ChainRevoked(signed);
    }

    // ------------------------------------------------------------------

    function _idOf(bytes32 parent, bytes32 certificate) private pure returns (bytes32) {
        return keccak256(abi.encode(parent, certificate));
    }

    function _linkOf(X509.Certificate memory read, Link memory above, bytes32 parent, bytes32 signed)
        private
        pure
        returns (Link memory link)
    {
        link.parent = parent;
        link.certificate = signed;
        link.notBefore = read.notBefore > above.notBefore ? read.notBefore : above.notBefore;
        link.notAfter = read.notAfter < above.notAfter ? read.notAfter : above.notAfter;
        uint256 left = above.below == X509.UNLIMITED ? X509.UNLIMITED : above.below == 0 ? 0 : above.below - 1;
        link.below = uint16(read.below < left ? read.below : left);
        // A leaf as authority could sign certificates nobody issued it for.
        link.mayCertify = read.isAuthority && read.mayCertify;
        link.maySign = !read.isAuthority && read.maySign;
        link.subject = read.subject;
        bytes memory key = read.key;
        bytes32[3] memory words;
        assembly ("memory-safe") {
            mcopy(words, add(key, 32), 96)
        }
        link.key = words;
    }

    /// @dev ECDSA on P-384 over SHA-384. AWS does not normalise s, so both halves are accepted: who holds a signature can
    /// make a second one, and nothing may tell documents apart by their bytes.
    function _isSigned(bytes memory message, bytes memory signature, bytes32[3] memory key, bytes calldata hints)
        private
        view
        returns (bool)
    {
        (bytes32 hi, bytes16 lo) = Sha384.hash(message);
        return p384.verify(hi, lo, signature, abi.encodePacked(key), hints);
    }
}
