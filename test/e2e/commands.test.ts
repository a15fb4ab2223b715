// The commands as a user runs them: exit codes, output, resuming.
import assert from "node:assert/strict";
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import type { StackFile } from "../../scripts/dev/stack-folder.ts";
import { parseUsdc, showUsdc } from "../../scripts/dev/usdc.ts";

const ROOT = path.join(path.dirname(fileURLToPath(import.meta.url)), "..", "..");

interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

describe("commands", function () {
  this.timeout(240_000);
  let folder: string;
  const children = new Set<ChildProcess>();

  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), "cloister-commands-"));
  });

  after(async () => {
    for (const child of children) child.kill("SIGKILL");
    await rm(folder, { recursive: true, force: true });
  });

  function run(
    script: string,
    ...args: string[]
  ): { child: ChildProcess; ended: Promise<Ended>; said: (text: string) => Promise<void> } {
    const child = spawn(process.execPath, ["scripts/run.mjs", `scripts/${script}`, ...args], { cwd: ROOT });
    children.add(child);
    let stdout = "";
    let stderr = "";
    child.stdout.on("data", (chunk: Buffer) => (stdout += chunk.toString()));
    child.stderr.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
    const ended = once(child, "close").then(([code]): Ended => {
      children.delete(child);
      return { code: code as number | null, stdout, stderr };
    });
    const said = (text: string): Promise<void> =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          if (stdout.includes(text)) resolve();
        };
        child.stdout.on("data", look);
        void ended.then((result) =>
          reject(new Error(`ended before it said ${text}: ${JSON.stringify(result)}`)),
        );
        look();
      });
    return { child, ended, said };
  }

  const readStack = async (): Promise<StackFile> =>
    JSON.parse(await readFile(path.join(folder, "stack.json"), "utf8")) as StackFile;

  it("npm run demo --json starts a stack, ends with exact balances, and stops it again", async () => {
    const { code, stdout, stderr } = await run("demo.ts", "--json", "--folder", folder).ended;
    assert.equal(code, 0, stderr);
    const result = JSON.parse(stdout.trim().split("\n").at(-1) ?? "") as {
      ok: boolean;
      balances: { name: string; expected: string; actual: string; exact: boolean }[];
      timings: { operation: string; step: string }[];
    };
    assert.equal(result.ok, true);
    const balances = Object.fromEntries(result.balances.map(({ name, actual }) => [name, actual]));
    assert.deepEqual(balances, {
      "first wallet": "69900000",
      "second wallet": "17450000",
      "second wallet, restored": "17450000",
      "not verified on the chain": "0",
      "depositor's public account": "0",
      "recipient's public account": "12500000",
      "service's fees of this demo": "150000",
    });
    assert.equal(result.timings.filter(({ step }) => step === "prove").length, 3);
    const { pid, networks } = await readStack();
    assert.throws(() => process.kill(pid, 0), "the stack's process is gone");
    await assert.rejects(fetch(`${networks.first.base_url}/health`));
  });

  it("npm start resumes the same chain, pool and key, refuses a second start, and ends with 0 on Ctrl-C", async () => {
    const before = await readStack();
    const first = run("start.ts", "--folder", folder, "--port", "0", "--chain-port", "0");
    await first.said("Ctrl-C stops everything");
    const now = await readStack();
    assert.equal(now.api_key, before.api_key);
    assert.equal(now.networks.first.pool, before.networks.first.pool);
    assert.notEqual(now.networks.first.enclave_signer, before.networks.first.enclave_signer);

    const answer = await fetch(`${now.networks.first.base_url}/merkle/root`, {
      headers: { "x-api-key": now.api_key },
    });
    const root = (await answer.json()) as { leaf_count: number; pending: number };
    // One deposit (3 leaves) and two spends (4 each) of the demo before.
    assert.deepEqual([root.leaf_count, root.pending], [11, 0]);

    const second = await run("start.ts", "--folder", folder).ended;
    assert.equal(second.code, 1);
    assert.match(second.stderr, /already runs/);

    const demo = await run("demo.ts", "--json", "--folder", folder).ended;
    assert.equal(demo.code, 0, demo.stderr);

    first.child.kill("SIGINT");
    const { code, stdout } = await first.ended;
    assert.equal(code, 0);
    assert.match(stdout, /npm start resumes/);
    await assert.rejects(fetch(`${now.networks.first.base_url}/health`));
  });

  it("every command explains itself, and refuses arguments that it does not know", async () => {
    for (const script of [
      "start.ts",
      "demo.ts",
      "wallet.ts",
      "operator.ts",
      "openapi.ts",
      "gas.ts",
      "measure.ts",
    ]) {
      const help = await run(script, "--help").ended;
      assert.equal(help.code, 0, `${script} --help`);
      assert.match(help.stdout, /Usage/i, `${script} --help`);
      const wrong = await run(script, "--no-such-option").ended;
      assert.notEqual(wrong.code, 0, `${script} --no-such-option`);
    }
    assert.equal((await run("start.ts", "--port", "99999").ended).code, 2);
    assert.equal((await run("demo.ts", "--only", "everything").ended).code, 2);
  });

  it("amounts are read and shown without a floating-point number", () => {
    for (const [text, units] of [
      ["12.5", 12_500_000n],
      ["0.000001", 1n],
      ["100", 100_000_000n],
    ] as const) {
      assert.equal(parseUsdc(text), units);
      assert.equal(showUsdc(units), text);
    }
    for (const text of ["", "-1", "+1", "01", "1.", ".5", "1e3", "0.0000001"])
      assert.equal(parseUsdc(text), undefined, text);
  });
});
