// Poseidon's numbers, drawn from SPEC.md's text alone, against those of the circuits, the enclave and the contracts.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { poseidon2 as lite2, poseidon3 as lite3, poseidon4 as lite4 } from "poseidon-lite";
import { FIELD_ORDER } from "../../../shared/protocol/brands.ts";
import { poseidon2, poseidon3, poseidon4 } from "../../../shared/protocol/host/poseidon.ts";
import { drawField } from "../../support/drafts.ts";
import { poseidonNumbers, poseidonOf } from "../../support/poseidon-of-spec.ts";
import { poseidonRecurrence } from "../../support/poseidon-recurrence.ts";
import { PROJECT_ROOT } from "../../support/tree.ts";

const source = (...file: string[]): Promise<string> => readFile(path.join(PROJECT_ROOT, ...file), "utf8");
const numbersIn = (text: string, pattern: RegExp): bigint[] =>
  [...text.matchAll(pattern)].map(([, digits = ""]) => BigInt(`0x${digits}`));

describe("SPEC.md, 1.1: Poseidon", () => {
  it("draws the circuits' matrix, and the constants of their first round", async () => {
    const text = await source("node_modules", "circomlib", "circuits", "poseidon_constants.circom");
    for (const inputs of [2, 3, 4]) {
      const t = inputs + 1;
      const { constants, matrix } = poseidonNumbers(inputs);
      const table = (name: string): bigint[] => {
        const from = text.indexOf(`if (t==${t})`, text.indexOf(`function POSEIDON_${name}(t)`));
        return numbersIn(text.slice(from, text.indexOf(";", from)), /0x([0-9a-f]+)/g);
      };
      // circomlib writes it transposed: out[i] is the sum of M[j][i] times in[j].
      const transposed = matrix.map((row, i) => row.map((_, j) => matrix[j]![i]!));
      assert.deepEqual(table("M"), transposed.flat(), `${inputs} inputs`);
      assert.deepEqual(table("C").slice(0, t), constants[0], `${inputs} inputs`);
    }
  });

  it("draws the contracts' matrices, and every constant that their tables are derived from", async () => {
    const proofs = (file: string): Promise<string> => source("shared", "contracts", "proofs", file);
    const ENTRY = /constant M\d\d = 0x([0-9a-f]{64});/g;
    for (const [inputs, file] of [
      [3, "PoseidonNoteHasher.sol"],
      [4, "TreeHasher.sol"],
    ] as const) {
      const { constants, matrix } = poseidonNumbers(inputs);
      assert.deepEqual(numbersIn(await proofs(file), ENTRY), matrix.flat());
      // What the hashers' own tests derive the tables from.
      assert.deepEqual(poseidonRecurrence(inputs).drawn, { roundConstants: constants, matrix });
    }
  });

  it("hashes as the enclave does, and as circomlib's tables do: ends of the range, and at random", () => {
    const ends = [0n, 1n, FIELD_ORDER - 1n];
    const samples = [
      ...ends.map((end) => [end, end, end, end] as const),
      ...Array.from({ length: 5 }, () => [drawField(), drawField(), drawField(), drawField()] as const),
    ];
    for (const [a, b, c, d] of samples) {
      const [two, three, four] = [poseidonOf([a, b]), poseidonOf([a, b, c]), poseidonOf([a, b, c, d])];
      assert.deepEqual([two, three, four], [poseidon2(a, b), poseidon3(a, b, c), poseidon4(a, b, c, d)]);
      assert.deepEqual([two, three, four], [lite2([a, b]), lite3([a, b, c]), lite4([a, b, c, d])]);
    }
  });
});
