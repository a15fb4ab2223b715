// The same of the exchange: each way in which its ledger, an account or a word about them can go wrong is shown to the checker.
import assert from "node:assert/strict";
import { act, answers, bounds, HONEST, nonces, NOBODY, NOTHING, PAYER, word } from "./honest-bridges.ts";
import { check, unsettled, type Violation } from "./seeded/bridges/checker.ts";
import { lanesPlayed } from "./seeded/bridges/lanes-played.ts";
import type {
  AskedIn,
  AskedOut,
  Books,
  ChainSeen,
  ExchangeSeen,
  Observations,
} from "./seeded/bridges/observations.ts";

const [IN_HOME, DESK, FORWARDER, RESERVE] = [word("4"), word("5"), word("6"), word("7")];
const [TRADER, STRANGER, POOL] = [word("9"), `0x${"ab".repeat(20)}`, word("2")];
const [SENT, FAST, FEE, BY_MESSAGE, PLAIN] = [9_000n, 1n, 200n, 5_000n, 7_000n];
const REACHED = SENT - FAST;
const NOTE = BY_MESSAGE - FAST + PLAIN;
const NEW_ACCOUNT = 1_000n;

/** By message, and a plain transfer of somebody else, swept together. */
const IN: AskedIn = {
  ...{ name: "arrival", direction: "in", npk: 11n, refund: word("e"), given: [] },
  ...{ home: { address: IN_HOME, ...bounds }, source: { address: word("b"), ...bounds, on: "other" } },
  answers: answers("11", [IN_HOME, word("b")]),
  status: {
    ...{ id: "11", state: "completed", received: NOTE, credited: NOTE, refunded: 0n },
    deposits: ["completed", "completed"],
  },
};
const TO_TRADER: AskedOut = {
  ...{ name: "desk", direction: "out", npk: 12n, on: "exchange", recipient: FORWARDER },
  ...{ home: { address: DESK, ...bounds }, account: { kind: "trader", address: TRADER } },
  answers: answers("12", [DESK]),
  status: {
    ...{ id: "12", state: "completed", received: SENT, credited: REACHED, refunded: 0n },
    deposits: ["completed"],
  },
};
const TO_NOBODY: AskedOut = {
  ...{ name: "nobody", direction: "out", npk: 13n, on: "exchange", recipient: FORWARDER },
  ...{ home: { address: word("c"), ...bounds }, account: { kind: "never", address: STRANGER } },
  ...{ answers: [{ is: "refused", status: 422, code: "ACCOUNT_UNKNOWN" }], status: undefined },
};
const HOME: ChainSeen = {
  ...NOTHING,
  transfers: [
    { from: NOBODY, to: IN_HOME, amount: BY_MESSAGE - FAST, tx: "brought" },
    { from: PAYER, to: IN_HOME, amount: PLAIN, tx: "plain" },
    { from: IN_HOME, to: POOL, amount: NOTE, tx: "sweep" },
    { from: PAYER, to: DESK, amount: SENT, tx: "withdrawal" },
    { from: DESK, to: NOBODY, amount: SENT, tx: "flush" },
  ],
  burns: [{ nonce: "m2", recipient: FORWARDER, amount: SENT, tx: "flush" }],
  mints: [{ nonce: "m1", recipient: IN_HOME, amount: BY_MESSAGE, fee: FAST, tx: "brought" }],
  acts: [
    act("Swept", IN_HOME, "sweep", { amount: NOTE, leafIndex: 0 }),
    act("Flushed", DESK, "flush", { amount: SENT }),
  ],
  credits: [{ leafIndex: 0, npk: 11n, value: NOTE, tx: "sweep" }],
};
const VENUE: ChainSeen = {
  ...NOTHING,
  transfers: [
    { from: NOBODY, to: FORWARDER, amount: REACHED, tx: "relay" },
    { from: FORWARDER, to: RESERVE, amount: REACHED, tx: "relay" },
  ],
  burns: [{ nonce: "m1", recipient: IN_HOME, amount: BY_MESSAGE, tx: "burn" }],
  mints: [{ nonce: "m2", recipient: FORWARDER, amount: SENT, fee: FAST, tx: "relay" }],
  named: [{ nonce: "m2", account: TRADER, isPerps: true, amount: REACHED, tx: "relay" }],
};
const BEGUN = 100_000n;
const before: Books = {
  ledger: new Map([
    [`perps:${TRADER}`, BEGUN],
    ["outside", -BEGUN],
  ]),
  ...{ deposits: [], withdrawals: [] },
};
const gone = { user: TRADER, recipient: IN_HOME, fee: FEE, state: "paid" } as const;
const after: Books = {
  ledger: new Map([
    [`perps:${TRADER}`, BEGUN + REACHED - BY_MESSAGE - FEE],
    ["fees", FEE],
    ["leaving", 0n],
    ["outside", -BEGUN - REACHED + BY_MESSAGE],
  ]),
  deposits: [{ account: TRADER, amount: REACHED, tx: "relay" }],
  withdrawals: [{ ...gone, amount: BY_MESSAGE, sent: "burn" }],
};
const EXCHANGE: ExchangeSeen = {
  ...{ before, after, newAccount: NEW_ACCOUNT, forgotten: new Set() },
  held: BEGUN + REACHED - BY_MESSAGE,
  told: new Map([[TRADER, after.ledger.get(`perps:${TRADER}`)!]]),
};
const totals = (supply: bigint, ...empty: string[]) => ({
  ...{ supply, nonces, vaults: new Map(empty.map((vault) => [vault, 0n])) },
});
const FAIR: Observations = {
  ...HONEST,
  asked: [IN, TO_TRADER, TO_NOBODY],
  chains: { home: HOME, other: NOTHING, exchange: VENUE, alt: NOTHING },
  exchange: EXCHANGE,
  before: { home: 1_000_000n, other: 0n, exchange: 1_000_000n, alt: 0n },
  after: {
    home: totals(1_000_000n - SENT + BY_MESSAGE, IN_HOME, DESK, word("c")),
    other: totals(0n, word("b")),
    exchange: totals(1_000_000n + SENT - BY_MESSAGE),
    alt: totals(0n),
  },
  pool: { before: 0n, after: NOTE },
  wallet: {
    found: new Map([
      ["11", NOTE],
      ["12", 0n],
    ]),
    total: NOTE,
  },
  serviceTotal: 0n,
  streamed: [
    { id: "11", state: "completed" },
    { id: "12", state: "completed" },
  ],
};

