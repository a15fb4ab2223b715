// What the pool may cost at most. Gas is exact and the same on every machine, so a limit is a test. See gas.tree.
import assert from "node:assert/strict";
import { measureGas, type GasFigures } from "../../../scripts/gas.ts";

/** The product's promise is 100,000 in a batch of 16 and 165,000 alone; these leave a little room below it for later checks. */
const LIMITS: Readonly<Record<string, number>> = {
  private_transfer_batch16: 92_000,
  private_transfer_alone: 163_500,
  deposit: 105_000,
  withdrawal: 107_000,
  root_update: 76_000,
};

describe("contracts: gas", () => {
  let figures: GasFigures;
  before(async () => {
    figures = await measureGas();
  });

  for (const [name, limit] of Object.entries(LIMITS)) {
    it(`${name} stays within ${limit}`, () => {
      const value = figures[name]?.value;
      assert.ok(value !== undefined && value <= limit, `${name}: ${String(value)} gas`);
    });
  }
});
