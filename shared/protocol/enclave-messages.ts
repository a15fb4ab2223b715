/**
 * The language between proxy and enclave: length-prefixed binary frames with fixed layouts, and the
 * enclave's half of the codec. The other half is host/enclave-host.ts; each treats what it reads as untrusted.
 *
 * Frame: version[1] = 1, length[4] big-endian = bytes that follow, requestId[4], type[1], body.
 * One reply for each request, under the same requestId, in any order.
 */
import { SIGNATURE_BYTES } from "./attestation.ts";
import { asField } from "./brands.ts";
import { ByteReader, bytesToUint, concatBytes, uintToBytes } from "./bytes.ts";
import * as field from "./layouts.ts";
import { PROOF_BYTES } from "./proof.ts";
import { MAX_UPDATE_LEAVES } from "./tree.ts";

export const FRAME_VERSION = 1;
/** Version and length. */
export const FRAME_HEADER_BYTES = 5;
/** Most bytes after the header. An attest-root of 256 leaves needs under 10 KiB. */
export const MAX_FRAME_BYTES = 65_536;
/** Limits of what a caller chooses of an attestation document: a live one's nonce, a genesis' challenge. */
export const NONCE_BYTES = { min: 16, max: 64 } as const;

/** A shorter one could be guessed beforehand, and an old document shown as a fresh one. */
export function isNonce({ length }: Uint8Array): boolean {
  return length >= NONCE_BYTES.min && length <= NONCE_BYTES.max;
}

export type EnclavePhase = "booting" | "serving" | "halted";
/** The position is the wire code. */
export const PHASES: readonly EnclavePhase[] = ["booting", "serving", "halted"];

/** Why the enclave would not. The position is the wire code: append only. */
export const REFUSALS = [
  "WRONG_PHASE",
  "BUSY",
  "UNKNOWN_KIND",
  "SIGNAL_COUNT",
  "SIGNAL_RANGE",
  "PROOF_NOT_CANONICAL",
  "PROOF_NOT_ON_CURVE",
  "PROOF_NOT_IN_SUBGROUP",
  "PROOF_AT_INFINITY",
  "EXT_MALFORMED",
  "NULLIFIERS_NOT_DISTINCT",
  "CONTEXT_MISMATCH",
  "STATEMENT_INVALID",
  "PROOF_INVALID",
  "FRONTIER_INVALID",
  "LEAVES_INVALID",
  "NONCE_INVALID",
  "PLATFORM_UNAVAILABLE",
  "RESTORE_REFUSED",
] as const;
export type Refusal = (typeof REFUSALS)[number];

const { inOrder } = field;
const document = inOrder({ document: field.rest });
const signature = field.fixed(SIGNATURE_BYTES);
const canonical = field.only(field.uint(32), asField);
const someLeaves = field.only(field.words(2), (leaves) =>
  leaves.length > 0 && leaves.length <= MAX_UPDATE_LEAVES ? leaves : undefined,
);

/** The place, from 1, is the type on the wire: append only. A reply has its request's type with the top bit set. */
export const REQUESTS = {
  status: inOrder({}),
  /** A live attestation document over this nonce (16–64 bytes). */
  attestation: inOrder({ nonce: field.bytes(1) }),
  /** A new key, sealed and forgotten, and its birth certificate over this challenge (16–64 bytes). */
  genesis: inOrder({ challenge: field.bytes(1) }),
  /** A document with a fresh ephemeral key, for which KMS encrypts what a sealed key holds. */
  "release-request": inOrder({}),
  /** A pair that genesis made, and KMS's answer (`CiphertextForRecipient`) for the last release-request. */
  restore: inOrder({ sealedKey: field.bytes(2), birthCertificate: field.bytes(2), envelope: field.bytes(2) }),
  attest: inOrder({
    chainId: field.uint(8),
    pool: field.address,
    kindId: field.number(1),
    deadline: field.uint(8),
    /** Uncompressed, see proof.ts. */
    proof: field.fixed(PROOF_BYTES),
    /** In circuit order, not yet known to be canonical. */
    signals: field.words(1),
    ext: field.bytes(4),
  }),
  "attest-root": inOrder({
    chainId: field.uint(8),
    pool: field.address,
    fromIndex: field.uint(8),
    headBefore: field.bytes32,
    /** As `Frontier.nodes()` gives it, not yet known to be canonical. */
    frontier: field.words(1),
    leaves: someLeaves,
  }),
};
export type MessageType = keyof typeof REQUESTS;
export const MESSAGE_TYPES = Object.keys(REQUESTS) as readonly MessageType[];
export const REPLY = 0x80;
export const REFUSED = 0xff;

