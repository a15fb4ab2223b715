// What breaks first, by hand and over configurations drawn from a seed.
import assert from "node:assert/strict";
import {
  callGas,
  callGasLimit,
  capacityOf,
  LIFTED_BY,
  type BoundName,
  type Capacity,
} from "../../../../../scripts/lab/simulate/capacity.ts";
import {
  FIGURES,
  FIGURE_NAMES,
  KIND_FIGURES,
  MEASURED,
  type Figure,
  type FigureName,
  type SimulatedKind,
  type Values,
} from "../../../../../scripts/lab/simulate/measured.ts";
import { improved } from "../../../../../scripts/lab/simulate/report.ts";

const KINDS = Object.keys(KIND_FIGURES) as SimulatedKind[];
const HOSTS = [1, 10, 100];
const SEED = 20261122;

/** Round numbers, for reckoning by hand. */
const ROUND: Values = {
  ...MEASURED,
  ...{ "block-time": 2, "block-gas": 4_500_000, "in-flight": 1, members: 10 },
  ...{ poll: 500, turn: 100, "turn-member": 20, "turn-cpu": 50, "turn-member-cpu": 5 },
  ...{ enclaves: 2, verifications: 100, sign: 2, "root-update-64": 100, "root-update-256": 100 },
  ...{ recovery: 10, request: 1, requests: 5 },
  ...{ redis: 1_000, "redis-ticket": 6, "redis-call": 40, "redis-host": 20 },
};

const rateOf = (capacity: Capacity, name: BoundName): number =>
  capacity.bounds.find((bound) => bound.name === name)?.ticketsPerSecond ?? NaN;

const near = (actual: number, wanted: number): void =>
  assert.ok(Math.abs(actual - wanted) < 1e-6 * wanted, `${String(actual)} is not ${String(wanted)}`);

