/** What is done next for a request's money, from facts alone: each state, and whatever is late, double, missing or a lie. */
import assert from "node:assert/strict";
import { planOf } from "../../../../../proxy/relay/desk/plan.ts";
import type { VaultFacts } from "../../../../../proxy/relay/fold/facts.ts";
import type { Step, Snapshot } from "../../../../../proxy/relay/desk/steps.ts";
import { HOME_CHAIN, type BridgeRecord } from "../../../../../proxy/base/store/bridge-records.ts";
import * as made from "./facts.ts";

const { IN, OUT, SOURCE, SECOND, MINIMUM, LANE_MINIMUM, NOW } = made;
const DAY = 86_400;

function plan(record: BridgeRecord, facts: made.Made, snapshot: Partial<Snapshot> = {}): readonly Step[] {
  return planOf(record, made.factsOf(record, facts), made.viewOf(snapshot));
}
const kindsOf = (steps: readonly Step[]): string[] => steps.map(({ kind }) => kind);

const inWith = (amount: bigint, bend: Partial<VaultFacts> = {}): made.Made => ({
  home: made.holding(HOME_CHAIN, IN, amount, bend),
});
const outWith = (amount: bigint, bend: Partial<VaultFacts> = {}): made.Made => ({
  home: made.holding(HOME_CHAIN, OUT, amount, bend),
});
const sourceWith = (amount: bigint, bend: Partial<VaultFacts> = {}): made.Made => ({
  before: [made.holding(SECOND, SOURCE, amount, bend)],
});

describe("relay/desk/plan: money on the pool's chain", () => {
  it("does nothing where nothing is, and nothing for less than the minimum", () => {
    assert.deepEqual(plan(made.inRecord(), {}), []);
    assert.deepEqual(plan(made.inRecord(), inWith(MINIMUM - 1n)), []);
  });

  it("leavings the minimum, once it is final, and not before", () => {
    const [step, ...more] = plan(made.inRecord(), inWith(MINIMUM));
    assert.deepEqual([step?.kind, step?.chain, more], ["sweep", HOME_CHAIN, []]);
    assert.ok(step?.kind === "sweep");
    assert.deepEqual([step.amount, step.developerId], [MINIMUM, "d"]);
    assert.deepEqual(plan(made.inRecord(), inWith(MINIMUM, { finalBalance: MINIMUM - 1n })), []);
  });

  it("leavings several arrivals at one address in one step, and a later one again after a sweep", () => {
    const arrivals = [made.arrival(MINIMUM, 5), made.arrival(MINIMUM, 6)];
    const [step, ...more] = plan(made.inRecord(), { home: made.vault(HOME_CHAIN, IN, { arrivals }) });
    assert.ok(step?.kind === "sweep" && more.length === 0);
    assert.equal(step.amount, 2n * MINIMUM);
    const leavings = [made.leaving("sweep", made.placeOf(7), 2n * MINIMUM)];
    const later = [...arrivals, made.arrival(MINIMUM, 8)];
    assert.deepEqual(
      plan(made.inRecord(), { home: made.vault(HOME_CHAIN, IN, { arrivals, leavings, balance: 0n }) }),
      [],
    );
    const again = made.vault(HOME_CHAIN, IN, { arrivals: later, leavings, balance: MINIMUM });
    assert.deepEqual(kindsOf(plan(made.inRecord(), { home: again })), ["sweep"]);
  });

  it("leavings again what a reorganisation gave back, and nothing that it took away", () => {
    const arrivals = [made.arrival(MINIMUM)];
    const leavings = [made.leaving("sweep", made.placeOf(7), MINIMUM)];
    const home = (bend: Partial<VaultFacts>): made.Made => ({
      home: made.vault(HOME_CHAIN, IN, bend),
    });
    assert.deepEqual(plan(made.inRecord(), home({ arrivals, leavings, balance: 0n })), []);
    assert.deepEqual(kindsOf(plan(made.inRecord(), home({ arrivals }))), ["sweep"]);
    assert.deepEqual(plan(made.inRecord(), home({})), []);
  });

  it("does nothing on a chain that is away", () => {
    assert.deepEqual(plan(made.inRecord(), inWith(MINIMUM), { tipOf: () => undefined }), []);
  });

  it("leaves a step alone that was refused a moment ago, and tries one that was skipped after 2, 4, 8 blocks", () => {
    assert.deepEqual(plan(made.inRecord(), inWith(MINIMUM), { isHeld: () => true }), []);
    const skips = [{ place: made.placeOf(98), reason: "0x" }];
    const skipped = (number: number, times: number): string[] =>
      kindsOf(
        plan(made.inRecord(), inWith(MINIMUM, { skips: Array.from({ length: times }, () => skips[0]!) }), {
          tipOf: () => ({ number, timestamp: NOW }),
        }),
      );
    assert.deepEqual([skipped(99, 1), skipped(100, 1)], [[], ["sweep"]]);
    assert.deepEqual([skipped(105, 3), skipped(106, 3)], [[], ["sweep"]]);
    assert.deepEqual([skipped(98 + 1_023, 40), skipped(98 + 1_024, 40)], [[], ["sweep"]]);
  });

  it("counts no skip against what came after it", () => {
    const skips = [{ place: made.placeOf(98), reason: "0x" }];
    const arrivals = [made.arrival(MINIMUM, 5), made.arrival(MINIMUM, 99)];
    const home = made.vault(HOME_CHAIN, IN, { arrivals, skips });
    const snapshot = { tipOf: () => ({ number: 99, timestamp: NOW }) };
    assert.deepEqual(kindsOf(plan(made.inRecord(), { home }, snapshot)), ["sweep"]);
  });
});

