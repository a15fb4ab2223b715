/** Why money waits, of each reason: that it is said where the money is, and of nothing that goes on. */
import assert from "node:assert/strict";
import type { Wait } from "../../../../../proxy/relay/requests.ts";
import { PATIENCE_SECS, TIMEOUT_SECS } from "../../../../../proxy/relay/desk/plan.ts";
import { waitsOf } from "../../../../../proxy/relay/desk/reasons.ts";
import type { Snapshot } from "../../../../../proxy/relay/desk/steps.ts";
import { HOME_CHAIN, type BridgeRecord } from "../../../../../proxy/base/store/bridge-records.ts";
import { BRIDGE_REASONS } from "../../../../../shared/api/bridge-status.ts";
import * as made from "./facts.ts";

const { IN, LANE_MINIMUM, MINIMUM, NOW, OUT, SECOND, SOURCE } = made;
const said = new Set<string>(["AMOUNT_TOO_SMALL", "MONEY_MISPLACED", "CREDIT_REFUSED", "NOT_WATCHED"]);

function waits(record: BridgeRecord, facts: made.Made, snapshot: Partial<Snapshot> = {}) {
  const found = waitsOf(record, made.factsOf(record, facts), made.viewOf(snapshot));
  for (const { code } of Object.values(found)) said.add(code);
  return found;
}
const codes = (found: Readonly<Record<string, Wait>>): Record<string, string> =>
  Object.fromEntries(Object.entries(found).map(([where, { code }]) => [where, code]));

const atHome = { home: made.holding(HOME_CHAIN, IN, MINIMUM) };
const atExit = { home: made.holding(HOME_CHAIN, OUT, MINIMUM) };
const atSource = { before: [made.holding(SECOND, SOURCE, LANE_MINIMUM)] };
const burned = (bend: Parameters<typeof made.burn>[0] = {}): made.Made => ({
  before: [made.vault(SECOND, SOURCE, { burns: [made.burn(bend)] })],
});
const unsigned: Partial<Snapshot> = { attestationOf: () => undefined };
const fast = { minFinality: 1_000 };

