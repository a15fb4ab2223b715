import assert from "node:assert/strict";
import { activityOf } from "../../../../../shared/client/state/activity.ts";
import { CLOCK_MARGIN_SECS } from "../../../../../shared/client/state/exposure.ts";
import { mergeState } from "../../../../../shared/client/state/merging.ts";
import type { PaymentRecord } from "../../../../../shared/client/state/payment-record.ts";
import { activityCsv, decimalText } from "../../../../../shared/client/wallet/statement-export.ts";
import { WalletState, type OwnedNote } from "../../../../../shared/client/state/state.ts";
import { mustField, type Address, type Bytes32 } from "../../../../../shared/protocol/brands.ts";
import { toHex, word } from "../../../../../shared/protocol/bytes.ts";
import { storedAndOpened } from "../../../../support/stored-state.ts";

const ASSET = `0x${"aa".repeat(20)}` as Address;
const OTHER = `0x${"bb".repeat(20)}` as Address;
const HOME = { chainId: 7n, pool: ASSET };
const hashOf = (number: number): Bytes32 => toHex(word(BigInt(number))) as Bytes32;
const leafOf = (index: number) => mustField(BigInt(1_000 + index));
const NOW = 5_000;
const DEADLINE = NOW + 100;

function noteAt(leafIndex: number, value: bigint, change: Partial<OwnedNote> = {}): OwnedNote {
  return {
    ...{ asset: ASSET, value, blinding: mustField(5n), leafIndex, commitment: leafOf(leafIndex) },
    ...{
      nullifier: mustField(BigInt(9_000 + leafIndex)),
      source: "spend",
      block: leafIndex,
      txHash: hashOf(leafIndex),
    },
    ...change,
  };
}

function recordOf(
  statement: number,
  leaves: readonly number[],
  change: Partial<PaymentRecord> = {},
): PaymentRecord {
  return {
    ...{
      statement: hashOf(statement),
      kind: "transfer",
      asset: ASSET,
      amount: 30n,
      fees: 2n,
      to: "clodev1bob",
    },
    ...{ madeAt: NOW, madeAfter: 3, deadline: DEADLINE, commitments: leaves.map(leafOf), leafIndexes: [0] },
    ...change,
  };
}

/** Deposit at 0 (100), then a transfer of 30 with change at leaf 4 (68), and income of 7 at leaf 7. */
function story(): WalletState {
  const state = new WalletState();
  for (let index = 0; index < 8; index++) state.addLeaf(leafOf(index), index < 3 ? 1 : index < 7 ? 2 : 3);
  state.addRoot({ root: state.tree.root(), leafCount: 8, block: 3 });
  state.addNote(
    noteAt(0, 100n, {
      source: "deposit",
      block: 1,
      txHash: hashOf(1),
      spent: { block: 2, txHash: hashOf(2) },
    }),
  );
  state.addNote(noteAt(4, 68n, { block: 2, txHash: hashOf(2) }));
  state.addNote(noteAt(7, 7n, { block: 3, txHash: hashOf(3) }));
  return state;
}
const executed = recordOf(50, [3, 4, 5, 6], { memo: "rent", derivation: { change: 68n, salt: 9 } });