describe("relay/desk/plan: screened money", () => {
  const refuse: Partial<Snapshot> = { screeningOf: () => "refused" };

  it("is never swept; its clock is started, and after the time-out it goes to its refund address", () => {
    for (const [record, snapshot] of [
      [made.inRecord(), refuse],
      [made.refused(made.inRecord()), {}],
    ] as const) {
      assert.deepEqual(kindsOf(plan(record, inWith(MINIMUM), snapshot)), ["touch"]);
      const clockAt = (at: number, hasMinimum = true): string[] =>
        kindsOf(plan(record, inWith(MINIMUM, { clock: { at, hasMinimum } }), snapshot));
      assert.deepEqual(clockAt(NOW - DAY + 1), []);
      assert.deepEqual(clockAt(NOW - DAY), ["refund"]);
      // A clock of dust counts for dust alone.
      assert.deepEqual(clockAt(NOW - DAY, false), ["touch"]);
      assert.deepEqual(kindsOf(plan(record, sourceWith(LANE_MINIMUM), snapshot)), ["touch"]);
    }
  });

  it("waits while the provider does not answer, and for an hour at most until its clock is started", () => {
    const unknown: Partial<Snapshot> = { screeningOf: () => "unknown" };
    assert.deepEqual(plan(made.inRecord(), inWith(MINIMUM), unknown), []);
    const arrivals = [made.arrival(MINIMUM, 5, { at: NOW - 3_600 })];
    const home = made.vault(HOME_CHAIN, IN, { arrivals });
    assert.deepEqual(kindsOf(plan(made.inRecord(), { home }, unknown)), ["touch"]);
    assert.deepEqual(kindsOf(plan(made.inRecord(), { home })), ["sweep"]);
  });

  it("is asked about by the sources of what lies there now, not of what has left", () => {
    const asked: string[][] = [];
    const screeningOf: Snapshot["screeningOf"] = (_chain, arrivals) => {
      asked.push(arrivals.map(({ from }) => from));
      return "open";
    };
    const arrivals = [
      made.arrival(MINIMUM, 5, {}, "0xaa"),
      made.arrival(MINIMUM, 8, { logIndex: 3 }, "0xbb"),
    ];
    const leavings = [made.leaving("sweep", made.placeOf(8, { logIndex: 2 }), MINIMUM)];
    plan(
      made.inRecord(),
      { home: made.vault(HOME_CHAIN, IN, { arrivals, leavings, balance: MINIMUM }) },
      { screeningOf },
    );
    assert.deepEqual(asked, [["0xbb"]]);
  });
});

