/**
 * The language between proxy and enclave: length-prefixed binary frames with fixed layouts, and the
 * enclave's half of the codec. The other half is host/enclave-host.ts; each treats what it reads as untrusted.
 *
 * Frame: version[1] = 1, length[4] big-endian = bytes that follow, requestId[4], type[1], body.
 * One reply for each request, under the same requestId, in any order.
 */
import type { Address, Bytes32, Field } from "./brands.ts";
import {
  addressBytes,
  ByteReader,
  bytesToUint,
  concatBytes,
  mustFromHex,
  toAddress,
  toBytes32,
  uintToBytes,
  word,
} from "./bytes.ts";
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

/** A reply has its request's type with the top bit set. */
export const MESSAGE_TYPES = {
  status: 1,
  attestation: 2,
  genesis: 3,
  "release-request": 4,
  restore: 5,
  attest: 6,
  "attest-root": 7,
} as const;
export const REPLY = 0x80;
export const REFUSED = 0xff;

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

export type EnclaveRequest =
  | { readonly type: "status" }
  /** A live attestation document over this nonce (16–64 bytes). */
  | { readonly type: "attestation"; readonly nonce: Uint8Array }
  /** A new key, sealed and forgotten, and its birth certificate over this challenge (16–64 bytes). */
  | { readonly type: "genesis"; readonly challenge: Uint8Array }
  /** A document with a fresh ephemeral key, for which KMS encrypts what a sealed key holds. */
  | { readonly type: "release-request" }
  | RestoreRequest
  | AttestRequest
  | AttestRootRequest;

/** A pair that genesis made, and KMS's answer (`CiphertextForRecipient`) for the last release-request. */
export interface RestoreRequest {
  readonly type: "restore";
  readonly sealedKey: Uint8Array;
  readonly birthCertificate: Uint8Array;
  readonly envelope: Uint8Array;
}

/** `proof` is uncompressed (256 bytes, see proof.ts), signals are 32-byte words in circuit order, not yet known to be canonical. */
export interface AttestRequest {
  readonly type: "attest";
  readonly chainId: bigint;
  readonly pool: Address;
  readonly kindId: number;
  readonly deadline: bigint;
  readonly proof: Uint8Array;
  readonly signals: readonly bigint[];
  readonly ext: Uint8Array;
}

/** `frontier` as `Frontier.nodes()` gives it, not yet known to be canonical; 1 to 256 leaves. */
export interface AttestRootRequest {
  readonly type: "attest-root";
  readonly chainId: bigint;
  readonly pool: Address;
  readonly fromIndex: bigint;
  readonly headBefore: Bytes32;
  readonly frontier: readonly bigint[];
  readonly leaves: readonly bigint[];
}

export type EnclaveReply =
  | {
      readonly type: "status";
      readonly phase: EnclavePhase;
      /** Zero address before there is a key. */
      readonly signer: Address;
      /** Names circuits, KMS key and attestation root of the image; zero, as the next, while it is not read. */
      readonly configurationHash: Bytes32;
      /** keccak256 over the verification-key hashes in order of kind id: which circuits this image knows. */
      readonly circuitsHash: Bytes32;
    }
  | { readonly type: "attestation"; readonly document: Uint8Array }
  | { readonly type: "genesis"; readonly sealedKey: Uint8Array; readonly birthCertificate: Uint8Array }
  | { readonly type: "release-request"; readonly document: Uint8Array }
  | { readonly type: "restore"; readonly signer: Address }
  | {
      readonly type: "attest";
      readonly statementHash: Bytes32;
      readonly proofHash: Bytes32;
      readonly signature: Uint8Array;
    }
  | {
      readonly type: "attest-root";
      readonly oldRoot: Field;
      readonly newRoot: Field;
      readonly toIndex: bigint;
      readonly headAfter: Bytes32;
      readonly signature: Uint8Array;
    }
  | { readonly type: "refused"; readonly code: Refusal };

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
  const message = readRequest(reader.number(1), reader);
  return message !== undefined && reader.done() ? { requestId, message } : undefined;
}

