// From the facts of the chains to state, sums and words: every state there is, and what a reorganisation, dust, several
// deposits and the attester's announcements must not make of it.
import assert from "node:assert/strict";
import type {
  Arrival,
  BridgeFacts,
  Burn,
  Leaving,
  Spot,
  VaultFacts,
} from "../../../../../proxy/relay/fold/facts.ts";
import { progressFrom, type Seen } from "../../../../../proxy/relay/fold/progress.ts";
import type { Remark } from "../../../../../proxy/relay/requests.ts";
import { BRIDGE_STATES, MOST_DEPOSITS_SHOWN } from "../../../../../shared/api/bridge-status.ts";
import { ZERO_ADDRESS } from "../../../../../shared/protocol/brands.ts";
import { TIMEOUT_SECS } from "../../../../../shared/protocol/host/forwarders.ts";
import {
  arrivalOf,
  factsAbout,
  leavingOf,
  seenOf,
  spotOf,
  vaultOf,
} from "../../../../support/bridge-facts.ts";
import { bridgeDraft, madeAddress, madeHash } from "../../../../support/bridges.ts";

const NOW = 1_000_000;
const OPTIONS = { timeoutSecs: TIMEOUT_SECS, bridgingSecs: 60, now: NOW };
const IN = bridgeDraft(1, {});
const OUT = bridgeDraft(2, { kind: "to-exchange" });
const ALT = bridgeDraft(3, { kind: "from-altchain" });
const TO_CHAIN = bridgeDraft(4, { kind: "to-chain" });
const refused = (record: typeof IN) => ({ ...record, screening: { isRefused: true, at: 1 } });
const LEAST = 100n;
const seenStates = new Set<string>();

const at = (block: number, change: Partial<Spot>): Spot =>
  spotOf(block, { at: NOW - 100 + block, ...change });
const entry = (block: number, amount: bigint, change: Partial<Spot> = {}, brought?: string): Arrival =>
  arrivalOf(amount, at(block, change), brought);
const leaving = (
  block: number,
  what: Leaving["what"],
  amount: bigint,
  { leafIndex, burn, ...change }: Partial<Spot & Leaving> = {},
): Leaving =>
  leavingOf(what, amount, at(block, { tx: madeHash(1_000 + block), ...change }), { leafIndex, burn });

/** Whatever stands there stands on the chain of the place. */
function place(role: VaultFacts["role"], change: Partial<VaultFacts> = {}): VaultFacts {
  const found = vaultOf(role, { minimum: LEAST, ...change });
  const here = <T extends { readonly place: Spot }>(one: T): T => ({
    ...one,
    place: { ...one.place, chain: found.chain },
  });
  return { ...found, arrivals: found.arrivals.map(here), leavings: found.leavings.map(here) };
}

type State = "unattested" | "attested" | "expired" | "delivered";
interface Message {
  readonly state?: State;
  readonly from?: string;
  readonly to?: string;
  readonly sentBy?: string;
  readonly arrival?: Amount;
  readonly credit?: Amount;
}
interface Amount {
  readonly hash: string;
  readonly amount: bigint;
}
interface Sent {
  readonly burn: Burn;
  readonly state: State;
}

function message(id: string, change: Message = {}): Sent {
  const {
    state = "unattested",
    from = "second",
    to = "home",
    sentBy = madeHash(99),
    arrival,
    credit,
  } = change;
  const there = ({ hash, amount }: Amount) => ({ place: at(30, { chain: to, tx: hash }), amount });
  const arrived = arrival ?? (state === "delivered" ? { hash: madeHash(98), amount: 0n } : undefined);
  const delivery = arrived && {
    ...{ ...there(arrived), nonce: undefined, credit: credit && there(credit) },
  };
  const burn: Burn = {
    ...{
      id,
      place: at(50, { chain: from, tx: sentBy }),
      to,
      amount: 0n,
      sourceDomain: 1,
      destinationDomain: 2,
    },
    ...{ burner: "", recipient: "", maxFee: 0n, minFinality: 1_000, message: undefined, delivery },
  };
  return { burn, state };
}