const exchange = (changes: Partial<ExchangeSeen>): Observations => ({
  ...FAIR,
  exchange: { ...EXCHANGE, ...changes },
});
const books = (changes: Partial<Books>): Observations => exchange({ after: { ...after, ...changes } });
const ledger = (account: string, more: bigint): Observations =>
  books({ ledger: new Map([...after.ledger, [account, (after.ledger.get(account) ?? 0n) + more]]) });
const venue = (changes: Partial<ChainSeen>): Observations => ({
  ...FAIR,
  chains: { ...FAIR.chains, exchange: { ...VENUE, ...changes } },
});
const home = (changes: Partial<ChainSeen>): Observations => ({
  ...FAIR,
  chains: { ...FAIR.chains, home: { ...HOME, ...changes } },
});
const [deposit] = after.deposits as [Books["deposits"][number]];
const [byMessage] = after.withdrawals as [Books["withdrawals"][number]];
const [named] = VENUE.named as [ChainSeen["named"][number]];
const made = { is: "made", status: 200, id: "13", addresses: [word("c")] } as const;

const CASES: readonly (readonly [string, Observations, Violation["code"]])[] = [
  ["money that its ledger does not have", books({ deposits: [] }), "NOT_CREDITED"],
  ["a status that says more than its ledger", books({ deposits: [] }), "STATUS_WRONG"],
  ["money that its ledger has twice", books({ deposits: [deposit, deposit] }), "LEDGER_WRONG"],
  ["a deposit of less", books({ deposits: [{ ...deposit, amount: REACHED - 1n }] }), "LEDGER_WRONG"],
  ["a deposit of somebody else", books({ deposits: [{ ...deposit, account: STRANGER }] }), "NOT_CREDITED"],
  ["a deposit out of nothing", books({ deposits: [deposit, { ...deposit, tx: "none" }] }), "LEDGER_WRONG"],
  [
    "a new account's fee of who was never forgotten",
    books({ deposits: [{ ...deposit, amount: REACHED - NEW_ACCOUNT }] }),
    "LEDGER_WRONG",
  ],
  [
    "another account than the address names",
    venue({ named: [{ ...named, account: STRANGER }] }),
    "LEDGER_WRONG",
  ],
  ["the spot account", venue({ named: [{ ...named, isPerps: false }] }), "LEDGER_WRONG"],
  ["a mint that names nobody", venue({ named: [] }), "LEDGER_WRONG"],
  ["a mint that is named twice", venue({ named: [named, named] }), "LEDGER_WRONG"],
  ["more than was minted", venue({ named: [{ ...named, amount: REACHED + 1n }] }), "LEDGER_WRONG"],
  ["a burn that never reached it", venue({ mints: [], named: [] }), "NOT_DELIVERED"],
  ["a withdrawal that never left", books({ withdrawals: [{ ...byMessage, state: "open" }] }), "NOT_PAID"],
  ["a withdrawal that left twice", venue({ burns: [...VENUE.burns, ...VENUE.burns] }), "LEDGER_WRONG"],
  [
    "one that left for somebody else",
    venue({ burns: [{ ...VENUE.burns[0]!, recipient: PAYER }] }),
    "LEDGER_WRONG",
  ],
  [
    "one that came back and left",
    books({ withdrawals: [{ ...byMessage, state: "returned" }] }),
    "LEDGER_WRONG",
  ],
  [
    "one that nobody booked",
    venue({ burns: [...VENUE.burns, { ...VENUE.burns[0]!, nonce: "m8", tx: "theft" }] }),
    "LEDGER_WRONG",
  ],
  ["money of nobody on its ledger", ledger("lost", 1n), "LEDGER_WRONG"],
  ["a fee that nobody owed", ledger("fees", 1n), "LEDGER_WRONG"],
  ["an account with more than it has", ledger(`perps:${TRADER}`, 1n), "LEDGER_WRONG"],
  ["less on its chain than in its books", exchange({ held: 1n }), "LEDGER_WRONG"],
  ["an API that tells another balance", exchange({ told: new Map([[TRADER, 1n]]) }), "LEDGER_WRONG"],
  ["what it burned and nobody delivered", home({ mints: [] }), "NOT_DELIVERED"],
  [
    "an address for an account that is nobody's",
    { ...FAIR, asked: [IN, TO_TRADER, { ...TO_NOBODY, answers: [made] }] },
    "ACCOUNT_TAKEN",
  ],
  [
    "a refusal of an account that is there",
    {
      ...FAIR,
      asked: [IN, { ...TO_TRADER, answers: [...TO_TRADER.answers, ...TO_NOBODY.answers] }, TO_NOBODY],
    },
    "REFUSED",
  ],
  [
    "a refused account's money that lies there",
    {
      ...home({ transfers: [...HOME.transfers, { from: PAYER, to: DESK, amount: 2_000n, tx: "more" }] }),
    },
    "NOT_MOVED",
  ],
];