describe("a wallet's activity", () => {
  it("says of a payment to whom, what for, how much and where, and of income what came", () => {
    const state = story();
    state.payments.set(executed.statement, executed);
    state.contacts.set("clodev1bob", { address: "clodev1bob", label: "Bob", at: 1 });
    const [income, paid, deposit, ...none] = activityOf(state, NOW);
    assert.deepEqual(none, []);
    assert.deepEqual(
      [income!.kind, income!.change, income!.leaf, income!.counterparty],
      ["received", 7n, 7, undefined],
    );
    const { kind, change, fees, counterparty, label, memo, leaf, block, txHash } = paid!;
    assert.deepEqual([paid!.state, kind, paid!.amount, change, fees], ["done", "transfer", 30n, -32n, 2n]);
    assert.deepEqual(
      [counterparty, label, memo, leaf, block, txHash],
      ["clodev1bob", "Bob", "rent", 3, 2, hashOf(2)],
    );
    assert.deepEqual([deposit!.kind, deposit!.change], ["deposit", 100n]);
    // What the items do to the balance is the balance.
    assert.equal(income!.change + paid!.change + deposit!.change, 75n);
  });

  it("tells without a record, after a restore, what the chain tells, and the sum is the same", () => {
    const [, sent, deposit] = activityOf(story(), NOW);
    assert.deepEqual([sent!.kind, sent!.amount, sent!.change, sent!.fees], ["sent", 32n, -32n, undefined]);
    assert.deepEqual([sent!.counterparty, sent!.txHash, sent!.leaf], [undefined, hashOf(2), undefined]);
    assert.equal(deposit!.kind, "deposit");
    assert.equal(
      activityOf(story(), NOW).reduce((sum, { change }) => sum + change, 0n),
      75n,
    );
  });

  it("tells pending, refused, expired and withdrawn payments apart", () => {
    const state = story();
    const waiting = recordOf(51, [20, 21, 22, 23], { leafIndexes: [4] });
    const gone = recordOf(52, [24, 25, 26, 27], { leafIndexes: [4], deadline: NOW - CLOCK_MARGIN_SECS - 1 });
    const refused = recordOf(53, [28, 29, 30, 31], { leafIndexes: [7] });
    const unsent = { ...recordOf(54, [32, 33, 34, 35]), withdrawn: true as const };
    for (const record of [executed, waiting, gone, refused, unsent])
      state.payments.set(record.statement, record);
    state.reservations.set(refused.statement, {
      ...{ statement: refused.statement, commitments: refused.commitments, refused: true, leafIndexes: [7] },
      ...{ deadline: DEADLINE, change: 0n, asset: ASSET },
    });
    const byId = new Map(activityOf(state, NOW).map((item) => [item.id, item]));
    const outcome = (record: PaymentRecord) => {
      const item = byId.get(record.statement);
      return item && [item.state, item.change, item.until];
    };
    assert.deepEqual(outcome(executed), ["done", -32n, undefined]);
    assert.deepEqual(outcome(waiting), ["pending", -32n, DEADLINE]);
    assert.deepEqual(outcome(gone), ["failed", 0n, undefined]);
    assert.deepEqual(outcome(refused), ["failed", 0n, DEADLINE]);
    assert.equal(outcome(unsent), undefined);
    assert.equal(activityOf(state, NOW)[0]!.id, waiting.statement);
  });

  it("has of a swap what was bought, and calls void what was refuted", () => {
    const state = story();
    const swap = recordOf(60, [8, 9, 10], {
      kind: "swap",
      to: undefined,
      tokenOut: OTHER,
      leafIndexes: [7],
      amount: 7n,
    });
    for (let index = 8; index < 12; index++) state.addLeaf(leafOf(index), 4);
    state.addNote(noteAt(11, 3n, { asset: OTHER, source: "swap", block: 4, txHash: hashOf(4) }));
    state.payments.set(swap.statement, swap);
    state.payments.set(executed.statement, executed);
    const items = activityOf(state, NOW);
    const bought = items.find(({ kind }) => kind === "swap")!;
    assert.deepEqual([bought.bought, bought.leaf, bought.change], [{ asset: OTHER, amount: 3n }, 11, -7n]);
    assert.equal(items.filter(({ asset }) => asset === OTHER).length, 0);
    state.voidStatement(3, 4, [state.notes.get(0)!.nullifier], { block: 5, txHash: hashOf(5) });
    const refuted = activityOf(state, NOW).find(({ id }) => id === executed.statement)!;
    assert.deepEqual([refuted.state, refuted.change], ["void", 0n]);
  });

  it("is in the storage with the address book, and what two tabs did is in both", async () => {
    const [one, two] = [story(), story()];
    one.payments.set(executed.statement, executed);
    one.contacts.set("a", { address: "a", label: "Ann", at: 2 });
    two.contacts.set("a", { address: "a", label: null, at: 3 });
    two.contacts.set("b", { address: "b", label: "Bob", at: 1 });
    const other = recordOf(70, [40, 41, 42, 43]);
    two.payments.set(other.statement, other);
    const key = new Uint8Array(32).fill(1);
    const back = await storedAndOpened(one, HOME, key);
    assert.deepEqual(back.payments, one.payments);
    assert.deepEqual(back.contacts, one.contacts);
    mergeState(back, two, new Map(), true);
    assert.deepEqual([...back.payments.keys()].sort(), [executed.statement, other.statement].sort());
    assert.deepEqual([back.contacts.get("a")!.label, back.contacts.get("b")!.label], [null, "Bob"]);
    // A payment that never left is not brought back by an older copy.
    const withdrawn = { ...other, withdrawn: true as const };
    back.payments.set(other.statement, withdrawn);
    mergeState(back, two, new Map(), true);
    assert.equal(back.payments.get(other.statement)!.withdrawn, true);
  });
});

