import assert from "node:assert/strict";
import { boot } from "../../../enclave/boot.ts";
import { openFirst } from "../../../enclave/first.ts";
import type { OpenJudge } from "../../../enclave/judge.ts";
import { openSecond } from "../../../enclave/second.ts";
import { developmentConfiguration } from "../../../scripts/image/configuration.ts";
import { ZERO_ADDRESS } from "../../../shared/protocol/brands.ts";
import type { VerifierFile } from "../../../scripts/stand-ins/platform/verifier-launcher.ts";
import { dispatch } from "./support/dispatch.ts";
import { aSigner, CONFIGURATION } from "./support/key-life.ts";
import { aPlatform, DEAD_PLATFORM, SECOND_VERIFIER, VERIFIER } from "./support/platforms.ts";
import { SocketFolder } from "./support/sockets.ts";
import { aProvenDeposit } from "./support/statements.ts";

const PROGRAMS: readonly (readonly [string, VerifierFile, OpenJudge])[] = [
  ["first", VERIFIER, openFirst],
  ["second", SECOND_VERIFIER, openSecond],
];

describe("enclave/boot", function () {
  let folder: SocketFolder;
  beforeEach(async () => {
    folder = await SocketFolder.make();
  });
  afterEach(() => folder.remove());

  for (const [name, verifier, openJudge] of PROGRAMS) {
    it(`boots with its configuration and a judge that judges, and without any key: the ${name}`, async () => {
      const enclave = await boot(await aPlatform(folder, verifier), developmentConfiguration, openJudge);
      assert.equal(enclave.phase, "booting");
      assert.equal(enclave.signer, ZERO_ADDRESS);
      assert.equal(enclave.configuration?.hash, CONFIGURATION.hash);
      enclave.serve(aSigner());
      assert.equal((await dispatch(enclave, aProvenDeposit().request)).type, "attest");
    });
  }

  it("halts without a configuration, with one that is none, and without verifiers", async () => {
    const platform = await aPlatform(folder);
    const missing = (): Promise<string> => Promise.reject(new Error("no such file"));
    for (const [on, configuration] of [
      [platform, missing],
      [platform, async () => "{}"],
      [platform, async () => (await developmentConfiguration()).replace('"groth16"', '"plonk"')],
      [DEAD_PLATFORM, developmentConfiguration],
    ] as const) {
      for (const [, , openJudge] of PROGRAMS) {
        const enclave = await boot(on, configuration, openJudge);
        assert.equal(enclave.phase, "halted");
        assert.equal(enclave.signer, ZERO_ADDRESS);
      }
    }
  });
});
