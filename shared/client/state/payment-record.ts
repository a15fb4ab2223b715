/**
 * What the wallet itself did, in its sealed state: the chain shows neither who was paid nor what for, so a history of more
 * than amounts has to be kept here. Without it, after a restore from the phrase, payments are shown as far as notes tell.
 */
import type { Address, Bytes32, Field } from "../../protocol/brands.ts";
import type { DepositBody } from "../../api/transactions.ts";
import { toHex } from "../../protocol/bytes.ts";
import type { Kind, Statement } from "../../protocol/statements.ts";

export type RecordKind = "deposit" | "transfer" | "withdraw" | "swap" | "consolidate";

export interface PaymentRecord {
  readonly statement: Bytes32;
  readonly kind: RecordKind;
  readonly asset: Address;
  /** Of a deposit what the depositor pays, of a swap what is given in all, else what the recipient gets. */
  readonly amount: bigint;
  readonly fees: bigint;
  /** Shielded address of a transfer, public one of a withdrawal, the depositor of a deposit. */
  readonly to?: string | undefined;
  /** Of a swap. */
  readonly tokenOut?: Address | undefined;
  readonly memo?: string | undefined;
  /** Unix seconds by this device's clock. */
  readonly madeAt: number;
  /** So many leaves the pool had then, as this wallet knew: its place in the history. */
  readonly madeAfter: number;
  /** Unix seconds after which it cannot happen any more. */
  readonly deadline: number;
  /** All of its own leaves, in order: in the tree once it was executed. */
  readonly commitments: readonly Field[];
  /** Of the notes that it spends. */
  readonly leafIndexes: readonly number[];
  /** Of a transfer, what its ephemeral secret was derived with (SPEC, section 12.1). */
  readonly derivation?: { readonly change: bigint; readonly salt: number } | undefined;
  /** Of what spends notes, and of the newest ones alone: what it takes to prove it again. */
  readonly makings?: Makings | undefined;
  /** It was executed on a root that was revoked: what it moved has moved, and its outputs are empty until it is confirmed. */
  readonly suspended?: boolean | undefined;
  /** Sent to confirm it, and until when that may still happen, Unix seconds. */
  readonly again?: { readonly statement: Bytes32; readonly deadline: number } | undefined;
  /** It never left the device. Remembered, so that no other tab's copy of it comes back. */
  readonly withdrawn?: true | undefined;
}

/** What a statement that spends notes has besides its notes and its terms. */
export interface Drawn {
  /** Of its outputs, in order: value and owner of each, behind their commitments. */
  readonly npks: readonly Field[];
  readonly values: readonly bigint[];
  /** Blindings of inputs that are no notes. */
  readonly dummies: readonly Field[];
}

/** See `prepareAgain`. */
export interface Makings {
  readonly kind: Kind;
  /** That it was proved on. */
  readonly root: Field;
  /** Hex. */
  readonly ext: string;
  /** What left the pool in public. */
  readonly amount: bigint;
  readonly openings: readonly DepositBody["fees"][number][];
  readonly drawn: Drawn;
}

/** About a megabyte; of more, the oldest go. */
const MOST_PAYMENTS = 4_000;
/** Whose makings are kept, 1.5 kB each: a root is rarely revoked, and then within hours. */
const MOST_MAKINGS = 256;

/** A part of `Prepared`. */
interface Made {
  readonly statement: Pick<Statement, "hash" | "kind" | "deadline" | "facts" | "extBytes">;
  readonly own: bigint;
  readonly salt?: number;
  readonly openings: Makings["openings"];
  readonly drawn?: Drawn;
}

/** The record of what is about to leave. Its statement says the rest. */
export function recordOf(
  { statement, own, salt, openings, drawn }: Made,
  told: Pick<PaymentRecord, "kind" | "asset" | "amount" | "fees" | "to" | "tokenOut" | "memo">,
  made: Pick<PaymentRecord, "madeAt" | "madeAfter" | "leafIndexes">,
): PaymentRecord {
  const { hash, kind, deadline, facts, extBytes } = statement;
  const { root, amount } = facts;
  const ext = toHex(extBytes);
  return {
    ...{ ...told, ...made, statement: hash, deadline: Number(deadline), commitments: facts.commitments },
    derivation: salt === undefined ? undefined : { change: own, salt },
    makings: drawn && root !== undefined ? { kind, root, ext, amount, openings, drawn } : undefined,
  };
}

/** No record of either tab is lost, and one that was withdrawn stays so. */
export function mergePayments(
  ours: Map<Bytes32, PaymentRecord>,
  theirs: ReadonlyMap<Bytes32, PaymentRecord>,
): void {
  for (const [statement, record] of theirs)
    if (ours.get(statement)?.withdrawn !== true) ours.set(statement, record);
}

export function addPayment(records: Map<Bytes32, PaymentRecord>, record: PaymentRecord): void {
  records.set(record.statement, record);
  const made = [...records.values()].filter(({ makings }) => makings !== undefined);
  for (const old of made.slice(0, Math.max(0, made.length - MOST_MAKINGS)))
    records.set(old.statement, { ...old, makings: undefined });
  for (const oldest of records.keys()) {
    if (records.size <= MOST_PAYMENTS) return;
    records.delete(oldest);
  }
}
