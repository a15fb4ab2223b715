/**
 * P2, all kinds. A note that one kind of statement spent is spent for every other, in whatever order they come;
 * and the nine places of `spend9` are no nine chances to count one note twice.
 */
import assert from "node:assert/strict";
import type { PoolTransaction } from "../../scripts/stack/pool-transaction.ts";
import { nullifierOf } from "../../shared/notes/note.ts";
import { FIELD_ORDER } from "../../shared/protocol/brands.ts";
import { KINDS } from "../../shared/protocol/statements.ts";
import {
  attestRequest,
  freshAddress,
  freshKeys,
  poolTransaction,
  positionOf,
  withSignal,
  type Battlefield,
  type Restored,
  type Signed,
} from "../support/adversary.ts";
import { Bazaar, DOLLAR, worth } from "../support/swaps.ts";
import { codeOf } from "../unit/enclave/support/frame-client.ts";

const NULLIFIERS = positionOf("spend9", "nullifiers");
const PLACES = Array.from({ length: KINDS.spend9.inputs }, (_, place) => place);
/** Witness inputs that have an entry for each place. */
const BY_PLACE = ["inValues", "inBlindings", "inLeafIndices", "inPathElements", "nullifiers"];

const refusal = (code: string) => (error: unknown) => (error as { code?: string }).code === code;

