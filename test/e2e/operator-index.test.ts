// `operator index` as an operator runs it: beside a running service, on the store of a stopped one, and without a node.
import assert from "node:assert/strict";
import type { ChildProcess } from "node:child_process";
import path from "node:path";
import { openDatabase } from "../../proxy/base/store/lmdb/database.ts";
import { servedIndex } from "../../proxy/base/store/lmdb/chain-tables.ts";
import { openRebuildStore } from "../../proxy/base/store/lmdb/rebuild.ts";
import { lineOfLog, loggedLines } from "../../scripts/base/service.ts";
import { runProgram, startProgram, type Ended } from "../support/program.ts";
import { startTestStack, type TestStack } from "../support/stack.ts";
import { until } from "../support/until.ts";

const UNIT = 1_000_000n;
/** Nothing listens there: the port is reserved (IANA, tcpmux). */
const NO_NODE = "http://127.0.0.1:1";
const PROGRESS =
  /^block [\d,]+ of [\d,]+, [\d,]+ leaves, ([\d,]+|\?) blocks and ([\d,]+|\?) leaves a second, (\d+|\?) s left$/;

interface Report {
  readonly equal: boolean;
  readonly block: number | null;
  readonly leaves: number;
  readonly sampled: { readonly blocks: number; readonly events: number; readonly nullifiers: number };
  readonly differences: readonly string[];
  readonly start?: string;
  readonly complete?: boolean;
}

