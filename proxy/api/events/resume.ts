/** Where a reader of a stream goes on: after the event that it names, or after what still stands of that. */
import type { ChainDataStore, ChainEvent, Position } from "../../base/store/chain-data.ts";
import { frameOf } from "./frames.ts";
import { hashPrefixOf, idOf, START, type EventId } from "./position.ts";

const SHOWN = [
  "leaf",
  "nullifier",
  "root",
  "voided",
  "revoked",
] as const satisfies readonly ChainEvent["kind"][];

/** Of a block that we do not have yet, and not of one that we had and left. */
export function isAhead(data: ChainDataStore, { position, hashPrefix }: EventId): boolean {
  if (position.block <= (data.tip()?.number ?? 0)) return false;
  return data.forkPoint(position.block, hashPrefix) === undefined;
}

/** For one that names its last event, with what it has to take back before. */
export function startOf(
  data: ChainDataStore,
  { position, hashPrefix }: EventId,
): { cursor: Position; reorg?: Buffer } {
  const known = data.eventAt(position);
  if (known !== undefined && hashPrefixOf(known.blockHash) === hashPrefix) return { cursor: position };
  // Of a branch that we followed ourselves: back to where it left the chain. Of one that we never saw: from
  // the beginning.
  return backTo(data, data.forkPoint(position.block, hashPrefix) ?? -1);
}

/** The last shown event that stands at or below a block, as cursor and as the event that says so. */
export function backTo(data: ChainDataStore, block: number): { cursor: Position; reorg: Buffer } {
  const last = block < 0 ? undefined : data.lastEventUpTo(block, SHOWN);
  const from_id = last === undefined ? null : idOf(last);
  // The id goes back too, so that a browser which reconnects now names an event that stands.
  const reorg = frameOf({ kind: "reorg", id: from_id ?? "", data: { from_id } });
  return { cursor: last?.position ?? START, reorg };
}
