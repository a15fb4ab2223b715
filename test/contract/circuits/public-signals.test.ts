import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { PROJECT_ROOT } from "../../support/tree.ts";
import { asTable, publicSignals, type Row } from "./public-signals.ts";

const TABLE = path.join(PROJECT_ROOT, "shared/circuits/PUBLIC-SIGNALS.md");

describe("both sides of every public signal", function () {
  this.timeout(900_000);
  let rows: Row[];
  before(async () => {
    rows = await publicSignals();
  });

  it("a constraint of the circuit fixes it, and the pool reads it", () => {
    const empty = rows.filter(({ constraints, readers }) => constraints.length === 0 || readers.length === 0);
    assert.deepEqual(empty, []);
    assert.equal(rows.length, 6 + 10 + 17 + 9);
  });

  it("the committed table says so", async () => {
    // Formatting pads its cells.
    const plain = (text: string): string => text.replace(/ +/gu, " ").replace(/-{3,}/gu, "---");
    assert.equal(plain(await readFile(TABLE, "utf8")), plain(asTable(rows)));
  });
});
