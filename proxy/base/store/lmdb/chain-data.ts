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
  type ChainEvent,
  type Execution,
  type IndexedBlock,
  type LoggedEvent,
  type Rejection,
  type StoredLeaf,
  type VoidLeaves,
  type ChunkEntry,
  type Position,
  type Subtree,
} from "../chain-data.ts";
import { openChunks } from "./chain-chunks.ts";
import { ChainRoots } from "./chain-roots.ts";
import { readLeaf, readRow, storeEvent, type Key, type LeafRow, type LogRow } from "./chain-rows.ts";
import { openSubtrees } from "./chain-subtrees.ts";
import { servedIndex, type ChainTable } from "./chain-tables.ts";
import { THOUGH_FULL, type Database, type Table } from "./database.ts";

type Made = Extract<ChainEvent, { kind: "executed" }>;

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

class LmdbChainData implements ChainDataStore {
  readonly #database: Database;
  readonly #table: Table<unknown>;
  readonly #reorganisedOut: Table<true, Bytes32>;
  readonly #roots: ChainRoots;
  readonly #subtrees: ReturnType<typeof openSubtrees>;
  readonly #chunks: ReturnType<typeof openChunks>;

  constructor(database: Database, name: ChainTable) {
    this.#database = database;
    this.#table = database.table(name);
    this.#reorganisedOut = database.table<true, Bytes32>(REORGANISED_OUT);
    this.#roots = new ChainRoots(this.#table);
    this.#subtrees = openSubtrees(this.#table);
    this.#chunks = openChunks(this.#table);
  }

  tip(): IndexedBlock | undefined {
    return this.#get(["tip"]) as IndexedBlock | undefined;
  }

