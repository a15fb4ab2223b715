import assert from "node:assert/strict";
import { boot } from "../../../enclave/boot.ts";
import { developmentConfiguration } from "../../../scripts/product/image/configuration.ts";
import { ZERO_ADDRESS } from "../../../shared/protocol/brands.ts";
import { CONFIGURATION } from "./support/key-life.ts";
import { aPlatform, DEAD_PLATFORM } from "./support/platforms.ts";
import { SocketFolder } from "./support/sockets.ts";
import { aProvenDeposit } from "./support/statements.ts";

describe("enclave/boot", function () {
  let folder: SocketFolder;
  beforeEach(async () => {
    folder = await SocketFolder.make();
  });
  afterEach(() => folder.remove());

  it("boots with its configuration and a verifier that verifies, and without any key", async () => {
    const enclave = await boot(await aPlatform(folder), developmentConfiguration);
    assert.equal(enclave.phase, "booting");
    assert.equal(enclave.signer, ZERO_ADDRESS);
    assert.equal(enclave.configuration?.hash, CONFIGURATION.hash);
    const { request, proof } = aProvenDeposit();
    const { verifier } = enclave.booting;
    assert.equal(await verifier.verify("deposit-shield", proof, request.signals as never), undefined);
  });

  it("halts without a configuration, with one that is none, and without verifiers", async () => {
    const platform = await aPlatform(folder);
    const missing = (): Promise<string> => Promise.reject(new Error("no such file"));
    for (const [on, configuration] of [
      [platform, missing],
      [platform, async () => "{}"],
      [platform, async () => (await developmentConfiguration()).replace('"groth16"', '"plonk"')],
      [DEAD_PLATFORM, developmentConfiguration],
    ] as const) {
      const enclave = await boot(on, configuration);
      assert.equal(enclave.phase, "halted");
      assert.equal(enclave.signer, ZERO_ADDRESS);
    }
  });
});