/** Each figure between an eighth and eight times what was measured. */
function drawn(count: number): { values: Values; hosts: number; kind: SimulatedKind }[] {
  let state = SEED;
  const random = (): number => {
    // The linear congruential generator of Numerical Recipes.
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
  return Array.from({ length: count }, () => ({
    values: Object.fromEntries(
      FIGURE_NAMES.map((name) => {
        const { value, isCount }: Figure = FIGURES[name];
        const bent = value * 2 ** (random() * 6 - 3);
        return [name, isCount === true ? Math.max(Math.round(bent), 1) : bent];
      }),
    ) as Record<FigureName, number>,
    hosts: HOSTS[Math.floor(random() * HOSTS.length)] ?? 1,
    kind: KINDS[Math.floor(random() * KINDS.length)] ?? "transfer",
  }));
}

describe("simulate: capacity", () => {
  it("gas of a call is that of the report, alone and for each of 16", () => {
    for (const gas of Object.values(KIND_FIGURES)) {
      near(callGas(gas, 1), gas.gasAlone);
      near(callGas(gas, 16) / 16, gas.gasEachOf16);
    }
    // 84,909.53 a member and 76,727.47 a call; a quarter, 512,936.51 for a member's share, then an eighth and 100,000.
    near(callGasLimit(KIND_FIGURES.transfer, 10), 1_978_991.884);
  });

  it("by hand: ten members in a block of two seconds", () => {
    const capacity = capacityOf(ROUND, 1, "transfer");
    // A turn: 100 + 10 × 20 and 100 for the root update, 400 ms; with 500 ms until noticed it fits into one block.
    assert.equal(capacity.callEverySecs, 2);
    near(rateOf(capacity, "in-flight"), 10 / 2);
    near(rateOf(capacity, "turn"), 10 / 0.4);
    // Two full calls are 3,957,984 gas; a third does not fit.
    near(rateOf(capacity, "block-gas"), (10 + 10) / 2);
    // 10 + 5 × 1 ms a ticket, and of a turn (50 + 10 × 5) / 10.
    near(rateOf(capacity, "proxy"), 1_000 / (15 + 10));
    near(rateOf(capacity, "verification"), 2 * 100);
    near(rateOf(capacity, "signing"), 2_000 / (2 + 100 / 10));
    near(rateOf(capacity, "redis"), (1_000 - 20) / (6 + 40 / 10));
    assert.equal(capacity.ticketsPerSecond, 5);
    assert.deepEqual([capacity.members, capacity.membersHeldBy], [10, "members"]);
    assert.deepEqual(
      capacity.bounds.map(({ name }) => name),
      ["in-flight", "block-gas", "turn", "proxy", "redis", "signing", "verification"],
    );
  });

  it("by hand: ten hosts add proxies and enclaves, and cost Redis their polling", () => {
    const capacity = capacityOf(ROUND, 10, "transfer");
    near(rateOf(capacity, "proxy"), 1_000 / (1.5 + 10));
    near(rateOf(capacity, "verification"), 20 * 100);
    near(rateOf(capacity, "redis"), (1_000 - 200) / (6 + 40 / 10));
    near(rateOf(capacity, "turn"), 10 / 0.4);
    assert.equal(capacity.ticketsPerSecond, 5);
  });

  it("by hand: what is not the bound lifts nothing", () => {
    for (const name of ["block-gas", "verifications", "enclaves", "redis", "recovery", "call-gas"] as const)
      assert.equal(capacityOf(improved(ROUND, name), 1, "transfer").ticketsPerSecond, 5, name);
    near(capacityOf({ ...ROUND, "in-flight": 2 }, 1, "transfer").ticketsPerSecond, 10);
    near(capacityOf({ ...ROUND, members: 20 }, 1, "transfer").ticketsPerSecond, 10);
  });

  it("a call that is noticed too late for the next block costs a whole block, and a smaller one may carry more", () => {
    // 500 + 100 + 100 + 20 × members: 65 members fit into a block of two seconds, 66 do not.
    const wide = { ...ROUND, "block-gas": 30_000_000, members: 60 };
    near(capacityOf({ ...wide, recovery: 1 }, 10, "transfer").ticketsPerSecond, 30);
    const wider = { ...wide, recovery: 1, members: 100, leaves: 400 };
    const capacity = capacityOf(wider, 10, "transfer");
    assert.deepEqual([capacity.members, capacity.membersHeldBy], [65, undefined]);
    near(capacity.ticketsPerSecond, 65 / 2);
  });

  it("the bounds of a call are those of the proxy: members, leaves, gas, calldata", () => {
    const held = (change: Partial<Values>): unknown[] => {
      const { members, membersHeldBy } = capacityOf({ ...ROUND, ...change }, 10, "transfer");
      return [members, membersHeldBy];
    };
    assert.deepEqual(held({ leaves: 35 }), [8, "leaves"]);
    assert.deepEqual(held({ "call-gas": 1_800_000 }), [8, "call-gas"]);
    assert.deepEqual(held({ "call-bytes": 1_472 * 4 + 1_471 }), [4, "call-bytes"]);
    assert.deepEqual(held({ "block-gas": 1_800_000 }), [8, "block-gas"]);
  });

  it("as measured: one call in flight breaks first, for one host as for a hundred", () => {
    for (const hosts of HOSTS) {
      const { ticketsPerSecond, bounds, members } = capacityOf(MEASURED, hosts, "transfer");
      assert.deepEqual([ticketsPerSecond, bounds[0]?.name, members], [64, "in-flight", 64]);
    }
  });

  it("each bound can be the one that breaks first", () => {
    const first = (change: Partial<Values>): string | undefined =>
      capacityOf({ ...ROUND, ...change }, 1, "transfer").bounds[0]?.name;
    assert.equal(first({ "in-flight": 8, "block-gas": 1e9 }), "turn");
    assert.equal(first({ "block-gas": 1_000_000 }), "block-gas");
    assert.equal(first({ recovery: 1_000 }), "proxy");
    assert.equal(first({ verifications: 1 }), "verification");
    assert.equal(first({ sign: 1_000 }), "signing");
    assert.equal(first({ redis: 40 }), "redis");
  });

  it("a block that is too small for one member carries nothing, and so does a Redis that its proxies' polling fills", () => {
    assert.equal(capacityOf({ ...ROUND, "block-gas": 200_000 }, 1, "transfer").ticketsPerSecond, 0);
    assert.equal(capacityOf(ROUND, 50, "transfer").ticketsPerSecond, 0);
    assert.equal(capacityOf(ROUND, 50, "transfer").bounds[0]?.name, "redis");
  });

  it(`twice a resource never lowers what is carried (800 configurations, seed ${String(SEED)})`, () => {
    const resources = FIGURE_NAMES.filter((name) => (FIGURES[name] as Figure).better !== undefined);
    assert.ok(resources.length > 20);
    for (const { values, hosts, kind } of drawn(800)) {
      const before = capacityOf(values, hosts, kind).ticketsPerSecond;
      for (const name of resources) {
        const after = capacityOf(improved(values, name), hosts, kind).ticketsPerSecond;
        assert.ok(
          after >= before * (1 - 1e-9),
          `${name}: ${String(before)} to ${String(after)}, ${kind}, ${JSON.stringify(values)}`,
        );
      }
    }
  });

  it(`the named bound is one whose relaxing carries more (5,000 configurations, seed ${String(SEED)})`, () => {
    const named = new Set<BoundName>();
    for (const { values, hosts, kind } of drawn(5_000)) {
      const { bounds, ticketsPerSecond } = capacityOf(values, hosts, kind);
      const [first, second] = bounds;
      assert.ok(first !== undefined && second !== undefined);
      // Of two equal bounds no single one can lift anything; where nothing is carried, twice may be too little as well.
      if (ticketsPerSecond === 0 || second.ticketsPerSecond <= first.ticketsPerSecond * (1 + 1e-9)) continue;
      named.add(first.name);
      for (const name of LIFTED_BY[first.name]) {
        const after = capacityOf(improved(values, name), hosts, kind).ticketsPerSecond;
        assert.ok(
          after > ticketsPerSecond,
          `${first.name} by ${name}: ${String(after)}, ${JSON.stringify(values)}`,
        );
      }
    }
    assert.ok(named.size >= 5, [...named].join());
  });

  it("what a block holds is named before what is in flight, when a call fills the block", () => {
    const full = { ...ROUND, "block-gas": 1_000_000 };
    const { bounds, ticketsPerSecond } = capacityOf(full, 10, "transfer");
    assert.deepEqual([bounds[0]?.name, bounds[1]?.ticketsPerSecond], ["block-gas", ticketsPerSecond]);
    assert.equal(capacityOf(improved(full, "in-flight"), 10, "transfer").ticketsPerSecond, ticketsPerSecond);
    assert.ok(capacityOf(improved(full, "block-gas"), 10, "transfer").ticketsPerSecond > ticketsPerSecond);
  });
});