function readRequest(type: number, reader: ByteReader): EnclaveRequest | undefined {
  switch (type) {
    case MESSAGE_TYPES.status:
      return { type: "status" };
    case MESSAGE_TYPES.attestation:
      return { type: "attestation", nonce: reader.take(reader.number(1)) };
    case MESSAGE_TYPES.genesis:
      return { type: "genesis", challenge: reader.take(reader.number(1)) };
    case MESSAGE_TYPES["release-request"]:
      return { type: "release-request" };
    case MESSAGE_TYPES.restore:
      return {
        type: "restore",
        sealedKey: reader.take(reader.number(2)),
        birthCertificate: reader.take(reader.number(2)),
        envelope: reader.take(reader.number(2)),
      };
    case MESSAGE_TYPES.attest: {
      const chainId = reader.uint(8);
      const pool = reader.take(20);
      const kindId = reader.number(1);
      const deadline = reader.uint(8);
      const proof = reader.take(PROOF_BYTES);
      const signals = readWords(reader, 1);
      const ext = reader.take(reader.number(4));
      return pool.length === 20
        ? { type: "attest", chainId, pool: toAddress(pool), kindId, deadline, proof, signals, ext }
        : undefined;
    }
    case MESSAGE_TYPES["attest-root"]: {
      const chainId = reader.uint(8);
      const pool = reader.take(20);
      const fromIndex = reader.uint(8);
      const headBefore = reader.take(32);
      const frontier = readWords(reader, 1);
      const leaves = readWords(reader, 2);
      // A read that was short somewhere left no leaves either.
      if (leaves.length === 0 || leaves.length > MAX_UPDATE_LEAVES) return undefined;
      return {
        type: "attest-root",
        chainId,
        pool: toAddress(pool),
        fromIndex,
        headBefore: toBytes32(headBefore),
        frontier,
        leaves,
      };
    }
    default:
      return undefined;
  }
}

/** A whole frame. */
export function encodeReply(requestId: number, reply: EnclaveReply): Uint8Array {
  const type = reply.type === "refused" ? REFUSED : MESSAGE_TYPES[reply.type] | REPLY;
  return writeFrame(requestId, type, replyBody(reply));
}

function replyBody(reply: EnclaveReply): Uint8Array {
  switch (reply.type) {
    case "status":
      return concatBytes(
        Uint8Array.of(PHASES.indexOf(reply.phase)),
        addressBytes(reply.signer),
        mustFromHex(reply.configurationHash),
        mustFromHex(reply.circuitsHash),
      );
    case "attestation":
    case "release-request":
      return reply.document;
    case "genesis":
      return concatBytes(
        uintToBytes(BigInt(reply.sealedKey.length), 2),
        reply.sealedKey,
        reply.birthCertificate,
      );
    case "restore":
      return addressBytes(reply.signer);
    case "attest":
      return concatBytes(mustFromHex(reply.statementHash), mustFromHex(reply.proofHash), reply.signature);
    case "attest-root":
      return concatBytes(
        word(reply.oldRoot),
        word(reply.newRoot),
        uintToBytes(reply.toIndex, 8),
        mustFromHex(reply.headAfter),
        reply.signature,
      );
    case "refused":
      return Uint8Array.of(REFUSALS.indexOf(reply.code));
  }
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
  return concatBytes(
    Uint8Array.of(FRAME_VERSION),
    uintToBytes(BigInt(length), 4),
    uintToBytes(BigInt(requestId), 4),
    Uint8Array.of(type),
    body,
  );
}

function readWords(reader: ByteReader, countBytes: number): bigint[] {
  return reader.list(reader.number(countBytes), 32).map((part) => new ByteReader(part).uint(32));
}
