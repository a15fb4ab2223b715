import assert from "node:assert/strict";
import fc from "fast-check";
import { mustField } from "../../../shared/protocol/brands.ts";
import { KINDS } from "../../../shared/protocol/statements.ts";
import { emptyFrontier } from "../../../shared/protocol/host/frontier.ts";
import { FIELD_ORDER, isAccepted } from "./r1cs.ts";
import { aDummy, alone, aNote, aSpend, Dice, madeNotes, SPEND_KINDS, spread } from "./statements.ts";
import {
  commitmentOf,
  DEPTH,
  nullifierOf,
  npkOf,
  ownerOf,
  type SpendInputs,
  spendInputs,
  type SpendPlan,
  type SpentNote,
} from "../../support/oracle.ts";
import { subject, type Subject } from "./subjects.ts";

const LARGEST = (1n << 128n) - 1n;
const RANGE = "Num2Bits: lc1 === in;";
const BALANCE = "JoinSplit: total === amountOut;";
const MEMBERSHIP = "JoinSplit: inValues[i] * (inRoots[i] - root) === 0;";
const NULLIFIER = "JoinSplit: nullifiers[i] === inNullifiers[i];";
const COMMITMENT = "JoinSplit: commitments[j] === outCommitments[j];";
const DISTINCT = "AllDistinct: (in[i] - in[j]) * inverse[pair] === 1;";
const ASSET = "ShownAsset: asset === (1 - isPrivate) * noteAsset;";