describe("relay/desk/plan: money on another chain", () => {
  it("burns the lane's minimum once it is final, on the lane of its chain", () => {
    const [step] = plan(made.inRecord(), sourceWith(LANE_MINIMUM));
    assert.ok(step?.kind === "forward");
    assert.deepEqual([step.lane, step.chain, step.burn], [1, SECOND, { maxFee: 0n, finality: 2_000 }]);
    assert.deepEqual(plan(made.inRecord(), sourceWith(LANE_MINIMUM - 1n)), []);
    assert.deepEqual(plan(made.inRecord(), sourceWith(LANE_MINIMUM, { finalBalance: 0n })), []);
  });

  it("goes fast while the fee fits under the ceiling, else the slow way, and the slow way while the attester is away", () => {
    const burnAt = (table: ReturnType<Snapshot["feesOf"]>): unknown => {
      const [step] = plan(made.inRecord(), sourceWith(LANE_MINIMUM), { feesOf: () => table });
      return step?.kind === "forward" ? step.burn : step?.kind;
    };
    const bps = (fast: number, safe = 0): ReturnType<Snapshot["feesOf"]> =>
      new Map([
        [1_000, BigInt(fast) * 1_000_000n],
        [2_000, BigInt(safe) * 1_000_000n],
      ]);
    // One basis point of 2 USDC is 200 units; a tenth more is offered.
    assert.deepEqual(burnAt(bps(1)), { maxFee: 220n, finality: 1_000 });
    assert.deepEqual(burnAt(bps(1_000)), { maxFee: 200_000n, finality: 1_000 });
    assert.deepEqual(burnAt(bps(1_001)), { maxFee: 0n, finality: 2_000 });
    assert.deepEqual(burnAt(undefined), { maxFee: 0n, finality: 2_000 });
    assert.equal(burnAt("asking"), undefined);
    assert.deepEqual(burnAt(bps(1_001, 10)), { maxFee: 2_000n, finality: 2_000 });
    assert.equal(burnAt(bps(1_001, 1_001)), undefined);
  });

  it("allows what the bridge's contract takes, on either way, and waits for its answer", () => {
    const burnAt = (contractFee: ReturnType<Snapshot["leastFeeOf"]>, fast?: bigint): unknown => {
      const feesOf = (): ReturnType<Snapshot["feesOf"]> => new Map(fast === undefined ? [] : [[1_000, fast]]);
      const [step] = plan(made.inRecord(), sourceWith(LANE_MINIMUM), {
        feesOf,
        leastFeeOf: () => contractFee,
      });
      return step?.kind === "forward" ? step.burn : step?.kind;
    };
    assert.deepEqual(burnAt(500n), { maxFee: 500n, finality: 2_000 });
    assert.deepEqual(burnAt(500n, 1_000_000n), { maxFee: 550n, finality: 1_000 });
    assert.deepEqual(burnAt(undefined), { maxFee: 0n, finality: 2_000 });
    assert.equal(burnAt("asking"), undefined);
    assert.equal(burnAt(10n ** 30n, 1_000_000n), undefined);
  });

  it("rounds a fee up, so that the attester has no reason to be slow", () => {
    const feesOf: Snapshot["feesOf"] = () => new Map([[1_000, 1_300_000n]]);
    const [step] = plan(made.inRecord(), sourceWith(LANE_MINIMUM + 1n), { feesOf });
    // 1.3 basis points of 2,000,001 units are 260.00013.
    assert.ok(step?.kind === "forward");
    assert.equal(step.burn.maxFee, 261n + 26n);
  });

  it("starts the refund clock when no way fits under the ceiling for an hour, and pays back a day later", () => {
    const feesOf: Snapshot["feesOf"] = () => new Map([[2_000, 9_999_000_000n]]);
    const arrivals = [made.arrival(LANE_MINIMUM, 5, { at: NOW - 3_600 })];
    const at = (clock: VaultFacts["clock"]): string[] =>
      kindsOf(
        plan(made.inRecord(), { before: [made.vault(SECOND, SOURCE, { arrivals, clock })] }, { feesOf }),
      );
    assert.deepEqual(at(undefined), ["touch"]);
    assert.deepEqual(at({ at: NOW - DAY, hasMinimum: true }), ["refund"]);
  });

  it("has steps at two chains at once, each with a key of its own", () => {
    const steps = plan(made.inRecord(), { ...inWith(MINIMUM), ...sourceWith(LANE_MINIMUM) });
    assert.deepEqual(kindsOf(steps), ["sweep", "forward"]);
    assert.equal(new Set(steps.map(({ key }) => key)).size, 2);
  });
});

