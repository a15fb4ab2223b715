/**
 * A security module for one machine without Nitro hardware: the same messages, randomness from the
 * operating system, and attestation documents of the real form (COSE_Sign1 with ES384, certificate
 * chain, PCRs) under a root of its own. It vouches for files, not for isolation. Development only.
 */
import { randomBytes, sign } from "node:crypto";
import { createServer, type Server } from "node:net";
import { decodeCbor, encodeCbor, entryOf, type Cbor } from "../../shared/protocol/cbor.ts";
import type { Measurement } from "../product/image/measurement.ts";
import { makeIntermediate, makeLeaf, type Authority } from "../product/image/certificates.ts";

/** What the real module accepts (AWS NSM API). */
const LIMITS = { user_data: 512, nonce: 512, public_key: 1024 } as const;
const MAX_REQUEST_BYTES = 0x1000;
const RANDOM_BYTES = 256;
/** Leaves live three hours; a new one is made well before. */
const LEAF_RENEWAL_MS = 3_600_000;

export interface SimulatedModule {
  answer(request: Uint8Array): Uint8Array;
}

export function simulatedModule(root: Authority, measurement: Measurement): SimulatedModule {
  const intermediate = makeIntermediate(root, new Date());
  const moduleId = `i-simulated-enc${randomBytes(8).toString("hex")}`;
  let leaf = { made: 0, authority: intermediate };

  const document = (userData: Cbor, nonce: Cbor, publicKey: Cbor): Uint8Array => {
    const now = new Date();
    if (now.getTime() - leaf.made > LEAF_RENEWAL_MS) {
      leaf = { made: now.getTime(), authority: makeLeaf(intermediate, moduleId, now) };
    }
    const payload = encodeCbor(
      new Map<string, Cbor>([
        ["module_id", moduleId],
        ["digest", "SHA384"],
        ["timestamp", now.getTime()],
        ["pcrs", registers(measurement)],
        ["certificate", leaf.authority.certificate],
        ["cabundle", [root.certificate, intermediate.certificate]],
        ["public_key", publicKey],
        ["user_data", userData],
        ["nonce", nonce],
      ]),
    );
    // COSE_Sign1 (RFC 9052 4.2 and 4.4), alg −35 = ES384 (RFC 9053 2.1), untagged as Nitro sends it.
    const header = encodeCbor(new Map([[1, -35]]));
    const signed = encodeCbor(["Signature1", header, new Uint8Array(0), payload]);
    const signature = sign("sha384", signed, { key: leaf.authority.privateKey, dsaEncoding: "ieee-p1363" });
    return encodeCbor([header, new Map(), payload, new Uint8Array(signature)]);
  };

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
      return encodeCbor(
        new Map([["Attestation", new Map([["document", document(userData, nonce, publicKey)]])]]),
      );
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
