/** What an honest scenario of bridges saw, for those who show its checker what can go wrong. */
import { ISSUER } from "./seeded/bridges/observations.ts";
import type { Act, AskedIn, AskedOut, ChainSeen, Observations } from "./seeded/bridges/observations.ts";

export const word = (digit: string): string => `0x${digit.repeat(40)}`;
export const [HOME, SOURCE, OUT, PAYEE, REFUND] = [word("a"), word("b"), word("c"), word("d"), word("e")];
export const [FAR_HOME, ACCOUNT] = [word("f"), "AccountOnTheOtherBlockchain"];
export const [PAYER, POOL, NOBODY, FEES] = [word("1"), word("2"), word("0"), word("3")];
export const bounds = { minimum: 2_000n, ceiling: 500n };
export const [CAME, FAST, FEE] = [10_000n, 1n, 50n];
export const NOTE = CAME - FAST - FEE;

export const answers = (id: string, addresses: readonly string[]): AskedIn["answers"] => [
  { is: "lost" },
  { is: "made", status: 201, id, addresses },
  { is: "made", status: 200, id, addresses },
];
export const IN: AskedIn = {
  ...{ name: "in", direction: "in", npk: 7n, refund: REFUND },
  ...{ home: { address: HOME, ...bounds }, source: { address: SOURCE, ...bounds, on: "other" } },
  given: [],
  answers: answers("1", [HOME, SOURCE]),
  status: {
    ...{ id: "1", state: "completed", received: CAME, credited: NOTE, refunded: 0n },
    deposits: ["completed"],
  },
};
export const OUT_ASKED: AskedOut = {
  ...{ name: "out", direction: "out", npk: 8n, recipient: PAYEE, home: { address: OUT, ...bounds } },
  ...{ on: "other", account: undefined },
  answers: answers("2", [OUT]),
  status: {
    ...{ id: "2", state: "completed", received: CAME, credited: CAME - FAST, refunded: 0n },
    deposits: ["completed"],
  },
};

export const FAR: AskedIn = {
  ...{ name: "far", direction: "in", npk: 9n, refund: REFUND },
  ...{ home: { address: FAR_HOME, ...bounds }, source: { address: ACCOUNT, ...bounds, on: "alt" } },
  answers: answers("3", [FAR_HOME, ACCOUNT]),
  given: [
    { status: 200, code: "" },
    { status: 409, code: "BRIDGE_STATE" },
    { status: undefined, code: "" },
  ],
  status: {
    ...{ id: "3", state: "completed", received: CAME, credited: NOTE, refunded: 0n },
    deposits: ["completed"],
  },
};

