// Every step at which the enclave refuses a release, told from the host's own parts. The enclave is the real one in
// this process, and refuses each of them with its one code.
import assert from "node:assert/strict";
import { dispatch } from "../../../enclave/support/dispatch.ts";
import { Enclave } from "../../../../../enclave/phase.ts";
import type { Platform } from "../../../../../enclave/platform.ts";
import { releaseStep } from "../../../../../proxy/api/enclave-link/release-step.ts";
import { makeRoot } from "../../../../../scripts/image/certificates.ts";
import { developmentRoot } from "../../../../../scripts/image/development-keys.ts";
import { CONTENT_FORMS, sealEnvelope } from "../../../../../scripts/stand-ins/kms/envelope.ts";
import { readAttestation } from "../../../../../shared/protocol/attestation-document.ts";
import { ZERO_BYTES32 } from "../../../../../shared/protocol/brands.ts";
import { sha256Hex } from "../../../../../shared/protocol/hash.ts";
import { decodeUserData, encodeUserData } from "../../../../../shared/protocol/user-data.ts";
import { der } from "../../../../support/crafted-attestation.ts";
import { codeOf } from "../../../enclave/support/frame-client.ts";
import {
  aPair,
  CHALLENGE,
  CONFIGURATION,
  openWithKms,
  platformInMemory,
  plaintextOf,
  releaseTo,
  type Pair,
} from "../../../enclave/support/key-life.ts";
import { MEASUREMENT } from "../../../enclave/support/platforms.ts";
import { NO_JUDGE } from "../../../enclave/support/verifiers.ts";

const DEBUG = { pcr0: "00".repeat(48), pcr1: "00".repeat(48), pcr2: "00".repeat(48) };

describe("enclave-link/release-step", () => {
  let home: Platform;
  let pair: Pair;
  let other: Pair;
  before(async () => {
    home = platformInMemory();
    pair = await aPair(home);
    other = await aPair(home);
  });

  interface Attempt extends Partial<Pair> {
    readonly platform?: Platform;
    readonly envelope?: (document: Uint8Array) => Uint8Array;
  }
  const recipientOf = (document: Uint8Array): Uint8Array => readAttestation(document)!.publicKey!;
  const reborn = async (configurationHash = ZERO_BYTES32): Promise<Partial<Pair>> => {
    const claims = decodeUserData(readAttestation(pair.birthCertificate)!.userData!);
    assert.ok(claims?.type === "genesis");
    const userData = encodeUserData({ ...claims, configurationHash });
    return { birthCertificate: (await home.attestationDocument({ nonce: CHALLENGE, userData }))! };
  };

  const cases: Record<string, () => Attempt | Promise<Attempt>> = {
    "own document: DEBUG_MODE": () => ({ platform: platformInMemory(developmentRoot(), DEBUG) }),
    "own document: TYPE_MISMATCH": () => ({
      platform: {
        ...home,
        attestationDocument: async ({ publicKey }) => readAnew(publicKey!),
      },
    }),
    "birth certificate: MALFORMED": () => ({ birthCertificate: new Uint8Array(0) }),
    // Of a program that believes that root, or it would make no key there.
    "birth certificate: ROOT_UNKNOWN": async () => {
      const root = makeRoot(new Date());
      const attestationRoot = sha256Hex(root.certificate).slice(2);
      return aPair(platformInMemory(root), { ...CONFIGURATION, attestationRoot });
    },
    "birth certificate: MEASUREMENT_MISMATCH": async () =>
      aPair(platformInMemory(developmentRoot(), { ...MEASUREMENT, pcr2: "20".repeat(48) })),
    "birth certificate: TYPE_MISMATCH": async () => ({ birthCertificate: await liveDocument() }),
    "birth certificate: CONFIGURATION_MISMATCH": () => reborn(),
    "birth certificate: SEALED_KEY_MISMATCH": () => ({ birthCertificate: other.birthCertificate }),
    "envelope: NOT_BER": () => ({
      envelope: (document) => releaseTo(document, pair.sealedKey).slice(0, -1),
    }),
    "envelope: STRUCTURE": () => ({ envelope: () => der(0x30) }),
    "envelope: RECIPIENT_MISMATCH": async () => {
      const elsewhere = await liveRelease();
      return { envelope: () => releaseTo(elsewhere, pair.sealedKey) };
    },
  };
  const liveDocument = async (): Promise<Uint8Array> => {
    const userData = encodeUserData({ type: "release", configurationHash: CONFIGURATION.hash });
    return (await home.attestationDocument({ userData }))!;
  };
  const readAnew = async (publicKey: Uint8Array): Promise<Uint8Array> => {
    const claims = decodeUserData(readAttestation(pair.birthCertificate)!.userData!);
    return (await home.attestationDocument({ userData: encodeUserData(claims!), publicKey }))!;
  };
  const liveRelease = async (): Promise<Uint8Array> => {
    const reply = await dispatch(enclave(home), { type: "release-request" });
    assert.ok(reply.type === "release-request");
    return reply.document;
  };
  const enclave = (platform: Platform): Enclave =>
    new Enclave({ platform, configuration: CONFIGURATION, judge: NO_JUDGE });

  /** What the enclave says, and what the host finds out. */
  const attempt = async (changes: Attempt): Promise<readonly [string | undefined, string]> => {
    const { platform = home, sealedKey = pair.sealedKey, birthCertificate = pair.birthCertificate } = changes;
    const { envelope: make = (document) => releaseTo(document, sealedKey) } = changes;
    const booting = enclave(platform);
    const asked = await dispatch(booting, { type: "release-request" });
    assert.ok(asked.type === "release-request");
    const envelope = make(asked.document);
    const reply = await dispatch(booting, { type: "restore", sealedKey, birthCertificate, envelope });
    const { document } = asked;
    const code = reply.type === "refused" ? codeOf(reply) : reply.type;
    return [code, releaseStep({ sealedKey, birthCertificate }, { document, envelope })];
  };

  for (const [step, changes] of Object.entries(cases)) {
    it(step, async () => assert.deepEqual(await attempt(await changes()), ["RESTORE_REFUSED", step]));
  }

  it("opening: all that only the enclave can see is one step", async () => {
    const secret = new Uint8Array(32).fill(0x57);
    const inside: Record<string, (document: Uint8Array) => Uint8Array> = {
      "another key": (document) => sealEnvelope(plaintextOf(secret), recipientOf(document)),
      "another length": (document) => sealEnvelope(new Uint8Array(1), recipientOf(document)),
      "another padding": (document) =>
        flipped(releaseTo(document, pair.sealedKey), (envelope) => envelope.length - 11),
      "another content key": (document) => flipped(releaseTo(document, pair.sealedKey), () => 200),
    };
    for (const [what, envelope] of Object.entries(inside)) {
      assert.deepEqual(await attempt({ envelope }), ["RESTORE_REFUSED", "opening"], what);
    }
  });

  it("finds nothing wrong with a good release in either form, as the enclave does not", async () => {
    for (const form of CONTENT_FORMS) {
      const envelope = (document: Uint8Array): Uint8Array =>
        sealEnvelope(openWithKms(pair.sealedKey), recipientOf(document), form);
      assert.deepEqual(await attempt({ envelope }), ["restore", "opening"]);
    }
  });
});

function flipped(envelope: Uint8Array, at: (envelope: Uint8Array) => number): Uint8Array {
  const index = at(envelope);
  return envelope.with(index, envelope[index]! ^ 1);
}
