import assert from "node:assert/strict";
import { p384 } from "@noble/curves/nist.js";
import {
  MAX_DOCUMENT_BYTES,
  readAttestation,
  verifyAttestation,
  type AttestationFault,
  type AttestationPolicy,
  type VerifiedAttestation,
} from "../../../../shared/protocol/attestation-document.ts";
import { ZERO_BYTES32 } from "../../../../shared/protocol/brands.ts";
import { concatBytes } from "../../../../shared/protocol/bytes.ts";
import { decodeCbor, encodeCbor, itemsOf, type Cbor } from "../../../../shared/protocol/cbor.ts";
import { encodeUserData } from "../../../../shared/protocol/user-data.ts";
import {
  authority,
  authorityUsage,
  chainOf,
  documentOf,
  ecKey,
  hashOf,
  hex,
  KEYS,
  NOW,
  payloadOf,
  register,
  time,
  type ChainChanges,
} from "../../../support/crafted-attestation.ts";

const CHAIN = chainOf();
const POLICY: AttestationPolicy = { roots: [hashOf(CHAIN[0]!)], at: NOW };
const MEASUREMENT = { pcr0: "01".repeat(48), pcr1: "02".repeat(48), pcr2: "03".repeat(48) };

const documentWith = (fields: Readonly<Record<string, Cbor>>): Uint8Array =>
  documentOf(payloadOf(CHAIN, fields));
const verdict = (
  document: Uint8Array,
  policy: Partial<AttestationPolicy> = {},
): AttestationFault | undefined => {
  const result = verifyAttestation(document, { ...POLICY, ...policy });
  return typeof result === "string" ? result : undefined;
};
const accepted = (document: Uint8Array, policy: Partial<AttestationPolicy> = {}): VerifiedAttestation => {
  const result = verifyAttestation(document, { ...POLICY, ...policy });
  assert.ok(typeof result !== "string", typeof result === "string" ? result : "");
  return result;
};

describe("shared/protocol/attestation-document, what it says", () => {
  it("gives every field of a document that holds", () => {
    const fields = { public_key: Uint8Array.of(1), user_data: Uint8Array.of(2), nonce: Uint8Array.of(3) };
    const { pcrs, ...rest } = accepted(documentWith(fields));
    assert.deepEqual(rest, {
      measurement: MEASUREMENT,
      timestampMs: NOW,
      moduleId: "i-crafted-enc0",
      publicKey: Uint8Array.of(1),
      userData: Uint8Array.of(2),
      nonce: Uint8Array.of(3),
      claims: undefined,
    });
    assert.equal(pcrs.size, 16);
    assert.deepEqual(pcrs.get(1), register(2));
  });

  it("takes an optional field for absent when it is null and when it is not there", () => {
    const without = payloadOf(CHAIN);
    for (const name of ["public_key", "user_data", "nonce"]) without.delete(name);
    for (const document of [documentWith({}), documentOf(without)]) {
      const { publicKey, userData, nonce } = accepted(document);
      assert.deepEqual([publicKey, userData, nonce], [undefined, undefined, undefined]);
    }
  });

  it("takes a payload of indefinite length, and signs over it as it came", () => {
    const definite = encodeCbor(payloadOf(CHAIN));
    const indefinite = concatBytes(Uint8Array.of(0xbf), definite.slice(1), Uint8Array.of(0xff));
    accepted(documentOf(indefinite));
    // The signature of one spelling is none of the other.
    const parts = itemsOf(decodeCbor(documentOf(definite)));
    assert.equal(verdict(documentOf(indefinite, { signature: parts[3]! })), "SIGNATURE_INVALID");
  });

  it("takes the tag of COSE_Sign1, once, and no other", () => {
    const document = documentWith({});
    accepted(concatBytes(Uint8Array.of(0xd2), document));
    for (const tags of ["d2d2", "d1", "d83d", "d83dd2"])
      assert.equal(verdict(concatBytes(hex(tags), document)), "MALFORMED");
  });

  it("takes one to 32 registers beside those that are measured, of the sizes AWS names", () => {
    const pcrs = (entries: readonly (readonly [number, Uint8Array])[]): Cbor =>
      new Map([...[0, 1, 2].map((i) => [i, register(i + 1)] as const), ...entries]);
    for (const count of [3, 5, 16, 32]) {
      const more = Array.from({ length: count - 3 }, (_, i) => [i + 3, register(0)] as const);
      assert.equal(accepted(documentWith({ pcrs: pcrs(more) })).pcrs.size, count);
    }
    for (const length of [32, 64]) accepted(documentWith({ pcrs: pcrs([[8, register(1, length)]]) }));
    for (const length of [0, 31, 33, 47, 49, 65])
      assert.equal(verdict(documentWith({ pcrs: pcrs([[8, register(1, length)]]) })), "MALFORMED");
    for (const index of [32, -1, 1000])
      assert.equal(verdict(documentWith({ pcrs: pcrs([[index, register(1)]]) })), "MALFORMED");
  });
});

