// What the pool may cost at most, and that the committed table says what it costs. Gas is the same on every machine, but for drawn bytes, so both are tests. See gas.tree.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import path from "node:path";
import type { Figures } from "../../../scripts/lab/bench/figures.ts";
import { measureGas } from "../../../scripts/lab/gas.ts";
import { PROJECT_ROOT } from "../../support/tree.ts";

/**
 * The product's promises are 100,000 and 165,000 for a private transfer in a batch of 16 and alone, 140,000 for deposit
 * and withdrawal, 320,000 for a swap; these leave a little room above what is measured for later checks.
 */
const LIMITS: Readonly<Record<string, number>> = {
  private_transfer_batch16: 92_000,
  private_transfer_alone: 163_500,
  deposit: 108_000,
  withdrawal: 111_000,
  swap: 192_000,
  swap_two_hops: 225_000,
  spend9_batch16: 258_000,
  root_update: 76_000,
};

/** `| `name` | what it is | 12,345 |` in the contracts' README. */
const ROW = /^\| `(\w+)` +\|[^|]*\| +([\d,]+) +\|$/gm;

/** Far less than anything that a change of the contracts would add. */
const TOLERANCE = 250;

describe("contracts: gas", function () {
  this.timeout(180_000);
  let figures: Figures;
  before(async () => {
    figures = await measureGas();
  });

  for (const [name, limit] of Object.entries(LIMITS)) {
    it(`${name} stays within ${limit}`, () => {
      const value = figures[name]?.value;
      assert.ok(value !== undefined && value <= limit, `${name}: ${String(value)} gas`);
    });
  }

  it("the table in shared/contracts/README.md says what was measured", async () => {
    const readme = await readFile(path.join(PROJECT_ROOT, "shared/contracts/README.md"), "utf8");
    const committed = [...readme.matchAll(ROW)].map(([, name = "", digits = ""]) => ({
      name,
      gas: Number(digits.replaceAll(",", "")),
    }));
    assert.deepEqual(
      committed.map(({ name }) => name),
      Object.keys(figures),
    );
    for (const { name, gas } of committed) {
      const value = figures[name]?.value ?? 0;
      // A zero byte of calldata is 12 gas cheaper, and a statement has about a kilobyte of drawn bytes, four of them
      // zero on average; Uniswap also writes block times down.
      assert.ok(Math.abs(value - gas) <= TOLERANCE, `${name}: ${gas} in the table, ${value} measured`);
    }
  });
});
