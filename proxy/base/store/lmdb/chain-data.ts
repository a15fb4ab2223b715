/**
 * Chain data in LMDB: one table for an index, keys are tuples that begin with what they hold. Reads see the last
 * committed state at once; each append or rollback is one transaction, so a crash leaves whole blocks.
 */
import { ZERO_BYTES32, type Bytes32, type Field } from "../../../../shared/protocol/brands.ts";
import { mustFromHex, word } from "../../../../shared/protocol/bytes.ts";
import { nextHead } from "../../../../shared/protocol/tree.ts";
import {
  HASH_PREFIX_DIGITS,
  type ChainDataStore,
  type Execution,
  type IndexedBlock,
  type LoggedEvent,
  type Rejection,
  type StoredLeaf,
  type VoidLeaves,
} from "../chain-data.ts";
import { openChunks } from "./chain-chunks.ts";
import { openChainRoots } from "./chain-roots.ts";
import { readLeaf, readRow, storeEvent, type Key, type LeafRow, type LogRow } from "./chain-rows.ts";
import { openSubtrees } from "./chain-subtrees.ts";
import { servedIndex, type ChainTable } from "./chain-tables.ts";
import { THOUGH_FULL, type Database } from "./database.ts";

const LAST = Number.MAX_SAFE_INTEGER;
/** Beside the indexes, so that one that is built again does not hide what the old one saw. */
const REORGANISED_OUT = "executions-reorganised-out";
/** Recent blocks whose headers are kept although they hold no event: as deep as a reorganisation is followed block by block. */
const KEPT_BLOCKS = 256;
/** Of one event: its rows, and the pages of the tree on the way to each. */
const BYTES_OF_EVENT = 16 << 10;
/** Orphaned blocks are remembered this far back, for readers that come back with an id of theirs. */
const KEPT_ORPHANS = 10_000;

/** The index that is served. */
export function openChainDataStore(database: Database): ChainDataStore {
  return openChainDataStoreIn(database, servedIndex(database));
}