interface Found {
  /** The one on the pool's chain last. */
  readonly places: readonly VaultFacts[];
  readonly messages?: readonly Sent[];
  readonly remark?: Remark;
}

const facts = (places: readonly VaultFacts[], change: Omit<Found, "places"> = {}): Found => ({
  places,
  ...change,
});
const NOBODY_WATCHES = undefined;
function seenIn(record: typeof IN, found: Found | undefined): Seen {
  if (found === undefined) return seenOf(undefined);
  const { places, messages = [], remark = {} } = found;
  const parts = { before: places.slice(0, -1), home: places.at(-1)! };
  const states = {
    unattested: "pending",
    attested: "complete",
    expired: "expired",
    delivered: "complete",
  } as const;
  return seenOf(factsAbout(record, { ...parts, incoming: messages.map(({ burn }) => burn) }), {
    remark,
    attestationOf: ({ id }) => ({ status: states[messages.find(({ burn }) => burn.id === id)!.state] }),
  });
}
function progress(record: typeof IN, found: Found | undefined) {
  const made = progressFrom(record, seenIn(record, found), OPTIONS);
  seenStates.add(made.state);
  return made;
}
const steps = (made: ReturnType<typeof progress>, at = 0): string[] =>
  made.deposits[at]!.transactions.map(({ chain, what }) => `${chain} ${what}`);

