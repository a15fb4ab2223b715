/** Ids of stream events: the chain's own position, the same on every proxy and after a rebuild. */
import { EVENT_ID } from "../../../shared/api/data.ts";
import { asBytes32 } from "../../../shared/protocol/host/text.ts";
import { HASH_PREFIX_DIGITS, type LoggedEvent, type Position } from "../../base/store/chain-data.ts";

export interface EventId {
  readonly position: Position;
  readonly hashPrefix: string;
}

export function hashPrefixOf(blockHash: string): string {
  if (asBytes32(blockHash) === undefined) throw new TypeError("not a block hash");
  return blockHash.slice(2, 2 + HASH_PREFIX_DIGITS);
}

/** Before every event. */
export const START: Position = { block: -1, logIndex: 0, part: 0 };

/** After every event of a block, before those of the next. */
export function endOfBlock(block: number): Position {
  return { block, logIndex: Number.MAX_SAFE_INTEGER, part: 0 };
}

/** Below zero when `a` comes first. */
export function comparePositions(a: Position, b: Position): number {
  return a.block - b.block || a.logIndex - b.logIndex || a.part - b.part;
}

/** `block-hash-log.part` */
export function idOf({ position, blockHash }: Pick<LoggedEvent, "position" | "blockHash">): string {
  const { block, logIndex, part } = position;
  return `${block}-${hashPrefixOf(blockHash)}-${logIndex}.${part}`;
}

/** Undefined for a text that no stream of ours ever sent. */
export function parseId(untrusted: string): EventId | undefined {
  const [, block, hashPrefix, logIndex, part] = EVENT_ID.exec(untrusted) ?? [];
  if (block === undefined || hashPrefix === undefined || logIndex === undefined || part === undefined)
    return undefined;
  return { position: { block: Number(block), logIndex: Number(logIndex), part: Number(part) }, hashPrefix };
}