/** Each rule of a statement that spends notes is broken alone, in every circuit that has the rule. */
for (const kind of SPEND_KINDS) {
  const { inputs: nIn, outputs: nOut } = KINDS[kind];
  const last = nIn - 1;

  describe(`the circuit of ${kind}`, function () {
    this.timeout(900_000);
    let attacked: Subject;
    let dice: Dice;

    before(async () => {
      attacked = await subject(kind);
    });

    beforeEach(function () {
      dice = new Dice(`${kind}: ${this.currentTest?.title ?? ""}`);
    });

    async function accepts(inputs: SpendInputs): Promise<void> {
      const witness = await attacked.program.honest(inputs);
      assert.ok(isAccepted(attacked.circuit.r1cs, witness));
    }

    /** The honest program stops; the attacker's witness breaks this rule alone, and a constraint sees it. */
    async function refuses(inputs: SpendInputs, rule: string): Promise<void> {
      await assert.rejects(attacked.program.honest(inputs), /witness program refused \(4\)/);
      const { witness, brokenRules } = await attacked.program.forge(inputs);
      assert.deepEqual(brokenRules, [rule]);
      assert.ok(
        !isAccepted(attacked.circuit.r1cs, witness),
        "the constraints accept what the program refuses",
      );
    }

    const plan = (changes: Partial<SpendPlan> = {}): SpendPlan => aSpend(dice, kind, changes);
    const made = (values: readonly bigint[]): SpendPlan["made"] => madeNotes(dice, values);

    /** Notes of one owner with these values; a value of undefined is a dummy. */
    function notes(
      values: readonly (bigint | undefined)[],
    ): Pick<SpendPlan, "spendingKey" | "noteAsset" | "spent"> {
      const spendingKey = dice.field();
      const noteAsset = dice.below(1n << 160n);
      const spent = values.map((value) =>
        value === undefined ? aDummy(dice) : aNote(dice, { spendingKey, asset: noteAsset, value }),
      );
      return { spendingKey, noteAsset, spent };
    }

    /** One note of `value` in this place, dummies in the others. */
    function oneNote(value: bigint, place: number): ReturnType<typeof notes> {
      return notes(Array.from({ length: nIn }, (_, i) => (i === place ? value : undefined)));
    }

    /** The plan with the note in one place replaced, as the prover states it. */
    function restated(honest: SpendPlan, place: number, change: (note: SpentNote) => SpentNote): SpendPlan {
      return { ...honest, spent: honest.spent.map((note, i) => (i === place ? change(note) : note)) };
    }

    /** The statement of `claimed` against the tree of `honest`. */
    function againstTree(honest: SpendPlan, claimed: SpendPlan): SpendInputs {
      const { root, inPathElements } = spendInputs(honest);
      return { ...spendInputs(claimed), root, inPathElements };
    }

    const replaced = (values: readonly bigint[], place: number, value: bigint): bigint[] =>
      values.map((each, i) => (i === place ? value : each));

    describe("accepts", () => {
      it("a private transfer of all notes", () => accepts(spendInputs(plan())));

      it("one note beside dummies, in each place", async () => {
        for (let place = 0; place < nIn; place++) await accepts(spendInputs(plan(oneNote(100n, place))));
      });

      it("value leaving in public, with change and without", async () => {
        await accepts(spendInputs(plan({ amountOut: 60n })));
        await accepts(spendInputs(plan({ amountOut: 100n, made: made(alone(0n, 0, nOut)) })));
      });

      it("the largest values, and the first and the last leaf", () => {
        const { spendingKey, noteAsset, spent } = notes(alone(LARGEST, 0, nIn));
        const ends = [0n, (1n << 32n) - 1n].map((leafIndex) =>
          aNote(dice, { spendingKey, asset: noteAsset, value: LARGEST, leafIndex }),
        );
        return accepts(
          spendInputs(
            plan({
              spendingKey,
              noteAsset,
              spent: [...ends, ...spent.slice(2)],
              made: made(alone(LARGEST, nOut - 1, nOut)),
              amountOut: LARGEST,
            }),
          ),
        );
      });

      it("sums above 2^128: every note of the largest value", () => {
        // What enters is more than nOut notes and one amount can hold, unless few notes are spent.
        const many = Math.min(nIn, nOut + 1);
        const values = Array.from({ length: nIn }, (_, i) => (i < many ? LARGEST : 0n));
        return accepts(
          spendInputs(
            plan({
              ...notes(values),
              made: made(Array.from({ length: nOut }, (_, j) => (j < many - 1 ? LARGEST : 0n))),
              amountOut: LARGEST,
            }),
          ),
        );
      });

      it("the root and the places of shared/protocol/tree.ts", async () => {
        const honest = plan();
        const frontier = emptyFrontier();
        const spent = honest.spent.map((note, i) => ({ ...note, leafIndex: BigInt(i) }));
        for (const { leaf } of spent) assert.ok(frontier.append(mustField(leaf ?? -1n)));
        const inputs = spendInputs({ ...honest, spent });
        assert.equal(inputs.root, frontier.root());
        await accepts(inputs);
      });

      it("two equal notes at two places", () => {
        const { spendingKey, noteAsset, spent } = oneNote(50n, 0);
        const [note] = spent;
        assert.ok(note);
        const twin = { ...note, leafIndex: note.leafIndex ^ 1n };
        return accepts(spendInputs(plan({ spendingKey, noteAsset, spent: [...spent.slice(0, last), twin] })));
      });

      it("random statements, and the forger's witness for them is the honest one", async () => {
        const seed = Number(process.env["SEED"] ?? Date.now());
        console.log(`        SEED=${String(seed)}`);
        const part = fc.bigInt({ min: 0n, max: 1n << 124n });
        await fc.assert(
          fc.asyncProperty(
            fc.array(fc.option(part, { nil: undefined }), { minLength: nIn, maxLength: nIn }),
            fc.array(part, { minLength: nOut, maxLength: nOut }),
            fc.string(),
            async (values, wishes, name) => {
              dice = new Dice(name);
              let left = values.reduce<bigint>((sum, value) => sum + (value ?? 0n), 0n);
              const outValues = wishes.map((wish) => {
                const value = wish < left ? wish : left;
                left -= value;
                return value;
              });
              const inputs = spendInputs(
                // What is left over leaves in public; at most nIn · 2^124, which fits.
                plan({ ...notes(values), made: made(outValues), amountOut: left }),
              );
              await accepts(inputs);
              assert.deepEqual(await attacked.program.forge(inputs), {
                witness: await attacked.program.honest(inputs),
                brokenRules: [],
              });
            },
          ),
          { numRuns: nIn > 2 ? 4 : 8, seed },
        );
      });
    });

    describe("refuses value from nothing", () => {
      it("notes made worth one more, or one less, than the notes spent", async () => {
        for (let place = 0; place < nOut; place++) {
          const values = spread(100n, nOut);
          const more = replaced(values, place, (values[place] ?? 0n) + 1n);
          await refuses(spendInputs(plan({ made: made(more) })), BALANCE);
        }
        await refuses(spendInputs(plan({ made: made(spread(99n, nOut)) })), BALANCE);
      });

      it("an amount beside unchanged notes", () =>
        refuses(spendInputs({ ...plan(), amountOut: 1n }), BALANCE));

      it("change below zero that balances a larger payment", () =>
        refuses(
          spendInputs(plan({ made: made([103n, FIELD_ORDER - 3n, ...alone(0n, 0, nOut - 2)]) })),
          RANGE,
        ));

      it("a note made of 2^128, in each place", async () => {
        const halves = notes([1n << 127n, 1n << 127n, ...alone(0n, 0, nIn - 2)]);
        for (let place = 0; place < nOut; place++) {
          await refuses(
            spendInputs(plan({ ...halves, made: made(alone(LARGEST + 1n, place, nOut)) })),
            RANGE,
          );
        }
      });

      it("a note spent of 2^128, in each place", async () => {
        const halves = [1n << 127n, 1n << 127n, ...alone(0n, 0, nOut - 2)];
        for (let place = 0; place < nIn; place++) {
          await refuses(spendInputs(plan({ ...oneNote(LARGEST + 1n, place), made: made(halves) })), RANGE);
        }
      });

      it("notes spent whose sum passes the field's order", () => {
        // Two values of half the order and a little: their sum in the field is small.
        const half = (FIELD_ORDER + 1n) / 2n;
        const values = [half, half + 99n, ...alone(0n, 0, nIn - 2)];
        return refuses(spendInputs(plan(notes(values))), RANGE);
      });

      it("an amount of 2^128", () => {
        const halves = notes([1n << 127n, 1n << 127n, ...alone(0n, 0, nIn - 2)]);
        const nothing = made(alone(0n, 0, nOut));
        return refuses(spendInputs(plan({ ...halves, made: nothing, amountOut: LARGEST + 1n })), RANGE);
      });

      it("an amount below zero that balances larger notes", () =>
        refuses(spendInputs(plan({ made: made(spread(101n, nOut)), amountOut: FIELD_ORDER - 1n })), RANGE));

      it("a note whose value is restated, in each place", async () => {
        for (let place = 0; place < nIn; place++) {
          const honest = plan({ made: made(spread(1_000n, nOut)) });
          const claimed = restated(honest, place, (note) => ({ ...note, value: note.value + 900n }));
          await refuses(spendInputs(claimed), MEMBERSHIP);
        }
      });

      it("a note of value that no tree holds, in each place", async () => {
        for (let place = 0; place < nIn; place++) {
          const claimed = restated(plan(), place, (note) => ({ ...note, leaf: undefined }));
          await refuses(spendInputs(claimed), MEMBERSHIP);
        }
      });
    });

    describe("refuses a note that is not the spender's, or not there", () => {
      it("a stranger's note, in each place", async () => {
        for (let place = 0; place < nIn; place++) {
          const honest = plan();
          const asset = honest.noteAsset;
          const stranger = dice.field();
          const claimed = restated(honest, place, ({ value }) =>
            aNote(dice, { spendingKey: stranger, asset, value }),
          );
          await refuses(spendInputs(claimed), MEMBERSHIP);
        }
      });

      it("a path with a sibling changed, at every level", async () => {
        const inputs = spendInputs(plan());
        for (let level = 0; level < DEPTH; level++) {
          const [note, place] = [level % nIn, level % 3];
          const inPathElements = inputs.inPathElements.map((path, i) =>
            path.map((row, l) =>
              row.map((node, p) => (i === note && l === level && p === place ? node + 1n : node)),
            ),
          );
          await refuses({ ...inputs, inPathElements }, MEMBERSHIP);
        }
      });

      it("another root", () => {
        const inputs = spendInputs(plan());
        return refuses({ ...inputs, root: inputs.root + 1n }, MEMBERSHIP);
      });

      it("another leaf index, with the nullifier that goes with it, in each digit", async () => {
        const honest = plan();
        for (let level = 0; level < DEPTH; level++) {
          const flipped = BigInt(1 + (level % 3)) << BigInt(2 * level);
          const claimed = restated(honest, level % nIn, (note) => ({
            ...note,
            leafIndex: note.leafIndex ^ flipped,
          }));
          await refuses(againstTree(honest, claimed), MEMBERSHIP);
        }
      });

      it("a leaf index of 33 bits, a second nullifier for the same leaf, in each place", async () => {
        for (let place = 0; place < nIn; place++) {
          const honest = plan();
          const claimed = restated(honest, place, (note) => ({
            ...note,
            leafIndex: note.leafIndex + (1n << 32n),
          }));
          await refuses(againstTree(honest, claimed), RANGE);
        }
      });

      it("a stranger's spending key", () =>
        refuses(spendInputs({ ...plan(), spendingKey: dice.field() }), MEMBERSHIP));

      it("another blinding", () => {
        const claimed = restated(plan(), last, (note) => ({ ...note, blinding: dice.field() }));
        return refuses(spendInputs(claimed), MEMBERSHIP);
      });
    });

    describe("refuses a second spend", () => {
      it("the same note in two places: neighbours, first and last, and some between", async () => {
        const neighbours = Array.from({ length: last }, (_, i) => [i, i + 1] as const);
        const apart = [[0, last] as const, [3, 8] as const].filter(([i, j]) => j <= last && j - i > 1);
        const pairs = [...neighbours, ...apart];
        for (const [i, j] of pairs) {
          const { spendingKey, noteAsset, spent } = oneNote(50n, i);
          const twice = spent.map((note, place) => (place === j ? (spent[i] ?? note) : note));
          await refuses(spendInputs(plan({ spendingKey, noteAsset, spent: twice })), DISTINCT);
        }
      });

      it("a nullifier of another leaf index", () => {
        const honest = plan();
        const inputs = spendInputs(honest);
        const [first] = honest.spent;
        assert.ok(first);
        const owner = ownerOf(honest.spendingKey);
        const commitment = commitmentOf(npkOf(owner, first.blinding), honest.noteAsset, first.value);
        const other = nullifierOf(honest.spendingKey, commitment, first.leafIndex ^ 1n);
        return refuses({ ...inputs, nullifiers: replaced(inputs.nullifiers, 0, other) }, NULLIFIER);
      });

      it("any other nullifier, in each place, dummies included", async () => {
        const inputs = spendInputs(plan(oneNote(100n, 0)));
        for (let place = 0; place < nIn; place++) {
          const nullifiers = replaced(inputs.nullifiers, place, (inputs.nullifiers[place] ?? 0n) + 1n);
          await refuses({ ...inputs, nullifiers }, NULLIFIER);
        }
      });
    });

    describe("refuses another asset", () => {
      it("a note of another asset among those spent, in each place", async () => {
        for (let place = 0; place < nIn; place++) {
          const honest = plan();
          const { spendingKey } = honest;
          const asset = honest.noteAsset + 1n;
          const claimed = restated(honest, place, ({ value }) => aNote(dice, { spendingKey, asset, value }));
          await refuses(spendInputs(claimed), MEMBERSHIP);
        }
      });

      it("a note made in another asset, in each place", async () => {
        const honest = plan();
        const inputs = spendInputs(honest);
        const elsewhere = spendInputs({ ...honest, noteAsset: honest.noteAsset + 1n }).commitments;
        for (let place = 0; place < nOut; place++) {
          const commitments = replaced(inputs.commitments, place, elsewhere[place] ?? 0n);
          await refuses({ ...inputs, commitments }, COMMITMENT);
        }
      });

      it("the asset shown when nothing leaves", () => {
        const inputs = spendInputs(plan());
        return refuses({ ...inputs, asset: inputs.noteAsset }, ASSET);
      });

      it("the asset hidden, or another shown, when something leaves", async () => {
        const inputs = spendInputs(plan({ amountOut: 60n }));
        await refuses({ ...inputs, asset: 0n }, ASSET);
        await refuses({ ...inputs, asset: inputs.noteAsset + 1n }, ASSET);
      });
    });

    it("refuses another commitment, in each place", async () => {
      const inputs = spendInputs(plan());
      for (let place = 0; place < nOut; place++) {
        const commitments = replaced(inputs.commitments, place, (inputs.commitments[place] ?? 0n) + 1n);
        await refuses({ ...inputs, commitments }, COMMITMENT);
      }
    });
  });
}
