import assert from "node:assert/strict";
import { mustField } from "../../../shared/protocol/brands.ts";
import { Frontier } from "../../../shared/protocol/tree.ts";
import { compiled, type Compiled } from "./compiled.ts";
import { countBroken, FIELD_ORDER } from "./r1cs.ts";
import {
  aDummy,
  aNote,
  aSpend,
  commitmentOf,
  Dice,
  madeNotes,
  nullifierOf,
  ownerOf,
  spendInputs,
  type SpendInputs,
} from "./statements.ts";
import { WitnessProgram } from "./witness.ts";

const LARGEST = (1n << 128n) - 1n;
const RANGE = "Num2Bits: lc1 === in;";
const BALANCE = "JoinSplit: total === amountOut;";
const MEMBERSHIP = "JoinSplit: inValues[i] * (inRoots[i] - root) === 0;";
const NULLIFIER = "JoinSplit: nullifiers[i] === inNullifiers[i];";
const COMMITMENT = "JoinSplit: commitments[j] === outCommitments[j];";
const DISTINCT = "AllDistinct: (in[i] - in[j]) * inverse[pair] === 1;";
const ASSET = "ShownAsset: asset === (1 - isPrivate) * noteAsset;";

describe("the circuit of spend", function () {
  let circuit: Compiled;
  let program: WitnessProgram;
  let dice: Dice;

  before(async function () {
    this.timeout(180_000);
    circuit = await compiled("spend");
    program = await WitnessProgram.load(new Uint8Array(circuit.wasm));
  });

  beforeEach(function () {
    dice = new Dice(`spend: ${this.currentTest?.title ?? ""}`);
  });

  async function accepts(inputs: SpendInputs): Promise<void> {
    const witness = await program.honest(inputs);
    assert.equal(countBroken(circuit.r1cs, witness), 0);
  }

  /** The honest program stops; the attacker's witness breaks this rule alone, and a constraint sees it. */
  async function refuses(inputs: SpendInputs, rule: string): Promise<void> {
    await assert.rejects(program.honest(inputs), /witness program refused \(4\)/);
    const { witness, brokenRules } = await program.forge(inputs);
    assert.deepEqual(brokenRules, [rule]);
    assert.ok(countBroken(circuit.r1cs, witness) > 0, "the constraints accept what the program refuses");
  }

  describe("accepts", () => {
    it("a private transfer of two notes", () => accepts(spendInputs(aSpend(dice))));

    it("a private transfer of one note beside a dummy", async () => {
      const spendingKey = dice.field();
      const noteAsset = dice.below(1n << 160n);
      const real = aNote(dice, { spendingKey, asset: noteAsset, value: 100n });
      for (const spent of [
        [real, aDummy(dice)],
        [aDummy(dice), real],
      ]) {
        await accepts(spendInputs(aSpend(dice, { spendingKey, noteAsset, spent })));
      }
    });

    it("a withdrawal with change", () =>
      accepts(spendInputs(aSpend(dice, { amountOut: 60n, made: madeNotes(dice, [0n, 38n, 1n, 1n]) }))));

    it("a withdrawal of everything", () =>
      accepts(spendInputs(aSpend(dice, { amountOut: 100n, made: madeNotes(dice, [0n, 0n, 0n, 0n]) }))));

    it("the largest values, and the first and the last leaf", () => {
      const spendingKey = dice.field();
      const noteAsset = dice.below(1n << 160n);
      const spent = [0n, (1n << 32n) - 1n].map((leafIndex) =>
        aNote(dice, { spendingKey, asset: noteAsset, value: LARGEST, leafIndex }),
      );
      const made = madeNotes(dice, [LARGEST, 0n, 0n, 0n]);
      return accepts(spendInputs(aSpend(dice, { spendingKey, noteAsset, spent, made, amountOut: LARGEST })));
    });

    it("the root and the places of shared/protocol/tree.ts", async () => {
      const spendingKey = dice.field();
      const noteAsset = dice.below(1n << 160n);
      const frontier = Frontier.empty();
      const spent = [70n, 30n].map((value, i) =>
        aNote(dice, { spendingKey, asset: noteAsset, value, leafIndex: BigInt(i) }),
      );
      for (const { leaf } of spent) assert.ok(frontier.append(mustField(leaf ?? -1n)));
      const inputs = spendInputs(aSpend(dice, { spendingKey, noteAsset, spent }));
      assert.equal(inputs.root, frontier.root());
      await accepts(inputs);
    });

    it("two equal notes at two places", () => {
      const spendingKey = dice.field();
      const noteAsset = dice.below(1n << 160n);
      const note = aNote(dice, { spendingKey, asset: noteAsset, value: 50n });
      const spent = [note, { ...note, leafIndex: note.leafIndex ^ 1n }];
      return accepts(spendInputs(aSpend(dice, { spendingKey, noteAsset, spent })));
    });

    it("random statements, and the forger's witness for them is the honest one", async () => {
      const seed = process.env["SEED"] ?? String(Date.now());
      console.log(`      SEED=${seed}`);
      dice = new Dice(seed);
      for (let round = 0; round < 6; round++) {
        const spendingKey = dice.field();
        const noteAsset = dice.below(1n << 160n);
        const values = [dice.below(1n << 127n), dice.below(1n << 127n)];
        const spent = values.map((value) => aNote(dice, { spendingKey, asset: noteAsset, value }));
        const total = values.reduce((sum, value) => sum + value, 0n);
        const amountOut = round % 2 === 0 ? 0n : dice.below(total);
        const payment = dice.below(total - amountOut);
        const made = madeNotes(dice, [payment, total - amountOut - payment, 0n, 0n]);
        const inputs = spendInputs(aSpend(dice, { spendingKey, noteAsset, spent, made, amountOut }));
        await accepts(inputs);
        const forged = await program.forge(inputs);
        assert.deepEqual(forged, { witness: await program.honest(inputs), brokenRules: [] });
      }
    });
  });

  describe("refuses value from nothing", () => {
    it("notes made worth one more than the notes spent", () =>
      refuses(spendInputs(aSpend(dice, { made: madeNotes(dice, [61n, 38n, 1n, 1n]) })), BALANCE));

    it("a withdrawal beside unchanged notes", () =>
      refuses(spendInputs(aSpend(dice, { amountOut: 1n })), BALANCE));

    it("value that vanishes", () =>
      refuses(spendInputs(aSpend(dice, { made: madeNotes(dice, [59n, 38n, 1n, 1n]) })), BALANCE));

    it("change below zero that balances a larger payment", () =>
      refuses(spendInputs(aSpend(dice, { made: madeNotes(dice, [101n, FIELD_ORDER - 3n, 1n, 1n]) })), RANGE));

    it("a note made of 2^128", () => {
      const { spendingKey, noteAsset, spent } = twoHalves();
      const made = madeNotes(dice, [LARGEST + 1n, 0n, 0n, 0n]);
      return refuses(spendInputs(aSpend(dice, { spendingKey, noteAsset, spent, made })), RANGE);
    });

    it("a note spent of 2^128", () => {
      const spendingKey = dice.field();
      const noteAsset = dice.below(1n << 160n);
      const spent = [aNote(dice, { spendingKey, asset: noteAsset, value: LARGEST + 1n }), aDummy(dice)];
      const made = madeNotes(dice, [1n << 127n, 1n << 127n, 0n, 0n]);
      return refuses(spendInputs(aSpend(dice, { spendingKey, noteAsset, spent, made })), RANGE);
    });

    it("a withdrawal of 2^128", () => {
      const { spendingKey, noteAsset, spent } = twoHalves();
      const made = madeNotes(dice, [0n, 0n, 0n, 0n]);
      return refuses(
        spendInputs(aSpend(dice, { spendingKey, noteAsset, spent, made, amountOut: LARGEST + 1n })),
        RANGE,
      );
    });

    it("a withdrawal below zero that balances larger notes", () =>
      refuses(
        spendInputs(aSpend(dice, { made: madeNotes(dice, [61n, 38n, 1n, 1n]), amountOut: FIELD_ORDER - 1n })),
        RANGE,
      ));

    it("a note whose value is restated", () => {
      const plan = aSpend(dice, { made: madeNotes(dice, [960n, 38n, 1n, 1n]) });
      const spent = plan.spent.map((note, i) => (i === 0 ? { ...note, value: 970n } : note));
      return refuses(spendInputs({ ...plan, spent }), MEMBERSHIP);
    });

    it("a note of value that no tree holds", () => {
      const plan = aSpend(dice);
      const spent = plan.spent.map((note, i) => (i === 0 ? { ...note, leaf: undefined } : note));
      return refuses(spendInputs({ ...plan, spent }), MEMBERSHIP);
    });

    function twoHalves(): Pick<ReturnType<typeof aSpend>, "spendingKey" | "noteAsset" | "spent"> {
      const spendingKey = dice.field();
      const noteAsset = dice.below(1n << 160n);
      const half = (): ReturnType<typeof aNote> =>
        aNote(dice, { spendingKey, asset: noteAsset, value: 1n << 127n });
      return { spendingKey, noteAsset, spent: [half(), half()] };
    }
  });

  describe("refuses a note that is not the spender's, or not there", () => {
    it("a path with one sibling changed, at each level", async () => {
      const inputs = spendInputs(aSpend(dice));
      for (const level of [0, 7, 15]) {
        for (const place of [0, 1, 2]) {
          const inPathElements = inputs.inPathElements.map((path, i) =>
            path.map((row, l) =>
              row.map((node, p) => (i === 1 && l === level && p === place ? node + 1n : node)),
            ),
          );
          await refuses({ ...inputs, inPathElements }, MEMBERSHIP);
        }
      }
    });

    it("another root", () => {
      const inputs = spendInputs(aSpend(dice));
      return refuses({ ...inputs, root: inputs.root + 1n }, MEMBERSHIP);
    });

    it("another leaf index, with the nullifier that goes with it", async () => {
      const plan = aSpend(dice);
      const honest = spendInputs(plan);
      for (const flipped of [1n, 2n, 3n, 1n << 31n]) {
        const spent = plan.spent.map((note, i) =>
          i === 0 ? { ...note, leafIndex: note.leafIndex ^ flipped } : note,
        );
        const claimed = spendInputs({ ...plan, spent });
        const inputs = { ...claimed, root: honest.root, inPathElements: honest.inPathElements };
        await refuses(inputs, MEMBERSHIP);
      }
    });

    it("a leaf index of 33 bits: a second nullifier for the same leaf", () => {
      const plan = aSpend(dice);
      const spent = plan.spent.map((note, i) =>
        i === 0 ? { ...note, leafIndex: note.leafIndex + (1n << 32n) } : note,
      );
      const honest = spendInputs(plan);
      const claimed = spendInputs({ ...plan, spent });
      const inputs = { ...claimed, root: honest.root, inPathElements: honest.inPathElements };
      return refuses(inputs, RANGE);
    });

    it("a stranger's spending key", () => {
      const plan = aSpend(dice);
      return refuses(spendInputs({ ...plan, spendingKey: dice.field() }), MEMBERSHIP);
    });

    it("another blinding", () => {
      const plan = aSpend(dice);
      const spent = plan.spent.map((note, i) => (i === 1 ? { ...note, blinding: dice.field() } : note));
      return refuses(spendInputs({ ...plan, spent }), MEMBERSHIP);
    });
  });

  describe("refuses a second spend", () => {
    it("the same note in both places", () => {
      const spendingKey = dice.field();
      const noteAsset = dice.below(1n << 160n);
      const note = aNote(dice, { spendingKey, asset: noteAsset, value: 50n });
      return refuses(spendInputs(aSpend(dice, { spendingKey, noteAsset, spent: [note, note] })), DISTINCT);
    });

    it("a nullifier of another leaf index", () => {
      const plan = aSpend(dice);
      const inputs = spendInputs(plan);
      const [first] = plan.spent;
      assert.ok(first);
      const commitment = commitmentOf(ownerOf(plan.spendingKey), first.blinding, plan.noteAsset, first.value);
      const other = nullifierOf(plan.spendingKey, commitment, first.leafIndex ^ 1n);
      return refuses({ ...inputs, nullifiers: [other, inputs.nullifiers[1] ?? 0n] }, NULLIFIER);
    });

    it("any other nullifier, in each place, dummies included", async () => {
      const spendingKey = dice.field();
      const noteAsset = dice.below(1n << 160n);
      const spent = [aNote(dice, { spendingKey, asset: noteAsset, value: 100n }), aDummy(dice)];
      const inputs = spendInputs(aSpend(dice, { spendingKey, noteAsset, spent }));
      for (const place of [0, 1]) {
        const nullifiers = inputs.nullifiers.map((nullifier, i) =>
          i === place ? nullifier + 1n : nullifier,
        );
        await refuses({ ...inputs, nullifiers }, NULLIFIER);
      }
    });
  });

  describe("refuses another asset", () => {
    it("a note of another asset among those spent", () => {
      const spendingKey = dice.field();
      const noteAsset = dice.below(1n << 160n);
      const spent = [
        aNote(dice, { spendingKey, asset: noteAsset, value: 70n }),
        aNote(dice, { spendingKey, asset: noteAsset + 1n, value: 30n }),
      ];
      return refuses(spendInputs(aSpend(dice, { spendingKey, noteAsset, spent })), MEMBERSHIP);
    });

    it("a note made in another asset", () => {
      const plan = aSpend(dice);
      const elsewhere = spendInputs({ ...plan, noteAsset: plan.noteAsset + 1n });
      const inputs = spendInputs(plan);
      const commitments = [elsewhere.commitments[0] ?? 0n, ...inputs.commitments.slice(1)];
      return refuses({ ...inputs, commitments }, COMMITMENT);
    });

    it("the asset shown when nothing leaves", () => {
      const inputs = spendInputs(aSpend(dice));
      return refuses({ ...inputs, asset: inputs.noteAsset }, ASSET);
    });

    it("the asset hidden, or another shown, when something leaves", async () => {
      const inputs = spendInputs(aSpend(dice, { amountOut: 60n, made: madeNotes(dice, [0n, 38n, 1n, 1n]) }));
      await refuses({ ...inputs, asset: 0n }, ASSET);
      await refuses({ ...inputs, asset: inputs.noteAsset + 1n }, ASSET);
    });
  });

  it("refuses another commitment, in each place", async () => {
    const inputs = spendInputs(aSpend(dice));
    for (let place = 0; place < 4; place++) {
      const commitments = inputs.commitments.map((commitment, i) =>
        i === place ? commitment + 1n : commitment,
      );
      await refuses({ ...inputs, commitments }, COMMITMENT);
    }
  });
});
