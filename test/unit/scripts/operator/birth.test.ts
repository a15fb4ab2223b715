// What the operator believes about a new signer: one true birth, and everything about it that can be another.
import assert from "node:assert/strict";
import { createHash, createPublicKey, publicEncrypt } from "node:crypto";
import { parseConfiguration, type Configuration } from "../../../../enclave/configuration.ts";
import { decodeAttestationReply, encodeAttestationRequest } from "../../../../enclave/nsm.ts";
import { makeRoot, type Authority } from "../../../../scripts/image/certificates.ts";
import {
  DEVELOPMENT_KEY_ARN,
  developmentKmsKey,
  developmentRoot,
} from "../../../../scripts/image/development-keys.ts";
import { simulatedModule } from "../../../../scripts/stand-ins/platform/nsm.ts";
import { developmentConfiguration } from "../../../../scripts/image/configuration.ts";
import {
  birthFault,
  BirthRefused,
  makePair,
  pairFault,
  type BirthFault,
  type BirthPolicy,
} from "../../../../scripts/operator/birth.ts";
import type { Bytes32 } from "../../../../shared/protocol/brands.ts";
import type { EnclaveReply, EnclaveRequest } from "../../../../shared/protocol/enclave-messages.ts";
import { encodeUserData, type UserData } from "../../../../shared/protocol/user-data.ts";
import { MEASUREMENT } from "../stand-ins/kms/documents.ts";

const SIGNER = `0x${"5a".repeat(20)}` as Extract<UserData, { type: "live" }>["signer"];
const OTHER_HASH = `0x${"77".repeat(32)}` as Bytes32;
const CHALLENGE = new Uint8Array(32).fill(9);
const ZERO = "00".repeat(48);
const sha256 = (bytes: Uint8Array): Bytes32 =>
  `0x${createHash("sha256").update(bytes).digest("hex")}` as Bytes32;

describe("scripts/operator/birth", () => {
  let configuration: Configuration;
  let policy: BirthPolicy & { readonly challenge: Uint8Array };
  let sealedKey: Uint8Array;

  before(async () => {
    configuration = parseConfiguration(await developmentConfiguration());
    policy = { configuration, measurements: [MEASUREMENT], challenge: CHALLENGE };
    const key = createPublicKey(developmentKmsKey().privateKey);
    sealedKey = new Uint8Array(publicEncrypt({ key, oaepHash: "sha256" }, Buffer.from("a key")));
  });

  interface Changes {
    readonly root?: Authority;
    readonly measurement?: typeof MEASUREMENT;
    readonly nonce?: Uint8Array;
    readonly userData?: Partial<Extract<UserData, { type: "genesis" }>>;
    readonly type?: "live";
    readonly sealedKey?: Uint8Array;
  }

  function certificate({
    root = developmentRoot(),
    measurement = MEASUREMENT,
    nonce,
    ...changes
  }: Changes): Uint8Array {
    const born = {
      type: "genesis",
      signer: SIGNER,
      configurationHash: configuration.hash,
      sealedKeyHash: sha256(sealedKey),
      kmsKeyHash: configuration.kmsKeyHash,
      ...changes.userData,
    } as const;
    const userData = encodeUserData(
      changes.type === "live"
        ? { type: "live", signer: SIGNER, configurationHash: configuration.hash }
        : born,
    );
    const asked = encodeAttestationRequest({ userData, nonce: nonce ?? CHALLENGE });
    const document = decodeAttestationReply(simulatedModule(root, measurement).answer(asked));
    assert.ok(document);
    return document;
  }

  /** Plays an enclave that answers genesis with this. */
  const enclave = (changes: Changes) => ({
    ask: async (request: EnclaveRequest): Promise<EnclaveReply> => {
      assert.equal(request.type, "genesis");
      const birthCertificate = certificate(changes);
      return { type: "genesis", sealedKey: changes.sealedKey ?? sealedKey, birthCertificate };
    },
  });

  it("takes a true birth, and writes of it what a restore needs", async () => {
    const pair = await makePair(enclave({}), policy, DEVELOPMENT_KEY_ARN);
    assert.deepEqual(
      { ...pair, birthCertificate: undefined },
      {
        signer: SIGNER,
        sealedKey,
        birthCertificate: undefined,
        kmsKeyId: DEVELOPMENT_KEY_ARN,
        configurationHash: configuration.hash,
      },
    );
    assert.equal(pairFault(pair, policy), undefined);
    assert.equal(birthFault(pair.birthCertificate, SIGNER, policy), undefined);
    assert.equal(pairFault(pair, { configuration, measurements: [MEASUREMENT] }), undefined);
  });

  const cases: readonly (readonly [BirthFault, string, Changes])[] = [
    ["ROOT_UNKNOWN", "of a platform under another root", { root: makeRoot(new Date()) }],
    ["DEBUG_MODE", "in debug mode", { measurement: { pcr0: ZERO, pcr1: ZERO, pcr2: ZERO } }],
    ["MEASUREMENT_MISMATCH", "of another image", { measurement: { ...MEASUREMENT, pcr0: "dd".repeat(48) } }],
    ["NONCE_MISMATCH", "that answers another challenge", { nonce: new Uint8Array(32).fill(8) }],
    ["TYPE_MISMATCH", "that is a live document", { type: "live" }],
    ["CONFIGURATION_MISMATCH", "with another configuration", { userData: { configurationHash: OTHER_HASH } }],
    ["KMS_KEY_MISMATCH", "sealed to another KMS key", { userData: { kmsKeyHash: OTHER_HASH } }],
    ["SEALED_KEY_MISMATCH", "of another sealed key", { userData: { sealedKeyHash: OTHER_HASH } }],
    ["SEALED_KEY_MISMATCH", "with a sealed key put in its place", { sealedKey: new Uint8Array(256) }],
  ];
  for (const [code, what, changes] of cases) {
    it(`${code}: no pair comes of a birth ${what}`, async () => {
      await assert.rejects(
        makePair(enclave(changes), policy, DEVELOPMENT_KEY_ARN),
        (error: unknown) => error instanceof BirthRefused && error.code === code,
      );
      const pair = {
        signer: SIGNER,
        sealedKey: changes.sealedKey ?? sealedKey,
        birthCertificate: certificate(changes),
      };
      assert.equal(pairFault(pair, policy), code);
    });
  }

  it("STALE: a birth is of now when the pair is made, and of any time afterwards", async () => {
    const later = (): number => Date.now() + 120_000;
    await assert.rejects(
      makePair(enclave({}), policy, DEVELOPMENT_KEY_ARN, later),
      (error: unknown) => error instanceof BirthRefused && error.code === "STALE",
    );
  });

  it("SIGNER_MISMATCH: a pair whose file says another signer, and a proposal under another name", () => {
    const other = `0x${"5b".repeat(20)}` as typeof SIGNER;
    const birthCertificate = certificate({});
    assert.equal(pairFault({ signer: other, sealedKey, birthCertificate }, policy), "SIGNER_MISMATCH");
    assert.equal(birthFault(birthCertificate, other, policy), "SIGNER_MISMATCH");
  });

  it("passes on why an enclave makes no key", async () => {
    const serving = { ask: async (): Promise<EnclaveReply> => ({ type: "refused", code: "WRONG_PHASE" }) };
    await assert.rejects(
      makePair(serving, policy, DEVELOPMENT_KEY_ARN),
      (error: unknown) => error instanceof BirthRefused && error.code === "WRONG_PHASE",
    );
  });
});
