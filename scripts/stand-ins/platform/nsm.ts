/**
 * A security module for one machine without Nitro hardware: the same messages, randomness from the
 * operating system, and attestation documents of the real form (COSE_Sign1 with ES384, certificate
 * chain, PCRs) under a root of its own. It vouches for files, not for isolation. Development only.
 */
import { randomBytes, sign } from "node:crypto";
import { createServer, type Server } from "node:net";
import { decodeCbor, encodeCbor, entryOf, type Cbor } from "../../../shared/protocol/cbor.ts";
import type { Measurement } from "../../image/measurement.ts";
import { makeIntermediate, makeLeaf, type Authority } from "../../image/certificates.ts";

/** What the real module accepts (AWS NSM API). */
const LIMITS = { user_data: 512, nonce: 512, public_key: 1024 } as const;
const MAX_REQUEST_BYTES = 0x1000;
const RANDOM_BYTES = 256;
/** Leaves live three hours; a new one is made well before. */
const LEAF_RENEWAL_MS = 3_600_000;
/** Intermediates live twenty days. */
const INTERMEDIATE_RENEWAL_MS = 24 * 3_600_000;

export interface SimulatedModule {
  answer(request: Uint8Array): Uint8Array;
}

/** What a module says in a document, in Nitro's order; `certificate` and `cabundle` are filled in by who signs. */
export type Payload = ReadonlyMap<string, Cbor>;

/**
 * Signs as one module, under certificates that are renewed as Nitro's are. `clock` is the module's own, which no host sets;
 * it may jump, and certificates follow it.
 */
export function documentSigner(
  root: Authority,
  moduleId: string,
  clock = (): Date => new Date(),
): (payload: Payload) => Uint8Array {
  const intermediateAt = (now: Date): { made: number; authority: Authority } => ({
    made: now.getTime(),
    authority: makeIntermediate(root, now),
  });
  let intermediate = intermediateAt(clock());
  let leaf = { made: 0, authority: intermediate.authority };

  return (payload) => {
    const now = clock();
    if (isOver(intermediate.made, INTERMEDIATE_RENEWAL_MS, now)) intermediate = intermediateAt(now);
    if (leaf.made < intermediate.made || isOver(leaf.made, LEAF_RENEWAL_MS, now)) {
      leaf = { made: now.getTime(), authority: makeLeaf(intermediate.authority, moduleId, now) };
    }
    const { certificate, privateKey } = leaf.authority;
    const chain = new Map<string, Cbor>([
      ["certificate", certificate],
      ["cabundle", [root.certificate, intermediate.authority.certificate]],
    ]);
    const whole = encodeCbor(new Map([...payload].map(([name, value]) => [name, chain.get(name) ?? value])));
    // COSE_Sign1 (RFC 9052 4.2 and 4.4), alg −35 = ES384 (RFC 9053 2.1), untagged as Nitro sends it.
    const header = encodeCbor(new Map([[1, -35]]));
    const signed = encodeCbor(["Signature1", header, new Uint8Array(0), whole]);
    const signature = sign("sha384", signed, { key: privateKey, dsaEncoding: "ieee-p1363" });
    return encodeCbor([header, new Map(), whole, new Uint8Array(signature)]);
  };
}

/** Also what was made later than now, where a chain went back. */
function isOver(made: number, lifeMs: number, now: Date): boolean {
  return now.getTime() < made || now.getTime() - made > lifeMs;
}

/** What a caller of the module chooses of a document. */
export interface DocumentFields {
  readonly userData: Cbor;
  readonly nonce: Cbor;
  readonly publicKey: Cbor;
  /** Default: the platform's time. */
  readonly timestampMs?: number;
}

export interface SimulatedPlatform {
  /** Of an enclave with this measurement, made now. */
  document(measurement: Measurement, fields: DocumentFields): Uint8Array;
}

export function simulatedPlatform(root: Authority, clock = (): Date => new Date()): SimulatedPlatform {
  const moduleId = `i-simulated-enc${randomBytes(8).toString("hex")}`;
  const signed = documentSigner(root, moduleId, clock);
  return {
    document: (measurement, { userData, nonce, publicKey, timestampMs }) =>
      signed(
        new Map<string, Cbor>([
          ["module_id", moduleId],
          ["digest", "SHA384"],
          ["timestamp", timestampMs ?? clock().getTime()],
          ["pcrs", registers(measurement)],
          ["certificate", null],
          ["cabundle", null],
          ["public_key", publicKey],
          ["user_data", userData],
          ["nonce", nonce],
        ]),
      ),
  };
}

/** `clock` is its own, which no host sets. */
export function simulatedModule(
  root: Authority,
  measurement: Measurement,
  clock = (): Date => new Date(),
): SimulatedModule {
  const platform = simulatedPlatform(root, clock);
  return {
    answer(request) {
      const message = decodeCbor(request);
      if (message === "GetRandom") {
        return encodeCbor(
          new Map([["GetRandom", new Map([["random", new Uint8Array(randomBytes(RANDOM_BYTES))]])]]),
        );
      }
      const attestation = entryOf(message, "Attestation");
      if (!(attestation instanceof Map)) return failure("InvalidOperation");
      const fields = (["user_data", "nonce", "public_key"] as const).map((name) => {
        const value = entryOf(attestation, name) ?? null;
        return value === null || (value instanceof Uint8Array && value.length <= LIMITS[name])
          ? value
          : undefined;
      });
      const [userData, nonce, publicKey] = fields;
      if (userData === undefined || nonce === undefined || publicKey === undefined)
        return failure("InputTooLarge");
      const document = platform.document(measurement, { userData, nonce, publicKey });
      return encodeCbor(new Map([["Attestation", new Map([["document", document]])]]));
    },
  };
}

/** The module on a Unix socket: length[4] big-endian, CBOR; any number of requests a connection. */
export function serveModule(module: SimulatedModule): Server {
  return createServer((socket) => {
    let held = Buffer.alloc(0);
    socket.on("error", () => undefined);
    socket.on("data", (chunk) => {
      held = Buffer.concat([held, chunk]);
      while (held.length >= 4) {
        const length = held.readUInt32BE(0);
        if (length > MAX_REQUEST_BYTES) {
          socket.destroy();
          return;
        }
        if (held.length < 4 + length) return;
        const reply = module.answer(new Uint8Array(held.subarray(4, 4 + length)));
        held = held.subarray(4 + length);
        const size = Buffer.alloc(4);
        size.writeUInt32BE(reply.length);
        socket.write(Buffer.concat([size, reply]));
      }
    });
  });
}

/** Sixteen registers as Nitro reports them; 3 to 15 are empty here. */
function registers({ pcr0, pcr1, pcr2 }: Measurement): Map<number, Uint8Array> {
  const measured = [pcr0, pcr1, pcr2].map((hex) => new Uint8Array(Buffer.from(hex, "hex")));
  return new Map(Array.from({ length: 16 }, (_, i) => [i, measured[i] ?? new Uint8Array(48)]));
}

function failure(code: "InvalidOperation" | "InputTooLarge"): Uint8Array {
  return encodeCbor(new Map([["Error", code]]));
}
