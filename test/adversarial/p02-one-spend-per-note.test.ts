/** P2. A note pays once, however its owner or a carrier proves, spells or batches the second payment; and it does pay once. */
import assert from "node:assert/strict";
import type { Prepared } from "../../shared/client/statements/statements.ts";
import { nullifierOf } from "../../shared/notes/note.ts";
import { BASE_FIELD_ORDER, FIELD_ORDER } from "../../shared/protocol/brands.ts";
import type { Proof } from "../../shared/protocol/proof.ts";
import { checkStatement, contextOf } from "../../shared/protocol/statements.ts";
import {
  attestRequest,
  Battlefield,
  FAR_DEADLINE,
  freshAddress,
  freshKeys,
  poolTransaction,
  positionOf,
  withSignal,
  type Restored,
  type Signed,
} from "../support/adversary.ts";
import { codeOf } from "../unit/enclave/support/frame-client.ts";

const NULLIFIERS = positionOf("spend", "nullifiers");
const refusal = (code: string) => (error: unknown) => (error as { code?: string }).code === code;

describe("P2 a note is spent once", function () {
  this.timeout(600_000);
  let field: Battlefield;
  const keys = freshKeys();
  let wallet: Restored;
  let first: Signed;
  /** The same note to somebody else. */
  let second: Signed;
  /** The first statement, proved again. */
  let again: Signed;

  before(async () => {
    field = await Battlefield.start();
    await field.settle(await field.deposit(keys, 100_000_000n));
    wallet = await field.restore(keys);
    const prepared = field.prepareSpend(wallet, {
      notes: wallet.notes,
      payment: { type: "withdraw", recipient: freshAddress(), value: 60_000_000n },
    });
    first = await field.prove(prepared);
    again = await field.prove(prepared);
    second = await field.spend(wallet, {
      notes: wallet.notes,
      payment: { type: "withdraw", recipient: freshAddress(), value: 60_000_000n },
    });
  });
  after(() => field.stop());

  it("P2 one note in both places of a spend has no proof, and the enclave wants distinct nullifiers", async () => {
    const twice = (): Prepared =>
      field.prepareSpend(wallet, {
        notes: [wallet.notes[0]!, wallet.notes[0]!],
        payment: { type: "transfer", to: keys.viewing.address, value: 200_000_000n },
      });
    // The library's own rules come first …
    assert.throws(twice, /NULLIFIERS_NOT_DISTINCT/);
    // … then the enclave's, …
    const signals = withSignal(first.statement.signals, NULLIFIERS + 1, first.statement.signals[NULLIFIERS]!);
    assert.equal(
      codeOf(await field.enclave.ask(attestRequest(first, { signals }))),
      "NULLIFIERS_NOT_DISTINCT",
    );
    // … and the circuit's, whatever a bent client says.
    const honest = field.prepareSpend(wallet, {
      notes: wallet.notes,
      payment: { type: "transfer", to: keys.viewing.address, value: 100_000_000n },
    });
    const doubled = Object.fromEntries(
      Object.entries(honest.witness).map(([name, value]) => [
        name,
        ["inValues", "inBlindings", "inLeafIndices", "inPathElements", "nullifiers"].includes(name)
          ? [(value as unknown[])[0], (value as unknown[])[0]]
          : value,
      ]),
    );
    await assert.rejects(field.prover.prove(honest.statement, doubled), refusal("PROOF_FAILED"));
  });

  it("P2 a second index for one leaf, for a second nullifier, has no proof", async () => {
    const honest = field.prepareSpend(wallet, {
      notes: wallet.notes,
      payment: { type: "transfer", to: keys.viewing.address, value: 100_000_000n },
    });
    const indices = honest.witness["inLeafIndices"] as string[];
    const nullifiers = honest.witness["nullifiers"] as string[];
    const note = wallet.notes[0]!;
    // i + 2^32 is the same place to a reader that drops bits.
    for (const index of [note.leafIndex + 1, note.leafIndex + 2 ** 32]) {
      const nullifier = nullifierOf(keys.viewing.nullifierKey, note.commitment, index);
      const witness = {
        ...honest.witness,
        inLeafIndices: indices.with(0, String(index)),
        nullifiers: nullifiers.with(0, String(nullifier)),
      };
      await assert.rejects(field.prover.prove(honest.statement, witness), refusal("PROOF_FAILED"));
    }
  });

  it("P2 a nullifier spelled x + r is refused by enclave and pool", async () => {
    const aliased = withSignal(
      first.statement.signals,
      NULLIFIERS,
      first.statement.signals[NULLIFIERS]! + FIELD_ORDER,
    );
    assert.equal(codeOf(await field.enclave.ask(attestRequest(first, { signals: aliased }))), "SIGNAL_RANGE");
    const { signature } = await field.attest(first);
    assert.equal(
      await field.executeOne(poolTransaction(first, signature, { signals: aliased })),
      "SignalOutOfRange",
    );
  });

  it("P2 one batch with the payment twice, proved again, as its twin (−A, −B), and another payment of the note", async () => {
    const [x, y] = first.proof.a;
    const [bx, [by0, by1]] = first.proof.b;
    const twin: Proof = {
      ...first.proof,
      a: [x, BASE_FIELD_ORDER - y],
      b: [bx, [BASE_FIELD_ORDER - by0, BASE_FIELD_ORDER - by1]],
    };
    const signed = [first, first, again, { ...first, proof: twin }, second];
    const transactions = await Promise.all(signed.map((one) => field.transaction(one)));
    const { members } = await field.execute(transactions);
    assert.deepEqual(members, [
      "executed",
      "NullifierSpent",
      "NullifierSpent",
      "NullifierSpent",
      "NullifierSpent",
    ]);
    assert.equal(await field.usdc.getFunction("balanceOf")(field.home.pool), 40_000_000n);
  });

  it("P2 the same a call later, under the old root and under a newer one", async () => {
    for (const signed of [first, again, second]) {
      assert.equal(await field.executeOne(await field.transaction(signed)), "NullifierSpent");
    }
    await field.settle(await field.deposit(keys, 1_000_000n));
    const newer = await field.restore(keys);
    const spent = [...newer.state.notes.values()].find((note) => note.spent !== undefined)!;
    const late = await field.spend(newer, {
      notes: [spent],
      payment: { type: "withdraw", recipient: freshAddress(), value: 1n },
    });
    assert.equal(await field.executeOne(await field.transaction(late)), "NullifierSpent");
  });

  it("P2 two notes with one commitment have two nullifiers: neither buries the other", async () => {
    const owner = freshKeys();
    const plan = field.prepareDeposit(owner, 5_000_000n);
    // The same outputs in a statement of its own: only its deadline differs.
    const deadline = BigInt(FAR_DEADLINE - 1);
    const context = contextOf(field.home, "deposit-shield", deadline, plan.statement.extBytes);
    const statement = checkStatement(
      field.home,
      "deposit-shield",
      deadline,
      withSignal(plan.statement.signals, 0, context),
      plan.statement.extBytes,
    );
    assert.ok(typeof statement !== "string");
    const copy: Prepared = { ...plan, statement, witness: { ...plan.witness, context: String(context) } };
    for (const prepared of [plan, copy]) {
      const authorization = await field.authorize(prepared.statement);
      await field.settle({ ...(await field.prove(prepared)), authorization });
    }
    const found = await field.restore(owner);
    assert.equal(found.notes.length, 2);
    assert.equal(found.notes[0]!.commitment, found.notes[1]!.commitment);
    const out = freshAddress();
    await field.settle(
      await field.spend(found, {
        notes: found.notes,
        payment: { type: "withdraw", recipient: out, value: 10_000_000n },
      }),
    );
    assert.equal(await field.usdc.getFunction("balanceOf")(out), 10_000_000n);
  });
});
