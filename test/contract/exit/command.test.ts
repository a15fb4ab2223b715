import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Prover } from "../../../shared/client/index.ts";
import { developmentProver } from "../../../shared/client/node/development.ts";
import { toHex } from "../../../shared/protocol/bytes.ts";
import { runProgram } from "../../support/program.ts";
import { LonePool, SILENCE_SECS } from "../../support/lone-pool.ts";

describe("exit: the command", function () {
  this.timeout(300_000);
  let prover: Prover;
  let lone: LonePool;
  let folder: string;
  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), "cloister-exit-"));
    prover = await developmentProver();
    lone = await LonePool.start(prover);
  });
  after(async () => {
    await lone.stop();
    await prover.close();
    await rm(folder, { recursive: true, force: true });
  });

  async function exit(
    secrets: Readonly<Record<string, string>>,
    where: { readonly pool?: string; readonly to?: string; readonly rpc?: string } = {},
    ...more: readonly string[]
  ): Promise<{ readonly code: number | null; readonly text: string }> {
    const { pool = lone.pool, to = lone.asset, rpc = lone.anvil.url } = where;
    // One key, one state.
    const state = path.join(folder, secrets["EXIT_SEED"]?.slice(2, 8) ?? "none");
    const args = ["--rpc", rpc, "--pool", pool, "--to", to, "--finality", "0", "--state", state, ...more];
    const { code, said } = await runProgram("scripts/exit/main.ts", args, { env: secrets });
    return { code, text: said };
  }

  it("shows what is there, sends it out, and then finds nothing", async () => {
    const seed = new Uint8Array(32).fill(1);
    const secrets = { EXIT_SEED: toHex(seed) };
    const wallet = await lone.wallet({ seed: 1 });
    const payer = await lone.account(77n);
    const alone = await wallet.withoutService(payer);
    await alone.deposit(77n);
    await lone.pass(SILENCE_SECS);
    await alone.advance();
    await wallet.close();

    const [gas, to] = [await lone.account(), await lone.account()];
    const dry = await exit(secrets, { to: to.address }, "--dry-run");
    assert.match(dry.text, /77 can leave now, in 1 withdrawals/);
    assert.equal(dry.code, 3, dry.text);
    const withGas = { ...secrets, EXIT_GAS_KEY: gas.privateKey };
    const done = await exit(withGas, { to: to.address }, "--no-wait");
    assert.match(done.text, /Everything is out\./);
    assert.equal(done.code, 0, done.text);
    assert.equal(await lone.publicBalance(to.address), 77n);
    assert.ok(!`${dry.text}${done.text}`.includes(toHex(seed).slice(2)), "it says its secret");
  });

  it("ends with 2 for wrong arguments, with 4 for what it does not believe", async () => {
    const secrets = { EXIT_SEED: `0x${"02".repeat(32)}` };
    const noKey = await exit({}, {}, "--dry-run");
    assert.deepEqual([noKey.code, /EXIT_PHRASE or EXIT_SEED/.test(noKey.text)], [2, true]);
    const noGas = await exit(secrets);
    assert.deepEqual([noGas.code, /EXIT_GAS_KEY is needed/.test(noGas.text)], [2, true]);
    const noNode = await exit(secrets, { rpc: "http://127.0.0.1:9" }, "--dry-run");
    assert.deepEqual([noNode.code, /NODE_UNREACHABLE/.test(noNode.text)], [1, true]);
    const noPool = await exit(secrets, { pool: lone.asset }, "--dry-run");
    assert.match(noPool.text, /no pool of this version answers/);
    assert.equal(noPool.code, 4);
  });
});
