/**
 * The host's half of the frames between proxy and enclave: requests to bytes, bytes to replies. The
 * enclave does not use it, so it stays outside the image. A reply is untrusted until it is read here.
 */
import { SIGNATURE_BYTES } from "../attestation.ts";
import { asField } from "../brands.ts";
import {
  addressBytes,
  ByteReader,
  concatBytes,
  mustFromHex,
  toAddress,
  toBytes32,
  uintToBytes,
  word,
} from "../bytes.ts";
import {
  MESSAGE_TYPES,
  PHASES,
  REFUSALS,
  REFUSED,
  REPLY,
  writeFrame,
  type EnclaveReply,
  type EnclaveRequest,
  type Enveloped,
} from "../enclave-messages.ts";
import { PROOF_BYTES } from "../proof.ts";

/** The vsock port an enclave listens on. */
export const ENCLAVE_PORT = 5000;

/** A whole frame. Throws when a field does not fit its layout, which is a fault of the sender's own code. */
export function encodeRequest(requestId: number, request: EnclaveRequest): Uint8Array {
  return writeFrame(requestId, MESSAGE_TYPES[request.type], requestBody(request));
}

function requestBody(request: EnclaveRequest): Uint8Array {
  switch (request.type) {
    case "status":
    case "release-request":
      return new Uint8Array(0);
    case "attestation":
      return measured(request.nonce, 1);
    case "genesis":
      return measured(request.challenge, 1);
    case "restore":
      return concatBytes(
        measured(request.sealedKey, 2),
        measured(request.birthCertificate, 2),
        measured(request.envelope, 2),
      );
    case "attest":
      return concatBytes(
        uintToBytes(request.chainId, 8),
        addressBytes(request.pool),
        uintToBytes(BigInt(request.kindId), 1),
        uintToBytes(request.deadline, 8),
        exactly(request.proof, PROOF_BYTES),
        words(request.signals, 1),
        measured(request.ext, 4),
      );
    case "attest-root":
      return concatBytes(
        uintToBytes(request.chainId, 8),
        addressBytes(request.pool),
        uintToBytes(request.fromIndex, 8),
        mustFromHex(request.headBefore),
        words(request.frontier, 1),
        words(request.leaves, 2),
      );
  }
}

/** `payload` is a frame without version and length. Undefined means a reply that no honest enclave sends. */
export function decodeReply(payload: Uint8Array): Enveloped<EnclaveReply> | undefined {
  const reader = new ByteReader(payload);
  const requestId = reader.number(4);
  const type = reader.number(1);
  const message = readReply(type, reader, payload.length - 5);
  return message !== undefined && reader.done() ? { requestId, message } : undefined;
}

function readReply(type: number, reader: ByteReader, bodyBytes: number): EnclaveReply | undefined {
  switch (type) {
    case MESSAGE_TYPES.status | REPLY: {
      const phase = PHASES[reader.number(1)];
      const signer = reader.take(20);
      const configuration = reader.take(32);
      const circuits = reader.take(32);
      if (phase === undefined || circuits.length !== 32) return undefined;
      return {
        type: "status",
        phase,
        signer: toAddress(signer),
        configurationHash: toBytes32(configuration),
        circuitsHash: toBytes32(circuits),
      };
    }
    case MESSAGE_TYPES.attestation | REPLY:
      return { type: "attestation", document: reader.take(bodyBytes) };
    case MESSAGE_TYPES.genesis | REPLY: {
      const sealedKey = reader.take(reader.number(2));
      const left = bodyBytes - 2 - sealedKey.length;
      return left < 0 ? undefined : { type: "genesis", sealedKey, birthCertificate: reader.take(left) };
    }
    case MESSAGE_TYPES["release-request"] | REPLY:
      return { type: "release-request", document: reader.take(bodyBytes) };
    case MESSAGE_TYPES.restore | REPLY: {
      const signer = reader.take(20);
      return signer.length === 20 ? { type: "restore", signer: toAddress(signer) } : undefined;
    }
    case MESSAGE_TYPES.attest | REPLY: {
      const statementHash = reader.take(32);
      const proofHash = reader.take(32);
      const signature = reader.take(SIGNATURE_BYTES);
      if (signature.length !== SIGNATURE_BYTES) return undefined;
      return {
        type: "attest",
        statementHash: toBytes32(statementHash),
        proofHash: toBytes32(proofHash),
        signature,
      };
    }
    case MESSAGE_TYPES["attest-root"] | REPLY: {
      const oldRoot = asField(reader.uint(32));
      const newRoot = asField(reader.uint(32));
      const toIndex = reader.uint(8);
      const headAfter = reader.take(32);
      const signature = reader.take(SIGNATURE_BYTES);
      if (oldRoot === undefined || newRoot === undefined || signature.length !== SIGNATURE_BYTES)
        return undefined;
      return { type: "attest-root", oldRoot, newRoot, toIndex, headAfter: toBytes32(headAfter), signature };
    }
    case REFUSED: {
      const code = REFUSALS[reader.number(1)];
      return code === undefined ? undefined : { type: "refused", code };
    }
    default:
      return undefined;
  }
}

/** Its length in front. */
function measured(bytes: Uint8Array, lengthBytes: number): Uint8Array {
  return concatBytes(uintToBytes(BigInt(bytes.length), lengthBytes), bytes);
}

function words(values: readonly bigint[], countBytes: number): Uint8Array {
  return concatBytes(uintToBytes(BigInt(values.length), countBytes), ...values.map(word));
}

function exactly(bytes: Uint8Array, length: number): Uint8Array {
  if (bytes.length !== length) throw new RangeError("field has the wrong length");
  return bytes;
}
