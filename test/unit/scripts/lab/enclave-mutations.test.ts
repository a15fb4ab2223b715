// That mutants are derived as they should be, and that one is told from none. What they find in the enclave is
// `npm run mutate:enclave`.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import { transformSync } from "esbuild";
import { equivalents, measuredMutants } from "../../../../scripts/lab/enclave-mutations.ts";
import { mutantsOf, type Mutant } from "../../../../scripts/lab/enclave-mutations/derive.ts";
import { play, ROOT, testsOf, type Outcome } from "../../../../scripts/lab/enclave-mutations/run.ts";

const TEXT = `export function check(size: number, ok = true): string[] {
  if (size < 0 || size > 10) return [];
  if (ok) size += 1;
  else throw new Error("no");
  return ["a", size === 3 ? "b" : "c"];
}
`;
const changes = (text: string): string[] =>
  mutantsOf("f.ts", text).map(({ id, before, after }) => `${id.split(" ")[2] ?? ""}: ${before} -> ${after}`);

describe("scripts: ways to weaken the enclave", () => {
  it("drops guards, throws, operands and elements, bends conditions and moves constants", () => {
    assert.deepEqual(changes(TEXT), [
      "flip-boolean: true -> false",
      "drop-guard: if (size < 0 || size > 10) return []; -> ;",
      "keep-left: size < 0 || size > 10 -> size < 0",
      "keep-right: size < 0 || size > 10 -> size > 10",
      "swap-comparison: < -> <=",
      "off-by-one: 0 -> (0 + 1)",
      "swap-comparison: > -> >=",
      "off-by-one: 10 -> (10 + 1)",
      "negate: ok -> !(ok)",
      "off-by-one: 1 -> (1 + 1)",
      'drop-throw: throw new Error("no"); -> ;',
      'drop-element: "a" -> ...[]',
      'drop-element: size === 3 ? "b" : "c" -> ...[]',
      "negate: size === 3 -> !(size === 3)",
      "swap-comparison: === -> !==",
      "off-by-one: 3 -> (3 + 1)",
    ]);
  });

  it("names each by its place and text: an edit elsewhere and another line break change no name", () => {
    const ids = (text: string): string[] => mutantsOf("f.ts", text).map(({ id }) => id);
    assert.ok(ids(TEXT).every((id) => id.startsWith("f.ts check ")));
    const moved = `const other = 5;\n${TEXT.replace("|| size", "||\n      size")}`;
    assert.deepEqual(ids(moved).slice(1), ids(TEXT));
    assert.deepEqual(ids("const a = 1 < b;\nconst c = () => [d(1), d(1)];"), [
      ...new Set(ids("const a = 1 < b;\nconst c = () => [d(1), d(1)];")),
    ]);
  });

  it("each mutant of the measured code has a name of its own, is a program, and has tests", () => {
    const mutants = measuredMutants();
    assert.equal(new Set(mutants.map(({ id }) => id)).size, mutants.length);
    for (const { id, source } of mutants)
      assert.doesNotThrow(() => transformSync(source, { loader: "ts" }), id);
    for (const file of new Set(mutants.map((mutant) => mutant.file)))
      assert.notEqual(testsOf(file).length, 0, file);
  });

  it("what is said to change nothing is a mutant that there is, and has a reason", () => {
    const ids = new Set(measuredMutants().map(({ id }) => id));
    for (const [id, reason] of Object.entries(equivalents())) {
      assert.ok(ids.has(id), `${id} is no mutant any more: take it out of equivalent.json`);
      assert.ok(reason.length > 20, id);
    }
  });

  const file = "shared/protocol/user-data.ts";
  const mutantWith = (from: string, to: string): Mutant => {
    const text = readFileSync(path.join(ROOT, file), "utf8");
    assert.ok(text.includes(from));
    return { id: to, file, line: 1, before: from, after: to, source: text.replace(from, to) };
  };
  const RULE = "equalBytes(bytes.subarray(0, head.length), head)";
  /** All of the head but the version. */
  const WEAKER =
    "equalBytes(bytes.subarray(0, 16), DOMAIN) && equalBytes(bytes.subarray(17, head.length), head.subarray(17))";

  it("tells one that a test notices from an edit that changes nothing, and from a file that is no program", async () => {
    const outcomes: Outcome[] = [];
    const edits = [WEAKER, "equalBytes(head, bytes.subarray(0, head.length))", "(("];
    await play(
      edits.map((to) => mutantWith(RULE, to)),
      (outcome) => void outcomes.push(outcome),
    );
    const [weaker, same, broken] = outcomes.map(({ noticedBy }) => noticedBy);
    assert.match(weaker ?? "", /another version/);
    assert.deepEqual([same, broken], [undefined, "no test begins"]);
  });

  it("believes no test that fails without a mutant, nor one that does not start", async () => {
    for (const test of ["test/unit/shared/protocol/nowhere.test.ts", "test/support/tally.cjs"])
      await assert.rejects(
        play(
          [mutantWith(RULE, RULE)],
          () => undefined,
          () => [test],
        ),
      );
  });
});
