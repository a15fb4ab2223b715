// The commands as a user runs them: exit codes, output, resuming.
import assert from "node:assert/strict";
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { networkOf, type StackFile } from "../../scripts/base/stack-file.ts";
import { imageOf } from "../../shared/protocol/host/registration.ts";
import { documentedFetch } from "../support/documented.ts";
import { until } from "../support/until.ts";

const ROOT = path.join(path.dirname(fileURLToPath(import.meta.url)), "..", "..");

const POOL = `0x${"11".repeat(20)}`;

interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

describe("commands", function () {
  this.timeout(480_000);
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
  ): { child: ChildProcess; ended: Promise<Ended>; said: (text: string) => Promise<string> } {
    const child = spawn(process.execPath, ["scripts/build/run.mjs", `scripts/${script}`, ...args], {
      cwd: ROOT,
    });
    children.add(child);
    let stdout = "";
    let stderr = "";
    child.stdout.on("data", (chunk: Buffer) => (stdout += chunk.toString()));
    child.stderr.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
    const ended = once(child, "close").then(([code]): Ended => {
      children.delete(child);
      return { code: code as number | null, stdout, stderr };
    });
    /** All that it has said by then. */
    const said = (text: string): Promise<string> =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          if (stdout.includes(text)) resolve(stdout);
        };
        child.stdout.on("data", look);
        void ended.then((result) =>
          reject(new Error(`ended before it said ${text}: ${JSON.stringify(result)}`)),
        );
        look();
      });
    return { child, ended, said };
  }

  const readStack = async (of = folder): Promise<StackFile> =>
    JSON.parse(await readFile(path.join(of, "stack.json"), "utf8")) as StackFile;

  const FREE = ["--port", "0", "--chain-port", "0", "--second-port", "0", "--second-chain-port", "0"];

  const isUnreachable = (url: string): Promise<boolean> =>
    fetch(url).then(
      () => false,
      () => true,
    );

  interface DemoResult {
    readonly ok: boolean;
    readonly chapters: readonly {
      readonly name: string;
      readonly checks: readonly {
        readonly what: string;
        readonly actual: string;
        readonly expected: string;
      }[];
      readonly timings: readonly { readonly step: string }[];
      readonly transactions: readonly { readonly operation: string; readonly tx_hash: string }[];
    }[];
  }

  const resultOf = (stdout: string): DemoResult =>
    JSON.parse(stdout.trim().split("\n").at(-1) ?? "") as DemoResult;
  const byName = (chapter: DemoResult["chapters"][number] | undefined): Record<string, string> =>
    Object.fromEntries(chapter?.checks.map(({ what, actual }) => [what, actual]) ?? []);
  /** What the part of the bridges comes to: the attester takes 1 bps of a fast burn and 0.2 USDC of the exchange's, the exchange 1 and 0.2. */
  const BRIDGED = {
    "first wallet": "67066015",
    "second wallet": "4930000",
    "exchange account, before the withdrawal": "60000000",
    "exchange account": "69999000",
    "recipient on the other chain": "11998800",
    "left at the source address": "0",
    "taken back": "1500000",
    "service's fees of this part": "300000",
    "developer's fees of this part": "298485",
  };

  it("npm run demo --json starts both networks, ends with exact balances, and stops them again", async () => {
    const { code, stdout, stderr } = await run("demo/main.ts", "--json", "--folder", folder).ended;
    assert.equal(code, 0, stderr);
    const result = resultOf(stdout);
    assert.equal(result.ok, true);
    for (const { what, actual, expected } of result.chapters.flatMap(({ checks }) => checks))
      assert.equal(actual, expected, what);
    const [payments, swap, bridges] = result.chapters;
    assert.deepEqual(byName(bridges), BRIDGED);
    assert.deepEqual(byName(payments), {
      "first wallet": "54590000",
      "second wallet": "2930000",
      "third wallet": "29427500",
      "third wallet, restored": "29427500",
      "not verified on the chain": "0",
      "depositor's public account": "0",
      "recipient's public account": "12500000",
      "service's fees of this part": "350000",
      "developer's fees less what it spent": "202500",
      "spent by the second wallet in one transaction": "3",
      "room for notes in that transaction": "9",
    });
    assert.ok(BigInt(byName(swap)["bought, by the pool's own event"] ?? "0") > 0n);
    const proofs = result.chapters.map(
      ({ timings }) => timings.filter(({ step }) => step === "prove").length,
    );
    assert.deepEqual(proofs, [7, 5, 3]);
    const sent = result.chapters.flatMap(({ transactions }) => transactions);
    assert.equal(new Set(sent.map(({ tx_hash }) => tx_hash)).size, 15);

    const { pid, networks } = await readStack();
    assert.throws(() => process.kill(pid, 0), "the stack's process is gone");
    for (const network of [networks.first, networks.second]) {
      assert.ok(network !== undefined);
      assert.ok(await isUnreachable(`${network.base_url}/health`));
      assert.ok(await isUnreachable(network.chain_rpc));
    }
  });

  it("npm start resumes the same chains, pools and key, refuses a second start, and ends with 0 on Ctrl-C", async () => {
    const before = await readStack();
    const first = run("stack/start.ts", "--folder", folder, ...FREE);
    await first.said("60 requests a minute, 10,000 a day");
    const printed = await first.said("Ctrl-C stops everything");
    const now = await readStack();
    assert.equal(now.api_key, before.api_key);
    const [one, two] = [networkOf(now, "first"), networkOf(now, "second")];
    const page = await fetch(/wallet page +(\S+)/.exec(printed)?.[1] ?? "");
    assert.match(page.headers.get("content-security-policy") ?? "", /default-src 'none'; script-src 'self';/);
    assert.match(await page.text(), /<title>Cloister wallet<\/title>/);
    const asked = await documentedFetch(one.base_url)(`${one.base_url}/whoami`, {
      headers: { "x-api-key": now.api_key },
    });
    const { limits } = (await asked.json()) as { limits: { policy: string; quota: number }[] };
    assert.deepEqual(
      limits.map(({ policy, quota }) => [policy, quota]),
      [
        ["key-minute", 60],
        ["key-day", 10_000],
      ],
    );
    const leaves: number[] = [];
    for (const name of ["first", "second"] as const) {
      const network = networkOf(now, name);
      assert.equal(network.pool, networkOf(before, name).pool);
      // The same key again: KMS released it to the enclave of this start.
      assert.equal(network.enclave_signers[0], networkOf(before, name).enclave_signers[0]);
      assert.deepEqual(network.enclave, networkOf(before, name).enclave);
      const answer = await documentedFetch(network.base_url)(`${network.base_url}/merkle/root`, {
        headers: { "x-api-key": now.api_key },
      });
      const root = (await answer.json()) as { leaf_count: number; pending: number };
      assert.equal(root.pending, 0);
      leaves.push(root.leaf_count);
    }
    // Of the demo before: a deposit (3 leaves) and six spends (4 each), three sweeps (3 each) and three spends; two
    // deposits, a swap and two spends.
    assert.deepEqual(leaves, [48, 18]);
    assert.equal(one.swaps, undefined);
    assert.ok(two.swaps !== undefined);

    const second = await run("stack/start.ts", "--folder", folder).ended;
    assert.equal(second.code, 1);
    assert.match(second.stderr, /already runs/);

    const demo = await run("demo/main.ts", "--json", "--only", "swap", "--folder", folder).ended;
    assert.equal(demo.code, 0, demo.stderr);

    first.child.kill("SIGINT");
    const { code, stdout } = await first.ended;
    assert.equal(code, 0);
    assert.match(stdout, /npm start resumes/);
    assert.ok(await isUnreachable(`${one.base_url}/health`));
    assert.ok(await isUnreachable(`${two.base_url}/health`));
  });

  it("npm start --network first --liar runs that one alone, exactly, and nothing outlives a supervisor that is killed", async () => {
    const alone = path.join(folder, "alone");
    const start = run(
      "stack/start.ts",
      "--folder",
      alone,
      "--network",
      "first",
      "--port",
      "0",
      "--chain-port",
      "0",
      "--liar",
      "411203",
    );
    await start.said("Ctrl-C stops everything");
    const stack = await readStack(alone);
    assert.equal(stack.networks.second, undefined);
    const { base_url, chain_rpc, enclave, enclave_signers } = networkOf(stack, "first");
    assert.equal(await isUnreachable(chain_rpc), false);

    const { measurement } = enclave;
    const shown = await run("stack/wallet.ts", "enclaves", "--folder", alone).ended;
    assert.equal(shown.code, 0, shown.stderr);
    assert.match(shown.stdout, new RegExp(`^signer ${enclave_signers[0]?.toLowerCase() ?? "none"}$`, "m"));
    assert.match(shown.stdout, new RegExp(`^  PCR0 +${measurement.pcr0}$`, "m"));
    assert.match(shown.stdout, new RegExp(`^  image +${imageOf(measurement)}, with the first of`, "m"));
    assert.match(shown.stdout, /^ {2}admitted +\S+, when the pool was made$/m);

    const demo = await run("demo/main.ts", "--only", "swap", "--folder", alone).ended;
    assert.equal(demo.code, 1);
    assert.match(demo.stderr, /without the second network/);

    const own = await run("demo/main.ts", "--liar", "1", "--folder", alone).ended;
    assert.equal(own.code, 1);
    assert.match(own.stderr, /give --liar to npm start/);

    // What is asked of a stack that runs, and ends nothing of it.
    const bridged = await run("demo/main.ts", "--json", "--only", "bridges", "--folder", alone).ended;
    assert.equal(bridged.code, 0, bridged.stderr);
    const result = resultOf(bridged.stdout);
    assert.equal(result.ok, true);
    const [chapter, ...others] = result.chapters;
    assert.equal(others.length, 0);
    assert.deepEqual(byName(chapter), BRIDGED);
    assert.deepEqual(
      chapter?.transactions.map(({ operation }) => operation),
      ["transfer", "withdraw to the exchange", "withdraw to another chain"],
    );
    const { bridges } = networkOf(stack, "first");
    assert.ok(bridges !== undefined);
    const { attester_url, altchain, perpvenue, chains } = bridges;
    const venues = [
      attester_url,
      altchain.rpc,
      perpvenue.api_url,
      perpvenue.rpc,
      ...chains.map(({ rpc }) => rpc),
    ];
    for (const url of venues) assert.equal(await isUnreachable(url), false, url);

    start.child.kill("SIGKILL");
    await start.ended;
    await until("the proxy to end", () => isUnreachable(`${base_url}/health`));
    await until("the chain to end", () => isUnreachable(chain_rpc));
    for (const url of venues) await until(`${url} to end`, () => isUnreachable(url));
  });

  it("a folder of an older version is refused with what to do, and left as it is", async () => {
    const old = path.join(folder, "old");
    await mkdir(path.join(old, "first"), { recursive: true });
    const file = path.join(old, "first", "deployment.json");
    const text = JSON.stringify({
      chain_id: 31_337,
      pool: POOL,
      usdc: POOL,
      deployment_block: 2,
      signers: [],
    });
    await writeFile(file, text);
    const { code, stderr } = await run("stack/start.ts", "--folder", old, ...FREE).ended;
    assert.equal(code, 1);
    assert.match(stderr, /older version/);
    assert.match(stderr, /--fresh/);
    assert.doesNotMatch(stderr, /\n {4}at /, "no stack trace");
    assert.equal(await readFile(file, "utf8"), text);
    assert.deepEqual((await readdir(old)).sort(), ["first"]);
  });

  it("every command explains itself, and refuses arguments that it does not know", async () => {
    for (const script of [
      "stack/start.ts",
      "demo/main.ts",
      "stack/wallet.ts",
      "operator/main.ts",
      "recover/main.ts",
      "prove/main.ts",
      "build/openapi.ts",
      "build/screens.ts",
      "lab/gas.ts",
      "image/measure.ts",
      "audit/main.ts",
      "image/main.ts",
      "lab/fuzz.ts",
      "lab/enclave-mutations.ts",
    ]) {
      const help = await run(script, "--help").ended;
      assert.equal(help.code, 0, `${script} --help`);
      assert.match(help.stdout, /Usage/i, `${script} --help`);
      const wrong = await run(script, "--no-such-option").ended;
      assert.notEqual(wrong.code, 0, `${script} --no-such-option`);
    }
    assert.equal((await run("stack/start.ts", "--port", "99999").ended).code, 2);
    assert.equal((await run("stack/start.ts", "--network", "third").ended).code, 2);
    assert.equal((await run("stack/start.ts", "--network", "first", "--second-port", "0").ended).code, 2);
    for (const threshold of ["0", "-1", "1.5", "two", "9", ""])
      assert.equal((await run("stack/start.ts", `--threshold=${threshold}`).ended).code, 2, threshold);
    assert.equal((await run("demo/main.ts", "--only", "everything").ended).code, 2);
    assert.equal((await run("demo/main.ts", "--only", "exit", "--liar", "1").ended).code, 2);
    assert.equal((await run("stack/start.ts", "--liar", "seed").ended).code, 2);
  });
});