export function openChainDataStoreIn(database: Database, name: ChainTable): ChainDataStore {
  const table = database.table(name);
  const reorganisedOut = database.table<true, Bytes32>(REORGANISED_OUT);
  const roots = openChainRoots(table);
  const subtrees = openSubtrees(table);
  const chunks = openChunks(table);
  const get = (key: Key): unknown => table.get(key);

  const tip = (): IndexedBlock | undefined => get(["tip"]) as IndexedBlock | undefined;
  const leafCount = (): number => (get(["leaf-count"]) as number | undefined) ?? 0;

  function leaf(index: number): StoredLeaf | undefined {
    const row = get(["leaf", index]) as LeafRow | undefined;
    return row === undefined ? undefined : readLeaf(index, row);
  }

  const headAt = (count: number): Bytes32 | undefined => (count === 0 ? ZERO_BYTES32 : leaf(count - 1)?.head);

  const voids = (): VoidLeaves[] =>
    [...table.getRange({ start: ["void", -1], end: ["void", LAST] })].map(({ key, value }) => ({
      firstLeafIndex: (key as Key)[1] as number,
      leafCount: value as number,
    }));

  function mark({ firstLeafIndex, leafCount: count }: VoidLeaves, isVoid: boolean): void {
    for (let index = firstLeafIndex; index < firstLeafIndex + count; index++) {
      subtrees.forgetOver(index);
      const { v: _before, ...row } = get(["leaf", index]) as LeafRow;
      table.putSync(["leaf", index], isVoid ? { ...row, v: true } : row);
    }
  }

  function spend(statement: Bytes32, block: number, nullifiers: readonly Field[]): void {
    for (const nullifier of nullifiers) table.putSync(["nullifier", hex(nullifier)], { statement, block });
  }

  function write({ position, blockHash, txHash, event }: LoggedEvent): void {
    const { block, logIndex, part } = position;
    table.putSync(["log", block, logIndex, part], {
      h: blockHash,
      t: txHash,
      e: storeEvent(event),
    } satisfies LogRow);
    switch (event.kind) {
      case "leaf": {
        const before = headAt(event.index);
        if (before === undefined) throw new RangeError(`leaf ${event.index} comes before its predecessor`);
        table.putSync(["leaf", event.index], {
          c: word(event.commitment),
          h: mustFromHex(nextHead(before, event.commitment)),
          b: block,
          t: txHash,
          z: event.isLast,
        } satisfies LeafRow);
        table.putSync(["leaf-count"], event.index + 1);
        return;
      }
      case "nullifier":
        return;
      case "root":
        roots.writeRoot(event, position);
        return;
      case "revoked":
        roots.writeRevoked(event, position);
        return;
      case "voided":
        mark(event, true);
        table.putSync(["void", event.firstLeafIndex], event.leafCount);
        table.removeSync(["execution", event.statement]);
        for (const nullifier of event.nullifiers) table.removeSync(["nullifier", hex(nullifier)]);
        // Its ticket may be over.
        reorganisedOut.putSync(event.statement, true);
        return;
      case "executed": {
        const leafIndexes = indexesOf(event);
        table.putSync(["execution", event.statement], { txHash, block, leafIndexes } satisfies Execution);
        spend(event.statement, block, event.nullifiers);
        return;
      }
      case "rejected":
        table.putSync(["rejection", event.statement], {
          txHash,
          block,
          reason: event.reason,
        } satisfies Rejection);
        return;
    }
  }

  function erase({ position, event }: LoggedEvent): void {
    table.removeSync(["log", position.block, position.logIndex, position.part]);
    switch (event.kind) {
      case "leaf":
        table.removeSync(["leaf", event.index]);
        table.putSync(["leaf-count"], event.index);
        subtrees.forgetOver(event.index);
        return;
      case "nullifier":
        return;
      case "root":
        roots.eraseRoot(event, position);
        return;
      case "revoked":
        roots.eraseRevoked(event, position);
        return;
      case "voided": {
        mark(event, false);
        table.removeSync(["void", event.firstLeafIndex]);
        const made = leaf(event.firstLeafIndex)!;
        table.putSync(["execution", event.statement], {
          ...{ txHash: made.txHash, block: made.block, leafIndexes: indexesOf(event) },
        } satisfies Execution);
        spend(event.statement, made.block, event.nullifiers);
        return;
      }
      case "executed":
        reorganisedOut.putSync(event.statement, true);
        table.removeSync(["execution", event.statement]);
        for (const nullifier of event.nullifiers) table.removeSync(["nullifier", hex(nullifier)]);
        return;
      case "rejected":
        table.removeSync(["rejection", event.statement]);
        return;
    }
  }

  return {
    tip,
    blockAtOrBelow(number) {
      for (const { value } of table.getRange({
        start: ["block", number],
        end: ["block", -1],
        reverse: true,
        limit: 1,
      })) {
        return value as IndexedBlock;
      }
      return undefined;
    },

    async append(blocks, events) {
      const last = blocks.at(-1);
      if (last === undefined) return;
      const demand = { bytes: events.length * BYTES_OF_EVENT, thoughFull: true };
      await database.transaction(() => {
        for (const block of blocks) table.putSync(["block", block.number], block);
        for (const event of events) write(event);
        table.putSync(["tip"], last);
        const oldest = last.number - KEPT_BLOCKS;
        // A header with events is the answer to "is this id canonical", so it stays.
        for (const key of keys(["block", -1], ["block", oldest], 4 * KEPT_BLOCKS)) {
          const number = key[1] as number;
          if (!hasKey(["log", number, -1, -1], ["log", number, LAST, LAST])) table.removeSync(key);
        }
        for (const key of keys(["orphan", -1], ["orphan", last.number - KEPT_ORPHANS], KEPT_BLOCKS))
          table.removeSync(key);
      }, demand);
    },

    async rollbackTo(number) {
      return database.transaction(() => {
        const doomed = [
          ...table.getRange({
            start: ["log", LAST, LAST, LAST],
            end: ["log", number, LAST, LAST],
            reverse: true,
          }),
        ].map(({ key, value }) => readRow(key as Key, value as LogRow));
        for (const event of doomed) erase(event);
        chunks.removeAbove(number);
        const restored = doomed.flatMap(({ event }) => (event.kind === "voided" ? indexesOf(event) : []));
        for (const { key, value } of [
          ...table.getRange({ start: ["block", number + 1], end: ["block", LAST] }),
        ]) {
          const block = value as IndexedBlock;
          // A branch may leave an earlier fork's stump: the lowest point is where a reader has to go back to.
          const orphan: Key = ["orphan", block.number, prefixOf(block.hash)];
          const known = get(orphan) as number | undefined;
          table.putSync(orphan, Math.min(known ?? number, number));
          table.removeSync(key);
        }
        for (const { key, value } of [
          ...table.getRange({ start: ["orphan", number + 1], end: ["orphan", LAST] }),
        ]) {
          if ((value as number) > number) table.putSync(key, number);
        }
        const newTip = this.blockAtOrBelow(number);
        if (newTip === undefined) table.removeSync(["tip"]);
        else table.putSync(["tip"], newTip);
        const left = leafCount();
        return restored.filter((index) => index < left);
      }, THOUGH_FULL);
    },

    reorganisedOut: () => [...reorganisedOut.getKeys()],
    async forgetReorganisedOut(statements) {
      await database.transaction(() => {
        for (const statement of statements) reorganisedOut.removeSync(statement);
      }, THOUGH_FULL);
    },

    async clear() {
      await database.transaction(() => {
        for (const key of [...table.getKeys()]) table.removeSync(key);
      });
    },

    eventsAfter(position, limit) {
      const start: Key =
        position === undefined ? ["log", -1] : ["log", position.block, position.logIndex, position.part + 1];
      return [...table.getRange({ start, end: ["log", LAST, LAST, LAST], limit })].map(({ key, value }) =>
        readRow(key as Key, value as LogRow),
      );
    },

    eventAt({ block, logIndex, part }) {
      const key: Key = ["log", block, logIndex, part];
      const row = get(key) as LogRow | undefined;
      return row === undefined ? undefined : readRow(key, row);
    },

    lastEventUpTo(block, kinds) {
      for (const { key, value } of table.getRange({
        start: ["log", block, LAST, LAST],
        end: ["log", -1],
        reverse: true,
      })) {
        const row = value as LogRow;
        if (kinds.includes(row.e.k)) return readRow(key as Key, row);
      }
      return undefined;
    },

    forkPoint: (block, hashPrefix) => get(["orphan", block, hashPrefix]) as number | undefined,

    leafCount,
    leaf,
    leaves: (from, to) =>
      [...table.getRange({ start: ["leaf", from], end: ["leaf", to] })].map(({ key, value }) =>
        readLeaf((key as Key)[1] as number, value as LeafRow),
      ),
    headAt,
    subtree: subtrees.find,
    async keepSubtrees(kept) {
      const bytes = kept.reduce((sum, { nodes }) => sum + 2 * nodes.length, 0);
      await database.transaction(() => kept.forEach(subtrees.write), { bytes });
    },
    chunks: chunks.entries,
    chunk: chunks.find,
    async keepChunk(chunk, entry) {
      const { number, end } = entry;
      const keep = (): boolean => {
        const ended = get(["log", end.position.block, end.position.logIndex, end.position.part]) as
          LogRow | undefined;
        const isKept = (place: number): boolean => get(["chunk-entry", place]) !== undefined;
        const isNext = !isKept(number) && (number === 0 || isKept(number - 1));
        if (!isNext || ended?.h !== end.blockHash) return false;
        chunks.write(chunk, entry);
        return true;
      };
      return database.transaction(keep, { bytes: 2 * chunk.length });
    },
    async dropChunks(number) {
      await database.transaction(() => chunks.removeFrom(number), THOUGH_FULL);
    },
    spender: (nullifier) =>
      get(["nullifier", hex(nullifier)]) as { statement: Bytes32; block: number } | undefined,
    execution: (statement) => get(["execution", statement]) as Execution | undefined,
    rejection: (statement) => get(["rejection", statement]) as Rejection | undefined,
    madeAt(firstLeafIndex) {
      const block = leaf(firstLeafIndex)?.block;
      if (block === undefined) return undefined;
      for (const { key, value } of table.getRange({ start: ["log", block], end: ["log", block + 1] })) {
        const { event } = readRow(key as Key, value as LogRow);
        if (event.kind === "executed" && event.firstLeafIndex === firstLeafIndex) return event;
      }
      return undefined;
    },
    voids,
    currentRoot: () => (tip() === undefined ? undefined : roots.current()),
    root: (value) => (tip() === undefined ? undefined : roots.find(value)),
    awaitsAdvance() {
      const rooted = roots.current()?.leafCount ?? 0;
      return (
        roots.isRevokedBack() || voids().some((range) => rooted < range.firstLeafIndex + range.leafCount)
      );
    },
  };

  function keys(start: Key, end: Key, limit: number): Key[] {
    return [...table.getKeys({ start, end, limit })] as Key[];
  }
  function hasKey(start: Key, end: Key): boolean {
    return keys(start, end, 1).length > 0;
  }
}

function prefixOf(hash: string): string {
  return hash.slice(2, 2 + HASH_PREFIX_DIGITS);
}

function indexesOf({ firstLeafIndex, leafCount }: VoidLeaves): number[] {
  return Array.from({ length: leafCount }, (_, i) => firstLeafIndex + i);
}

function hex(value: Field): string {
  return value.toString(16);
}