describe("progress of a bridge request", () => {
  after(() => {
    // `failed` is kept for a venue that takes money and does not credit it, and nobody says so yet.
    const reached = BRIDGE_STATES.filter((state) => state !== "failed");
    assert.deepEqual([...seenStates].sort(), [...reached].sort(), "every state was reached here");
  });

  it("awaiting_funds: nothing was seen; and it does not say so before everything was looked at", () => {
    const waiting = progress(IN, facts([place("source"), place("home")]));
    assert.deepEqual(
      [waiting.state, waiting.received, waiting.refundableAt],
      ["awaiting_funds", 0n, undefined],
    );
    assert.match(waiting.next.text, /waits for money/);
    assert.match(progress(IN, NOBODY_WATCHES).next.text, /being looked at/);
    assert.match(progress(OUT, facts([place("home")])).next.text, /withdrawal/);
  });

  it("detected and confirming: by what is on top of the block, with the time the rest will take", () => {
    for (const [confirmations, state, missing] of [
      [0, "detected", 3],
      [1, "detected", 2],
      [2, "confirming", 1],
    ] as const) {
      const home = place("home", { balance: 200n, arrivals: [entry(7, 200n, { confirmations })] });
      const made = progress(IN, facts([home]));
      assert.equal(made.state, state);
      assert.deepEqual(made.next, {
        text: `waits for ${String(missing)} more confirmations`,
        by: NOW + 2 * missing,
      });
    }
  });

  it("shielding: is here and is enough, or its sweep has too few confirmations", () => {
    const entries = [entry(7, 200n)];
    assert.equal(
      progress(IN, facts([place("home", { balance: 200n, arrivals: entries })])).state,
      "shielding",
    );
    const young = leaving(9, "sweep", 150n, { confirmations: 2, leafIndex: 12 });
    const made = progress(IN, facts([place("home", { arrivals: entries, leavings: [young] })]));
    assert.deepEqual([made.state, made.deposits[0]!.leafIndex], ["shielding", 12]);
  });

  it("completed: the sweep stands on the chain, and is gone again with it", () => {
    const entries = [entry(7, 200n)];
    const swept = place("home", {
      arrivals: entries,
      leavings: [leaving(9, "sweep", 150n, { leafIndex: 12 })],
    });
    const made = progress(IN, facts([swept]));
    assert.deepEqual([made.state, made.received, made.credited], ["completed", 200n, 150n]);
    assert.deepEqual(steps(made), ["home deposit", "home sweep"]);
    assert.match(made.next.text, /nothing/);
    assert.equal(made.withoutHelp, "nothing is left to be done");
    const reorganised = place("home", { balance: 200n, arrivals: [entry(8, 200n, { confirmations: 1 })] });
    assert.deepEqual(progress(IN, facts([reorganised])).state, "detected");
    assert.equal(progress(IN, facts([place("home")])).state, "awaiting_funds");
  });

  it("below_minimum: refundable at once by its address, by anybody when the clock has run", () => {
    const dust = place("home", { balance: 99n, arrivals: [entry(7, 99n)] });
    const made = progress(IN, facts([dust]));
    assert.deepEqual([made.state, made.error?.code], ["below_minimum", "AMOUNT_TOO_SMALL"]);
    assert.match(made.next.text, /at once/);
    const clock = { at: NOW - 5, hasMinimum: false };
    assert.equal(progress(IN, facts([{ ...dust, clock }])).refundableAt, NOW - 5 + TIMEOUT_SECS);
  });

  it("more dust makes it enough, and a clock that dust has started does not count for the whole", () => {
    const clock = { at: NOW - TIMEOUT_SECS, hasMinimum: false };
    const whole = place("home", { balance: 101n, clock, arrivals: [entry(7, 1n), entry(8, 100n)] });
    const made = progress(IN, facts([whole]));
    assert.deepEqual([made.state, made.refundableAt], ["shielding", undefined]);
    const started = { ...whole, clock: { at: NOW, hasMinimum: true } };
    assert.equal(progress(IN, facts([started])).refundableAt, NOW + TIMEOUT_SECS);
  });

  it("refunding and refunded: whoever sent it back", () => {
    const entries = [entry(7, 200n)];
    const back = (confirmations: number) =>
      place("home", { arrivals: entries, leavings: [leaving(9, "refund", 200n, { confirmations })] });
    assert.equal(progress(IN, facts([back(1)])).state, "refunding");
    const made = progress(IN, facts([back(3)]));
    assert.deepEqual([made.state, made.refunded, made.credited], ["refunded", 200n, 0n]);
    assert.deepEqual(steps(made), ["home deposit", "home refund"]);
  });

  it("refunding: a request that is refused ends in the refund and in nothing else", () => {
    const home = place("home", { balance: 200n, arrivals: [entry(7, 200n)] });
    const trouble = { code: "SCREENING_REFUSED" as const, detail: "is not swept" };
    const made = progress(refused(IN), facts([home], { remark: { waits: { home: trouble } } }));
    assert.deepEqual([made.state, made.error], ["refunding", trouble]);
    assert.match(made.next.text, /anybody may start the refund clock; 24 hours later/);
    const swept = { ...home, balance: 0n, leavings: [leaving(9, "sweep", 150n)] };
    assert.equal(progress(refused(IN), facts([swept])).state, "completed", "the chain has the word");
  });

  it("bridging: from a source address, by a message, to the sweep; each step is named once", () => {
    const source = place("source", { balance: 300n, arrivals: [entry(7, 300n)] });
    const home = place("home");
    assert.equal(progress(IN, facts([source, home])).state, "bridging");
    const burned = place("source", {
      arrivals: [entry(7, 300n)],
      leavings: [leaving(9, "burn", 300n, { burn: "m" })],
    });
    for (const [state, words] of [
      ["unattested", /attesters/],
      ["attested", /anybody may deliver/],
      ["expired", /another one is asked for/],
    ] as const) {
      const made = progress(IN, facts([burned, home], { messages: [message("m", { state })] }));
      assert.equal(made.state, "bridging");
      assert.match(made.next.text, words);
      assert.equal(made.received, 300n);
    }
    // What arrives is what was measured, whatever the burn said.
    const delivered = place("home", { balance: 290n, arrivals: [entry(20, 290n, {}, "m")] });
    const arrived = [message("m", { state: "delivered", arrival: { hash: madeHash(20), amount: 290n } })];
    const shielding = progress(IN, facts([burned, delivered], { messages: arrived }));
    assert.deepEqual([shielding.state, shielding.received], ["shielding", 300n]);
    assert.deepEqual(steps(shielding), ["second deposit", "second burn", "home delivery"]);
    const swept = place("home", {
      arrivals: delivered.arrivals,
      leavings: [leaving(25, "sweep", 240n, { leafIndex: 3 })],
    });
    const done = progress(IN, facts([burned, swept], { messages: arrived }));
    assert.deepEqual([done.state, done.credited, done.deposits.length], ["completed", 240n, 1]);
    assert.deepEqual(steps(done), ["second deposit", "second burn", "home delivery", "home sweep"]);
  });

  it("an announced message has no amount, and money that came by it is told once", () => {
    const announced = { from: "perpvenue", sentBy: madeHash(77) };
    const made = progress(IN, facts([place("home")], { messages: [message("x", announced)] }));
    assert.deepEqual(
      [made.state, made.received, made.deposits[0]!.amount, made.deposits[0]!.chain],
      ["bridging", 0n, undefined, "perpvenue"],
    );
    const home = place("home", { balance: 200n, arrivals: [entry(7, 200n, {}, "x")] });
    const arrived = progress(
      IN,
      facts([home], { messages: [message("x", { ...announced, state: "delivered" })] }),
    );
    assert.deepEqual([arrived.state, arrived.received, arrived.deposits.length], ["shielding", 200n, 1]);
    assert.deepEqual(steps(arrived), ["perpvenue burn", "home delivery"]);
  });

  it("awaiting_signature: on the other blockchain the user's key has the word", () => {
    const account = place("deposit", { balance: 200n, arrivals: [entry(7, 200n)] });
    const sign = { transaction: "AQ==", expiresAfterSlot: 9 };
    const made = progress(ALT, facts([account, place("home")], { remark: { sign } }));
    assert.deepEqual([made.state, made.sign, made.refundableAt], ["awaiting_signature", sign, undefined]);
    assert.match(made.next.text, /signs the burn/);
    assert.match(progress(ALT, facts([account, place("home")])).next.text, /being prepared/);
    assert.match(made.withoutHelp, /npm run recover/);
    const burned = { ...account, balance: 0n, leavings: [leaving(8, "burn", 200n, { burn: "m" })] };
    const after = progress(
      ALT,
      facts([burned, place("home")], { remark: { sign }, messages: [message("m")] }),
    );
    assert.deepEqual([after.state, after.sign], ["bridging", undefined]);
  });

  it("out: completed when the account is credited, and not when the money is only delivered", () => {
    const entries = [entry(7, 500n)];
    const waits = progress(OUT, facts([place("home", { balance: 500n, arrivals: entries })]));
    assert.deepEqual([waits.state, waits.next.text], ["bridging", "is sent to the other side"]);
    const flushed = place("home", {
      arrivals: entries,
      leavings: [leaving(9, "flush", 500n, { burn: "m" })],
    });
    const sent = { from: "home", to: "perpvenue" };
    assert.equal(progress(OUT, facts([flushed], { messages: [message("m", sent)] })).state, "bridging");
    const arrival = { hash: madeHash(30), amount: 490n };
    const delivered = progress(
      OUT,
      facts([flushed], { messages: [message("m", { ...sent, state: "delivered", arrival })] }),
    );
    assert.deepEqual([delivered.state, delivered.credited], ["bridging", 0n]);
    assert.match(delivered.next.text, /credited next/);
    const credit = { hash: madeHash(31), amount: 490n };
    const done = progress(
      OUT,
      facts([flushed], { messages: [message("m", { ...sent, state: "delivered", arrival, credit })] }),
    );
    assert.deepEqual([done.state, done.credited], ["completed", 490n]);
    assert.deepEqual(steps(done), ["home deposit", "home flush", "perpvenue delivery", "perpvenue credit"]);
    const toChain = message("m", { ...sent, to: "second", arrival });
    assert.equal(progress(TO_CHAIN, facts([flushed], { messages: [toChain] })).state, "completed");
  });

  it("out: more than the bridge burns at once goes on in several burns, and is not said to be gone before the last", () => {
    const [first, second, late] = [entry(7, 400n), entry(8, 500n), entry(12, 300n)];
    const burn = (n: number, burnt: bigint) => leaving(8 + n, "flush", burnt, { burn: `m${String(n)}` });
    const arrival = { hash: madeHash(30), amount: 1n };
    const delivered = ({ burn: id }: Leaving) =>
      message(id!, { from: "home", to: "second", state: "delivered", arrival });
    const statesWith = (balance: bigint, arrivals: readonly Arrival[], ...leavings: Leaving[]) => {
      const held = place("home", { balance, arrivals, leavings });
      const { deposits } = progress(TO_CHAIN, facts([held], { messages: leavings.map(delivered) }));
      return deposits.map(({ state }) => state);
    };
    assert.deepEqual(statesWith(500n, [first, second], burn(1, 400n)), ["completed", "bridging"]);
    assert.deepEqual(statesWith(600n, [first, second], burn(1, 300n)), ["bridging", "bridging"]);
    const three = [first, second, late];
    assert.deepEqual(statesWith(300n, three, burn(1, 600n), burn(2, 300n)), [
      "completed",
      "completed",
      "bridging",
    ]);
    assert.deepEqual(statesWith(0n, three, burn(1, 600n), burn(2, 300n), burn(5, 300n)), [
      "completed",
      "completed",
      "completed",
    ]);
  });

  it("out: returned into the note when the other side does not take it", () => {
    const trouble = { code: "VENUE_UNAVAILABLE" as const, detail: "the exchange is paused" };
    const clock = { at: NOW - 10, hasMinimum: true };
    const held = place("home", { balance: 500n, clock, arrivals: [entry(7, 500n)] });
    const waits = progress(OUT, facts([held], { remark: { waits: { home: trouble } } }));
    assert.deepEqual([waits.error, waits.refundableAt], [trouble, NOW - 10 + TIMEOUT_SECS]);
    const returned = place("home", {
      arrivals: held.arrivals,
      leavings: [leaving(9, "return", 500n, { leafIndex: 4 })],
    });
    const made = progress(OUT, facts([returned]));
    assert.deepEqual([made.state, made.refunded, made.deposits[0]!.leafIndex], ["refunded", 500n, 4]);
    assert.match(made.next.text, /a note again/);
  });

  it("a burn that was signed before more came takes its own amount along, and the rest is signed for anew", () => {
    const sign = { transaction: "AQ", expiresAfterSlot: 9 };
    const burned = message("burn", { from: "altchain", state: "delivered" });
    const home = place("home", {
      arrivals: [entry(20, 200n, {}, "burn")],
      leavings: [leaving(21, "sweep", 190n, { leafIndex: 3 })],
    });
    const account = (burn: bigint, balance: bigint): VaultFacts =>
      place("deposit", {
        ...{ balance, arrivals: [entry(7, 200n), entry(8, 500n)] },
        leavings: [leaving(9, "burn", burn, { burn: "burn" })],
      });
    const made = progress(ALT, facts([account(200n, 500n), home], { messages: [burned], remark: { sign } }));
    assert.deepEqual(
      made.deposits.map(({ state, amount }) => [state, amount]),
      [
        ["completed", 200n],
        ["awaiting_signature", 500n],
      ],
    );
    assert.deepEqual([made.state, made.sign], ["awaiting_signature", sign]);
    const both = progress(ALT, facts([account(700n, 0n), home], { messages: [burned] }));
    assert.deepEqual(
      both.deposits.map(({ state }) => state),
      ["completed", "completed"],
    );
  });

  it("several deposits: the newest that is not done gives the state, and one sweep may take two", () => {
    const swept = place("home", {
      balance: 50n,
      arrivals: [entry(7, 200n), entry(8, 300n), entry(12, 50n)],
      leavings: [leaving(10, "sweep", 450n, { leafIndex: 1 })],
    });
    const made = progress(IN, facts([swept]));
    assert.deepEqual(
      made.deposits.map(({ state, leafIndex }) => [state, leafIndex]),
      [
        ["completed", 1],
        ["completed", 1],
        ["below_minimum", undefined],
      ],
    );
    assert.deepEqual([made.state, made.received, made.credited], ["below_minimum", 550n, 450n]);
  });

  it("what comes in the same block after the sweep is a deposit of its own", () => {
    const home = place("home", {
      balance: 200n,
      arrivals: [entry(7, 150n, { logIndex: 1 }), entry(7, 200n, { logIndex: 9, tx: madeHash(70) })],
      leavings: [leaving(7, "sweep", 100n, { logIndex: 5 })],
    });
    assert.deepEqual(
      progress(IN, facts([home])).deposits.map(({ state }) => state),
      ["completed", "shielding"],
    );
  });

  it("grains of a stranger neither hide a deposit nor make what is told longer", () => {
    const grains = Array.from({ length: 20_000 }, (_, i) => entry(8, 1n, { logIndex: i }));
    const [own, more] = [entry(7, 200n), entry(9, 150n)];
    const source = place("source", { balance: 20_350n, arrivals: [own, ...grains, more] });
    const messages = Array.from({ length: 2_000 }, (_, i) => message(`grain ${String(i)}`));
    const made = progress(IN, facts([source, place("home")], { messages }));
    assert.equal(made.deposits.length, MOST_DEPOSITS_SHOWN);
    assert.deepEqual(
      made.deposits.flatMap(({ amount }) => ((amount ?? 0n) > 1n ? [amount] : [])),
      [200n, 150n],
    );
    assert.deepEqual([made.received, made.state], [20_350n, made.deposits.at(-1)!.state]);

    const deposit = place("deposit", {
      arrivals: [own, ...grains, more],
      leavings: [leaving(20, "burn", 200n, { burn: "m" })],
    });
    const after = progress(ALT, facts([deposit, place("home")], { messages: [message("m")] }));
    assert.deepEqual([after.deposits.length, after.deposits[0]!.state], [MOST_DEPOSITS_SHOWN, "bridging"]);
  });

  it("of money that lies where it is not awaited says what the contract can do: at an address for the exchange nothing with coins", () => {
    const [coin, token] = [ZERO_ADDRESS, madeAddress(7)].map((one) => ({
      ...{ chain: "home", address: "0xwhere", token: one, balance: 10n ** 18n },
    }));
    const said = (record: typeof IN, ...misplaced: BridgeFacts["misplaced"]): string => {
      const seen = seenOf(factsAbout(record, { misplaced }));
      return progressFrom(record, seen, OPTIONS).reason!.detail;
    };
    for (const record of [IN, TO_CHAIN]) assert.match(said(record, coin!, token!), /coins with --token/);
    assert.match(said(OUT, token!, coin!), /recover with your key.*no way back for them$/);
    assert.doesNotMatch(said(OUT, token!), /coin/);
    assert.doesNotMatch(said(OUT, coin!), /recover/);
  });

  it("says the same whatever order the facts come in", () => {
    const places = [
      place("source", {
        arrivals: [entry(9, 100n), entry(7, 100n)],
        leavings: [leaving(8, "burn", 100n, { burn: "m" })],
      }),
      place("home", { arrivals: [entry(30, 99n, {}, "m")], leavings: [leaving(31, "sweep", 90n)] }),
    ];
    const turned = places.map((one) => ({ ...one, arrivals: one.arrivals.toReversed() }));
    const messages = [message("m", { state: "delivered" })];
    assert.deepEqual(progress(IN, facts(places, { messages })), progress(IN, facts(turned, { messages })));
  });

  it("trouble is told while something waits, and not of what is done", () => {
    const trouble = { code: "ATTESTER_UNAVAILABLE" as const, detail: "the attester does not answer" };
    const entries = [entry(7, 200n)];
    assert.deepEqual(
      progress(
        IN,
        facts([place("home", { balance: 200n, arrivals: entries })], {
          remark: { waits: { home: trouble } },
        }),
      ).error,
      trouble,
    );
    const done = place("home", { arrivals: entries, leavings: [leaving(9, "sweep", 1n)] });
    assert.equal(progress(IN, facts([done], { remark: { waits: { home: trouble } } })).error, undefined);
  });
});
