// All that the exchange knows, as one thing that is saved as one: a deposit is never credited without its block being
// behind us, nor a withdrawal sent without being booked.
import { z } from "zod";
import type { Address } from "../../../../shared/protocol/brands.ts";
import { addressShape, bytes32Shape } from "../shapes.ts";
import { Ledger, ledgerShape } from "./ledger.ts";

/** Signed once and sent again as often as it takes: never a second one with another number. */
const sentShape = z.object({ raw: z.string(), hash: bytes32Shape, nonce: z.int() });
export type Sent = z.output<typeof sentShape>;

const units = z
  .string()
  .regex(/^(0|[1-9][0-9]*)$/)
  .transform(BigInt);

const withdrawalShape = z.object({
  id: z.int(),
  user: addressShape,
  from: z.enum(["perps", "spot"]),
  /** What leaves the exchange, and what it took for it. */
  amount: units,
  fee: units,
  nonce: z.int(),
  way: z.object({ domain: z.int(), recipient: bytes32Shape, hook: z.string(), max_fee: units }),
  /** Its burn; undefined until it is signed. */
  sent: sentShape.optional(),
  state: z.enum(["open", "paid", "returned"]),
});
export type Withdrawal = z.output<typeof withdrawalShape>;

const updateShape = z.object({
  time: z.int(),
  hash: z.string(),
  users: z.array(addressShape),
  delta: z.record(z.string(), z.union([z.string(), z.number()])),
});
export type Update = z.output<typeof updateShape>;

export const stateShape = z.object({
  ledger: ledgerShape,
  /** Of each user's actions, the newest hundred. */
  nonces: z.record(z.string(), z.array(z.int())),
  withdrawals: z.array(withdrawalShape),
  updates: z.array(updateShape),
  /** Next block to read, and next number of its own sender. */
  position: z.int().optional(),
  nonce: z.int().optional(),
  paused: z.boolean(),
});
type StateJson = z.input<typeof stateShape>;

export class ExchangeState {
  readonly ledger: Ledger;
  readonly nonces: Map<Address, number[]>;
  readonly withdrawals: Withdrawal[];
  readonly updates: Update[];
  position: number | undefined;
  nonce: number | undefined;
  paused: boolean;

  constructor(read?: z.output<typeof stateShape>) {
    this.ledger = read === undefined ? new Ledger() : Ledger.fromJson(read.ledger);
    this.nonces = new Map(
      Object.entries(read?.nonces ?? {}).map(([user, all]) => [addressShape.parse(user), all]),
    );
    this.withdrawals = read?.withdrawals ?? [];
    this.updates = read?.updates ?? [];
    this.position = read?.position;
    this.nonce = read?.nonce;
    this.paused = read?.paused ?? false;
  }

  toJson(): StateJson {
    return {
      ledger: this.ledger.toJson(),
      nonces: Object.fromEntries(this.nonces),
      withdrawals: this.withdrawals.map((one) => ({
        ...one,
        amount: String(one.amount),
        fee: String(one.fee),
        way: { ...one.way, max_fee: String(one.way.max_fee) },
      })),
      updates: this.updates,
      ...(this.position === undefined ? {} : { position: this.position }),
      ...(this.nonce === undefined ? {} : { nonce: this.nonce }),
      paused: this.paused,
    };
  }
}
