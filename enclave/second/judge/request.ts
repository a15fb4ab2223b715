/** The two requests that are judged, read from a frame's type and body. SPEC, section 9. Nothing here is believed yet. */
import { Malformed, Reader } from "./bytes.ts";

export interface Domain {
  readonly chainId: bigint;
  /** 20 bytes. */
  readonly pool: Uint8Array;
}

export interface AttestRequest extends Domain {
  readonly type: "attest";
  readonly kindId: number;
  readonly deadline: bigint;
  /** 256 bytes. */
  readonly proof: Uint8Array;
  readonly signals: readonly bigint[];
  readonly ext: Uint8Array;
}

export interface RootRequest extends Domain {
  readonly type: "attest-root";
  readonly fromIndex: bigint;
  /** 32 bytes. */
  readonly headBefore: Uint8Array;
  readonly frontier: readonly bigint[];
  readonly leaves: readonly bigint[];
}

export const ATTEST = 6;
export const ATTEST_ROOT = 7;
export const PROOF_BYTES = 256;
const MAX_LEAVES = 256;

/** Undefined for another type, and for a body that is not exactly of its type's layout. */
export function readRequest(type: number, body: Uint8Array): AttestRequest | RootRequest | undefined {
  try {
    const reader = new Reader(body);
    if (type === ATTEST) return readAttest(reader);
    if (type === ATTEST_ROOT) return readRoot(reader);
    return undefined;
  } catch (error) {
    if (error instanceof Malformed) return undefined;
    throw error;
  }
}

const readDomain = (reader: Reader): Domain => ({ chainId: reader.number(8), pool: reader.bytes(20) });

function readAttest(reader: Reader): AttestRequest {
  const request: AttestRequest = {
    type: "attest",
    ...readDomain(reader),
    kindId: reader.count(1),
    deadline: reader.number(8),
    proof: reader.bytes(PROOF_BYTES),
    signals: reader.words(reader.count(1)),
    ext: reader.bytes(reader.count(4)),
  };
  reader.end();
  return request;
}

function readRoot(reader: Reader): RootRequest {
  const request: RootRequest = {
    type: "attest-root",
    ...readDomain(reader),
    fromIndex: reader.number(8),
    headBefore: reader.bytes(32),
    frontier: reader.words(reader.count(1)),
    leaves: reader.words(reader.count(2)),
  };
  reader.end();
  if (request.leaves.length < 1 || request.leaves.length > MAX_LEAVES) throw new Malformed();
  return request;
}
