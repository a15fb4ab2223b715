import assert from "node:assert/strict";
import { dispatch } from "./support/dispatch.ts";
import { Enclave } from "../../../enclave/phase.ts";
import type { AttestationRequest, Platform } from "../../../enclave/platform.ts";
import { makeRoot } from "../../../scripts/image/certificates.ts";
import { developmentRoot } from "../../../scripts/image/development-keys.ts";
import { sealEnvelope } from "../../../scripts/stand-ins/kms/envelope.ts";
import { readAttestation } from "../../../shared/protocol/attestation-document.ts";
import { ZERO_ADDRESS, ZERO_BYTES32, type Address } from "../../../shared/protocol/brands.ts";
import type { EnclaveReply } from "../../../shared/protocol/enclave-messages.ts";
import { sha256Hex } from "../../../shared/protocol/hash.ts";
import { decodeUserData, encodeUserData, type UserData } from "../../../shared/protocol/user-data.ts";
import { codeOf } from "./support/frame-client.ts";
import {
  addressOf,
  aPair,
  CHALLENGE,
  CONFIGURATION,
  openWithKms,
  plaintextOf,
  platformInMemory,
  releaseTo,
  sealToKms,
  type Pair,
} from "./support/key-life.ts";
import { MEASUREMENT } from "./support/platforms.ts";
import { NO_JUDGE } from "./support/verifiers.ts";

const STRANGERS_SECRET = new Uint8Array(32).fill(0x57);
const DEBUG = { pcr0: "00".repeat(48), pcr1: "00".repeat(48), pcr2: "00".repeat(48) };

