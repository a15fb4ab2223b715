import assert from "node:assert/strict";
import { liveDocument } from "../../../enclave/live-document.ts";
import { codeOf } from "./support/frame-client.ts";
import { aSigner, CONFIGURATION, platformInMemory, verified } from "./support/key-life.ts";
import { DEAD_PLATFORM, MEASUREMENT } from "./support/platforms.ts";

describe("enclave/live-document", () => {
  const signer = aSigner();
  const parts = { platform: platformInMemory(), configuration: CONFIGURATION, signer };
  const dead = { ...parts, platform: DEAD_PLATFORM };

  it("says who signs and with which configuration, over the caller's nonce and nothing else of the caller's", async () => {
    for (const length of [16, 64]) {
      const nonce = new Uint8Array(length).fill(5);
      const reply = await liveDocument(parts, nonce);
      assert.ok(reply.type === "attestation");
      const document = verified(reply.document, {
        at: Date.now(),
        measurements: [MEASUREMENT],
        nonce,
        type: "live",
      });
      const { hash: configurationHash } = CONFIGURATION;
      assert.deepEqual(document.claims, { type: "live", signer: signer.address, configurationHash });
      assert.equal(document.publicKey, undefined);
    }
  });

  it("NONCE_INVALID below 16 and above 64 bytes", async () => {
    for (const length of [0, 15, 65, 255])
      assert.equal(codeOf(await liveDocument(dead, new Uint8Array(length))), "NONCE_INVALID");
  });

  it("PLATFORM_UNAVAILABLE when the platform gives none", async () => {
    for (const length of [16, 64])
      assert.equal(codeOf(await liveDocument(dead, new Uint8Array(length))), "PLATFORM_UNAVAILABLE");
  });
});