describe("relay/desk/plan: messages", () => {
  const sent = (bend: Parameters<typeof made.burn>[0] = {}): made.Made => ({
    before: [made.vault(SECOND, SOURCE, { burns: [made.burn(bend)] })],
  });

  it("carries an attested message once, and none that is there, pending, expired, or of a stranger's chain", () => {
    const [step] = plan(made.inRecord(), sent());
    assert.ok(step?.kind === "deliver");
    assert.deepEqual([step.chain, step.message, step.relay], [HOME_CHAIN, "0x02", undefined]);
    const delivery = { place: made.placeOf(9), amount: 1n, nonce: undefined, credit: undefined };
    assert.deepEqual(plan(made.inRecord(), sent({ delivery })), []);
    assert.deepEqual(plan(made.inRecord(), sent({ to: undefined })), []);
    for (const status of ["pending", "expired"] as const) {
      const attestationOf = (): ReturnType<Snapshot["attestationOf"]> => ({
        status,
        message: "0x02",
        attestation: "0x03",
      });
      assert.deepEqual(plan(made.inRecord(), sent(), { attestationOf }), []);
    }
    assert.deepEqual(plan(made.inRecord(), sent(), { attestationOf: () => undefined }), []);
    assert.deepEqual(plan(made.inRecord(), sent(), { isServed: () => false }), []);
  });

  it("carries what others burned to the home address, and what the other blockchain did", () => {
    assert.deepEqual(kindsOf(plan(made.inRecord(), { incoming: [made.burn()] })), ["deliver"]);
    const alt = made.vault("altchain", "account", { burns: [made.burn()] });
    assert.deepEqual(kindsOf(plan(made.altRecord(), { before: [alt] })), ["deliver"]);
  });

  it("has the named contract deliver where only that one may", () => {
    const home = made.vault(HOME_CHAIN, OUT, { burns: [made.burn({ to: "exchange-chain" })] });
    const [step] = plan(made.exchangeRecord(), { home });
    assert.ok(step?.kind === "deliver");
    assert.deepEqual([step.chain, step.relay], ["exchange-chain", made.RELAY]);
  });

  it("has nobody's contract deliver what strangers burned towards an address on its way out", () => {
    const [step] = plan(made.exchangeRecord(), { incoming: [made.burn()] });
    assert.ok(step?.kind === "deliver");
    assert.deepEqual([step.chain, step.relay], [HOME_CHAIN, undefined]);
  });

  it("pays for no grains: only for what is enough, alone or as few together, with what lies there", () => {
    const burns = (...amounts: readonly bigint[]): made.Made => ({
      incoming: amounts.map((amount, i) => made.burn({ id: `burn-${String(i)}`, amount })),
    });
    const carried = (facts: made.Made, snapshot: Partial<Snapshot> = {}): string[] =>
      plan(made.inRecord(), facts, snapshot)
        .filter(({ kind }) => kind === "deliver")
        .map(({ key }) => key.slice(-1));
    const dust = Array<bigint>(100).fill(1n);
    assert.deepEqual(carried(burns(...dust)), []);
    assert.deepEqual(carried(burns(MINIMUM, ...dust)), ["0"]);
    assert.deepEqual(carried(burns(MINIMUM - 3n, ...dust)), ["0", "1", "2", "3"]);
    assert.deepEqual(carried(burns(1n, MINIMUM, MINIMUM - 1n, MINIMUM)), ["1", "3"]);
    const lying = made.vault(HOME_CHAIN, IN, { balance: MINIMUM - 2n, finalBalance: 0n });
    assert.deepEqual(carried({ ...burns(1n, 2n, 1n), home: lying }), ["1"]);
    // What is enough already needs no grain more.
    assert.deepEqual(carried({ ...burns(1n, 2n), home: { ...lying, balance: MINIMUM } }), []);
    // One minimum, cut into too many deliveries.
    assert.deepEqual(carried(burns(...Array<bigint>(9).fill(MINIMUM / 9n + 1n))), []);
    assert.equal(carried(burns(...Array<bigint>(8).fill(MINIMUM / 8n))).length, 8);
    // What the attesters have not signed is nothing to count on.
    const attestationOf: Snapshot["attestationOf"] = ({ id }) => ({
      ...{ status: id === "burn-0" ? "pending" : "complete", message: "0x02", attestation: "0x03" },
    });
    assert.deepEqual(carried(burns(MINIMUM - 1n, 1n), { attestationOf }), []);
  });

  it("does not sweep what a message only speaks of", () => {
    assert.deepEqual(kindsOf(plan(made.inRecord(), sent({ amount: 10n ** 12n }))), ["deliver"]);
  });
});

describe("relay/desk/plan: money on its way out", () => {
  it("flushes what is there, fast while that fits", () => {
    const feesOf: Snapshot["feesOf"] = () => new Map([[1_000, 1_000_000n]]);
    const [step] = plan(made.chainRecord(), outWith(MINIMUM), { feesOf });
    assert.ok(step?.kind === "flush");
    assert.deepEqual(step.burn, { maxFee: 110n, finality: 1_000 });
    assert.deepEqual(plan(made.chainRecord(), outWith(MINIMUM - 1n)), []);
  });

  it("does not send to an account that the exchange does not know: the clock, then back into the note", () => {
    const snapshot: Partial<Snapshot> = { exitOf: () => "refused" };
    assert.deepEqual(kindsOf(plan(made.exchangeRecord(), outWith(MINIMUM), snapshot)), ["touch"]);
    const clock = { at: NOW - DAY, hasMinimum: true };
    const [step] = plan(made.exchangeRecord(), outWith(MINIMUM, { clock }), snapshot);
    assert.ok(step?.kind === "refund" && step.vault.kind === "out");
    // Known by now: the money goes where it was to go.
    assert.deepEqual(kindsOf(plan(made.exchangeRecord(), outWith(MINIMUM, { clock }))), ["flush"]);
  });

  it("waits while the exchange does not answer", () => {
    assert.deepEqual(plan(made.exchangeRecord(), outWith(MINIMUM), { exitOf: () => "unknown" }), []);
  });
});
