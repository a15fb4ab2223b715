import assert from "node:assert/strict";
import { createPublicKey } from "node:crypto";
import { Releases } from "../../../enclave/release.ts";
import { codeOf } from "./support/frame-client.ts";
import { CONFIGURATION, platformInMemory, verified } from "./support/key-life.ts";
import { DEAD_PLATFORM, MEASUREMENT } from "./support/platforms.ts";

describe("enclave/release", () => {
  const platform = platformInMemory();

  it("gives a document that says release and nothing of a caller's, over a fresh RSA-2048 key", async () => {
    const releases = new Releases();
    const reply = await releases.request(platform, CONFIGURATION);
    assert.ok(reply.type === "release-request");
    const document = verified(reply.document, {
      at: Date.now(),
      measurements: [MEASUREMENT],
      type: "release",
    });
    assert.deepEqual(document.claims, { type: "release", configurationHash: CONFIGURATION.hash });
    assert.equal(document.nonce, undefined);

    const held = releases.take();
    assert.ok(held !== undefined);
    assert.deepEqual(document.publicKey, new Uint8Array(held.publicKey));
    const key = createPublicKey({ key: Buffer.from(held.publicKey), format: "der", type: "spki" });
    assert.deepEqual(key.asymmetricKeyDetails, { modulusLength: 2048, publicExponent: 65_537n });
    assert.ok(createPublicKey(held.privateKey).equals(key));
    assert.deepEqual(held.document, reply.document);
  });

  it("holds one key at most, and gives it once", async () => {
    const releases = new Releases();
    assert.equal(releases.take(), undefined);
    await releases.request(platform, CONFIGURATION);
    const reply = await releases.request(platform, CONFIGURATION);
    assert.ok(reply.type === "release-request");
    assert.deepEqual(releases.take()?.document, reply.document);
    assert.equal(releases.take(), undefined);
  });

  it("PLATFORM_UNAVAILABLE without a document, and then the old key is gone too", async () => {
    const releases = new Releases();
    await releases.request(platform, CONFIGURATION);
    assert.equal(codeOf(await releases.request(DEAD_PLATFORM, CONFIGURATION)), "PLATFORM_UNAVAILABLE");
    assert.equal(releases.take(), undefined);
  });
});