describe("operator index", function () {
  let on: TestStack;
  const children = new Set<ChildProcess>();

  before(async () => {
    on = await startTestStack();
    const payer = await on.wallet();
    await payer.deposit(100n * UNIT, await on.depositor(100n * UNIT));
    await payer.pay((await on.wallet()).address, 30n * UNIT);
  });
  after(async () => {
    for (const child of children) child.kill("SIGKILL");
    await on.stop();
  });

  const operator = (words: readonly string[], env?: Readonly<Record<string, string>>): Promise<Ended> =>
    runProgram("scripts/operator/main.ts", words, env === undefined ? {} : { env });

  const store = (): string => on.local.folder.inside("store");
  const chainOf = (rpc = on.entry.chain_rpc, chainId = on.entry.chain_id): string[] => [
    ...["--data", store(), "--rpc", rpc, "--chain-id", String(chainId)],
    ...["--pool", on.entry.pool, "--from-block", String(on.entry.deployment_block)],
  ];
  const index = (verb: string, ...more: string[]): Promise<Ended> =>
    operator(["index", verb, ...chainOf(), ...more]);
  /** Standard output is one line, and that is the report. */
  const reportOf = ({ out, err }: Ended): Report => {
    assert.match(out, /^\{.*\}\n$/, err);
    return JSON.parse(out) as Report;
  };
  const leafCount = async (): Promise<number> => (await on.client.merkleRoot()).leaf_count;
  const isAdoption = ({ msg }: Readonly<Record<string, unknown>>): boolean =>
    msg === "a rebuilt index takes the place of the old one";
  const log = (): string => on.local.folder.log("proxy");
  const adoptions = async (): Promise<number> => (await loggedLines(log())).filter(isAdoption).length;
  const served = async (): Promise<string> => {
    const database = openDatabase(store());
    try {
      return servedIndex(database);
    } finally {
      await database.close();
    }
  };
  /** Takes a leaf out of the index that a stopped proxy served. */
  async function damage(): Promise<void> {
    const database = openDatabase(store());
    try {
      const table = database.table(servedIndex(database));
      const removed = await database.transaction(() => table.removeSync(["leaf", 2] as never));
      assert.equal(removed, true);
    } finally {
      await database.close();
    }
  }

  it("explains itself", async () => {
    for (const words of [["--help"], ["index", "rebuild", "-h"]]) {
      const { code, out, err } = await operator(words);
      assert.deepEqual([code, err], [0, ""], words.join(" "));
      assert.match(out, /^Usage/);
      for (const verb of ["index check", "index rebuild"]) assert.ok(out.includes(verb), verb);
    }
  });

  it("checks the index of a running service: equal, exit code 0, nothing on standard error", async () => {
    const ended = await index("check", "--json");
    const report = reportOf(ended);
    assert.deepEqual([ended.code, ended.err], [0, ""]);
    assert.deepEqual([report.equal, report.differences], [true, []]);
    assert.equal(report.leaves, await leafCount());
    assert.ok(report.sampled.events > 0 && report.sampled.nullifiers > 0);

    const { code, out } = await index("check");
    assert.equal(code, 0);
    assert.match(out, /^equal: block \d+, \d+ behind the head, 7 leaves; compared \d+ events/);
  });

  it("takes chain and folder from the proxy's own settings", async () => {
    const { code, out, err } = await operator(["--json", "index", "check"], {
      CLOISTER_DATA_DIR: store(),
      CLOISTER_RPC_URL: on.entry.chain_rpc,
      CLOISTER_CHAIN_ID: String(on.entry.chain_id),
      CLOISTER_POOL: on.entry.pool,
    });
    assert.equal(code, 0, err);
    assert.equal((JSON.parse(out) as Report).equal, true);
  });

  it("rebuilds beside a running service, which takes the new index over at its next start only", async () => {
    const before = await served();
    const ended = await index("rebuild", "--json");
    const report = reportOf(ended);
    assert.equal(ended.code, 0, ended.err);
    assert.deepEqual([report.equal, report.complete, report.start], [true, true, "begun"]);
    assert.equal(report.leaves, await leafCount());
    const progress = ended.err.trim().split("\n");
    assert.ok(progress.length > 0);
    for (const line of progress) assert.match(line, PROGRESS);

    // The running proxy goes on with its own index, and what it adds is not lost to the new one.
    const payer = await on.wallet();
    await payer.deposit(10n * UNIT, await on.depositor(10n * UNIT));
    const leaves = await leafCount();
    assert.equal(leaves, report.leaves + 3);
    assert.equal(await served(), before);
    assert.equal(await adoptions(), 0);

    await on.local.proxy().stop();
    await on.local.restartProxy();
    await lineOfLog(log(), isAdoption);
    assert.equal(await adoptions(), 1);
    assert.notEqual(await served(), before);
    await until("the new index to reach the head", async () => (await leafCount()) === leaves);
    await payer.pay((await on.wallet()).address, 5n * UNIT);
    assert.equal((await index("check")).code, 0);
  });

  it("on a stopped service: says what differs with exit code 3, and a rebuild repairs it", async () => {
    const leaves = await leafCount();
    await on.local.proxy().stop();
    await damage();
    const found = await index("check");
    assert.deepEqual([found.code, found.err], [3, ""]);
    assert.match(found.out, /^DIFFERENT: .*\n.*queue's head, from the stored leaves,/);
    const asJson = await index("check", "--json");
    const { equal, differences } = reportOf(asJson);
    assert.deepEqual([asJson.code, equal], [3, false]);
    assert.ok(differences.length > 0);

    const rebuilt = await index("rebuild");
    assert.equal(rebuilt.code, 0, rebuilt.err);
    assert.match(rebuilt.out, /^equal: /);
    assert.match(rebuilt.out, /serves it from its next start; until then the old index serves\n$/);
    assert.equal((await index("check")).code, 3, "the damaged one is still the one that serves");
    await on.local.restartProxy();
    assert.equal(await leafCount(), leaves);
    assert.equal((await index("check")).code, 0);
    const payer = await on.wallet();
    await payer.deposit(10n * UNIT, await on.depositor(10n * UNIT));
    assert.equal(await leafCount(), leaves + 3);
  });

  it("a rebuild that was killed goes on when it is called again, and begins with nothing with --anew", async () => {
    await on.mine(600);
    await on.local.proxy().stop();
    const rebuild = ["index", "rebuild", ...chainOf()];
    const { child, ended } = await startProgram("scripts/operator/main.ts", rebuild);
    children.add(child);
    child.stderr?.once("data", () => child.kill("SIGKILL"));
    const { signal, out } = await ended;
    assert.deepEqual([signal, out], ["SIGKILL", ""]);
    const database = openDatabase(store());
    const rebuilds = openRebuildStore(database);
    const reached = rebuilds.data.tip()?.number ?? -1;
    assert.equal(rebuilds.state()?.isComplete, false);
    await database.close();

    const again = await index("rebuild", "--json");
    const report = reportOf(again);
    assert.equal(again.code, 0, again.err);
    assert.deepEqual([report.start, report.complete], ["resumed", true]);
    assert.ok(reached >= on.entry.deployment_block && reached < (report.block ?? 0), String(reached));
    assert.equal(reportOf(await index("rebuild", "--json", "--anew")).start, "begun");
    await on.local.restartProxy();
    assert.equal((await index("check")).code, 0);
  });

  it("without a node nothing is known: exit code 1, words on standard error alone, and the service unharmed", async () => {
    for (const verb of ["check", "rebuild"]) {
      const { code, out, err } = await operator(["index", verb, ...chainOf(NO_NODE), "--json"]);
      assert.deepEqual([code, out], [1, ""], verb);
      assert.match(err, /^eth_chainId was not answered\n$/, verb);
    }
    assert.equal((await index("check")).code, 0);
  });

  it("refuses what it does not understand with exit code 2 and words on standard error alone", async () => {
    const refused: readonly (readonly [RegExp, readonly string[]])[] = [
      [/--help/, ["index", "mend", ...chainOf()]],
      [/another chain/, ["index", "rebuild", ...chainOf(on.entry.chain_rpc, 1)]],
      [/holds no store/, ["index", "check", ...chainOf(), "--data", path.join(store(), "typo")]],
    ];
    for (const [words, args] of refused) {
      const { code, out, err } = await operator(args);
      assert.deepEqual([code, out], [2, ""], args.join(" "));
      assert.match(err, words);
    }
  });
});
