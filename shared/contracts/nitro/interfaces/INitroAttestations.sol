// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

/// @title Attestation documents of AWS Nitro, verified on the chain
/// @notice The same verdicts as shared/protocol/attestation-document.ts, under one pinned root. Certificates are verified
/// once, one a transaction, root first; a document needs its whole chain there. Anyone may do either.
interface INitroAttestations {
    /// @param timestampMs Unix milliseconds, by the platform's clock
    /// @param image keccak256(PCR0 ‖ PCR1 ‖ PCR2), 48 bytes each
    /// @param leaf the chain's id down to the certificate that signed, see `verifyCertificate`
    /// @param nonce empty where there is none, as the two after it
    struct Verified {
        uint64 timestampMs;
        bytes32 image;
        bytes32 leaf;
        bytes nonce;
        bytes userData;
        bytes publicKey;
    }

    /// @param certificate as in `revoke`
    event CertificateVerified(bytes32 indexed id, bytes32 indexed certificate, bytes32 parent);
    event CertificateRevoked(bytes32 indexed certificate);

    /// SHA-256 of the DER of the one root, permanently.
    function rootHash() external view returns (bytes32);
    /// @notice May revoke, and nothing else.
    function revoker() external view returns (address);

    /// @notice Verifies a certificate under one that is verified. Dates are looked at when a document comes, not here.
    /// Again is no error and changes nothing.
    /// @param parent id of the chain down to its issuer; 0 for the root
    /// @param hints for its signature; empty for the root
    /// @return id keccak256(parent ‖ keccak256(DER)): of the chain down to here. Two certificates of one name and key, as a
    /// platform makes them when it renews one, give what they issued two ids, and neither stands in the other's place
    function verifyCertificate(bytes calldata certificate, bytes32 parent, bytes calldata hints)
        external
        returns (bytes32 id);
    /// @notice What a document says. Reverts unless its signature is good, its chain is verified down from the root, none
    /// of it is revoked, all of it is valid now, and the enclave was not in debug mode.
    function verifyDocument(bytes calldata document, bytes calldata hints) external view returns (Verified memory);

    /// @notice Whether the chain is verified and nothing in it is revoked. Dates do not matter.
    function isTrusted(bytes32 id) external view returns (bool);
    /// @notice The same, and whether all of it is valid then, both ends included. Unix seconds.
    function isValidAt(bytes32 id, uint64 time) external view returns (bool);
    /// @notice Permanently, and everything that it issued. Also one that was never seen.
    /// @param certificate keccak256 of what its issuer signed (tbsCertificate, in DER), and not of the whole: its signature
    /// has a second form, which anyone can make
    function revoke(bytes32 certificate) external;

    error NotRevoker();

    // ------------------------------------------------------------------ of a certificate

    /// Longer than a document may carry (1,024 bytes).
    error CertificateTooLong();
    /// Not exactly one X.509 certificate of version 3, in DER, of P-384 and SHA-384.
    error CertificateMalformed();
    /// Not the root's.
    error RootUnknown();
    /// No chain of that id is verified.
    error ChainUnknown(bytes32 id);
    /// The parent may sign no certificates, or not one more authority.
    error NotAnAuthority(bytes32 parent);
    /// It names another issuer.
    error IssuerMismatch();
    /// Also of a document.
    error SignatureInvalid();

    // ------------------------------------------------------------------ of a document

    /// More than 16,384 bytes.
    error DocumentTooLong();
    /// Not exactly one COSE_Sign1 with what AWS puts in it.
    error DocumentMalformed();
    /// It is signed by an authority, or by a certificate that may sign none.
    error NotALeaf();
    error ChainRevoked(bytes32 certificate);
    error ChainExpired(uint64 notAfter);
    error ChainNotYetValid(uint64 notBefore);
    /// PCR0 to PCR2 are zero: the host reads the enclave's memory.
    error DebugMode();
}
