// Public attestation documents and KMS envelopes get the verdict that their index names: those of
// this repository always, and those of the shared folder beside it where there is one.
import assert from "node:assert/strict";
import { createHash, createPrivateKey, createPublicKey } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { openEnvelope } from "../../../enclave/kms-envelope.ts";
import { readEnvelope } from "../../../shared/protocol/kms-envelope.ts";
import {
  readAttestation,
  verifyAttestation,
  type AttestationFault,
  type AttestationPolicy,
  type VerifiedAttestation,
} from "../../../shared/protocol/attestation-document.ts";
import { toHex } from "../../../shared/protocol/bytes.ts";

interface DocumentVector {
  readonly file: string;
  readonly sha256: string;
  readonly timestampMs: number;
  readonly moduleId: string;
  /** Those that are not all zero, in hex. */
  readonly pcrs: Readonly<Record<string, string>>;
  readonly pcrCount: number;
  readonly publicKey: string | null;
  readonly userData: string | null;
  readonly nonce: string | null;
  readonly measuredAtDocumentTime: string;
  readonly measuredNow: string;
}

interface EnvelopeVector {
  readonly file: string;
  readonly key: string;
  /** The text inside, or how it was rejected. */
  readonly measured: string;
}

interface Index {
  readonly awsRoot: { readonly sha256: string };
  readonly documents: readonly DocumentVector[];
  readonly cms: readonly EnvelopeVector[];
}

const OWN = new URL("../../support/vectors/attestation/", import.meta.url);
const SHARED = new URL("../../../../shared/vectors/attestation/", import.meta.url);
const FOLDERS = [OWN, ...(existsSync(SHARED) ? [SHARED] : [])];

/** The index's words, in ours. */
const FAULTS: readonly (readonly [RegExp, AttestationFault])[] = [
  [/root/, "ROOT_UNKNOWN"],
  [/expired/, "CERTIFICATE_EXPIRED"],
  [/not yet valid/, "CERTIFICATE_NOT_YET_VALID"],
  [/signature/, "SIGNATURE_INVALID"],
  [/chain|issuer|certificate/, "CHAIN_INVALID"],
  [/debug/, "DEBUG_MODE"],
];

for (const folder of FOLDERS) {
  const index = JSON.parse(readFileSync(new URL("index.json", folder), "utf8")) as Index;
  const bytesOf = (file: string): Uint8Array => new Uint8Array(readFileSync(new URL(file, folder)));
  const roots = [index.awsRoot.sha256];

  describe(`attestation vectors of ${folder === OWN ? "this repository" : "the shared folder"}`, () => {
    for (const vector of index.documents) {
      const document = bytesOf(vector.file);
      const judge = (policy: AttestationPolicy): VerifiedAttestation | AttestationFault =>
        verifyAttestation(document, policy);

      it(`${vector.file} is the file it should be`, () => {
        assert.equal(createHash("sha256").update(document).digest("hex"), vector.sha256);
      });

      it(`${vector.file} at its own time: ${vector.measuredAtDocumentTime}`, () => {
        assertVerdict(judge({ roots, at: "its own time" }), vector.measuredAtDocumentTime, vector);
        assertVerdict(judge({ roots, at: vector.timestampMs }), vector.measuredAtDocumentTime, vector);
      });

      it(`${vector.file} now: ${vector.measuredNow}`, () => {
        assertVerdict(judge({ roots, at: Date.now() }), vector.measuredNow, vector);
      });

      if (/root/.test(vector.measuredAtDocumentTime)) {
        it(`${vector.file} holds under the root that it brings, and under that alone`, () => {
          const own = hashOfRoot(document);
          assertVerdict(judge({ roots: [own], at: "its own time" }), "ok", vector);
          assert.equal(judge({ roots, at: "its own time" }), "ROOT_UNKNOWN");
        });
      }
    }

    for (const { file, key, measured } of index.cms) {
      it(`${file} opens for its key: ${measured}`, () => {
        const privateKey = createPrivateKey({
          key: readFileSync(new URL(key, folder)),
          format: "der",
          type: "pkcs8",
        });
        const spki = createPublicKey(privateKey).export({ type: "spki", format: "der" });
        const expected = measured.startsWith("rejected") ? undefined : measured;
        const length = expected?.length ?? 0;
        const opened = openEnvelope(bytesOf(file), privateKey, new Uint8Array(spki), length);
        assert.equal(opened && new TextDecoder().decode(opened), expected);
      });
    }
  });
}

interface SdkEnvelope {
  readonly name: string;
  readonly envelope: string;
  readonly encryptedKey: string;
  readonly iv: string;
  readonly content: string;
}

describe("answers of KMS in AWS's own SDK, whose keys are not published", () => {
  const file = new URL("cms-aws-sdk.json", OWN);
  const { envelopes } = JSON.parse(readFileSync(file, "utf8")) as {
    readonly envelopes: readonly SdkEnvelope[];
  };
  for (const { name, envelope, ...parts } of envelopes) {
    it(`${name} is read as the SDK reads it`, () => {
      const read = readEnvelope(new Uint8Array(Buffer.from(envelope, "hex")));
      assert.ok(typeof read !== "string", JSON.stringify(read));
      const hex = Object.entries(read).map(([part, bytes]) => [part, toHex(bytes).slice(2)]);
      const { recipient, ...found } = Object.fromEntries(hex) as Record<string, string>;
      assert.deepEqual(found, parts);
      assert.equal(recipient?.length, 64);
    });
  }
});

function assertVerdict(
  result: VerifiedAttestation | AttestationFault,
  expected: string,
  vector: DocumentVector,
): void {
  const isDebug = ["0", "1", "2"].every((index) => vector.pcrs[index] === undefined);
  if (!expected.startsWith("ok")) {
    assert.equal(result, FAULTS.find(([words]) => words.test(expected))?.[1] ?? "MALFORMED");
  } else if (isDebug) {
    assert.equal(result, "DEBUG_MODE");
  } else {
    assert.ok(typeof result !== "string", JSON.stringify(result));
    assertContents(result, vector);
  }
}

function assertContents(read: VerifiedAttestation, vector: DocumentVector): void {
  const hex = (bytes: Uint8Array | undefined): string | null =>
    bytes === undefined ? null : toHex(bytes).slice(2);
  assert.equal(read.timestampMs, vector.timestampMs);
  assert.equal(read.moduleId, vector.moduleId);
  assert.equal(hex(read.publicKey), vector.publicKey);
  assert.equal(hex(read.userData), vector.userData);
  assert.equal(hex(read.nonce), vector.nonce);
  assert.equal(read.pcrs.size, vector.pcrCount);
  const set = [...read.pcrs].filter(([, register]) => register.some((byte) => byte !== 0));
  assert.deepEqual(Object.fromEntries(set.map(([i, register]) => [i, hex(register)])), vector.pcrs);
}

function hashOfRoot(document: Uint8Array): string {
  const root = readAttestation(document)?.chain[0];
  assert.ok(root);
  return createHash("sha256").update(root).digest("hex");
}