export const act = (kind: Act["kind"], vault: string, tx: string, changes: Partial<Act> = {}): Act => ({
  ...{ kind, vault, tx, token: undefined, to: undefined, amount: CAME, fees: 0n, leafIndex: undefined },
  ...changes,
});
export const HOME_CHAIN: ChainSeen = {
  transfers: [
    { from: NOBODY, to: HOME, amount: CAME - FAST, tx: "delivery" },
    { from: NOBODY, to: FEES, amount: FAST, tx: "delivery" },
    { from: HOME, to: POOL, amount: CAME - FAST, tx: "sweep" },
    { from: PAYER, to: OUT, amount: CAME, tx: "withdrawal" },
    { from: OUT, to: NOBODY, amount: CAME, tx: "flush" },
    { from: NOBODY, to: FAR_HOME, amount: CAME - FAST, tx: "far delivery" },
    { from: NOBODY, to: FEES, amount: FAST, tx: "far delivery" },
    { from: FAR_HOME, to: POOL, amount: CAME - FAST, tx: "far sweep" },
  ],
  wrong: [],
  burns: [{ nonce: "n2", recipient: PAYEE, amount: CAME, tx: "flush" }],
  mints: [
    { nonce: "n1", recipient: HOME, amount: CAME, fee: FAST, tx: "delivery" },
    { nonce: "n3", recipient: FAR_HOME, amount: CAME, fee: FAST, tx: "far delivery" },
  ],
  acts: [
    act("Swept", HOME, "sweep", { amount: NOTE, fees: FEE, leafIndex: 0 }),
    act("Flushed", OUT, "flush"),
    act("Swept", FAR_HOME, "far sweep", { amount: NOTE, fees: FEE, leafIndex: 2 }),
  ],
  credits: [
    { leafIndex: 0, npk: 7n, value: NOTE, tx: "sweep" },
    { leafIndex: 1, npk: 99n, value: FEE, tx: "sweep" },
    { leafIndex: 2, npk: 9n, value: NOTE, tx: "far sweep" },
    { leafIndex: 3, npk: 99n, value: FEE, tx: "far sweep" },
  ],
  named: [],
};
export const OTHER_CHAIN: ChainSeen = {
  transfers: [
    { from: PAYER, to: SOURCE, amount: CAME, tx: "deposit" },
    { from: SOURCE, to: NOBODY, amount: CAME, tx: "forward" },
    { from: NOBODY, to: PAYEE, amount: CAME - FAST, tx: "arrival" },
    { from: NOBODY, to: FEES, amount: FAST, tx: "arrival" },
  ],
  wrong: [],
  burns: [{ nonce: "n1", recipient: HOME, amount: CAME, tx: "forward" }],
  mints: [{ nonce: "n2", recipient: PAYEE, amount: CAME, fee: FAST, tx: "arrival" }],
  acts: [act("Forwarded", SOURCE, "forward")],
  credits: [],
  named: [],
};
export const ALT: ChainSeen = {
  transfers: [
    { from: ISSUER, to: ACCOUNT, amount: CAME, tx: "issue" },
    { from: ACCOUNT, to: NOBODY, amount: CAME, tx: "burn" },
  ],
  ...{ wrong: [], mints: [], credits: [], named: [] },
  burns: [{ nonce: "n3", recipient: FAR_HOME, amount: CAME, tx: "burn" }],
  acts: [act("Forwarded", ACCOUNT, "burn")],
};
export const NOTHING: ChainSeen = {
  ...{ transfers: [], wrong: [], burns: [], mints: [], acts: [], credits: [], named: [] },
};
export const nonces = { mined: 3, pending: 3 };
export const HONEST: Observations = {
  excuses: { wentBack: false, lookedAgain: false },
  asked: [IN, OUT_ASKED, FAR],
  chains: { home: HOME_CHAIN, other: OTHER_CHAIN, exchange: NOTHING, alt: ALT },
  exchange: undefined,
  before: { home: 1_000_000n, other: 1_000_000n, exchange: 0n, alt: 0n },
  after: {
    home: {
      supply: 1_000_000n + CAME,
      vaults: new Map([HOME, OUT, FAR_HOME].map((vault) => [vault, 0n])),
      nonces,
    },
    other: { supply: 1_000_000n, vaults: new Map([[SOURCE, 0n]]), nonces },
    exchange: { supply: 0n, vaults: new Map(), nonces: { mined: 0, pending: 0 } },
    alt: { supply: 0n, vaults: new Map([[ACCOUNT, 0n]]), nonces: { mined: 0, pending: 0 } },
  },
  pool: { before: 500n, after: 500n + 2n * (NOTE + FEE) },
  orphaned: new Set(),
  wallet: {
    found: new Map([
      ["1", NOTE],
      ["2", 0n],
      ["3", NOTE],
    ]),
    total: 2n * NOTE,
  },
  serviceTotal: 2n * FEE,
  streamed: [
    { id: "1", state: "bridging" },
    { id: "1", state: "completed" },
    { id: "2", state: "completed" },
    { id: "3", state: "awaiting_signature" },
    { id: "3", state: "completed" },
  ],
  outgoing: [],
  pendingLeaves: 0,
};