  blockAtOrBelow(number: number) {
    for (const { value } of this.#table.getRange({
      start: ["block", number],
      end: ["block", -1],
      reverse: true,
      limit: 1,
    })) {
      return value as IndexedBlock;
    }
    return undefined;
  }

  async append(blocks: readonly IndexedBlock[], events: readonly LoggedEvent[]) {
    const last = blocks.at(-1);
    if (last === undefined) return;
    const demand = { bytes: events.length * BYTES_OF_EVENT, thoughFull: true };
    await this.#database.transaction(() => {
      for (const block of blocks) this.#table.putSync(["block", block.number], block);
      for (const event of events) this.#write(event);
      this.#table.putSync(["tip"], last);
      const oldest = last.number - KEPT_BLOCKS;
      // A header with events is the answer to "is this id canonical", so it stays.
      for (const key of this.#keys(["block", -1], ["block", oldest], 4 * KEPT_BLOCKS)) {
        const number = key[1] as number;
        if (!this.#hasKey(["log", number, -1, -1], ["log", number, LAST, LAST])) this.#table.removeSync(key);
      }
      for (const key of this.#keys(["orphan", -1], ["orphan", last.number - KEPT_ORPHANS], KEPT_BLOCKS))
        this.#table.removeSync(key);
    }, demand);
  }

  async rollbackTo(number: number) {
    return this.#database.transaction(() => {
      const doomed = [
        ...this.#table.getRange({
          start: ["log", LAST, LAST, LAST],
          end: ["log", number, LAST, LAST],
          reverse: true,
        }),
      ].map(({ key, value }) => readRow(key as Key, value as LogRow));
      for (const event of doomed) this.#erase(event);
      this.#chunks.removeAbove(number);
      const restored = doomed.flatMap(({ event }) => (event.kind === "voided" ? indexesOf(event) : []));
      for (const { key, value } of [
        ...this.#table.getRange({ start: ["block", number + 1], end: ["block", LAST] }),
      ]) {
        const block = value as IndexedBlock;
        // A branch may leave an earlier fork's stump: the lowest point is where a reader has to go back to.
        const orphan: Key = ["orphan", block.number, prefixOf(block.hash)];
        const known = this.#get(orphan) as number | undefined;
        this.#table.putSync(orphan, Math.min(known ?? number, number));
        this.#table.removeSync(key);
      }
      for (const { key, value } of [
        ...this.#table.getRange({ start: ["orphan", number + 1], end: ["orphan", LAST] }),
      ]) {
        if ((value as number) > number) this.#table.putSync(key, number);
      }
      const newTip = this.blockAtOrBelow(number);
      if (newTip === undefined) this.#table.removeSync(["tip"]);
      else this.#table.putSync(["tip"], newTip);
      const left = this.leafCount();
      return restored.filter((index) => index < left);
    }, THOUGH_FULL);
  }

  reorganisedOut() {
    return [...this.#reorganisedOut.getKeys()];
  }

  async forgetReorganisedOut(statements: readonly Bytes32[]) {
    await this.#database.transaction(() => {
      for (const statement of statements) this.#reorganisedOut.removeSync(statement);
    }, THOUGH_FULL);
  }

  async clear() {
    await this.#database.transaction(() => {
      for (const key of [...this.#table.getKeys()]) this.#table.removeSync(key);
    });
  }

  eventsAfter(position: Position | undefined, limit: number) {
    const start: Key =
      position === undefined ? ["log", -1] : ["log", position.block, position.logIndex, position.part + 1];
    return [...this.#table.getRange({ start, end: ["log", LAST, LAST, LAST], limit })].map(({ key, value }) =>
      readRow(key as Key, value as LogRow),
    );
  }

  eventAt({ block, logIndex, part }: Position) {
    const key: Key = ["log", block, logIndex, part];
    const row = this.#get(key) as LogRow | undefined;
    return row === undefined ? undefined : readRow(key, row);
  }

  lastEventUpTo(
    block: number,
    kinds: readonly ("leaf" | "nullifier" | "root" | "voided" | "revoked" | "executed" | "rejected")[],
  ) {
    for (const { key, value } of this.#table.getRange({
      start: ["log", block, LAST, LAST],
      end: ["log", -1],
      reverse: true,
    })) {
      const row = value as LogRow;
      if (kinds.includes(row.e.k)) return readRow(key as Key, row);
    }
    return undefined;
  }

  forkPoint(block: number, hashPrefix: string) {
    return this.#get(["orphan", block, hashPrefix]) as number | undefined;
  }

  leafCount(): number {
    return (this.#get(["leaf-count"]) as number | undefined) ?? 0;
  }

  leaf(index: number): StoredLeaf | undefined {
    const row = this.#get(["leaf", index]) as LeafRow | undefined;
    return row === undefined ? undefined : readLeaf(index, row);
  }

  leaves(from: number, to: number) {
    return [...this.#table.getRange({ start: ["leaf", from], end: ["leaf", to] })].map(({ key, value }) =>
      readLeaf((key as Key)[1] as number, value as LeafRow),
    );
  }

  headAt(count: number): Bytes32 | undefined {
    return count === 0 ? ZERO_BYTES32 : this.leaf(count - 1)?.head;
  }

  subtree(place: number) {
    return this.#subtrees.find(place);
  }

  async keepSubtrees(kept: readonly Subtree[]) {
    const bytes = kept.reduce((sum, { nodes }) => sum + 2 * nodes.length, 0);
    await this.#database.transaction(() => kept.forEach((one) => this.#subtrees.write(one)), { bytes });
  }

  chunks() {
    return this.#chunks.entries();
  }

  chunk(number: number) {
    return this.#chunks.find(number);
  }

  async keepChunk(chunk: Uint8Array, entry: ChunkEntry) {
    const { number, end } = entry;
    const keep = (): boolean => {
      const ended = this.#get(["log", end.position.block, end.position.logIndex, end.position.part]) as
        LogRow | undefined;
      const isKept = (place: number): boolean => this.#get(["chunk-entry", place]) !== undefined;
      const isNext = !isKept(number) && (number === 0 || isKept(number - 1));
      if (!isNext || ended?.h !== end.blockHash) return false;
      this.#chunks.write(chunk, entry);
      return true;
    };
    return this.#database.transaction(keep, { bytes: 2 * chunk.length });
  }

  async dropChunks(number: number) {
    await this.#database.transaction(() => this.#chunks.removeFrom(number), THOUGH_FULL);
  }

  spender(nullifier: Field) {
    return this.#get(["nullifier", hex(nullifier)]) as { statement: Bytes32; block: number } | undefined;
  }

  execution(statement: Bytes32) {
    return this.#get(["execution", statement]) as Execution | undefined;
  }

  hasComeAgain(statement: Bytes32) {
    const confirmation = this.#get(["confirmation", statement]) as Bytes32 | undefined;
    const first = confirmation && this.execution(confirmation)?.leafIndexes[0];
    return first !== undefined && this.leaf(first)?.isVoid === false;
  }

  rejection(statement: Bytes32) {
    return this.#get(["rejection", statement]) as Rejection | undefined;
  }

  madeAt(firstLeafIndex: number) {
    for (const event of this.#eventsAround(firstLeafIndex))
      if (event.kind === "executed" && event.firstLeafIndex === firstLeafIndex) return event;
    return undefined;
  }

  announced(leafIndex: number) {
    for (const event of this.#eventsAround(leafIndex))
      if (event.kind === "leaf" && event.index === leafIndex) return event;
    return undefined;
  }

  /** Of the block of that leaf. */
  *#eventsAround(leafIndex: number): Generator<ChainEvent> {
    const block = this.leaf(leafIndex)?.block;
    if (block === undefined) return;
    for (const { key, value } of this.#table.getRange({ start: ["log", block], end: ["log", block + 1] }))
      yield readRow(key as Key, value as LogRow).event;
  }

  voids(): VoidLeaves[] {
    const all = new Map<number, number>();
    for (const set of ["suspended", "void"])
      for (const { key, value } of this.#table.getRange({ start: [set, -1], end: [set, LAST] }))
        all.set((key as Key)[1] as number, value as number);
    return [...all]
      .map(([firstLeafIndex, leafCount]) => ({ firstLeafIndex, leafCount }))
      .sort((a, b) => a.firstLeafIndex - b.firstLeafIndex);
  }

  currentRoot() {
    return this.tip() === undefined ? undefined : this.#roots.current();
  }

  root(value: Field) {
    return this.tip() === undefined ? undefined : this.#roots.find(value);
  }

  awaitsAdvance() {
    const rooted = this.#roots.current()?.leafCount ?? 0;
    return (
      this.#roots.hasDoubtful() ||
      this.voids().some((range) => rooted < range.firstLeafIndex + range.leafCount)
    );
  }

  #get(key: Key): unknown {
    return this.#table.get(key);
  }

  #mark({ firstLeafIndex, leafCount: count }: VoidLeaves, isVoid: boolean): void {
    for (let index = firstLeafIndex; index < firstLeafIndex + count; index++) {
      this.#subtrees.forgetOver(index);
      const { v: _before, ...row } = this.#get(["leaf", index]) as LeafRow;
      this.#table.putSync(["leaf", index], isVoid ? { ...row, v: true } : row);
    }
  }

  /** The nullifiers of one that comes again stay the earlier one's, however often it does. */
  #execute({ statement, nullifiers, confirms }: Made, execution: Execution): void {
    this.#table.putSync(["execution", statement], execution);
    if (confirms !== undefined) this.#table.putSync(["confirmation", confirms], statement);
    else
      for (const nullifier of nullifiers)
        this.#table.putSync(["nullifier", hex(nullifier)], { statement, block: execution.block });
  }

  #undo({ statement, nullifiers, confirms }: Made): void {
    this.#table.removeSync(["execution", statement]);
    if (confirms !== undefined) this.#table.removeSync(["confirmation", confirms]);
    else for (const nullifier of nullifiers) this.#table.removeSync(["nullifier", hex(nullifier)]);
  }

  #write({ position, blockHash, txHash, event }: LoggedEvent): void {
    const { block, logIndex, part } = position;
    this.#table.putSync(["log", block, logIndex, part], {
      h: blockHash,
      t: txHash,
      e: storeEvent(event),
    } satisfies LogRow);
    switch (event.kind) {
      case "leaf": {
        const before = this.headAt(event.index);
        if (before === undefined) throw new RangeError(`leaf ${event.index} comes before its predecessor`);
        this.#table.putSync(["leaf", event.index], {
          c: word(event.commitment),
          h: mustFromHex(nextHead(before, event.commitment)),
          b: block,
          t: txHash,
          z: event.isLast,
        } satisfies LeafRow);
        this.#table.putSync(["leaf-count"], event.index + 1);
        return;
      }
      case "nullifier":
        return;
      case "root":
        this.#roots.writeRoot(event, position);
        return;
      case "revoked":
        this.#roots.writeRevoked(event, position, this.leafCount());
        return;
      case "voided":
        this.#mark(event, true);
        if (event.isSuspension === true) {
          // It was executed, and its ticket says so: what it moved has moved.
          this.#table.putSync(["suspended", event.firstLeafIndex], event.leafCount);
          return;
        }
        this.#table.putSync(["void", event.firstLeafIndex], event.leafCount);
        this.#undo(this.madeAt(event.firstLeafIndex)!);
        // Its ticket may be over.
        this.#reorganisedOut.putSync(event.statement, true);
        return;
      case "executed": {
        this.#execute(event, { txHash, block, leafIndexes: indexesOf(event) });
        return;
      }
      case "rejected":
        this.#table.putSync(["rejection", event.statement], {
          txHash,
          block,
          reason: event.reason,
        } satisfies Rejection);
        return;
    }
  }

  #erase({ position, event }: LoggedEvent): void {
    this.#table.removeSync(["log", position.block, position.logIndex, position.part]);
    switch (event.kind) {
      case "leaf":
        this.#table.removeSync(["leaf", event.index]);
        this.#table.putSync(["leaf-count"], event.index);
        this.#subtrees.forgetOver(event.index);
        return;
      case "nullifier":
        return;
      case "root":
        this.#roots.eraseRoot(event, position);
        return;
      case "revoked":
        this.#roots.eraseRevoked(event, position);
        return;
      case "voided": {
        this.#table.removeSync([event.isSuspension === true ? "suspended" : "void", event.firstLeafIndex]);
        // It may have been suspended before it was refuted.
        this.#mark(event, this.#get(["suspended", event.firstLeafIndex]) !== undefined);
        if (event.isSuspension === true) return;
        const { txHash, block } = this.leaf(event.firstLeafIndex)!;
        this.#execute(this.madeAt(event.firstLeafIndex)!, { txHash, block, leafIndexes: indexesOf(event) });
        return;
      }
      case "executed":
        this.#reorganisedOut.putSync(event.statement, true);
        this.#undo(event);
        return;
      case "rejected":
        this.#table.removeSync(["rejection", event.statement]);
        return;
    }
  }

  #keys(start: Key, end: Key, limit: number): Key[] {
    return [...this.#table.getKeys({ start, end, limit })] as Key[];
  }

  #hasKey(start: Key, end: Key): boolean {
    return this.#keys(start, end, 1).length > 0;
  }
}

export function openChainDataStoreIn(database: Database, name: ChainTable): ChainDataStore {
  return new LmdbChainData(database, name);
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