describe("shared/protocol/attestation-document, what is malformed", () => {
  const pcrs = (changes: readonly (readonly [number | string, Cbor])[]): Cbor =>
    new Map<number | string, Cbor>([...[0, 1, 2].map((i) => [i, register(i + 1)] as const), ...changes]);
  const fields: Record<string, Readonly<Record<string, Cbor>>> = {
    "an empty module id": { module_id: "" },
    "a module id in bytes": { module_id: Uint8Array.of(1) },
    "another digest": { digest: "SHA256" },
    "time zero": { timestamp: 0 },
    "a time before 1970": { timestamp: -1 },
    "a time in text": { timestamp: String(NOW) },
    "no registers": { pcrs: new Map() },
    "registers in an array": { pcrs: [register(1), register(2), register(3)] },
    "a register in text": { pcrs: pcrs([[3, "00".repeat(48)]]) },
    "an index in text": { pcrs: pcrs([["3", register(0)]]) },
    "no register 1": {
      pcrs: new Map([
        [0, register(1)],
        [2, register(1)],
      ]),
    },
    "a measured register of 32 bytes": { pcrs: pcrs([[2, register(3, 32)]]) },
    "a measured register of 64 bytes": { pcrs: pcrs([[0, register(3, 64)]]) },
    "an empty certificate": { certificate: new Uint8Array(0) },
    "a certificate of 1,025 bytes": { certificate: new Uint8Array(1025) },
    "no certificate": { certificate: null },
    "an empty bundle": { cabundle: [] },
    "a bundle that is none": { cabundle: CHAIN[0]! },
    "an empty authority": { cabundle: [CHAIN[0]!, new Uint8Array(0)] },
    "an authority of 1,025 bytes": { cabundle: [CHAIN[0]!, new Uint8Array(1025)] },
    "an authority in text": { cabundle: [CHAIN[0]!, "certificate"] },
    "an empty public key": { public_key: new Uint8Array(0) },
    "a public key of 1,025 bytes": { public_key: new Uint8Array(1025) },
    "a public key in text": { public_key: "key" },
    "user data of 513 bytes": { user_data: new Uint8Array(513) },
    "user data in text": { user_data: "data" },
    "a nonce of 513 bytes": { nonce: new Uint8Array(513) },
    "a nonce that is a number": { nonce: 1 },
    "a nonce that is false": { nonce: false },
    "a field nobody knows": { extra: 1 },
  };
  for (const [what, changes] of Object.entries(fields)) {
    it(`refuses ${what}`, () => {
      accepted(documentWith({}));
      assert.equal(verdict(documentWith(changes)), "MALFORMED");
    });
  }

  it("refuses a document without one of the fields it must have", () => {
    for (const name of ["module_id", "digest", "timestamp", "pcrs", "certificate", "cabundle"]) {
      const payload = payloadOf(CHAIN);
      payload.delete(name);
      assert.equal(verdict(documentOf(payload)), "MALFORMED", name);
    }
  });

  it("takes what is exactly at its limits", () => {
    const limits = {
      public_key: new Uint8Array(1024),
      user_data: new Uint8Array(512),
      nonce: new Uint8Array(512),
    };
    accepted(documentWith(limits));
    accepted(documentWith({ user_data: new Uint8Array(0), nonce: new Uint8Array(0) }));
  });

  it("refuses a field twice, in either form of a map", () => {
    const definite = encodeCbor(payloadOf(CHAIN));
    const again = concatBytes(encodeCbor("nonce"), encodeCbor(Uint8Array.of(1)));
    const ten = concatBytes(Uint8Array.of(0xaa), definite.slice(1), again);
    const open = concatBytes(Uint8Array.of(0xbf), definite.slice(1), again, Uint8Array.of(0xff));
    assert.equal(verdict(documentOf(ten)), "MALFORMED");
    assert.equal(verdict(documentOf(open)), "MALFORMED");
  });

  it("refuses a payload with bytes left over, of another type, and none", () => {
    const payload = encodeCbor(payloadOf(CHAIN));
    assert.equal(verdict(documentOf(concatBytes(payload, Uint8Array.of(0)))), "MALFORMED");
    assert.equal(verdict(documentOf(encodeCbor([]))), "MALFORMED");
    assert.equal(verdict(documentOf(new Uint8Array(0))), "MALFORMED");
    assert.equal(verdict(documentOf(payload, { payload: null })), "MALFORMED");
  });

  it("refuses every header but that of ES384", () => {
    const payload = payloadOf(CHAIN);
    for (const header of [
      "a10126",
      "a1013823",
      "a0",
      "",
      "a2013822182100",
      "a1043822",
      "a1613138 22",
      "bf013822ff",
    ])
      assert.equal(
        verdict(documentOf(payload, { header: hex(header.replace(" ", "")) })),
        "MALFORMED",
        header,
      );
    assert.equal(verdict(documentOf(payload, { header: new Map([[1, -35]]) })), "MALFORMED");
  });

  it("refuses whatever stands in the unprotected header, which nobody signs", () => {
    for (const unprotected of [new Map([[4, Uint8Array.of(1)]]), new Map([[1, -35]]), [], null])
      assert.equal(verdict(documentOf(payloadOf(CHAIN), { unprotected })), "MALFORMED");
  });

  it("refuses a signature of another size", () => {
    const payload = payloadOf(CHAIN);
    for (const length of [0, 48, 64, 95, 97, 132])
      assert.equal(verdict(documentOf(payload, { signature: new Uint8Array(length) })), "MALFORMED");
    assert.equal(verdict(documentOf(payload, { signature: "s".repeat(96) })), "MALFORMED");
  });

  it("refuses what is no COSE_Sign1, and bytes behind it", () => {
    const document = documentWith({});
    const parts = itemsOf(decodeCbor(document));
    for (const bytes of [
      new Uint8Array(0),
      Uint8Array.of(0xd2),
      encodeCbor(null),
      encodeCbor(new Map()),
      encodeCbor(parts.slice(0, 3)),
      encodeCbor([...parts, null]),
      concatBytes(document, Uint8Array.of(0)),
      document.slice(0, -1),
    ]) {
      assert.equal(verdict(bytes), "MALFORMED");
    }
  });

  it("refuses what is longer than may be, and reads what is just as long", () => {
    const longest = documentOfLength(MAX_DOCUMENT_BYTES);
    assert.equal(longest.length, MAX_DOCUMENT_BYTES);
    assert.equal(verdict(longest), "CHAIN_INVALID");
    assert.equal(verdict(documentOfLength(MAX_DOCUMENT_BYTES + 1)), "MALFORMED");
    assert.equal(verdict(documentOfLength(2 * MAX_DOCUMENT_BYTES)), "MALFORMED");
  });

  it("says the same without a judgement: reading alone", () => {
    assert.equal(readAttestation(documentWith({}))?.chain.length, 4);
    assert.equal(readAttestation(documentWith({ digest: "MD5" })), undefined);
  });
});