describe("a statement for a spreadsheet", () => {
  const state = story();
  state.payments.set(executed.statement, { ...executed, memo: '=HYPERLINK("http://x"),1' });
  state.contacts.set("clodev1bob", { address: "clodev1bob", label: "@Bob, and\u00a0Ann", at: 1 });
  const assets = { [ASSET]: { symbol: "USDC", decimals: 6 } };
  const csv = activityCsv(activityOf(state, NOW), { assets });

  /** RFC 4180, in other hands. */
  function parsed(text: string): string[][] {
    const field = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/gy;
    const rows: string[][] = [[]];
    let end = 0;
    for (const [whole, quoted, plain, by] of text.matchAll(field)) {
      end += whole.length;
      rows.at(-1)!.push(quoted?.replaceAll('""', '"') ?? plain!);
      if (by === "\r\n") rows.push([]);
    }
    assert.equal(end, text.length);
    return rows.slice(0, -1);
  }

  it("has one line for each item under the names, with as many fields, and exact decimal amounts", () => {
    const [names, ...rows] = parsed(csv);
    assert.equal(rows.length, 3);
    for (const row of rows) assert.equal(row.length, names!.length);
    const at = (name: string) => rows[1]![names!.indexOf(name)];
    assert.deepEqual([at("amount"), at("fees"), at("change")], ["0.00003", "0.000002", "-0.000032"]);
    assert.equal(at("time"), new Date(NOW * 1000).toISOString());
  });

  it("holds no field that a spreadsheet would compute", () => {
    const [names, ...rows] = parsed(csv);
    const numbers = ["amount", "fees", "change", "bought amount"];
    for (const row of rows)
      for (const [place, field] of row.entries())
        if (!numbers.includes(names![place]!)) assert.doesNotMatch(field, /^\s*[=+\-@\t\r]/, field);
    assert.ok(csv.includes("'=HYPERLINK") && csv.includes("'@Bob"));
  });

  it("holds none either where a spreadsheet begins a field behind a semicolon", () => {
    for (const [memo, written] of [
      ["rent;=1+1", "rent;'=1+1"],
      ["rent; +1", "rent;' +1"],
      ['rent;"=1+1"', 'rent;\'"=1+1"'],
      [" ;@a;-b", " ;'@a;'-b"],
      ["rent; 1 = 1", "rent; 1 = 1"],
    ] as const) {
      state.payments.set(executed.statement, { ...executed, memo });
      const [names, ...rows] = parsed(activityCsv(activityOf(state, NOW), { assets }));
      assert.ok(rows.some((row) => row[names!.indexOf("memo")] === written, memo));
    }
  });

  it("writes amounts without rounding", () => {
    const cases: [bigint, number, string][] = [
      ...([
        [0n, 6, "0"],
        [1n, 6, "0.000001"],
        [1_000_000n, 6, "1"],
        [-1_230_000n, 6, "-1.23"],
      ] as const),
      ...([
        [10n, 0, "10"],
        [(1n << 128n) - 1n, 18, "340282366920938463463.374607431768211455"],
      ] as const),
    ].map(([a, b, c]) => [a, b, c]);
    for (const [amount, decimals, expected] of cases) assert.equal(decimalText(amount, decimals), expected);
  });
});
