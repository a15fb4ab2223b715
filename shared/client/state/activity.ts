/**
 * What happened in a wallet, newest first: what it did itself, from its own record, and what the chain's notes tell. Pure,
 * and without a network: it is as of the last `sync`. Whoever could have made an entry up (a service that invents income)
 * could have done so in the balance: see `Balance.unverified`.
 */
import type { Address, Bytes32 } from "../../protocol/brands.ts";
import { sumOf } from "./selection.ts";
import { isLive } from "./exposure.ts";
import type { PaymentRecord, RecordKind } from "./payment-record.ts";
import { isSuspended } from "./suspended.ts";
import type { OwnedNote, Sighting, WalletState } from "./state.ts";

export type ActivityKind = RecordKind | "received" | "bridge-in" | "sent";

/**
 * - `pending`: it may still happen; of income, no root covers it yet.
 * - `done`: on chain.
 * - `failed`: it did not happen. Until `until` somebody who has seen the proof may still have it executed.
 * - `suspended`: it was on chain, on a root that the pool has revoked since. What it moved in public has moved; its notes come
 *   again when whoever paid proves it again, which this wallet does by itself.
 * - `void`: it was on chain, and was refuted, or paid with what is void itself.
 */
export type ActivityState = "pending" | "done" | "failed" | "suspended" | "void";

export interface ActivityItem {
  /** Of one item always the same, of two never: a key for lists. */
  readonly id: string;
  /**
   * `sent` is a payment that this wallet made and has no record of, after a restore from the phrase: a transfer, a withdrawal
   * or a swap, and the chain does not tell which.
   */
  readonly kind: ActivityKind;
  readonly state: ActivityState;
  readonly asset: Address;
  /** Smallest units: what came, what the other side gets, or what was given for a swap. Of `sent` and of a deposit with the fees. */
  readonly amount: bigint;
  /** What it does to the balance of `asset`: negative for what leaves. 0 for what failed or is void. */
  readonly change: bigint;
  /** Undefined where nobody knows: of what has no record. */
  readonly fees: bigint | undefined;
  /** Of a swap: what was bought, as the pool measured it; the amount is undefined until then. */
  readonly bought: { readonly asset: Address; readonly amount: bigint | undefined } | undefined;
  /** Shielded or public address of the other side, where this wallet knows it. */
  readonly counterparty: string | undefined;
  /** Its name in the address book. */
  readonly label: string | undefined;
  readonly memo: string | undefined;
  /** Unix seconds: of what this wallet made, when it did, by its own clock. Of the rest undefined, see `withBlockTimes`. */
  readonly time: number | undefined;
  readonly block: number | undefined;
  /** Of the pool's transaction; undefined until it is known. */
  readonly txHash: string | undefined;
  /** Of the recipient's note of a transfer, else of the note that it brought to this wallet. What `disclose` takes. */
  readonly leaf: number | undefined;
  readonly statement: Bytes32 | undefined;
  /** Unix seconds until which it may still happen, while it has not. */
  readonly until: number | undefined;
}

/** Where an item stands: a leaf's place, for what made one; the higher the newer. */
interface Placed {
  readonly item: ActivityItem;
  readonly at: number;
}

/** How far back a reorganisation may have moved what a record was made after. */
const MOVED_LEAVES = 1_024;

export function activityOf(state: WalletState, nowSecs: number): ActivityItem[] {
  const records = [...state.payments.values()].filter((record) => record.withdrawn !== true);
  const explained = { notes: new Set<OwnedNote>(), spent: new Set<number>() };
  const own = records.map((record) => ofRecord(state, record, nowSecs, explained));
  const notes = [...state.notes.values()].filter((note) => !explained.notes.has(note));
  const { sent, change } = unrecorded(state, notes, explained.spent);
  const income = notes.filter((note) => !change.has(note)).map((note) => ofNote(state, note));
  return [...own, ...sent, ...income]
    .sort((a, b) => compare(b.at, a.at) || (b.item.time ?? 0) - (a.item.time ?? 0))
    .map(({ item }) => item);
}

/** What the records account for: notes that they made, and leaves that they spent. */
interface Explained {
  readonly notes: Set<OwnedNote>;
  readonly spent: Set<number>;
}

/** Of Infinity less Infinity there is no order. */
function compare(a: number, b: number): number {
  return a === b ? 0 : a < b ? -1 : 1;
}

function labelled(state: WalletState, counterparty: string | undefined) {
  const label = counterparty === undefined ? undefined : state.contacts.get(counterparty)?.label;
  return { counterparty, label: label ?? undefined };
}