describe("shared/protocol/attestation-document, who made it", () => {
  const made = (changes: ChainChanges): Uint8Array => documentOf(payloadOf(chainOf(changes)));

  it("refuses a root that the policy does not name", () => {
    assert.equal(verdict(documentWith({}), { roots: [] }), "ROOT_UNKNOWN");
    assert.equal(verdict(documentWith({}), { roots: ["00".repeat(32)] }), "ROOT_UNKNOWN");
    accepted(documentWith({}), { roots: ["00".repeat(32), hashOf(CHAIN[0]!)] });
  });

  it("refuses a foreign root that bears the same names", () => {
    const foreign = KEYS.foreign;
    const chain = chainOf({
      root: { key: foreign.spki, signer: foreign.privateKey },
      region: { signer: foreign.privateKey },
    });
    const document = documentOf(payloadOf(chain));
    accepted(document, { roots: [hashOf(chain[0]!)] });
    assert.equal(verdict(document), "ROOT_UNKNOWN");
  });

  it("refuses the root in another place than the first", () => {
    const [root, region, zone] = CHAIN;
    assert.equal(verdict(documentWith({ cabundle: [zone!, region!, root!] })), "ROOT_UNKNOWN");
    assert.equal(verdict(documentWith({ cabundle: [region!, root!, zone!] })), "ROOT_UNKNOWN");
    assert.equal(verdict(documentWith({ cabundle: [root!, zone!, region!] })), "CHAIN_INVALID");
  });

  it("refuses a chain that does not hold, and one that cannot be read", () => {
    assert.equal(verdict(made({ leaf: { signer: KEYS.foreign.privateKey } })), "CHAIN_INVALID");
    assert.equal(verdict(made({ zone: { version: hex("a003020100") } })), "CHAIN_INVALID");
    assert.equal(verdict(documentWith({ certificate: Uint8Array.of(1) })), "CHAIN_INVALID");
    assert.equal(verdict(made({ leaf: { key: ecKey("P-256").spki } })), "CHAIN_INVALID");
  });

  it("refuses an authority's own signature on a document", () => {
    const [root, region, zone] = CHAIN;
    const payload = payloadOf(CHAIN, { cabundle: [root!, region!], certificate: zone! });
    assert.equal(verdict(documentOf(payload, { signer: KEYS.zone.privateKey })), "CHAIN_INVALID");
    const alone = payloadOf(CHAIN, { cabundle: [root!], certificate: root! });
    assert.equal(verdict(documentOf(alone, { signer: KEYS.root.privateKey })), "CHAIN_INVALID");
  });

  it("refuses certificates that have expired or do not hold yet", () => {
    const expired = time(new Date(NOW - 1000));
    assert.equal(verdict(made({ leaf: { until: expired } })), "CERTIFICATE_EXPIRED");
    const early = made({ region: { from: time(new Date(NOW + 1000)) } });
    assert.equal(verdict(early), "CERTIFICATE_NOT_YET_VALID");
  });

  it("refuses a signature by another key, over another payload, and altered", () => {
    const payload = payloadOf(CHAIN);
    assert.equal(verdict(documentOf(payload, { signer: KEYS.zone.privateKey })), "SIGNATURE_INVALID");
    const [, , , signature] = itemsOf(decodeCbor(documentOf(payload)));
    const other = payloadOf(CHAIN, { nonce: Uint8Array.of(1) });
    assert.equal(verdict(documentOf(other, { signature: signature! })), "SIGNATURE_INVALID");
    assert.equal(verdict(documentOf(payload, { signature: new Uint8Array(96) })), "SIGNATURE_INVALID");
    const altered = (signature as Uint8Array).slice();
    altered[95]! ^= 1;
    assert.equal(verdict(documentOf(payload, { signature: altered })), "SIGNATURE_INVALID");
  });

  it("refuses an altered document wherever a byte of it was altered", () => {
    const document = documentWith({ nonce: Uint8Array.of(1, 2, 3) });
    accepted(document);
    for (let at = 0; at < document.length; at += 331) {
      const altered = document.slice();
      altered[at]! ^= 1;
      assert.notEqual(verdict(altered), undefined, `byte ${at}`);
    }
  });

  it("accepts the other half of a signature: documents are not told apart by their bytes", () => {
    const { Fn } = p384.Point;
    const payload = payloadOf(CHAIN);
    const signature = itemsOf(decodeCbor(documentOf(payload)))[3] as Uint8Array;
    const s = Fn.toBytes(Fn.neg(Fn.fromBytes(signature.slice(48))));
    accepted(documentOf(payload, { signature: concatBytes(signature.slice(0, 48), s) }));
  });
});