describe("enclave/restore", () => {
  let home: Platform;
  let pair: Pair;
  let other: Pair;
  before(async () => {
    home = platformInMemory();
    pair = await aPair(home);
    other = await aPair(home);
  });

  interface Attempt extends Partial<Pair> {
    /** Whose documents the enclave asks for its own. */
    readonly platform?: Platform;
    /** Made for the document of the release-request. */
    readonly envelope?: (document: Uint8Array) => Uint8Array;
  }

  /** A fresh enclave of `CONFIGURATION`, asked for a document and given what KMS answers to it. */
  const attempt = async (changes: Attempt = {}): Promise<{ reply: EnclaveReply; enclave: Enclave }> => {
    const { platform = home, sealedKey = pair.sealedKey, birthCertificate = pair.birthCertificate } = changes;
    const { envelope = (document) => releaseTo(document, sealedKey) } = changes;
    const enclave = new Enclave({ platform, configuration: CONFIGURATION, judge: NO_JUDGE });
    const request = await dispatch(enclave, { type: "release-request" });
    assert.ok(request.type === "release-request");
    const restore = {
      type: "restore",
      sealedKey,
      birthCertificate,
      envelope: envelope(request.document),
    } as const;
    return { reply: await dispatch(enclave, restore), enclave };
  };

  const refuses = (what: string, make: () => Attempt | Promise<Attempt>): void => {
    it(`RESTORE_REFUSED: ${what}`, async () => {
      const { reply, enclave } = await attempt(await make());
      assert.equal(codeOf(reply), "RESTORE_REFUSED");
      assert.equal(enclave.phase, "booting");
      assert.equal(enclave.signer, ZERO_ADDRESS);
    });
  };

  const claimsOf = ({ birthCertificate }: Pair): UserData & { type: "genesis" } => {
    const claims = decodeUserData(readAttestation(birthCertificate)!.userData!);
    assert.ok(claims?.type === "genesis");
    return claims;
  };
  /** A document that a platform signs for whatever it is asked to. */
  const documentOf = async (platform: Platform, request: AttestationRequest): Promise<Uint8Array> =>
    (await platform.attestationDocument(request))!;
  /** The pair's birth certificate, changed, under the real root and measurement. */
  const reborn = async (
    changes: Partial<UserData & { type: "genesis" }>,
    platform = home,
  ): Promise<Attempt> => ({
    birthCertificate: await documentOf(platform, {
      nonce: CHALLENGE,
      userData: encodeUserData({ ...claimsOf(pair), ...changes }),
    }),
  });

  it("serves with the key that was born, in the same image, for as long as KMS releases it", async () => {
    const elsewhere = platformInMemory();
    for (const [platform, { sealedKey, birthCertificate }] of [
      [home, pair],
      [elsewhere, pair],
      [home, other],
    ] as const) {
      const { reply, enclave } = await attempt({ platform, sealedKey, birthCertificate });
      const { signer } = claimsOf({ sealedKey, birthCertificate });
      assert.deepEqual(reply, { type: "restore", signer });
      assert.equal(enclave.phase, "serving");
      assert.equal(enclave.signer, signer);
    }
  });

  it("takes a birth certificate that only the test writes: what follows differs from it in one thing each", async () => {
    const { reply } = await attempt(await reborn({}));
    assert.equal(reply.type, "restore");
  });

  describe("a key that is not the one that was born", () => {
    const strangers = (signer?: Address): Uint8Array =>
      plaintextOf(STRANGERS_SECRET, signer ? { signer } : {});

    refuses("a stranger's key, sealed to the same KMS key", () => ({ sealedKey: sealToKms(strangers()) }));
    refuses("a stranger's key in the envelope, beside the honest sealed key", () => ({
      envelope: (document) => sealEnvelope(strangers(), readAttestation(document)!.publicKey!),
    }));
    refuses("a stranger's key under the name of the honest one", () => ({
      envelope: (document) =>
        sealEnvelope(strangers(claimsOf(pair).signer), readAttestation(document)!.publicKey!),
    }));
    refuses("a stranger's sealed key, which a birth certificate of another signer names", async () => {
      const sealedKey = sealToKms(strangers());
      return { sealedKey, ...(await reborn({ sealedKeyHash: sha256Hex(sealedKey) })) };
    });
    refuses("a sealed key beside the one that was released, which the certificate names", () => ({
      sealedKey: pair.sealedKey,
      birthCertificate: other.birthCertificate,
      envelope: (document) => releaseTo(document, other.sealedKey),
    }));
    refuses("the birth certificate of another sealed key", () => ({
      birthCertificate: other.birthCertificate,
    }));
    for (const [what, changes] of [
      ["domain", { domain: "cloister-signing-kez" }],
      ["version", { version: 2 }],
      ["configuration", { configurationHash: ZERO_BYTES32 }],
    ] as const) {
      refuses(`the honest key sealed again, with another ${what}`, async () => {
        const secret = openWithKms(pair.sealedKey).slice(-32);
        const sealedKey = sealToKms(plaintextOf(secret, changes));
        return { sealedKey, ...(await reborn({ sealedKeyHash: sha256Hex(sealedKey) })) };
      });
    }
  });

  describe("a birth certificate that is none of this image", () => {
    for (const register of ["pcr0", "pcr1", "pcr2"] as const) {
      refuses(`of another image: ${register}`, () =>
        reborn({}, platformInMemory(developmentRoot(), { ...MEASUREMENT, [register]: "20".repeat(48) })),
      );
    }
    refuses("of another configuration", () => reborn({ configurationHash: ZERO_BYTES32 }));
    refuses("sealed to another KMS key", () => reborn({ kmsKeyHash: ZERO_BYTES32 }));
    refuses("of another signer", () => reborn({ signer: addressOf(STRANGERS_SECRET) }));
    refuses("of debug mode", () => reborn({}, platformInMemory(developmentRoot(), DEBUG)));
    refuses("under a foreign root", () => reborn({}, platformInMemory(makeRoot(new Date()))));
    refuses("a live document of this very signer", async () => {
      const { signer, configurationHash } = claimsOf(pair);
      const userData = encodeUserData({ type: "live", signer, configurationHash });
      return { birthCertificate: await documentOf(home, { nonce: CHALLENGE, userData }) };
    });
    refuses("a release document of this very image", async () => {
      const userData = encodeUserData({ type: "release", configurationHash: CONFIGURATION.hash });
      return { birthCertificate: await documentOf(home, { userData }) };
    });
    refuses("with a byte changed", () => ({
      birthCertificate: pair.birthCertificate.with(-1, pair.birthCertificate.at(-1)! ^ 1),
    }));
    refuses("none at all", () => ({ birthCertificate: new Uint8Array(0) }));
  });

  describe("an own document that does not say what we are", () => {
    /** Signs for the release-request something else than it is asked to. */
    const lying = (bent: (request: AttestationRequest) => AttestationRequest, from = home): Platform => ({
      ...home,
      attestationDocument: (request) => from.attestationDocument(bent(request)),
    });
    const same = (request: AttestationRequest): AttestationRequest => request;

    refuses("under a foreign root", () => ({
      platform: lying(same, platformInMemory(makeRoot(new Date()))),
    }));
    refuses("of debug mode, with a certificate of debug mode", async () => {
      const debugging = platformInMemory(developmentRoot(), DEBUG);
      return { platform: lying(same, debugging), ...(await reborn({}, debugging)) };
    });
    refuses("of another type", () => ({
      platform: lying((request) => ({
        ...request,
        userData: encodeUserData({ ...claimsOf(pair), type: "live" }),
      })),
    }));
    refuses("of another configuration", () => ({
      platform: lying((request) => ({
        ...request,
        userData: encodeUserData({ type: "release", configurationHash: ZERO_BYTES32 }),
      })),
    }));
    // Of another image, kept from there: with it the certificates of that image would pass as ours.
    for (const [what, bent] of [
      ["over another key", (request) => ({ ...request, publicKey: new Uint8Array(294) })],
      ["over no key", ({ userData }) => ({ userData })],
    ] as [string, typeof same][]) {
      it(`RESTORE_REFUSED: ${what}`, async () => {
        let asked: Uint8Array | undefined;
        const platform = lying((request) => {
          asked = request.publicKey;
          return bent(request);
        });
        const { reply } = await attempt({
          platform,
          envelope: () => sealEnvelope(openWithKms(pair.sealedKey), asked!),
        });
        assert.equal(codeOf(reply), "RESTORE_REFUSED");
      });
    }
  });

  describe("an envelope that is not KMS's answer to the last document", () => {
    refuses("for another key", () => ({
      envelope: () => releaseTo(pairDocument, pair.sealedKey),
    }));
    refuses("cut short", () => ({
      envelope: (document) => releaseTo(document, pair.sealedKey).slice(0, -3),
    }));
    refuses("of nothing", () => ({
      envelope: (document) => sealEnvelope(new Uint8Array(0), readAttestation(document)!.publicKey!),
    }));
    refuses("none at all", () => ({ envelope: () => new Uint8Array(0) }));

    let pairDocument: Uint8Array;
    before(async () => {
      const enclave = new Enclave({ platform: home, configuration: CONFIGURATION, judge: NO_JUDGE });
      const reply = await dispatch(enclave, { type: "release-request" });
      assert.ok(reply.type === "release-request");
      pairDocument = reply.document;
    });
  });

  describe("an ephemeral key", () => {
    const newEnclave = (): Enclave =>
      new Enclave({ platform: home, configuration: CONFIGURATION, judge: NO_JUDGE });
    const documentFor = async (enclave: Enclave): Promise<Uint8Array> => {
      const reply = await dispatch(enclave, { type: "release-request" });
      assert.ok(reply.type === "release-request");
      return reply.document;
    };
    const give = (enclave: Enclave, envelope: Uint8Array): Promise<EnclaveReply> =>
      dispatch(enclave, { type: "restore", ...pair, envelope });

    it("is there after a release-request only", async () => {
      const envelope = releaseTo(await documentFor(newEnclave()), pair.sealedKey);
      assert.equal(codeOf(await give(newEnclave(), envelope)), "RESTORE_REFUSED");
    });

    it("is used up by a restore that fails: the right envelope comes too late", async () => {
      const enclave = newEnclave();
      const envelope = releaseTo(await documentFor(enclave), pair.sealedKey);
      assert.equal(codeOf(await give(enclave, new Uint8Array(0))), "RESTORE_REFUSED");
      assert.equal(codeOf(await give(enclave, envelope)), "RESTORE_REFUSED");
      const fresh = releaseTo(await documentFor(enclave), pair.sealedKey);
      assert.equal((await give(enclave, fresh)).type, "restore");
    });

    it("is replaced by the next one, and every one is another", async () => {
      const enclave = newEnclave();
      const documents = [await documentFor(enclave), await documentFor(enclave)] as const;
      const [first, second] = documents.map((document) => releaseTo(document, pair.sealedKey));
      assert.notDeepEqual(
        ...(documents.map((document) => readAttestation(document)!.publicKey) as [unknown, unknown]),
      );
      assert.equal(codeOf(await give(enclave, first!)), "RESTORE_REFUSED");
      const again = newEnclave();
      await documentFor(again);
      const last = releaseTo(await documentFor(again), pair.sealedKey);
      assert.equal((await give(again, last)).type, "restore");
      assert.equal(codeOf(await give(enclave, second!)), "RESTORE_REFUSED");
    });
  });
});
