import assert from "node:assert/strict";
import { ANSWERED, Life, type Tools } from "../../../enclave/phase.ts";
import { ZERO_ADDRESS } from "../../../shared/protocol/brands.ts";
import { word } from "../../../shared/protocol/bytes.ts";
import { aSigner, CONFIGURATION } from "./support/key-life.ts";
import { DEAD_PLATFORM } from "./support/platforms.ts";
import { NO_VERIFIER } from "./support/verifiers.ts";

describe("enclave/phase", () => {
  const tools: Tools = { platform: DEAD_PLATFORM, configuration: CONFIGURATION, verifier: NO_VERIFIER };

  it("makes and restores keys while booting only, signs and attests while serving only", () => {
    assert.deepEqual([...ANSWERED.booting].sort(), ["genesis", "release-request", "restore", "status"]);
    assert.deepEqual([...ANSWERED.serving].sort(), ["attest", "attest-root", "attestation", "status"]);
    assert.deepEqual([...ANSWERED.halted], ["status"]);
  });

  it("goes from booting to serving to halted, and nowhere else", () => {
    const life = new Life(tools);
    const signer = aSigner();
    assert.equal(life.phase, "booting");
    assert.equal(life.signer, ZERO_ADDRESS);
    assert.equal(life.booting.platform, tools.platform);
    assert.throws(() => life.serving);
    life.serve(signer);
    assert.equal(life.phase, "serving");
    assert.equal(life.signer, signer.address);
    assert.equal(life.serving.signer, signer);
    assert.throws(() => life.booting);
    assert.throws(() => life.serve(aSigner(word(2n))));
    assert.equal(life.serving.signer, signer);
    life.halt();
    assert.equal(life.phase, "halted");
    assert.equal(life.signer, signer.address);
    assert.equal(life.configuration, CONFIGURATION);
    assert.throws(() => life.serving);
    assert.throws(() => life.booting);
    assert.throws(() => life.serve(signer));
    life.halt();
    assert.equal(life.phase, "halted");
  });

  it("takes the key from whoever still holds it when it halts", () => {
    const life = new Life(tools);
    const signer = aSigner();
    life.serve(signer);
    signer.sign(word(1n));
    life.halt();
    assert.throws(() => signer.sign(word(1n)));
  });

  it("can halt before it serves, and then never serves", () => {
    const life = new Life(tools);
    life.halt();
    assert.equal(life.phase, "halted");
    assert.throws(() => life.serve(aSigner()));
    assert.equal(life.signer, ZERO_ADDRESS);
  });

  it("begins halted without what boot should have made", () => {
    const life = new Life(undefined);
    assert.equal(life.phase, "halted");
    assert.equal(life.configuration, undefined);
    assert.throws(() => life.serve(aSigner()));
  });
});
