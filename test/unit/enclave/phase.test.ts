import assert from "node:assert/strict";
import { ANSWERED, Enclave, type Parts } from "../../../enclave/phase.ts";
import { ZERO_ADDRESS } from "../../../shared/protocol/brands.ts";
import { word } from "../../../shared/protocol/bytes.ts";
import { aSigner, CONFIGURATION } from "./support/key-life.ts";
import { DEAD_PLATFORM } from "./support/platforms.ts";
import { NO_JUDGE } from "./support/verifiers.ts";

describe("enclave/phase", () => {
  const parts: Parts = { platform: DEAD_PLATFORM, configuration: CONFIGURATION, judge: NO_JUDGE };

  it("makes and restores keys while booting only, signs and attests while serving only", () => {
    assert.deepEqual([...ANSWERED.booting].sort(), ["genesis", "release-request", "restore", "status"]);
    assert.deepEqual([...ANSWERED.serving].sort(), ["attest", "attest-root", "attestation", "status"]);
    assert.deepEqual([...ANSWERED.halted], ["status"]);
  });

  it("goes from booting to serving to halted, and nowhere else", () => {
    const enclave = new Enclave(parts);
    const signer = aSigner();
    assert.equal(enclave.phase, "booting");
    assert.equal(enclave.signer, ZERO_ADDRESS);
    assert.equal(enclave.booting.platform, parts.platform);
    assert.throws(() => enclave.serving);
    enclave.serve(signer);
    assert.equal(enclave.phase, "serving");
    assert.equal(enclave.signer, signer.address);
    assert.equal(enclave.serving.signer, signer);
    assert.throws(() => enclave.booting);
    assert.throws(() => enclave.serve(aSigner(word(2n))));
    assert.equal(enclave.serving.signer, signer);
    enclave.halt();
    assert.equal(enclave.phase, "halted");
    assert.equal(enclave.signer, signer.address);
    assert.equal(enclave.configuration, CONFIGURATION);
    assert.throws(() => enclave.serving);
    assert.throws(() => enclave.booting);
    assert.throws(() => enclave.serve(signer));
    enclave.halt();
    assert.equal(enclave.phase, "halted");
  });

  it("takes the key from whoever still holds it when it halts", () => {
    const enclave = new Enclave(parts);
    const signer = aSigner();
    enclave.serve(signer);
    signer.sign(word(1n));
    enclave.halt();
    assert.throws(() => signer.sign(word(1n)));
  });

  it("can halt before it serves, and then never serves", () => {
    const enclave = new Enclave(parts);
    enclave.halt();
    assert.equal(enclave.phase, "halted");
    assert.throws(() => enclave.serve(aSigner()));
    assert.equal(enclave.signer, ZERO_ADDRESS);
  });

  it("begins halted without what boot should have made", () => {
    const enclave = new Enclave(undefined);
    assert.equal(enclave.phase, "halted");
    assert.equal(enclave.configuration, undefined);
    assert.throws(() => enclave.serve(aSigner()));
  });
});
