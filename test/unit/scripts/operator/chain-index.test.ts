// What `operator index` refuses before it opens anything, and how `rebuild` says how far it is.
import assert from "node:assert/strict";
import type { Database } from "../../../../proxy/base/store/lmdb/database.ts";
import { everySecond, indexCommand } from "../../../../scripts/operator/chain-index.ts";
import { UsageError } from "../../../../scripts/base/command.ts";

/** Nothing listens there: the port is reserved (IANA, tcpmux). */
const CHAIN = { rpc: "http://127.0.0.1:1", "chain-id": "31337", pool: `0x${"11".repeat(20)}` };
/** Whatever is refused is refused before the store is looked at. */
const UNTOUCHED: Database = {
  table: () => assert.fail("the store was opened"),
  transaction: () => assert.fail("the store was written"),
  copyTo: () => assert.fail("the store was read"),
  close: () => Promise.resolve(),
};

type Values = Parameters<typeof indexCommand>[2];

const refused = (words: readonly string[], values: Values, text: RegExp): Promise<void> =>
  assert.rejects(indexCommand(UNTOUCHED, words, values, {}), (error: Error) => {
    assert.ok(error instanceof UsageError, error.message);
    assert.match(error.message, text);
    return true;
  });

describe("operator index: words and options", () => {
  it("refuses words and options that it does not know", async () => {
    await refused([], CHAIN, /unknown command/);
    await refused(["mend"], CHAIN, /unknown command/);
    await refused(["check", "twice"], CHAIN, /too many words/);
    await refused(["check"], { ...CHAIN, anew: true }, /--anew is for index rebuild/);
    for (const rpc of ["localhost:8545", "ftp://127.0.0.1", "http://"])
      await refused(["check"], { ...CHAIN, rpc }, /--rpc takes/);
    for (const chainId of ["0", "-1", "0x7a69", "1.5", "01", "9".repeat(16)])
      await refused(["check"], { ...CHAIN, "chain-id": chainId }, /--chain-id takes/);
    for (const pool of ["0x11", `${CHAIN.pool}11`])
      await refused(["check"], { ...CHAIN, pool }, /--pool takes/);
    await refused(["check"], { ...CHAIN, "from-block": "-1" }, /--from-block takes/);
    for (const sample of ["0", "100001", "all"])
      await refused(["check"], { ...CHAIN, sample }, /--sample takes/);
  });

  it("names what is missing", async () => {
    const { rpc, pool, "chain-id": chainId } = CHAIN;
    await refused(["check"], { pool, "chain-id": chainId }, /--rpc URL/);
    await refused(["check"], { rpc, pool }, /--chain-id N/);
    await refused(["check"], { rpc, "chain-id": chainId }, /--pool ADDRESS/);
  });

  it("a node that is unreachable is no mistake of the caller's", async () => {
    await assert.rejects(indexCommand(UNTOUCHED, ["check"], CHAIN, {}), { name: "ChainUnreachable" });
  });
});

describe("operator index: progress", () => {
  it("is said at most once a second, and always at the end", () => {
    const said: string[] = [];
    const say = everySecond((line) => {
      said.push(line);
    });
    const at = (block: number, elapsedMs: number): void => {
      const done = { blocksDone: block - 1_000, leavesDone: block };
      say({ block, head: 4_000, leaves: 2 * block, ...done, elapsedMs });
    };
    at(1_500, 500);
    at(1_600, 600);
    at(2_000, 2_000);
    at(4_000, 2_001);
    assert.deepEqual(said, [
      "block 1,500 of 4,000, 3,000 leaves, 1,000 blocks and 3,000 leaves a second, 3 s left",
      "block 2,000 of 4,000, 4,000 leaves, 500 blocks and 1,000 leaves a second, 4 s left",
      "block 4,000 of 4,000, 8,000 leaves, 1,499 blocks and 1,999 leaves a second, 0 s left",
    ]);
  });
});
