import assert from "node:assert/strict";
import { genesis } from "../../../enclave/genesis.ts";
import type { AttestationRequest } from "../../../enclave/platform.ts";
import { sha256Hex } from "../../../shared/protocol/hash.ts";
import { codeOf } from "./support/frame-client.ts";
import {
  addressOf,
  CHALLENGE,
  CONFIGURATION,
  openWithKms,
  plaintextOf,
  platformInMemory,
  verified,
} from "./support/key-life.ts";
import { DEAD_PLATFORM, MEASUREMENT } from "./support/platforms.ts";

describe("enclave/genesis", () => {
  const platform = platformInMemory();
  const parts = { platform, configuration: CONFIGURATION };

  it("seals a key that KMS alone can open, and certifies exactly that key under the challenge", async () => {
    const reply = await genesis(parts, CHALLENGE);
    assert.ok(reply.type === "genesis");
    const plaintext = openWithKms(reply.sealedKey);
    const secret = plaintext.slice(-32);
    assert.deepEqual(plaintext, plaintextOf(secret));

    const document = verified(reply.birthCertificate, {
      at: Date.now(),
      maxAgeMs: 60_000,
      measurements: [MEASUREMENT],
      nonce: CHALLENGE,
      type: "genesis",
    });
    assert.deepEqual(document.claims, {
      type: "genesis",
      signer: addressOf(secret),
      configurationHash: CONFIGURATION.hash,
      sealedKeyHash: sha256Hex(reply.sealedKey),
      kmsKeyHash: CONFIGURATION.kmsKeyHash,
    });
    // A public key there would let KMS answer this document as if it asked for a release.
    assert.equal(document.publicKey, undefined);
  });

  it("makes another key each time", async () => {
    const replies = [await genesis(parts, CHALLENGE), await genesis(parts, CHALLENGE)];
    const secrets = replies.map((reply) => reply.type === "genesis" && openWithKms(reply.sealedKey));
    assert.notDeepEqual(secrets[0], secrets[1]);
  });

  it("NONCE_INVALID below 16 and above 64 bytes, before a key is drawn", async () => {
    for (const length of [0, 15, 65, 255]) {
      const reply = await genesis({ ...parts, platform: DEAD_PLATFORM }, new Uint8Array(length));
      assert.equal(codeOf(reply), "NONCE_INVALID");
    }
    for (const length of [16, 64]) {
      assert.equal((await genesis(parts, new Uint8Array(length))).type, "genesis");
    }
  });

  it("PLATFORM_UNAVAILABLE without randomness, with randomness that is no key, without a document", async () => {
    const asked: AttestationRequest[] = [];
    const attestationDocument = async (request: AttestationRequest): Promise<undefined> => {
      asked.push(request);
    };
    for (const [randomBytes, documents] of [
      [DEAD_PLATFORM.randomBytes, 0],
      [async () => new Uint8Array(32), 0],
      [platform.randomBytes, 1],
    ] as const) {
      asked.length = 0;
      const broken = { ...platform, randomBytes, attestationDocument };
      assert.equal(codeOf(await genesis({ ...parts, platform: broken }, CHALLENGE)), "PLATFORM_UNAVAILABLE");
      assert.equal(asked.length, documents);
    }
  });
});
