/**
 * Chain data in LMDB: one table for an index, keys are tuples that begin with what they hold. Reads see the last
 * committed state at once; each append or rollback is one transaction, so a crash leaves whole blocks.
 */
import { ZERO_BYTES32, type Bytes32, type Field } from "../../../shared/protocol/brands.ts";
import { mustFromHex, word } from "../../../shared/protocol/bytes.ts";
import { emptyNode, nextHead, TREE_DEPTH } from "../../../shared/protocol/tree.ts";
import {
  HASH_PREFIX_DIGITS,
  type ChainDataStore,
  type Execution,
  type IndexedBlock,
  type LoggedEvent,
  type Rejection,
  type StoredLeaf,
  type StoredRoot,
} from "../chain-data.ts";
import {
  field,
  readLeaf,
  readRow,
  storeEvent,
  type Key,
  type LeafRow,
  type LogRow,
  type RootRow,
} from "./chain-rows.ts";
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

const EMPTY_ROOT: StoredRoot = { root: emptyNode(TREE_DEPTH), leafCount: 0, sequence: 0, block: 0 };

/** The index that is served. */
export function openChainDataStore(database: Database): ChainDataStore {
  return openChainDataStoreIn(database, servedIndex(database));
}

export function openChainDataStoreIn(database: Database, name: ChainTable): ChainDataStore {
  const table = database.table(name);
  const reorganisedOut = database.table<true, Bytes32>(REORGANISED_OUT);
  const get = (key: Key): unknown => table.get(key);

  const tip = (): IndexedBlock | undefined => get(["tip"]) as IndexedBlock | undefined;
  const leafCount = (): number => (get(["leaf-count"]) as number | undefined) ?? 0;

  function leaf(index: number): StoredLeaf | undefined {
    const row = get(["leaf", index]) as LeafRow | undefined;
    return row === undefined ? undefined : readLeaf(index, row);
  }

  const headAt = (count: number): Bytes32 | undefined => (count === 0 ? ZERO_BYTES32 : leaf(count - 1)?.head);

  function root(sequence: number): StoredRoot | undefined {
    // The pool begins with the empty tree's root and says so in no event.
    if (sequence === 0) return EMPTY_ROOT;
    const row = get(["root", sequence]) as RootRow | undefined;
    return row === undefined ? undefined : { root: field(row.r), leafCount: row.l, sequence, block: row.b };
  }

  /** The pool is born with it, whether or not its creation said so in an event. */
  function emptyRoot(): StoredRoot | undefined {
    return tip() === undefined ? undefined : EMPTY_ROOT;
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
        table.putSync(["root", event.sequence], {
          r: word(event.root),
          l: event.leafCount,
          b: block,
        } satisfies RootRow);
        table.putSync(["root-sequence", hex(event.root)], event.sequence);
        table.putSync(["current-root"], event.sequence);
        return;
      case "executed": {
        const leafIndexes = Array.from({ length: event.leafCount }, (_, i) => event.firstLeafIndex + i);
        table.putSync(["execution", event.statement], { txHash, block, leafIndexes } satisfies Execution);
        for (const nullifier of event.nullifiers) {
          table.putSync(["nullifier", hex(nullifier)], { statement: event.statement, block });
        }
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
        return;
      case "nullifier":
        return;
      case "root":
        table.removeSync(["root", event.sequence]);
        table.removeSync(["root-sequence", hex(event.root)]);
        if (event.sequence === 0) table.removeSync(["current-root"]);
        else table.putSync(["current-root"], event.sequence - 1);
        return;
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
      await database.transaction(() => {
        const doomed = [
          ...table.getRange({
            start: ["log", LAST, LAST, LAST],
            end: ["log", number, LAST, LAST],
            reverse: true,
          }),
        ].map(({ key, value }) => readRow(key as Key, value as LogRow));
        for (const event of doomed) erase(event);
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
    spender: (nullifier) =>
      get(["nullifier", hex(nullifier)]) as { statement: Bytes32; block: number } | undefined,
    execution: (statement) => get(["execution", statement]) as Execution | undefined,
    rejection: (statement) => get(["rejection", statement]) as Rejection | undefined,
    currentRoot() {
      const sequence = get(["current-root"]) as number | undefined;
      return sequence === undefined ? emptyRoot() : root(sequence);
    },
    root(value) {
      const sequence = get(["root-sequence", hex(value)]) as number | undefined;
      if (sequence !== undefined) return root(sequence);
      const empty = emptyRoot();
      return empty?.root === value ? empty : undefined;
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

function hex(value: Field): string {
  return value.toString(16);
}
