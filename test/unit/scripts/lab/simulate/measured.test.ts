// The figures of the simulation stand where it says that they come from.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import {
  FIGURES,
  FIGURE_NAMES,
  KIND_FIGURES,
  type Figure,
  type FigureName,
  type Source,
} from "../../../../../scripts/lab/simulate/measured.ts";
import { PROJECT_ROOT } from "../../../../support/tree.ts";

/** Reckoned from what the source says, or a choice beside it. */
const DERIVED: ReadonlySet<FigureName> = new Set([
  ...(["block-gas", "in-flight", "call-bytes", "request"] as const),
]);
/** Nobody measured them. */
const WITHOUT_SOURCE: readonly FigureName[] = [
  "enclaves",
  "requests",
  "redis-ticket",
  "redis-call",
  "redis-host",
];

const plain = (text: string): string => text.replace(/\s+/g, " ");
const read = ({ file }: Source): string => plain(readFileSync(path.join(PROJECT_ROOT, file), "utf8"));
const numbersIn = (text: string): number[] =>
  (text.match(/\d[\d,_]*(\.\d+)?/g) ?? []).map((one) => Number(one.replace(/[,_]/g, "")));

describe("simulate: measured figures", () => {
  it("stand in their sources, with the same value", () => {
    for (const name of FIGURE_NAMES) {
      const { value, source }: Figure = FIGURES[name];
      if (source === undefined) continue;
      assert.ok(read(source).includes(plain(source.text)), `${name}: ${source.file} says something else now`);
      if (!DERIVED.has(name))
        assert.ok(numbersIn(source.text).includes(value), `${name} is ${String(value)}`);
    }
    assert.equal(FIGURES.request.value, 1_000 / 4_792);
  });

  it("gas of each kind is that of the gas report", () => {
    for (const { gasAlone, gasEachOf16, sources } of Object.values(KIND_FIGURES)) {
      for (const source of sources) assert.ok(read(source).includes(source.text), source.text);
      assert.deepEqual(
        sources.map(({ text }) => numbersIn(text).at(-1)),
        [gasAlone, gasEachOf16],
      );
    }
  });

  it("say so where nobody measured", () => {
    const without = FIGURE_NAMES.filter((name) => (FIGURES[name] as Figure).source === undefined);
    assert.deepEqual(without, WITHOUT_SOURCE);
    for (const name of without) assert.match(FIGURES[name].about, /a choice|counted/);
  });
});