describe("relay/desk/reasons", () => {
  after(() => {
    assert.deepEqual(
      [...said].sort(),
      [...BRIDGE_REASONS].sort(),
      "every reason was said here, or in progress",
    );
  });

  it("has none where money goes on, where there is none, or where an answer is being asked for", () => {
    assert.deepEqual(waits(made.inRecord(), {}), {});
    assert.deepEqual(waits(made.inRecord(), { ...atHome, ...atSource }), {});
    assert.deepEqual(waits(made.exchangeRecord(), atExit), {});
    assert.deepEqual(waits(made.inRecord(), burned()), {}, "attested: it is delivered next");
    const asking: Partial<Snapshot> = {
      ...{
        screeningOf: () => "asking",
        exitOf: () => "asking",
        feesOf: () => "asking",
        gasOn: () => "asking",
      },
    };
    assert.deepEqual(waits(made.inRecord(), { ...atHome, ...atSource }, asking), {});
    assert.deepEqual(waits(made.exchangeRecord(), atExit, asking), {});
    assert.deepEqual(waits(made.inRecord(), { home: made.holding(HOME_CHAIN, IN, MINIMUM - 1n) }), {});
  });

  it("a chain that is away, of its own money and of what goes there", () => {
    const tipOf = (chain: string) => (chain === SECOND ? undefined : { number: 100, timestamp: NOW });
    const snapshot: Partial<Snapshot> = { tipOf };
    assert.deepEqual(codes(waits(made.inRecord(), { ...atHome, ...atSource }, snapshot)), {
      [SECOND]: "CHAIN_UNAVAILABLE",
    });
    const home = made.vault(HOME_CHAIN, OUT, { burns: [made.burn({ to: SECOND })] });
    assert.deepEqual(codes(waits(made.chainRecord(), { home }, snapshot)), { "burn-1": "CHAIN_UNAVAILABLE" });
  });

  it("an attestation that is not there yet: quick, slow, expired, or with its attesters away", () => {
    const code = (facts: made.Made, snapshot: Partial<Snapshot>) =>
      waits(made.inRecord(), facts, snapshot)["burn-1"]?.code;
    assert.equal(code(burned(fast), unsigned), "ATTESTATION_PENDING");
    assert.equal(code(burned(), unsigned), "SLOW_WAY");
    assert.equal(code({ incoming: [made.burn()] }, unsigned), "ATTESTATION_PENDING");
    assert.equal(code(burned(fast), { ...unsigned, isAttesterAway: () => true }), "ATTESTER_UNAVAILABLE");
    const expired: Partial<Snapshot> = {
      attestationOf: () => ({ status: "expired", message: "0x02", attestation: "0x03" }),
    };
    assert.equal(code(burned(fast), expired), "ATTESTATION_EXPIRED");
    assert.equal(code(burned(fast), { isAttesterAway: () => true }), undefined, "attested is attested");
  });

  it("fees above the ceiling: the slow way, and where that is too much, the clock", () => {
    const rates = (safe: bigint): Partial<Snapshot> => ({
      feesOf: () =>
        new Map([
          [1_000, 10n ** 12n],
          [2_000, safe],
        ]),
    });
    assert.equal(waits(made.inRecord(), atSource, rates(0n))[SECOND]?.code, "SLOW_WAY");
    const wait = waits(made.inRecord(), atSource, rates(10n ** 12n))[SECOND];
    assert.deepEqual([wait?.code, wait?.by], ["FEE_ABOVE_CEILING", NOW - 60 + PATIENCE_SECS]);
    assert.match(wait!.next!, /refund clock is started/);
  });

  it("an empty gas wallet, of that chain alone, and a step that the contract does not take", () => {
    const gasOn: Snapshot["gasOn"] = (chain) => (chain === HOME_CHAIN ? 100n : 10n ** 9n);
    const both = { ...atHome, ...atSource };
    assert.deepEqual(codes(waits(made.inRecord(), both, { gasOn })), { [HOME_CHAIN]: "GAS_MISSING" });
    assert.deepEqual(codes(waits(made.inRecord(), burned(), { gasOn })), { "burn-1": "GAS_MISSING" });
    assert.deepEqual(codes(waits(made.inRecord(), both, { isHeld: (key) => key.startsWith(SECOND) })), {
      [SECOND]: "STEP_REFUSED",
    });
    const why = { isHeld: () => true, refusalOf: () => "more lies there than the bridge burns at once" };
    const wait = waits(made.inRecord(), both, why)[SECOND];
    assert.match(wait!.detail, /did not take the step .*: more lies there/);
  });

  it("screening and the exchange: what they say, that they are away, and when the clock comes", () => {
    type Case = readonly [BridgeRecord, made.Made, Partial<Snapshot>, string];
    const cases: readonly Case[] = [
      [made.inRecord(), atHome, { screeningOf: () => "refused" }, "SCREENING_REFUSED"],
      [made.inRecord(), atHome, { screeningOf: () => "unknown" }, "SCREENING_UNAVAILABLE"],
      [made.refused(made.inRecord()), atHome, {}, "SCREENING_REFUSED"],
      [made.exchangeRecord(), atExit, { exitOf: () => "refused" }, "ACCOUNT_UNKNOWN"],
      [made.exchangeRecord(), atExit, { exitOf: () => "unknown" }, "VENUE_UNAVAILABLE"],
      [made.exchangeRecord(), atExit, { exitOf: () => "paused" }, "VENUE_PAUSED"],
    ];
    for (const [record, facts, snapshot, code] of cases) {
      const wait = waits(record, facts, snapshot)[HOME_CHAIN];
      assert.deepEqual([wait?.code, wait?.by], [code, NOW - 60 + PATIENCE_SECS]);
    }
    const clock = { at: NOW - 5, hasMinimum: true };
    const home = made.holding(HOME_CHAIN, OUT, MINIMUM, { clock });
    const wait = waits(made.exchangeRecord(), { home }, { exitOf: () => "paused" })[HOME_CHAIN];
    assert.equal(wait?.by, NOW - 5 + TIMEOUT_SECS);
    assert.match(wait.next!, /anybody may send it back/);
  });

  it("the user's own signature, and grains that are not worth their delivery", () => {
    const alt = made.holding("altchain", "account", MINIMUM);
    assert.deepEqual(codes(waits(made.altRecord(), { before: [alt] })), { altchain: "SIGNATURE_AWAITED" });
    const dust = { incoming: [made.burn({ amount: 1n })] };
    const wait = waits(made.inRecord(), dust)["burn-1"];
    assert.equal(wait?.code, "DELIVERY_BELOW_MINIMUM");
    assert.match(wait.next!, /anybody may deliver it/);
    assert.deepEqual(codes(waits(made.inRecord(), dust, unsigned)), { "burn-1": "DELIVERY_BELOW_MINIMUM" });
  });
});
