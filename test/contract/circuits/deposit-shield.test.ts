import assert from "node:assert/strict";
import fc from "fast-check";
import { FIELD_ORDER, isAccepted } from "./r1cs.ts";
import { aDeposit, Dice, madeNotes } from "./statements.ts";
import { depositInputs, type DepositInputs } from "../../support/oracle.ts";
import { subject, type Subject } from "./subjects.ts";

const LARGEST = (1n << 128n) - 1n;
const RANGE = "Num2Bits: lc1 === in;";
const BALANCE = "JoinSplit: total === amountOut;";
const COMMITMENT = "JoinSplit: commitments[j] === outCommitments[j];";

describe("the circuit of deposit-shield", function () {
  let attacked: Subject;
  let dice: Dice;

  before(async function () {
    attacked = await subject("deposit-shield");
  });

  beforeEach(function () {
    dice = new Dice(`deposit: ${this.currentTest?.title ?? ""}`);
  });

  async function accepts(inputs: DepositInputs): Promise<void> {
    const witness = await attacked.program.honest(inputs);
    assert.ok(isAccepted(attacked.circuit.r1cs, witness));
  }

  /** The honest program stops; the attacker's witness breaks this rule alone, and a constraint sees it. */
  async function refuses(inputs: DepositInputs, rule: string): Promise<void> {
    await assert.rejects(attacked.program.honest(inputs), /witness program refused \(4\)/);
    const { witness, brokenRules } = await attacked.program.forge(inputs);
    assert.deepEqual(brokenRules, [rule]);
    assert.ok(!isAccepted(attacked.circuit.r1cs, witness), "the constraints accept what the program refuses");
  }

  it("accepts a deposit with fees, and one without", async () => {
    await accepts(depositInputs(aDeposit(dice)));
    await accepts(depositInputs(aDeposit(dice, { made: madeNotes(dice, [100n, 0n, 0n]) })));
  });

  it("accepts the largest amount", () =>
    accepts(depositInputs(aDeposit(dice, { amountIn: LARGEST, made: madeNotes(dice, [LARGEST, 0n, 0n]) }))));

  it("accepts random deposits", async () => {
    const seed = Number(process.env["SEED"] ?? Date.now());
    console.log(`      SEED=${String(seed)}`);
    const value = fc.bigInt({ min: 0n, max: 1n << 126n });
    await fc.assert(
      fc.asyncProperty(fc.tuple(value, value, value), fc.string(), async (values, name) => {
        dice = new Dice(name);
        const amountIn = values.reduce((sum, each) => sum + each, 0n);
        await accepts(depositInputs(aDeposit(dice, { amountIn, made: madeNotes(dice, values) })));
      }),
      { numRuns: 25, seed },
    );
  });

  it("refuses notes worth more or less than the amount", async () => {
    await refuses(depositInputs(aDeposit(dice, { made: madeNotes(dice, [99n, 1n, 1n]) })), BALANCE);
    await refuses(depositInputs(aDeposit(dice, { made: madeNotes(dice, [97n, 1n, 1n]) })), BALANCE);
  });

  it("refuses a fee below zero that balances a larger note", () =>
    refuses(depositInputs(aDeposit(dice, { made: madeNotes(dice, [102n, FIELD_ORDER - 3n, 1n]) })), RANGE));

  it("refuses a note, and an amount, of 2^128", async () => {
    const amountIn = LARGEST + 1n;
    const halves = madeNotes(dice, [1n << 127n, 1n << 127n, 0n]);
    await refuses(depositInputs(aDeposit(dice, { amountIn, made: halves })), RANGE);
    const wrapped = madeNotes(dice, [LARGEST + 1n, FIELD_ORDER - LARGEST + 98n, 1n]);
    await refuses(depositInputs(aDeposit(dice, { made: wrapped })), RANGE);
  });

  it("refuses notes of an asset other than the one paid in", () => {
    const plan = aDeposit(dice);
    return refuses({ ...depositInputs(plan), asset: plan.asset + 1n }, COMMITMENT);
  });

  it("refuses another commitment, in each place", async () => {
    const inputs = depositInputs(aDeposit(dice));
    for (let place = 0; place < 3; place++) {
      const commitments = inputs.commitments.map((commitment, i) =>
        i === place ? commitment + 1n : commitment,
      );
      await refuses({ ...inputs, commitments }, COMMITMENT);
    }
  });
});
