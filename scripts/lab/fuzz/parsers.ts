// The parsers that are fuzzed, as targets.ts loads them: through copies of their modules that carry probes.
export { readAttestation } from "../../../shared/protocol/attestation-document.ts";
export { decodeCbor } from "../../../shared/protocol/cbor.ts";
export { decodeRequest, FrameSplitter } from "../../../shared/protocol/enclave-messages.ts";
export { readEnvelope } from "../../../shared/protocol/kms-envelope.ts";
export { decodeUserData } from "../../../shared/protocol/user-data.ts";
export { readCertificate } from "../../../shared/protocol/x509.ts";
