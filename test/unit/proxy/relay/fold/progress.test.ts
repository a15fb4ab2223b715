// From the facts of the chains to state, sums and words: every state there is, and what a reorganisation, dust, several
// deposits and the attester's announcements must not make of it.
import assert from "node:assert/strict";
import type { Entry, Facts, Leave, Leaving, Message, Place } from "../../../../../proxy/relay/requests.ts";
import { NOTHING_SEEN, progressFrom } from "../../../../../proxy/relay/fold/progress.ts";
import { BRIDGE_STATES } from "../../../../../shared/api/bridge-status.ts";
import { TIMEOUT_SECS } from "../../../../../shared/protocol/host/forwarders.ts";
import { bridgeDraft, madeHash } from "../../../../support/bridges.ts";

const NOW = 1_000_000;
const OPTIONS = { timeoutSecs: TIMEOUT_SECS, bridgingSecs: 60, now: NOW };
const IN = bridgeDraft(1, {});
const OUT = bridgeDraft(2, { kind: "to-exchange" });
const ALT = bridgeDraft(3, { kind: "from-altchain" });
const LEAST = 100n;
const seenStates = new Set<string>();

const entry = (block: number, amount: bigint, change: Partial<Entry> = {}): Entry => ({
  ...{
    position: { block, index: 0 },
    hash: madeHash(block),
    amount,
    confirmations: 5,
    time: NOW - 100 + block,
  },
  message: undefined,
  ...change,
});
const leaving = (block: number, what: Leave, amount: bigint, change: Partial<Leaving> = {}): Leaving => ({
  ...{
    position: { block, index: 0 },
    hash: madeHash(1_000 + block),
    confirmations: 5,
    time: NOW - 100 + block,
  },
  ...{ what, amount, leafIndex: undefined, message: undefined },
  ...change,
});
const place = (role: Place["role"], change: Partial<Place> = {}): Place => ({
  ...{ chain: role === "home" ? "home" : role === "source" ? "second" : "altchain", role, minimum: LEAST },
  ...{ balance: 0n, clock: undefined, confirmations: 3, blockSecs: 2, entries: [], leavings: [] },
  ...change,
});
const message = (id: string, change: Partial<Message> = {}): Message => ({
  ...{ id, from: "second", to: "home", sentBy: undefined, sentAt: NOW - 50, state: "unattested" },
  ...{ arrival: undefined, credit: undefined, failure: undefined },
  ...change,
});
const facts = (places: readonly Place[], change: Partial<Facts> = {}): Facts => ({
  ...NOTHING_SEEN,
  ...{ places, isComplete: true },
  ...change,
});
function progress(record: typeof IN, found: Facts) {
  const made = progressFrom(record, found, OPTIONS);
  seenStates.add(made.state);
  return made;
}
const steps = (made: ReturnType<typeof progress>, at = 0): string[] =>
  made.deposits[at]!.transactions.map(({ chain, what }) => `${chain} ${what}`);