export const REPLIES = {
  status: inOrder({
    phase: field.oneOf(PHASES),
    /** Zero address before there is a key. */
    signer: field.address,
    /** Names circuits, KMS key and attestation root of the image; zero, as the next, while it is not read. */
    configurationHash: field.bytes32,
    /** keccak256 over the verification-key hashes in order of kind id: which circuits this image knows. */
    circuitsHash: field.bytes32,
  }),
  attestation: document,
  genesis: inOrder({ sealedKey: field.bytes(2), birthCertificate: field.rest }),
  "release-request": document,
  restore: inOrder({ signer: field.address }),
  attest: inOrder({ statementHash: field.bytes32, proofHash: field.bytes32, signature }),
  "attest-root": inOrder({
    oldRoot: canonical,
    newRoot: canonical,
    toIndex: field.uint(8),
    headAfter: field.bytes32,
    signature,
  }),
};

type Messages<Bodies extends Record<MessageType, unknown>> = {
  [Type in MessageType]: { readonly type: Type } & field.Value<Bodies[Type]>;
};
type Requests = Messages<typeof REQUESTS>;
export type EnclaveRequest = Requests[MessageType];
export type EnclaveReply =
  Messages<typeof REPLIES>[MessageType] | { readonly type: "refused"; readonly code: Refusal };
export type RestoreRequest = Requests["restore"];
export type AttestRequest = Requests["attest"];
export type AttestRootRequest = Requests["attest-root"];

export function refused(code: Refusal): EnclaveReply {
  return { type: "refused", code };
}

export interface Enveloped<T> {
  readonly requestId: number;
  readonly message: T;
}

/** `payload` is a frame without version and length. Undefined means a bad frame: close the connection. */
export function decodeRequest(payload: Uint8Array): Enveloped<EnclaveRequest> | undefined {
  const reader = new ByteReader(payload);
  const requestId = reader.number(4);
  const type = MESSAGE_TYPES[reader.number(1) - 1];
  const message = type && { type, ...REQUESTS[type].read(reader) };
  return message && reader.done() ? { requestId, message: message as EnclaveRequest } : undefined;
}

/** A whole frame. */
export function encodeReply(requestId: number, reply: EnclaveReply): Uint8Array {
  if (reply.type === "refused")
    return writeFrame(requestId, REFUSED, Uint8Array.of(REFUSALS.indexOf(reply.code)));
  const codec = REPLIES[reply.type] as field.Codec<EnclaveReply>;
  return writeFrame(requestId, typeCode(reply.type) | REPLY, codec.write(reply));
}

export function typeCode(type: MessageType): number {
  return MESSAGE_TYPES.indexOf(type) + 1;
}

/**
 * Cuts a byte stream into frame payloads. `push` returns the payloads that became complete, or
 * undefined at the first sign of another language (wrong version, a length below 5 or above the cap)
 * and ever after: the caller then closes that connection. Holds at most one frame, and copies each
 * byte once however it trickles in.
 */
export class FrameSplitter {
  readonly #header = new Uint8Array(FRAME_HEADER_BYTES);
  /** Of the frame being read; absent until its header is complete. */
  #payload: Uint8Array | undefined;
  /** Bytes read of the header, or of the payload once there is one. */
  #filled = 0;
  #broken = false;

  push(chunk: Uint8Array): Uint8Array[] | undefined {
    const payloads: Uint8Array[] = [];
    let at = 0;
    while (!this.#broken && at < chunk.length) {
      const target: Uint8Array = this.#payload ?? this.#header;
      const part = chunk.subarray(at, at + target.length - this.#filled);
      target.set(part, this.#filled);
      this.#filled += part.length;
      at += part.length;
      if (this.#payload === undefined) this.#readHeader();
      else if (this.#filled === target.length) {
        payloads.push(target);
        this.#payload = undefined;
        this.#filled = 0;
      }
    }
    return this.#broken ? undefined : payloads;
  }

  #readHeader(): void {
    this.#broken = this.#header[0] !== FRAME_VERSION;
    if (this.#broken || this.#filled < FRAME_HEADER_BYTES) return;
    const length = Number(bytesToUint(this.#header.subarray(1)));
    this.#broken = length < 5 || length > MAX_FRAME_BYTES;
    if (this.#broken) return;
    this.#payload = new Uint8Array(length);
    this.#filled = 0;
  }
}

/** Throws when the body is too long for a frame, which is a fault of the sender's own code. */
export function writeFrame(requestId: number, type: number, body: Uint8Array): Uint8Array {
  const length = 5 + body.length;
  if (length > MAX_FRAME_BYTES) throw new RangeError("frame is too long");
  const head = [uintToBytes(FRAME_VERSION, 1), uintToBytes(length, 4), uintToBytes(requestId, 4)];
  return concatBytes(...head, uintToBytes(type, 1), body);
}
