// What the pool may cost at most, and that the committed table says what it costs. Gas is the same on every machine, but for drawn bytes, so both are tests. See gas.tree.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import path from "node:path";
import type { Figures } from "../../../scripts/lab/bench/figures.ts";
import { measureGas } from "../../../scripts/lab/gas.ts";
import { PROJECT_ROOT } from "../../support/tree.ts";

/**
 * The product's promises are 84,000 and 160,000 for a private transfer in a batch of 16 and alone, 115,000 for a withdrawal in a
 * batch, 430,000 and 465,000 for a proved transfer and withdrawal, 40,000 and 25,000 for a leaf of 64 and of 256, 450,000
 * for a refutation; the others leave a little room above what is measured for later checks. 520,000 for a proved spend9, 60,000 for
 * a first forward over the bare burn, and 135,000 for a sweep alone of an address that was swept before, are not reached: see the contracts' README.
 */
const LIMITS: Readonly<Record<string, number>> = {
  private_transfer_batch16: 84_000,
  private_transfer_alone: 160_000,
  deposit: 104_000,
  withdrawal: 115_000,
  swap: 173_000,
  swap_two_hops: 205_000,
  spend9_batch16: 255_000,
  root_update: 76_000,
  credit_alone: 123_000,
  credit_64_per_note: 37_000,
  tree_append_64_per_leaf: 27_000,
  tree_append_256_per_leaf: 15_200,
  proved_private_transfer: 430_000,
  proved_withdrawal: 465_000,
  proved_deposit: 390_000,
  proved_spend9: 620_000,
  advance_64_per_leaf: 40_000,
  advance_256_per_leaf: 25_000,
  claim_payment: 90_000,
  refute_statement: 450_000,
  sweep_first_without_fee: 190_000,
  sweep_again_without_fee: 141_000,
  sweep_first_batch16: 110_000,
  sweep_batch16: 67_000,
  forward_over_bare_burn: 71_000,
  forward_again_over_bare_burn: 40_000,
  flush: 130_000,
};

/** `| `name` | what it is | 12,345 |` in the contracts' README. */
const ROW = /^\| `(\w+)` +\|[^|]*\| +([\d,]+) +\|$/gm;

/** Far less than anything that a change of the contracts would add. */
const TOLERANCE = 250;

describe("contracts: gas", function () {
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
