import assert from "node:assert/strict";
import { liveDocument } from "../../../enclave/live-document.ts";
import type { AttestationRequest } from "../../../enclave/platform.ts";
import { Signer } from "../../../enclave/signer.ts";
import { encodeUserData } from "../../../enclave/user-data.ts";
import { CONFIGURATION_HASH } from "../../../enclave/verification-keys.ts";
import { codeOf } from "./support/frame-client.ts";
import { DEAD_PLATFORM } from "./support/platforms.ts";

describe("enclave/live-document", () => {
  let signer: Signer;
  before(async () => {
    signer = await Signer.draw({ randomBytes: async () => new Uint8Array(32).fill(1) });
  });

  it("says who signs and with which configuration, over the caller's nonce and nothing else of the caller's", async () => {
    const asked: AttestationRequest[] = [];
    const document = Uint8Array.of(1, 2, 3);
    const platform = {
      ...DEAD_PLATFORM,
      attestationDocument: async (request: AttestationRequest) => {
        asked.push(request);
        return document;
      },
    };
    const nonce = new Uint8Array(16).fill(5);
    assert.deepEqual(await liveDocument({ platform, signer }, nonce), { type: "attestation", document });
    const userData = encodeUserData({
      type: "live",
      signer: signer.address,
      configurationHash: CONFIGURATION_HASH,
    });
    assert.deepEqual(asked, [{ nonce, userData }]);
  });

  it("NONCE_INVALID below 16 and above 64 bytes", async () => {
    for (const length of [0, 15, 65, 255]) {
      const reply = await liveDocument({ platform: DEAD_PLATFORM, signer }, new Uint8Array(length));
      assert.equal(codeOf(reply), "NONCE_INVALID");
    }
  });

  it("PLATFORM_UNAVAILABLE when the platform gives none", async () => {
    for (const length of [16, 64]) {
      const reply = await liveDocument({ platform: DEAD_PLATFORM, signer }, new Uint8Array(length));
      assert.equal(codeOf(reply), "PLATFORM_UNAVAILABLE");
    }
  });
});
