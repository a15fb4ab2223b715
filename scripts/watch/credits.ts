/**
 * Judges the notes that the pool made for money that a contract brought. Nobody vouches for them and nothing is proved:
 * they must be what they say, and the money must have come.
 */
import { asField, type Address, type Field } from "../../shared/protocol/brands.ts";
import { asAddress } from "../../shared/protocol/host/text.ts";
import { poseidon3 } from "../../shared/protocol/host/poseidon.ts";
import type { Case, Said } from "./case.ts";
import { isBetween, movedIn, paidTo, type Between } from "./moved.ts";

interface CreditedNote {
  readonly leafIndex: bigint;
  readonly commitment: bigint;
  readonly npk: bigint;
  readonly asset: Address;
  readonly value: bigint;
}

/** Its leaf is in the queue whatever is wrong with it, and the pool owes what the note says. */
export function judgeCredited(its: Case, said: Said): void {
  const { ledger, header } = its;
  const { leafIndex, commitment, npk, asset, value } = noteOf(its, said);
  if (leafIndex !== ledger.leafCount)
    its.contradict(`leaf ${leafIndex} came where leaf ${ledger.leafCount} belongs`, "LEAF_GAP");
  ledger.credit(fieldOf(its, commitment), header.timestamp);
  ledger.owe(asset, value);
  if (value === 0n || commitment !== poseidon3(fieldOf(its, npk), BigInt(asset), value))
    its.report("NOTE_FORGED", `${asset}: value ${value}, not the hash of its parts, leaf ${leafIndex}`);
}

/** What these notes say came in. */
export function creditedIn(its: Case, said: readonly Said[], asset: Address): bigint {
  return creditsAmong(its, said).reduce((sum, note) => (note.asset === asset ? sum + note.value : sum), 0n);
}

/**
 * That the money came, in a part of a transaction.
 * @param except an asset whose notes a statement's own check takes off what moved
 */
export function checkCredits(its: Case, said: readonly Said[], part: Between, except?: Address): void {
  const own = said.filter(({ log }) => isBetween(log, part));
  const paid = own.filter(({ event }) => event.name === "ClaimPaid");
  for (const asset of new Set(creditsAmong(its, own).map((note) => note.asset))) {
    if (asset === except) continue;
    const stated = creditedIn(its, own, asset);
    const moved = movedIn(its.transaction.logs, its.pool.home.pool, asset, part) + paidTo(paid, asset);
    if (moved < stated) its.report("TRANSFER_MISMATCH", `${asset}: moved ${moved}, credited ${stated}`);
  }
}

function creditsAmong(its: Case, said: readonly Said[]): CreditedNote[] {
  return said.filter(({ event }) => event.name === "Credited").map((one) => noteOf(its, one));
}

function noteOf(its: Case, { event }: Said): CreditedNote {
  const told = event.args.toObject() as Omit<CreditedNote, "asset"> & { readonly asset: string };
  const asset = asAddress(told.asset);
  if (asset === undefined) its.contradict("a credited note names no asset");
  return { ...told, asset };
}

function fieldOf(its: Case, value: bigint): Field {
  const found = asField(value);
  if (found === undefined || found === 0n)
    its.contradict("a number of a credited note is zero or not below the field order");
  return found;
}
