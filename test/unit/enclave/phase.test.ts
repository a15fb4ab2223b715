import assert from "node:assert/strict";
import { ANSWERED, Life, type Tools } from "../../../enclave/phase.ts";
import { Signer } from "../../../enclave/signer.ts";
import { loadVerificationKeys } from "../../../enclave/verification-keys.ts";
import { buildVerifier } from "../../../enclave/verify.ts";
import { ZERO_ADDRESS } from "../../../shared/protocol/brands.ts";
import { DEAD_PLATFORM } from "./support/platforms.ts";

describe("enclave/phase", () => {
  let tools: Tools;
  before(async () => {
    tools = {
      platform: DEAD_PLATFORM,
      signer: await Signer.draw({ randomBytes: async () => new Uint8Array(32).fill(1) }),
      verifier: await buildVerifier(loadVerificationKeys()),
    };
  });

  it("signs and attests in the serving phase only", () => {
    assert.deepEqual([...ANSWERED.booting], ["status"]);
    assert.deepEqual([...ANSWERED.halted], ["status"]);
    assert.deepEqual([...ANSWERED.serving].sort(), ["attest", "attest-root", "attestation", "status"]);
  });

  it("goes from booting to serving to halted, and nowhere else", () => {
    const life = new Life();
    assert.equal(life.phase, "booting");
    assert.equal(life.signer, ZERO_ADDRESS);
    assert.throws(() => life.tools);
    life.serve(tools);
    assert.equal(life.phase, "serving");
    assert.equal(life.signer, tools.signer.address);
    assert.equal(life.tools, tools);
    assert.throws(() => life.serve(tools));
    life.halt();
    assert.equal(life.phase, "halted");
    assert.equal(life.signer, tools.signer.address);
    assert.throws(() => life.tools);
    assert.throws(() => life.serve(tools));
    life.halt();
    assert.equal(life.phase, "halted");
  });

  it("can halt before it serves, and then never serves", () => {
    const life = new Life();
    life.halt();
    assert.throws(() => life.serve(tools));
    assert.equal(life.signer, ZERO_ADDRESS);
  });
});