describe("progress of a bridge request", () => {
  after(() => {
    assert.deepEqual([...seenStates].sort(), [...BRIDGE_STATES].sort(), "every state was reached here");
  });

  it("awaiting_funds: nothing was seen; and it does not say so before everything was looked at", () => {
    const waiting = progress(IN, facts([place("source"), place("home")]));
    assert.deepEqual(
      [waiting.state, waiting.received, waiting.refundableAt],
      ["awaiting_funds", 0n, undefined],
    );
    assert.match(waiting.next.text, /waits for money/);
    assert.match(progress(IN, NOTHING_SEEN).next.text, /being looked at/);
    assert.match(progress(OUT, facts([place("home")])).next.text, /withdrawal/);
  });

  it("detected and confirming: by what is on top of the block, with the time the rest will take", () => {
    for (const [confirmations, state, missing] of [
      [0, "detected", 3],
      [1, "detected", 2],
      [2, "confirming", 1],
    ] as const) {
      const home = place("home", { balance: 200n, entries: [entry(7, 200n, { confirmations })] });
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
    assert.equal(progress(IN, facts([place("home", { balance: 200n, entries })])).state, "shielding");
    const young = leaving(9, "sweep", 150n, { confirmations: 2, leafIndex: 12 });
    const made = progress(IN, facts([place("home", { entries, leavings: [young] })]));
    assert.deepEqual([made.state, made.deposits[0]!.leafIndex], ["shielding", 12]);
  });

  it("completed: the sweep stands on the chain, and is gone again with it", () => {
    const entries = [entry(7, 200n)];
    const swept = place("home", { entries, leavings: [leaving(9, "sweep", 150n, { leafIndex: 12 })] });
    const made = progress(IN, facts([swept]));
    assert.deepEqual([made.state, made.received, made.credited], ["completed", 200n, 150n]);
    assert.deepEqual(steps(made), ["home deposit", "home sweep"]);
    assert.match(made.next.text, /nothing/);
    assert.equal(made.withoutHelp, "nothing is left to be done");
    const reorganised = place("home", { balance: 200n, entries: [entry(8, 200n, { confirmations: 1 })] });
    assert.deepEqual(progress(IN, facts([reorganised])).state, "detected");
    assert.equal(progress(IN, facts([place("home")])).state, "awaiting_funds");
  });

  it("below_minimum: refundable at once by its address, by anybody when the clock has run", () => {
    const dust = place("home", { balance: 99n, entries: [entry(7, 99n)] });
    const made = progress(IN, facts([dust]));
    assert.deepEqual([made.state, made.error?.code], ["below_minimum", "AMOUNT_TOO_SMALL"]);
    assert.match(made.next.text, /at once/);
    const clock = { at: NOW - 5, hasMinimum: false };
    assert.equal(progress(IN, facts([{ ...dust, clock }])).refundableAt, NOW - 5 + TIMEOUT_SECS);
  });

  it("more dust makes it enough, and a clock that dust has started does not count for the whole", () => {
    const clock = { at: NOW - TIMEOUT_SECS, hasMinimum: false };
    const whole = place("home", { balance: 101n, clock, entries: [entry(7, 1n), entry(8, 100n)] });
    const made = progress(IN, facts([whole]));
    assert.deepEqual([made.state, made.refundableAt], ["shielding", undefined]);
    const started = { ...whole, clock: { at: NOW, hasMinimum: true } };
    assert.equal(progress(IN, facts([started])).refundableAt, NOW + TIMEOUT_SECS);
  });

  it("refunding and refunded: whoever sent it back", () => {
    const entries = [entry(7, 200n)];
    const back = (confirmations: number) =>
      place("home", { entries, leavings: [leaving(9, "refund", 200n, { confirmations })] });
    assert.equal(progress(IN, facts([back(1)])).state, "refunding");
    const made = progress(IN, facts([back(3)]));
    assert.deepEqual([made.state, made.refunded, made.credited], ["refunded", 200n, 0n]);
    assert.deepEqual(steps(made), ["home deposit", "home refund"]);
  });

  it("refunding: a request that is refused ends in the refund and in nothing else", () => {
    const home = place("home", { balance: 200n, entries: [entry(7, 200n)] });
    const trouble = { code: "SCREENING_REFUSED" as const, detail: "is not swept" };
    const made = progress(IN, facts([home], { isRefused: true, waits: { home: trouble } }));
    assert.deepEqual([made.state, made.error], ["refunding", trouble]);
    assert.match(made.next.text, /anybody may start the refund clock; 24 hours later/);
    const swept = { ...home, balance: 0n, leavings: [leaving(9, "sweep", 150n)] };
    assert.equal(
      progress(IN, facts([swept], { isRefused: true })).state,
      "completed",
      "the chain has the word",
    );
  });

  it("bridging: from a source address, by a message, to the sweep; each step is named once", () => {
    const source = place("source", { balance: 300n, entries: [entry(7, 300n)] });
    const home = place("home");
    assert.equal(progress(IN, facts([source, home])).state, "bridging");
    const burned = place("source", {
      entries: [entry(7, 300n)],
      leavings: [leaving(9, "burn", 300n, { message: "m" })],
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
    const delivered = place("home", { balance: 290n, entries: [entry(20, 290n, { message: "m" })] });
    const arrived = [message("m", { state: "delivered", arrival: { hash: madeHash(20), amount: 290n } })];
    const shielding = progress(IN, facts([burned, delivered], { messages: arrived }));
    assert.deepEqual([shielding.state, shielding.received], ["shielding", 300n]);
    assert.deepEqual(steps(shielding), ["second deposit", "second burn", "home delivery"]);
    const swept = place("home", {
      entries: delivered.entries,
      leavings: [leaving(25, "sweep", 240n, { leafIndex: 3 })],
    });
    const done = progress(IN, facts([burned, swept], { messages: arrived }));
    assert.deepEqual([done.state, done.credited, done.deposits.length], ["completed", 240n, 1]);
    assert.deepEqual(steps(done), ["second deposit", "second burn", "home delivery", "home sweep"]);
  });

  it("an announced message has no amount, and money that came by it is told once", () => {
    const announced = message("x", { from: "perpvenue", sentBy: madeHash(77) });
    const made = progress(IN, facts([place("home")], { messages: [announced] }));
    assert.deepEqual(
      [made.state, made.received, made.deposits[0]!.amount, made.deposits[0]!.chain],
      ["bridging", 0n, undefined, "perpvenue"],
    );
    const home = place("home", { balance: 200n, entries: [entry(7, 200n, { message: "x" })] });
    const arrived = progress(IN, facts([home], { messages: [{ ...announced, state: "delivered" }] }));
    assert.deepEqual([arrived.state, arrived.received, arrived.deposits.length], ["shielding", 200n, 1]);
    assert.deepEqual(steps(arrived), ["perpvenue burn", "home delivery"]);
  });

  it("awaiting_signature: on the other blockchain the user's key has the word", () => {
    const account = place("deposit", { balance: 200n, entries: [entry(7, 200n)] });
    const sign = { transaction: "AQ==", expiresAfterSlot: 9 };
    const made = progress(ALT, facts([account, place("home")], { sign }));
    assert.deepEqual([made.state, made.sign, made.refundableAt], ["awaiting_signature", sign, undefined]);
    assert.match(made.next.text, /signs the burn/);
    assert.match(progress(ALT, facts([account, place("home")])).next.text, /being prepared/);
    assert.match(made.withoutHelp, /npm run recover/);
    const burned = { ...account, balance: 0n, leavings: [leaving(8, "burn", 200n, { message: "m" })] };
    const after = progress(ALT, facts([burned, place("home")], { sign, messages: [message("m")] }));
    assert.deepEqual([after.state, after.sign], ["bridging", undefined]);
  });

  it("out: completed when the account is credited, and not when the money is only delivered", () => {
    const entries = [entry(7, 500n)];
    const waits = progress(OUT, facts([place("home", { balance: 500n, entries })]));
    assert.deepEqual([waits.state, waits.next.text], ["bridging", "is sent to the other side"]);
    const flushed = place("home", { entries, leavings: [leaving(9, "flush", 500n, { message: "m" })] });
    const sent = message("m", { from: "home", to: "perpvenue", credit: "awaited" });
    assert.equal(progress(OUT, facts([flushed], { messages: [sent] })).state, "bridging");
    const arrival = { hash: madeHash(30), amount: 490n };
    const delivered = progress(
      OUT,
      facts([flushed], { messages: [{ ...sent, state: "delivered", arrival }] }),
    );
    assert.deepEqual([delivered.state, delivered.credited], ["bridging", 0n]);
    assert.match(delivered.next.text, /credited next/);
    const credit = { hash: madeHash(31), amount: 490n };
    const done = progress(
      OUT,
      facts([flushed], { messages: [{ ...sent, state: "delivered", arrival, credit }] }),
    );
    assert.deepEqual([done.state, done.credited], ["completed", 490n]);
    assert.deepEqual(steps(done), ["home deposit", "home flush", "perpvenue delivery", "perpvenue credit"]);
    const toChain = { ...sent, to: "second", credit: undefined, arrival };
    assert.equal(progress(OUT, facts([flushed], { messages: [toChain] })).state, "completed");
  });

  it("out: failed where the other side took it and did not credit it, with what happens to the money", () => {
    const flushed = place("home", {
      entries: [entry(7, 500n)],
      leavings: [leaving(9, "flush", 500n, { message: "m" })],
    });
    const failure = { code: "CREDIT_REFUSED" as const, detail: "the exchange holds it for the account" };
    const arrival = { hash: madeHash(30), amount: 490n };
    const lost = message("m", { to: "perpvenue", state: "delivered", credit: "awaited", arrival, failure });
    const made = progress(OUT, facts([flushed], { messages: [lost] }));
    assert.deepEqual([made.state, made.error, made.next.text], ["failed", failure, failure.detail]);
  });

  it("out: returned into the note when the other side does not take it", () => {
    const trouble = { code: "VENUE_UNAVAILABLE" as const, detail: "the exchange is paused" };
    const clock = { at: NOW - 10, hasMinimum: true };
    const held = place("home", { balance: 500n, clock, entries: [entry(7, 500n)] });
    const waits = progress(OUT, facts([held], { waits: { home: trouble } }));
    assert.deepEqual([waits.error, waits.refundableAt], [trouble, NOW - 10 + TIMEOUT_SECS]);
    const returned = place("home", {
      entries: held.entries,
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
      entries: [entry(20, 200n, { message: "burn" })],
      leavings: [leaving(21, "sweep", 190n, { leafIndex: 3 })],
    });
    const account = (burn: bigint, balance: bigint): Place =>
      place("deposit", {
        ...{ balance, entries: [entry(7, 200n), entry(8, 500n)] },
        leavings: [leaving(9, "burn", burn, { message: "burn" })],
      });
    const made = progress(ALT, facts([account(200n, 500n), home], { messages: [burned], sign }));
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
      entries: [entry(7, 200n), entry(8, 300n), entry(12, 50n)],
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
      entries: [
        entry(7, 150n, { position: { block: 7, index: 1 } }),
        entry(7, 200n, { position: { block: 7, index: 9 }, hash: madeHash(70) }),
      ],
      leavings: [leaving(7, "sweep", 100n, { position: { block: 7, index: 5 } })],
    });
    assert.deepEqual(
      progress(IN, facts([home])).deposits.map(({ state }) => state),
      ["completed", "shielding"],
    );
  });

  it("says the same whatever order the facts come in", () => {
    const places = [
      place("source", {
        entries: [entry(9, 100n), entry(7, 100n)],
        leavings: [leaving(8, "burn", 100n, { message: "m" })],
      }),
      place("home", { entries: [entry(30, 99n, { message: "m" })], leavings: [leaving(31, "sweep", 90n)] }),
    ];
    const turned = places.map((one) => ({ ...one, entries: one.entries.toReversed() }));
    const messages = [message("m", { state: "delivered" })];
    assert.deepEqual(
      progressFrom(IN, facts(places, { messages }), OPTIONS),
      progressFrom(IN, facts(turned, { messages }), OPTIONS),
    );
  });

  it("trouble is told while something waits, and not of what is done", () => {
    const trouble = { code: "ATTESTER_UNAVAILABLE" as const, detail: "the attester does not answer" };
    const entries = [entry(7, 200n)];
    assert.deepEqual(
      progress(IN, facts([place("home", { balance: 200n, entries })], { waits: { home: trouble } })).error,
      trouble,
    );
    const done = place("home", { entries, leavings: [leaving(9, "sweep", 1n)] });
    assert.equal(progress(IN, facts([done], { waits: { home: trouble } })).error, undefined);
  });
});