describe("faults: what the checker of bridges notices of the exchange", () => {
  it("nothing where all is well", () => {
    assert.deepEqual(check(FAIR), []);
    assert.deepEqual(unsettled(FAIR.asked, FAIR.chains, FAIR.exchange), []);
  });

  for (const [what, seen, code] of CASES)
    it(what, () => {
      const codes = check(seen).map((violation) => violation.code);
      assert.ok(codes.includes(code), `${code} is not among ${codes.join(", ")}`);
    });

  it("that what is too little to be delivered is no fault, where the status says so", () => {
    const small = { nonce: "m9", recipient: IN_HOME, amount: 1_999n, tx: "small" };
    const state = "bridging" as const;
    const status = { ...IN.status!, state, deposits: ["completed", "completed", state] as const };
    const booked = { ...gone, amount: small.amount, sent: "small" } as const;
    const its = new Map(after.ledger);
    const add = (account: string, more: bigint): void => void its.set(account, its.get(account)! + more);
    add(`perps:${TRADER}`, -small.amount - FEE);
    add("fees", FEE);
    add("outside", small.amount);
    const seen = {
      ...venue({ burns: [...VENUE.burns, small] }),
      ...{ asked: [{ ...IN, status }, TO_TRADER, TO_NOBODY] },
      exchange: {
        ...EXCHANGE,
        after: { ...after, ledger: its, withdrawals: [...after.withdrawals, booked] },
        held: EXCHANGE.held - small.amount,
        told: new Map([[TRADER, its.get(`perps:${TRADER}`)!]]),
      },
      after: { ...FAIR.after, exchange: totals(FAIR.after.exchange.supply - small.amount) },
      streamed: [...FAIR.streamed, { id: "11", state: "bridging" } as const],
    };
    assert.deepEqual(check(seen), []);
    const silent = check({ ...seen, asked: FAIR.asked }).map(({ code }) => code);
    assert.ok(silent.includes("STATUS_WRONG"));
  });

  it("that an account which was forgotten costs what a new one does, once", () => {
    const its = new Map(after.ledger);
    its.set(`perps:${TRADER}`, its.get(`perps:${TRADER}`)! - NEW_ACCOUNT);
    its.set("fees", its.get("fees")! + NEW_ACCOUNT);
    const deposits = [{ ...deposit, amount: REACHED - NEW_ACCOUNT }];
    const seen = exchange({
      ...{ after: { ...after, ledger: its, deposits }, forgotten: new Set([TRADER]) },
      told: new Map([[TRADER, its.get(`perps:${TRADER}`)!]]),
    });
    assert.deepEqual(check(seen), []);
  });

  it("which ways were played to their ends", () => {
    assert.deepEqual(lanesPlayed(FAIR).sort(), [
      "from-exchange",
      "to-exchange",
      "to-exchange-unknown-account",
    ]);
    assert.deepEqual(lanesPlayed({ ...FAIR, exchange: undefined }), []);
    assert.ok(!lanesPlayed(books({ deposits: [] })).includes("to-exchange"));
  });
});