function ofRecord(state: WalletState, record: PaymentRecord, nowSecs: number, explained: Explained): Placed {
  const { kind, asset, amount, fees, commitments, leafIndexes } = record;
  const from = Math.max(0, record.madeAfter - MOVED_LEAVES);
  const first = state.tree.indexOf(commitments[0]!, from) ?? -1;
  const isThere = first !== -1 && commitments.every((one, output) => state.tree.leaf(first + output) === one);
  // A void leaf is empty in the tree; the wallet's own note of it says what was there.
  const made = [...state.notes.values()].filter((note) => commitments.includes(note.commitment));
  const bought = isThere && kind === "swap" ? state.notes.get(first + commitments.length) : undefined;
  const spent = leafIndexes.flatMap((index) => state.notes.get(index) ?? []);
  const seen =
    sightingOf(made[0] ?? bought) ?? (isThere ? spent.find((note) => note.spent)?.spent : undefined);
  for (const note of [...made, ...(bought === undefined ? [] : [bought])]) explained.notes.add(note);
  // What it spends is accounted for when it has happened; until then another payment may have spent it.
  const isBack = isSuspended(state, record);
  if (isThere || isBack) for (const index of leafIndexes) explained.spent.add(index);

  const isVoid = !isThere && (isBack || made.some((note) => note.voided !== undefined));
  const isExpired = !isLive(record, nowSecs);
  const isRefused = state.reservations.get(record.statement)?.refused === true;
  const outcome = isThere
    ? "done"
    : isVoid
      ? stateOfVoid(isBack && spent.every((note) => note.voided === undefined))
      : isRefused || isExpired
        ? "failed"
        : "pending";
  const counts = outcome === "done" || outcome === "pending" || outcome === "suspended";
  const block = seen?.block ?? (isThere ? blockOfLeaf(state, first) : undefined);
  const at = isThere ? first : outcome === "pending" ? Infinity : record.madeAfter;
  const item: ActivityItem = {
    ...{ id: record.statement, kind, state: outcome, asset, amount, fees },
    change: counts ? changeBy(record) : 0n,
    bought: record.tokenOut === undefined ? undefined : { asset: record.tokenOut, amount: bought?.value },
    ...labelled(state, record.to),
    ...{ memo: record.memo, time: record.madeAt, block, txHash: seen?.txHash, statement: record.statement },
    leaf: !isThere ? undefined : kind === "swap" ? bought?.leafIndex : first,
    until: isThere || isVoid || isExpired ? undefined : record.deadline,
  };
  return { item, at };
}

function stateOfVoid(comesAgain: boolean): ActivityState {
  return comesAgain ? "suspended" : "void";
}

function changeBy({ kind, amount, fees }: PaymentRecord): bigint {
  switch (kind) {
    case "deposit":
      return amount - fees;
    case "consolidate":
      return -fees;
    case "swap":
      return -amount;
    case "transfer":
    case "withdraw":
      return -(amount + fees);
  }
}

/**
 * Spends that no record tells of. Own notes that one transaction spends and makes are one payment and its change: the chain
 * does not tell more, and a payment that came in the same transaction by chance is taken for change.
 */
function unrecorded(
  state: WalletState,
  notes: readonly OwnedNote[],
  explainedSpends: ReadonlySet<number>,
): { sent: Placed[]; change: Set<OwnedNote> } {
  const bySpending = new Map<string, { seen: Sighting; notes: OwnedNote[] }>();
  for (const note of state.notes.values()) {
    if (note.spent === undefined || note.voided !== undefined || explainedSpends.has(note.leafIndex))
      continue;
    const key = `${note.spent.txHash} ${note.asset}`;
    const group = bySpending.get(key) ?? { seen: note.spent, notes: [] };
    bySpending.set(key, group);
    group.notes.push(note);
  }
  const change = new Set<OwnedNote>();
  const sent = [...bySpending.values()].map(({ seen, notes: spent }): Placed => {
    const { asset } = spent[0]!;
    const back = notes.filter(
      (note) => note.source === "spend" && note.txHash === seen.txHash && note.asset === asset,
    );
    for (const note of back) change.add(note);
    const amount = sumOf(spent) - sumOf(back);
    const item: ActivityItem = {
      ...{ id: `${seen.txHash} ${asset}`, kind: "sent", state: "done", asset, amount, change: -amount },
      ...{ fees: undefined, bought: undefined, counterparty: undefined, label: undefined, memo: undefined },
      ...{ time: undefined, block: seen.block, txHash: seen.txHash, leaf: undefined },
      ...{ statement: undefined, until: undefined },
    };
    return { item, at: leavesUpTo(state, seen.block) };
  });
  return { sent, change };
}

const KIND_OF = {
  deposit: "deposit",
  spend: "received",
  swap: "swap",
  forwarder: "bridge-in",
} as const satisfies Record<OwnedNote["source"], ActivityKind>;

function ofNote(state: WalletState, note: OwnedNote): Placed {
  const { asset, value, source, block, leafIndex } = note;
  const isCovered = leafIndex < (state.latestRoot?.leafCount ?? 0);
  const { voided } = note;
  const there: ActivityState = isCovered ? "done" : "pending";
  const outcome = voided === undefined ? there : stateOfVoid(voided.isSuspended === true);
  const item: ActivityItem = {
    ...{ id: `leaf ${leafIndex}`, kind: KIND_OF[source], state: outcome, asset, amount: value },
    ...{
      change: voided === undefined ? value : 0n,
      fees: undefined,
      counterparty: undefined,
      label: undefined,
    },
    // What was given for it nobody but the record could tell.
    bought: undefined,
    ...{ memo: undefined, time: undefined, block, txHash: note.txHash === "" ? undefined : note.txHash },
    ...{ leaf: leafIndex, statement: undefined, until: undefined },
  };
  return { item, at: leafIndex };
}

function sightingOf(note: OwnedNote | undefined): Sighting | undefined {
  return note === undefined || note.txHash === "" ? undefined : { block: note.block, txHash: note.txHash };
}

function blockOfLeaf(state: WalletState, leaf: number): number | undefined {
  return state.blocks.of(leaf);
}

/** So many leaves there are up to the end of that block. */
function leavesUpTo(state: WalletState, block: number): number {
  return state.blocks.upTo(block) - 0.5;
}
