// Which note each party's fee of a sweep goes into: a table of rules, sinks and sweeps.
import assert from "node:assert/strict";
import { withFeeNotes, type FeesInForce } from "../../../../../proxy/relay/desk/sweep-fees.ts";
import type { StepOf } from "../../../../../proxy/relay/desk/steps.ts";
import { decodeShieldedAddress } from "../../../../../shared/notes/address.ts";
import { SpendingKey } from "../../../../../shared/notes/keys.ts";
import type { Address } from "../../../../../shared/protocol/brands.ts";
import { CEILING, COLLECTOR, REFUND, USDC } from "./facts.ts";

const PREFIX = "clodev";
const [A, B] = [1, 2].map((fill) =>
  SpendingKey.fromSeed(new Uint8Array(32).fill(fill)).viewing.addressText(PREFIX),
);
const rule = (flat: bigint, sink = A!): FeesInForce["service"] => ({
  flat,
  bps: 0,
  sink,
  owner: 0n as never,
});
const none = undefined;

/** Each sweep: the service's rule, the developer's, and the fees that the contract is told. */
type Row = readonly [
  title: string,
  sweeps: readonly (readonly [FeesInForce["service"], FeesInForce["developer"], readonly bigint[]])[],
  notes: number,
  collector?: string,
];
const ROWS: readonly Row[] = [
  ["two parties with a sink each", [[rule(50n), rule(7n, B), [50n, 7n]]], 2],
  ["two parties with one sink: both fees, in one note", [[rule(50n), rule(7n), [57n]]], 1],
  ["a developer alone", [[none, rule(7n, B), [7n]]], 1],
  ["a rule that takes nothing makes no note", [[rule(0n), rule(7n, B), [7n]]], 1],
  [
    "sweeps of different developers: each fee at its sink's place",
    [
      [rule(50n), none, [50n]],
      [none, rule(7n, B), [0n, 7n]],
      [rule(50n), rule(8n), [58n]],
    ],
    2,
  ],
  ["the ceiling refusals for both together", [[rule(CEILING - 1n), rule(7n), [CEILING]]], 1],
  ["a sink that cannot be read takes nothing", [[rule(50n), rule(7n, "elsewhere1q"), [50n]]], 1],
  ["an address that names another collector pays nothing", [[rule(50n), rule(7n), []]], 0, REFUND],
];

describe("relay/desk/sweep-fees", () => {
  for (const [title, sweeps, notes, collector = COLLECTOR] of ROWS) {
    it(title, () => {
      const terms = { collector, asset: USDC, feeCeiling: CEILING };
      const step = { kind: "sweep", amount: 5_000_000n, terms } as unknown as StepOf<"sweep">;
      const made = withFeeNotes(
        sweeps.map(([service, developer]) => ({ step, inForce: { service, developer } })),
        {
          sender: COLLECTOR as Address,
          readSink: (text) => decodeShieldedAddress(text, PREFIX),
        },
      );
      assert.deepEqual(
        made.sweeps.map(({ fees }) => fees),
        sweeps.map(([, , fees]) => fees),
      );
      assert.equal(made.collectors.length, notes);
      assert.equal(new Set(made.collectors.map(({ ephemeralKey }) => String(ephemeralKey))).size, notes);
    });
  }
});