describe("shared/protocol/attestation-document, what the policy asks", () => {
  it("refuses debug mode, which measures nothing, and takes one register of zeros", () => {
    const zeros = (...bytes: readonly number[]): Cbor => new Map(bytes.map((byte, i) => [i, register(byte)]));
    assert.equal(verdict(documentWith({ pcrs: zeros(0, 0, 0) })), "DEBUG_MODE");
    const nothing = { pcr0: "00".repeat(48), pcr1: "00".repeat(48), pcr2: "00".repeat(48) };
    assert.equal(
      verdict(documentWith({ pcrs: zeros(0, 0, 0, 5) }), { measurements: [nothing] }),
      "DEBUG_MODE",
    );
    for (const bytes of [
      [1, 0, 0],
      [0, 1, 0],
      [0, 0, 1],
    ])
      accepted(documentWith({ pcrs: zeros(...bytes) }));
  });

  it("judges age at a moment, bounds included", () => {
    const document = documentWith({});
    const policy = (at: number, maxAgeMs?: number): Partial<AttestationPolicy> =>
      maxAgeMs === undefined ? { at } : { at, maxAgeMs };
    assert.equal(verdict(document, policy(NOW + 1000, 1000)), undefined);
    assert.equal(verdict(document, policy(NOW + 1001, 1000)), "STALE");
    assert.equal(verdict(document, policy(NOW + 1001)), undefined);
    assert.equal(verdict(document, policy(NOW - 60_000, 0)), undefined);
    assert.equal(verdict(document, policy(NOW - 60_001, 0)), "FROM_FUTURE");
    assert.equal(verdict(document, policy(NOW - 60_001)), "FROM_FUTURE");
  });

  it("judges a kept document at its own time, and never otherwise", () => {
    const year = 365 * 86_400_000;
    assert.equal(verdict(documentWith({}), { at: NOW + year }), "CERTIFICATE_EXPIRED");
    accepted(documentWith({}), { at: "its own time" });
    assert.equal(verdict(documentWith({}), { at: NOW - year }), "CERTIFICATE_NOT_YET_VALID");
    // Its own time outside its own certificates.
    const late = documentWith({ timestamp: NOW + 86_400_000 });
    assert.equal(verdict(late, { at: "its own time" }), "CERTIFICATE_EXPIRED");
  });

  it("asks for one of the measurements, each register of it", () => {
    const document = documentWith({});
    const other = { ...MEASUREMENT, pcr0: "ff".repeat(48) };
    accepted(document, { measurements: [MEASUREMENT] });
    accepted(document, { measurements: [other, MEASUREMENT] });
    for (const register of ["pcr0", "pcr1", "pcr2"] as const) {
      const measurements = [{ ...MEASUREMENT, [register]: "ff".repeat(48) }];
      assert.equal(verdict(document, { measurements }), "MEASUREMENT_MISMATCH");
    }
    assert.equal(verdict(document, { measurements: [] }), "MEASUREMENT_MISMATCH");
  });

  it("asks for the nonce", () => {
    const nonce = Uint8Array.of(1, 2, 3);
    accepted(documentWith({ nonce }), { nonce });
    for (const other of [Uint8Array.of(1, 2, 4), Uint8Array.of(1, 2), new Uint8Array(0), null])
      assert.equal(verdict(documentWith({ nonce: other }), { nonce }), "NONCE_MISMATCH");
  });

  it("asks for the type of the user data, and gives it as read", () => {
    const configurationHash = ZERO_BYTES32;
    const release = { type: "release", configurationHash } as const;
    const document = documentWith({ user_data: encodeUserData(release) });
    assert.deepEqual(accepted(document, { type: "release" }).claims, release);
    assert.equal(accepted(document).claims, undefined);
    assert.equal(verdict(document, { type: "live" }), "TYPE_MISMATCH");
    assert.equal(verdict(document, { type: "genesis" }), "TYPE_MISMATCH");
    assert.equal(verdict(documentWith({}), { type: "release" }), "TYPE_MISMATCH");
    assert.equal(
      verdict(documentWith({ user_data: Uint8Array.of(1) }), { type: "release" }),
      "TYPE_MISMATCH",
    );
    assert.equal(
      verdict(documentWith({ user_data: new Uint8Array(0) }), { type: "release" }),
      "TYPE_MISMATCH",
    );
  });

  it("names the first fault of several, from the outside in", () => {
    const debug = { pcrs: new Map([0, 1, 2].map((i) => [i, register(0)])) };
    const chain = chainOf({
      leaf: { until: time(new Date(NOW - 1)), extensions: [authority(), authorityUsage()] },
    });
    const everything: Partial<AttestationPolicy> = {
      measurements: [],
      nonce: Uint8Array.of(9),
      type: "live",
    };
    assert.equal(verdict(documentOf(payloadOf(chain, debug)), { ...everything, roots: [] }), "ROOT_UNKNOWN");
    assert.equal(verdict(documentOf(payloadOf(chain, debug)), everything), "CHAIN_INVALID");
    assert.equal(verdict(documentWith(debug), everything), "DEBUG_MODE");
    assert.equal(verdict(documentWith({}), everything), "MEASUREMENT_MISMATCH");
    assert.equal(verdict(documentWith({}), { ...everything, measurements: [MEASUREMENT] }), "NONCE_MISMATCH");
  });
});

/** Filled up with certificates that are none. */
function documentOfLength(length: number): Uint8Array {
  const filled = (sizes: readonly number[]): Uint8Array =>
    documentWith({ cabundle: [...CHAIN.slice(0, -1), ...sizes.map((size) => new Uint8Array(size))] });
  const whole = 1024 + 3;
  const room = length - filled([500, 500]).length + 2 * 503;
  const count = Math.floor(room / whole) - 1;
  const rest = room - count * whole - 2 * 3;
  // Two of middle size, whose heads are as long as those of the others.
  return filled([...Array.from({ length: count }, () => 1024), Math.floor(rest / 2), Math.ceil(rest / 2)]);
}
