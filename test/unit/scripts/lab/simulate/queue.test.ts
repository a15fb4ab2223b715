// The queue that is simulated carries what the closed form says, and no more.
import assert from "node:assert/strict";
import { capacityOf } from "../../../../../scripts/lab/simulate/capacity.ts";
import { MEASURED, type Values } from "../../../../../scripts/lab/simulate/measured.ts";
import { simulate, type Run } from "../../../../../scripts/lab/simulate/queue.ts";

interface Asked {
  readonly values?: Partial<Values>;
  readonly hosts?: number;
  /** Share of the capacity. */
  readonly load?: number;
  readonly arrivals?: number;
  readonly seed?: number;
}

function run({
  values = {},
  hosts = 10,
  load = 0.7,
  arrivals = 20_000,
  seed = 1,
}: Asked): Run & { capacity: number } {
  const all = { ...MEASURED, ...values };
  const capacity = capacityOf(all, hosts, "transfer");
  const arrivalsPerSecond = capacity.ticketsPerSecond * load;
  return {
    ...simulate(all, { hosts, kind: "transfer", capacity, arrivals, seed, arrivalsPerSecond }),
    capacity: capacity.ticketsPerSecond,
  };
}

const within = (actual: number, wanted: number, share: number): void =>
  assert.ok(Math.abs(actual - wanted) <= share * wanted, `${String(actual)} is not about ${String(wanted)}`);

/** Each with another bound. */
const LINES: Readonly<Record<string, Partial<Values>>> = {
  "in-flight": {},
  "in-flight, two blocks a call": { poll: 1_000 },
  "in-flight, three": { "in-flight": 3, turn: 1, "turn-member": 1, "turn-member-cpu": 0.1 },
  turn: { "in-flight": 20, "turn-member": 18, "turn-member-cpu": 0.1 },
  "block-gas": { "block-gas": 1_500_000 },
  "block-gas, several calls": {
    "block-gas": 3_500_000,
    "in-flight": 9,
    members: 8,
    "turn-member": 1,
    turn: 1,
  },
};

describe("simulate: queue", () => {
  it("is the same for the same seed, and another for another", () => {
    assert.deepEqual(run({ seed: 7 }), run({ seed: 7 }));
    assert.notEqual(run({ seed: 7 }).confirmP99Secs, run({ seed: 8 }).confirmP99Secs);
  });

  for (const [name, values] of Object.entries(LINES)) {
    it(`keeps up below what the closed form says, and carries just that above it: ${name}`, () => {
      const below = run({ values, load: 0.9 });
      assert.equal(below.refusedShare, 0);
      within(below.ticketsPerSecond, below.capacity * 0.9, 0.03);
      const above = run({ values, load: 2 });
      within(above.ticketsPerSecond, above.capacity, 0.05);
      assert.ok(above.refusedShare > 0.3, String(above.refusedShare));
      assert.ok(above.confirmP50Secs > 5 * below.confirmP50Secs);
    });
  }

  it("is held up by enclaves when they are what breaks first", () => {
    const above = run({ values: { verifications: 5 }, hosts: 1, load: 2, arrivals: 5_000 });
    assert.equal(above.capacity, 5);
    within(above.ticketsPerSecond, 5, 0.02);
    within(above.enclaveLoad, 1, 0.02);
  });

  it("a ticket that is alone takes its proxy, its attestation, its turn, and at most a block until it is noticed", () => {
    const { "block-time": blockSecs, poll, recovery, request, requests, attest, turn } = MEASURED;
    const own = (poll + recovery + request * requests + attest + turn + MEASURED["turn-member"]) / 1_000;
    for (let seed = 1; seed <= 50; seed++) {
      const alone = run({ arrivals: 1, seed });
      assert.ok(alone.confirmP50Secs > own, String(alone.confirmP50Secs));
      // The root update over four leaves is below 20 ms.
      assert.ok(alone.confirmP50Secs <= own + 0.02 + blockSecs, String(alone.confirmP50Secs));
      assert.deepEqual([alone.membersPerCall, alone.gasPerTicket], [1, 161_637]);
    }
  });

  it("waits longer at higher load, pays less gas then, and never counts more than it confirmed", () => {
    const [calm, busy] = [run({ load: 0.1 }), run({ load: 0.95 })];
    assert.ok(busy.confirmP99Secs > calm.confirmP99Secs);
    assert.ok(busy.membersPerCall > calm.membersPerCall && busy.membersPerCall <= 64);
    assert.ok(busy.gasPerTicket < calm.gasPerTicket);
    within(
      busy.proxyLoad,
      (busy.ticketsPerSecond * (0.44 + 3 * (1_000 / 4_792))) / 10_000 +
        (busy.ticketsPerSecond / busy.membersPerCall) * (0.043 + busy.membersPerCall * 0.0028),
      1e-9,
    );
  });

  it("refuses what comes when as many wait as may", () => {
    const few = run({ values: { waiting: 10 }, load: 1 });
    assert.ok(few.refusedShare > 0.3);
    assert.ok(few.membersPerCall <= 10);
  });
});
