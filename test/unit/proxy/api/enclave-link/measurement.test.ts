import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { encodeCbor, type Cbor } from "../../../../../shared/protocol/cbor.ts";
import { readMeasurements } from "../../../../../proxy/api/enclave-link/measurement.ts";

const FOLDER = new URL("../../../../support/vectors/attestation/", import.meta.url);
interface Vector {
  readonly file: string;
  readonly sha256: string;
  readonly repo: string;
  readonly pcrs: Readonly<Record<string, string>>;
  readonly indefiniteMap: boolean;
}
const { documents } = JSON.parse(readFileSync(new URL("index.json", FOLDER), "utf8")) as {
  readonly documents: readonly Vector[];
};
const bytesOf = ({ file }: Vector): Uint8Array => new Uint8Array(readFileSync(new URL(file, FOLDER)));

describe("enclave-link/measurement", () => {
  for (const vector of documents) {
    it(`reads the registers of a real document of ${vector.repo}${vector.indefiniteMap ? ", an indefinite-length map" : ""}`, () => {
      const document = bytesOf(vector);
      assert.equal(createHash("sha256").update(document).digest("hex"), vector.sha256);
      const expected = Object.entries(vector.pcrs).map(([index, value]) => [`PCR${index}`, value]);
      assert.deepEqual(readMeasurements(document), Object.fromEntries(expected));
    });
  }

  it("has vectors of both lengths of map", () => {
    assert.deepEqual(new Set(documents.map(({ indefiniteMap }) => indefiniteMap)), new Set([true, false]));
  });

  it("reads nothing out of a document that is cut short, and does not throw", () => {
    const document = bytesOf(documents[0]!);
    for (let length = 0; length < document.length; length += 7) {
      assert.deepEqual(readMeasurements(document.slice(0, length)), {});
    }
  });

  const around = (payload: Uint8Array): Uint8Array =>
    encodeCbor([new Uint8Array(0), new Map(), payload, new Uint8Array(96)]);
  const withPcrs = (pcrs: Cbor): Uint8Array => around(encodeCbor(new Map([["pcrs", pcrs]])));
  const strange: Readonly<Record<string, Uint8Array>> = {
    "no CBOR": new TextEncoder().encode("attestation"),
    "nothing but a break": Uint8Array.of(0xff),
    "an array that says it is longer than memory": Uint8Array.of(0x9b, ...new Uint8Array(8).fill(0xff)),
    "nested without end": new Uint8Array(100_000).fill(0x81),
    "a string of indefinite length as payload": Uint8Array.of(0x84, 0x40, 0xa0, 0x5f, 0xff, 0x40),
    "a payload without registers": around(encodeCbor(new Map([["nonce", null]]))),
    "a list of registers": withPcrs([new Uint8Array(48).fill(1)]),
    "a register with a name": withPcrs(new Map([["__proto__", new Uint8Array(48).fill(1)]])),
    "a register that is text": withPcrs(new Map([[0, "aa"]])),
    "a register that is all zero, as of a debug enclave": withPcrs(new Map([[0, new Uint8Array(48)]])),
  };
  for (const [what, document] of Object.entries(strange)) {
    it(`reads nothing out of ${what}`, () => {
      assert.deepEqual(readMeasurements(document), {});
    });
  }
});
