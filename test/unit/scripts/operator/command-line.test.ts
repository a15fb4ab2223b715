// What the operator's and the auditor's commands read from a file: a measurement, or a clear refusal.
import assert from "node:assert/strict";
import { UsageError } from "../../../../scripts/base/command.ts";
import { readMeasurement } from "../../../../scripts/operator/command-line.ts";

describe("scripts: a measurement in a file", () => {
  const whole = { pcr0: "a1".repeat(48), pcr1: "b2".repeat(48), pcr2: "c3".repeat(48) };

  it("is read with or without what else the commands print", () => {
    assert.deepEqual(readMeasurement(JSON.stringify(whole)), whole);
    assert.deepEqual(readMeasurement(JSON.stringify({ ...whole, files: ["a"] })), whole);
  });

  it("is refused when it is none", () => {
    for (const text of [
      ...["", "{", "null", "[]", "{}", '"text"', whole.pcr0],
      ...(["pcr0", "pcr1", "pcr2"] as const).flatMap((register) =>
        [
          undefined,
          1,
          "",
          whole[register].slice(2),
          whole[register].toUpperCase(),
          `0x${whole[register]}`,
        ].map((value) => JSON.stringify({ ...whole, [register]: value })),
      ),
    ]) {
      assert.throws(() => readMeasurement(text), UsageError, text);
    }
  });
});