describe("P2 a note is spent once, by whichever kind", function () {
  this.timeout(600_000);
  let bazaar: Bazaar;
  let field: Battlefield;
  const keys = freshKeys();
  let wallet: Restored;
  /** Three ways to spend the first note; each spends another one or two besides. */
  let signed: Record<"spend" | "spend9" | "private-swap", Signed>;
  let nine: Signed;

  before(async () => {
    bazaar = await Bazaar.open();
    ({ field } = bazaar);
    for (let i = 1n; i <= 2n; i++) {
      await field.settle(await field.deposit(keys, 100n * DOLLAR), await field.deposit(keys, i * DOLLAR));
    }
    wallet = await field.restore(keys);
    const [shared, second, third, fourth] = wallet.notes as [never, never, never, never];
    const payment = { type: "withdraw", recipient: freshAddress(), value: 90n * DOLLAR } as const;
    const terms = { sharesIn: 90n * DOLLAR, tokenOut: bazaar.weth, floor: 1n, path: bazaar.oneHop };
    nine = await bazaar.pay(wallet, { notes: [shared, second, third], payment });
    signed = {
      spend: await bazaar.pay(wallet, { notes: [fourth, shared], payment }),
      spend9: nine,
      "private-swap": await bazaar.swap(wallet, { ...terms, notes: [shared] }),
    };
    assert.equal(nine.statement.kind, "spend9");
  });
  after(() => bazaar.stop());

  it("P2 spend, spend9 and private-swap of one note: the first is executed, in every order, in one batch and call after call", async () => {
    const transactions = new Map<string, PoolTransaction>();
    for (const [kind, one] of Object.entries(signed)) transactions.set(kind, await field.transaction(one));
    for (const order of permutations([...transactions.values()])) {
      await bazaar.undone(async () => {
        const { members } = await field.execute(order);
        assert.deepEqual(members, ["executed", "NullifierSpent", "NullifierSpent"]);
      });
      await bazaar.undone(async () => {
        assert.equal(await field.executeOne(order[0]!), "executed");
        await bazaar.bringRoot();
        for (const late of order.slice(1)) {
          assert.equal((await bazaar.refused(late)).error, "NullifierSpent");
        }
      });
    }
  });

  it("P2 what was not shared is still there: change and the other notes pay", () =>
    bazaar.undone(async () => {
      await bazaar.settle(signed["private-swap"]);
      assert.equal(await field.executeOne(await field.transaction(signed.spend)), "NullifierSpent");
      const left = await field.restore(keys);
      const dollars = left.notes.filter(({ asset }) => asset === bazaar.usdc);
      assert.equal(worth(dollars), 113n * DOLLAR);
      const out = freshAddress();
      const payment = { type: "withdraw", recipient: out, value: 113n * DOLLAR } as const;
      await bazaar.settle(await bazaar.pay(left, { notes: dollars, payment }));
      assert.equal(await bazaar.balance(bazaar.usdc, out), 113n * DOLLAR);
    }));

  it("P2 one note in two of the nine places has no statement, no witness, no attestation", async () => {
    const [note] = wallet.notes;
    const doubled = [note!, wallet.notes[1]!, note!];
    const payment = { type: "transfer", to: keys.viewing.address, value: 150n * DOLLAR } as const;
    assert.throws(
      () => bazaar.preparePayment(wallet, { notes: doubled, payment }),
      /NULLIFIERS_NOT_DISTINCT/,
    );

    // First and last place, all of it true but that there is one note and not two.
    const own = bazaar.preparePayment(wallet, {
      notes: wallet.notes.slice(0, 3),
      payment: { ...payment, value: worth(wallet.notes.slice(0, 3)) },
    });
    const witness = Object.fromEntries(
      Object.entries(own.witness).map(([name, value]) => {
        if (!BY_PLACE.includes(name)) return [name, value];
        const list = value as unknown[];
        return [name, list.with(PLACES.at(-1)!, list[0])];
      }),
    );
    await assert.rejects(field.prover.prove(own.statement, witness), refusal("PROOF_FAILED"));
    // The same note under a second index, for a second nullifier: there is no such leaf.
    const index = note!.leafIndex + 1;
    const second = nullifierOf(keys.viewing.nullifierKey, note!.commitment, index);
    const bent = {
      ...witness,
      inLeafIndices: (witness["inLeafIndices"] as string[]).with(8, String(index)),
      nullifiers: (witness["nullifiers"] as string[]).with(8, String(second)),
    };
    await assert.rejects(field.prover.prove(own.statement, bent), refusal("PROOF_FAILED"));
  });

  it("P2 equal nullifiers in any two of the nine places are refused by enclave and pool, also under an attestation", async () => {
    const { signals } = nine.statement;
    const { signature } = await field.attest(nine);
    const members: PoolTransaction[] = [];
    for (const later of PLACES) {
      for (const earlier of PLACES.slice(0, later)) {
        const bent = withSignal(signals, NULLIFIERS + later, signals[NULLIFIERS + earlier]!);
        const reply = await field.enclave.ask(attestRequest(nine, { signals: bent }));
        assert.equal(codeOf(reply), "NULLIFIERS_NOT_DISTINCT");
        members.push(poolTransaction(nine, signature, { signals: bent }));
      }
    }
    assert.equal(members.length, 36);
    const before = await bazaar.snapshot(nine.statement.facts.nullifiers);
    const outcome = await field.execute(members);
    assert.deepEqual([...new Set(outcome.members)], ["NullifiersNotDistinct"]);
    assert.equal(outcome.members.length, 36);
    assert.deepEqual(await bazaar.snapshot(nine.statement.facts.nullifiers), before);
  });

  it("P2 each nullifier of spend9 spelled x + r is refused by enclave and pool", async () => {
    const { signals } = nine.statement;
    const { signature } = await field.attest(nine);
    const members: PoolTransaction[] = [];
    for (const place of PLACES) {
      const aliased = withSignal(signals, NULLIFIERS + place, signals[NULLIFIERS + place]! + FIELD_ORDER);
      const reply = await field.enclave.ask(attestRequest(nine, { signals: aliased }));
      assert.equal(codeOf(reply), "SIGNAL_RANGE");
      members.push(poolTransaction(nine, signature, { signals: aliased }));
    }
    const outcome = await field.execute(members);
    assert.deepEqual(
      outcome.members,
      PLACES.map(() => "SignalOutOfRange"),
    );
    assert.deepEqual(
      outcome.reasons.map(([position]) => position),
      PLACES.map((place) => BigInt(NULLIFIERS + place)),
    );
  });
});

function permutations<T>(items: readonly T[]): T[][] {
  if (items.length < 2) return [[...items]];
  return items.flatMap((item, at) => permutations(items.toSpliced(at, 1)).map((rest) => [item, ...rest]));
}
