import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { curves, powersOfTau } from "snarkjs";
import { releaseCurve } from "../../../scripts/build/circuits/ceremony.ts";
import { sha256Hex } from "../../../scripts/build/circuits/compile.ts";
import { runProgram } from "../../support/program.ts";

describe("the key scripts", function () {
  let folder: string;

  before(async () => {
    folder = await mkdtemp(path.join(os.tmpdir(), "cloister-keys-"));
  });

  after(() => rm(folder, { recursive: true, force: true }));

  for (const script of ["circuits", "keys", "ptau"]) {
    it(`${script} --help explains itself and does nothing`, async () => {
      const { code, output } = await run(script, "--help");
      assert.equal(code, 0);
      assert.match(output, /^Usage: /);
    });
  }

  it("ptau makes small powers of tau that verify, and leaves no step behind", async () => {
    const out = path.join(folder, "powers.ptau");
    const { code, output } = await run("ptau", "--power", "3", "--contributions", "2", "--out", out);
    assert.equal(code, 0, output);
    assert.match(output, new RegExp(`sha256 ${sha256Hex(await readFile(out))}`));
    assert.deepEqual(await readdir(folder), ["powers.ptau"]);
  });

  it("ptau goes on after its last finished step, and does not take half a file for one", async () => {
    const out = path.join(folder, "resumed.ptau");
    // As a stopped run leaves it: the accumulator whole, the first contribution torn.
    await powersOfTau.newAccumulator(await curves.getCurveFromName("bn128"), 3, `${out}.step-0`);
    await releaseCurve();
    await writeFile(`${out}.step-1.partial`, "torn");
    const resumed = await run("ptau", "--power", "3", "--contributions", "1", "--out", out);
    assert.equal(resumed.code, 0, resumed.output);
    assert.match(resumed.output, /accumulator: done before/);
    assert.match(resumed.output, /contribution 1 of 1: started/);
    const again = await run("ptau", "--power", "3", "--contributions", "1", "--out", out);
    assert.match(again.output, /is there already/);
  });

  it("keys --only refuses a circuit that does not exist, before it does anything", async () => {
    const { code, output } = await run("keys", "--only", "spend", "--only", "spend8");
    assert.notEqual(code, 0);
    assert.match(output, /spend8 is no circuit/);
    assert.doesNotMatch(output, /DEVELOPMENT KEYS/);
  });

  it("ptau refuses a power it cannot make", async () => {
    assert.notEqual((await run("ptau", "--power", "0")).code, 0);
    assert.notEqual((await run("ptau", "--power", "-1")).code, 0);
  });
});

async function run(script: string, ...args: string[]): Promise<{ code: number | null; output: string }> {
  const { code, said } = await runProgram(`scripts/build/${script}.ts`, args);
  return { code, output: said };
}
