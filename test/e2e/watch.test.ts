// `npm run watch` as an auditor runs it, on a running stack: exit codes, output, and going on from a folder.
import assert from "node:assert/strict";
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { Interface } from "ethers";
import { POOL_ABI } from "../../shared/contracts/abi.ts";
import { PROJECT_ROOT } from "../support/tree.ts";
import { startTestStack, type TestStack } from "../support/stack.ts";
import { until } from "../support/until.ts";

const UNIT = 1_000_000n;

describe("watch", function () {
  let stack: TestStack;
  let folder: string;
  const children = new Set<ChildProcess>();

  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), "cloister-watch-e2e-"));
    stack = await startTestStack();
    const [alice, bob] = [await stack.wallet(), await stack.wallet()];
    await alice.deposit(100n * UNIT, await stack.depositor(100n * UNIT));
    await alice.pay(bob.address, 30n * UNIT);
    await alice.withdraw(`0x${"5b".repeat(20)}`, 10n * UNIT);
    for (const wallet of [alice, bob]) await wallet.close();
  });
  after(async () => {
    for (const child of children) child.kill("SIGKILL");
    await stack.stop();
    await rm(folder, { recursive: true, force: true });
  });

  function watch(...args: string[]): {
    child: ChildProcess;
    said: () => string;
    ended: Promise<number | null>;
  } {
    const child = spawn(process.execPath, ["scripts/build/run.mjs", "scripts/watch/main.ts", ...args], {
      cwd: PROJECT_ROOT,
    });
    children.add(child);
    let text = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream.on("data", (chunk: Buffer) => (text += chunk.toString()));
    }
    const ended = once(child, "close").then(([code]) => {
      children.delete(child);
      return code as number | null;
    });
    return { child, said: () => text, ended };
  }
  const onStack = (): string[] => ["--stack", stack.stack.folder.path];
  const summaryOf = (text: string): Record<string, unknown> =>
    JSON.parse(text.split("\n").find((line) => line.includes('"summary"')) ?? "{}");

  it("says that all is good, and again from its folder", async () => {
    const state = path.join(folder, "state");
    for (let time = 0; time < 2; time++) {
      const run = watch("--once", "--json", "--state", state, ...onStack());
      assert.equal(await run.ended, 0, run.said());
      const { ok, statements, leaves, alarms } = summaryOf(run.said());
      assert.deepEqual(
        { ok, statements, leaves, alarms },
        { ok: true, statements: 3, leaves: 11, alarms: 0 },
      );
    }
    const { chain_rpc, pool } = stack.entry;
    const byHand = watch("--once", "--rpc", chain_rpc, "--pool", pool);
    assert.equal(await byHand.ended, 0, byHand.said());
    assert.match(byHand.said(), /All good to block \d+: 3 statements, 11 leaves/);
  });

  it("follows on, alarms when the pool is short, and ends with that", async () => {
    const following = watch(...onStack());
    await until("the watcher begins", () => following.said().includes("Watching pool"));
    const { pool, usdc } = stack.entry;
    await stack.chain.send("anvil_impersonateAccount", [pool]);
    await stack.chain.send("anvil_setBalance", [pool, "0xde0b6b3a7640000"]);
    const data = `0xa9059cbb${"5b".repeat(20).padStart(64, "0")}${"1".padStart(64, "0")}`;
    await stack.chain.send("eth_sendTransaction", [{ from: pool, to: usdc, data }]);
    await until("the alarm", () => /ALARM {2}BALANCE_SHORT/.test(following.said()));
    following.child.kill("SIGINT");
    assert.equal(await following.ended, 2, following.said());

    const fresh = watch("--once", "--json", ...onStack());
    assert.equal(await fresh.ended, 2, fresh.said());
    assert.equal(summaryOf(fresh.said())["ok"], false);
    assert.match(fresh.said(), /"code":"BALANCE_SHORT"/);
  });

  it("shows what is pending and until when, also from its folder", async () => {
    const state = path.join(folder, "pending");
    const pool = new Interface(POOL_ABI);
    const call = { to: stack.entry.pool, data: pool.encodeFunctionData("owner") };
    const owner = `0x${((await stack.chain.send("eth_call", [call, "latest"])) as string).slice(-40)}`;
    await stack.chain.send("anvil_impersonateAccount", [owner]);
    const image = `0x${"5c".repeat(32)}`;
    const data = pool.encodeFunctionData("proposeImage", [image, 1, "0123abcd", "npm run build-image"]);
    const hash: unknown = await stack.chain.send("eth_sendTransaction", [
      { from: owner, to: stack.entry.pool, data },
    ]);
    await until(
      "the proposal is mined",
      async () => (await stack.chain.send("eth_getTransactionReceipt", [hash])) !== null,
    );
    const line = new RegExp(`image ${image}, admissible from \\d{4}-.*Z, expires at \\d{4}-.*Z`);
    const first = watch("--once", "--state", state, ...onStack());
    await first.ended;
    assert.match(first.said(), new RegExp(`notice {2}PROPOSED .*${line.source}`));
    assert.match(first.said(), new RegExp(`Pending: ${line.source}`));
    const again = watch("--once", "--json", "--state", state, ...onStack());
    await again.ended;
    assert.match(again.said(), new RegExp(`Pending: ${line.source}`));
    const [pending] = summaryOf(again.said())["pending"] as Record<string, unknown>[];
    assert.deepEqual([pending?.["role"], pending?.["image"]], ["image", image]);
    assert.equal(Number(pending?.["expires_at"]) - Number(pending?.["admissible_at"]), 7 * 86_400);
  });

  it("ends with 1, and never with 2, when it could not look", async () => {
    const { chain_rpc, pool } = stack.entry;
    for (const args of [
      ["--no-such-option"],
      ["--rpc", chain_rpc],
      ["--rpc", chain_rpc, "--pool", `0x${"5b".repeat(20)}`],
      ["--rpc", chain_rpc, "--pool", pool, "--confirmations", "100000"],
      ["--rpc", chain_rpc, "--pool", pool, "--keys", folder],
      ["--stack", folder],
    ]) {
      const run = watch("--once", ...args);
      assert.equal(await run.ended, 1, `${args.join(" ")}: ${run.said()}`);
    }
    const help = watch("--help");
    assert.equal(await help.ended, 0);
    assert.match(help.said(), /Usage: npm run watch[\s\S]*PROOF_FORGED[\s\S]*SIGNERS_SHORT/);
    assert.match(help.said(), /Notices[\s\S]*PROPOSED[\s\S]*WITHDRAWN[\s\S]*EXPIRED/);
  });
});
