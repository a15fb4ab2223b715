/**
 * The pool's history from chain nodes, as the stream of events that a wallet reads: what the service tells, without the
 * service. Of a node nothing is believed that can be computed: leaves must give the head of the pool's queue, and its
 * root. What does not is taken back at once, down to where the pool agreed last, and asked for again: a node may have left
 * out a log, or be behind another. Only what does not fit time and again is thrown.
 */
import type { StreamEvent } from "../../api/data.ts";
import { mustField, ZERO_BYTES32, type Bytes32, type Field } from "../../protocol/brands.ts";
import { toHex, word } from "../../protocol/bytes.ts";
import { KINDS, type Home, type Kind } from "../../protocol/statements.ts";
import { nextHead } from "../../protocol/tree.ts";
import { makerOf, makersOf, type Made } from "../../notes/advance.ts";
import type { NoteTree } from "../../notes/merkle.ts";
import { delay } from "../base/aborting.ts";
import { hasCode } from "../base/errors.ts";
import { EXECUTED_TOPIC, readExecuted, type Executed } from "../../protocol/host/executed-log.ts";
import { pauseAfter } from "./asking-again.ts";
import {
  doubted,
  Elsewhere,
  type Block,
  type Counted,
  type Finality,
  type Nodes,
  type PoolLog,
} from "./nodes.ts";
import {
  LEAVES_SUSPENDED,
  LEAVES_VOIDED,
  readEntry,
  ROOTS_REVOKED,
  type Credited,
  type NoteHashed,
  type PoolEntry,
} from "./pool-log.ts";
import type { Emptied } from "../state/state.ts";
import { PoolView } from "./pool-view.ts";
import { LEFT_OUT } from "./roots.ts";

export interface HistoryOptions {
  readonly nodes: Nodes;
  readonly home: Home;
  /** At or before the pool's first block. */
  readonly fromBlock: number;
  readonly finality: Finality;
  readonly pollMs: number;
  /** How old the newest block may be, in seconds; an older one is a node that stands still. */
  readonly maxAgeSecs: number;
  /** Unix seconds. */
  readonly now: () => number;
  /** Of the circuits that this wallet proves by. */
  readonly keyHashes: Readonly<Partial<Record<Kind, string>>>;
  readonly onProgress?: ((at: HistoryProgress) => void) | undefined;
}

export interface HistoryProgress {
  readonly block: number;
  readonly target: number;
  readonly leafCount: number;
}

export interface ReadOptions {
  /** Resume after this event. */
  readonly from?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** What the reader has made of the leaves so far. */
  readonly known: () => NoteTree;
}

/** An event before it has its id. */
type Told = Omit<Extract<StreamEvent, { kind: "leaf" | "nullifier" | "root" }>, "id">;

/** A leaf as the pool's log has it. */
interface Leaf {
  readonly index: number;
  readonly commitment: Field;
  readonly ephemeralKey: string;
  readonly output: number;
  readonly ciphertext: string;
  readonly source: Extract<StreamEvent, { kind: "leaf" }>["data"]["source"];
}

/** How far the history is told. */
interface Position {
  /** Of the last event; undefined: the beginning. */
  readonly id: string | undefined;
  readonly leafCount: number;
  /** Of the pool's queue. */
  readonly head: Bytes32;
  /** The newest; undefined where it was told before this history began. */
  readonly root: Field | undefined;
}

/** No pool has that root. */
const BEGINNING: Position = { id: undefined, leafCount: 0, head: ZERO_BYTES32, root: mustField(0n) };

const SOURCES = {
  "deposit-shield": "deposit",
  spend: "spend",
  spend9: "spend",
  "private-swap": "swap",
} as const;
const EMPTY_LEAF = toHex(word(0n));

export class History {
  readonly #options: HistoryOptions;
  /** Commitments as they were queued, of leaves that are empty in the tree. */
  readonly voids = new Map<number, Field>();
  #voidRanges: Extract<PoolEntry, { type: "voided" | "suspended" }>[] = [];
  /** Statements by their first leaf. Of leaves before `#madeFrom` none is known. */
  readonly #made = new Map<number, Made>();
  #madeFrom = 0;
  #revoked: { readonly first: number; readonly last: number }[] = [];
  #at = BEGINNING;
  /** Where the pool's own answers agreed last. */
  #agreed = BEGINNING;
  #owed: { readonly executed: Executed; readonly txHash: Bytes32 } | undefined;
  #synced: Block | undefined;

  constructor(options: HistoryOptions) {
    this.#options = options;
  }

  /** The block up to which everything was read and found right. Throws CHAIN_DOUBTED before there is one. */
  get synced(): Block {
    if (this.#synced === undefined) throw doubted("nothing was read yet");
    return this.#synced;
  }

  /** Head of the queue over the first leaves. */
  headOver(tree: NoteTree, leafCount: number): Bytes32 {
    let head = ZERO_BYTES32;
    for (let index = 0; index < leafCount; index++) head = nextHead(head, this.queued(tree, index));
    return head;
  }

  /** What became empty, by first leaf: see `WalletState.markEmptied`. */
  *emptied(): Generator<readonly [number, Emptied]> {
    // Those that are suspended first: what is refuted as well is refuted.
    for (const type of ["suspended", "voided"])
      for (const range of this.#voidRanges) {
        const commitment = this.voids.get(range.first);
        if (range.type === type && commitment !== undefined)
          yield [range.first, { commitment, isSuspended: type === "suspended" }];
      }
  }

  /** Who made leaves, as `advance` takes it: see `makersOf`. */
  async makers(from: number, to: number, signal?: AbortSignal): Promise<Bytes32[]> {
    const { nodes, home, fromBlock } = this.#options;
    if (from < this.#madeFrom) {
      const topics = [EXECUTED_TOPIC];
      for await (const { logs } of nodes.logs(home.pool, fromBlock, this.synced.number, { topics, signal }))
        for (const log of logs) {
          const executed = readExecuted(log);
          if (executed === undefined) throw doubted("a log that was not asked for");
          this.#made.set(executed.firstLeafIndex, madeBy(executed));
        }
      this.#madeFrom = 0;
    }
    return makersOf(
      { from, to },
      (leaf) => this.#isVoid(leaf),
      (first) => this.#made.get(first),
    );
  }

  /** A leaf as it was queued. */
  queued(tree: NoteTree, index: number): Field {
    return this.voids.get(index) ?? tree.leaf(index)!;
  }

  /**
   * Never ends by itself: after `synced` it waits for more blocks. Throws CHAIN_DOUBTED and NODE_UNREACHABLE, and what it
   * told until then fits.
   */
  async *events(options: ReadOptions): AsyncGenerator<StreamEvent, void, undefined> {
    let { from } = options;
    for (let failures = 0; ; failures++) {
      try {
        for await (const event of this.#follow({ ...options, from })) {
          if (event.kind === "synced") failures = 0;
          from = event.kind === "reorg" ? (event.data.from_id ?? undefined) : (event.id ?? from);
          yield event;
        }
      } catch (error) {
        await pauseAfter(error, failures, this.#options.pollMs, options.signal);
      }
    }
  }

  async *#follow({ from, signal, known }: ReadOptions): AsyncGenerator<StreamEvent, void, undefined> {
    const { nodes, finality, pollMs } = this.#options;
    let target = await nodes.newest(finality, signal);
    this.#requireRecent(target);
    let next = await this.#resume(from, target, known, signal);
    await this.#requireCircuits(target, signal);
    const { leafCount } = await new PoolView(nodes, this.#options.home, target.number, signal).queue();
    yield this.#ready(target, leafCount);

    for (;;) {
      if (next === undefined) {
        yield reorganised(undefined);
        await this.#begin(target, signal);
        next = this.#options.fromBlock;
      }
      const goesOn: boolean = yield* this.#read(next, target, known, signal);
      if (!goesOn) {
        next = undefined;
        target = await nodes.newest(finality, signal);
        continue;
      }
      yield synced(target, this.#at.leafCount);
      const last: Block = target;
      // One node of a provider's may be a little behind another: what is older than what was read is passed over.
      while (target.number < last.number || target.hash === last.hash) {
        await delay(pollMs, signal);
        target = await nodes.newest(finality, signal);
      }
      const isSame: boolean = (await nodes.block(last.number, signal)).hash === last.hash;
      next = isSame ? last.number + 1 : undefined;
    }
  }

  #ready({ number }: Block, leafCount: number): StreamEvent {
    const { chainId, pool } = this.#options.home;
    const data = { chain_id: Number(chainId), pool, block_number: number, leaf_count: leafCount };
    return { kind: "ready", id: undefined, data };
  }

  #requireRecent({ headTime }: Counted): void {
    const age = this.#options.now() - headTime;
    if (age > this.#options.maxAgeSecs)
      throw doubted(`its newest block is ${age} s old: it lags, or stands still`);
  }

  async #requireCircuits({ number }: Block, signal: AbortSignal | undefined): Promise<void> {
    const { nodes, home, keyHashes } = this.#options;
    const view = new PoolView(nodes, home, number, signal);
    for (const [kind, expected] of Object.entries(keyHashes)) {
      if ((await view.verifyingKeyHash(kind as Kind)) !== expected.toLowerCase())
        throw new Elsewhere(`the pool at ${home.pool} verifies ${kind} by another key`);
    }
  }

  /** The first block to read; undefined to begin anew. */
  async #resume(
    from: string | undefined,
    target: Block,
    known: () => NoteTree,
    signal: AbortSignal | undefined,
  ): Promise<number | undefined> {
    const [, digits, prefix] = /^([0-9]{1,15})-([0-9a-f]{8})-/.exec(from ?? "") ?? [];
    if (digits === undefined || prefix === undefined) return undefined;
    const block = Number(digits);
    if (block > target.number)
      throw doubted(
        `its newest block that counts, ${target.number}, is older than block ${block}, which was read before`,
      );
    const found = await this.#options.nodes.block(block, signal);
    if (!found.hash.startsWith(`0x${prefix}`)) return undefined;
    const tree = known();
    if (this.#at.id !== from || this.#at.leafCount !== tree.leafCount) {
      // What an empty leaf was queued as, only the beginning tells.
      if (tree.includes(0n as Field)) return undefined;
      this.#forget();
      const head = this.headOver(tree, tree.leafCount);
      this.#at = this.#agreed = { id: from, leafCount: tree.leafCount, head, root: undefined };
      this.#madeFrom = tree.leafCount;
    }
    // Once more: the reader may have been in the middle of it.
    return block;
  }

  #forget(): void {
    this.voids.clear();
    this.#voidRanges = [];
    this.#made.clear();
    this.#madeFrom = 0;
    this.#revoked = [];
    this.#at = this.#agreed = BEGINNING;
    this.#owed = undefined;
    this.#synced = undefined;
  }

  /**
   * Takes back what came behind the last agreement. A position that an earlier history told was compared with nothing
   * here, so it is gone back to once, and then to the beginning.
   */
  #goBack(): StreamEvent {
    this.#at = this.#agreed;
    const { id, leafCount } = this.#at;
    for (const known of [this.voids, this.#made])
      for (const index of known.keys()) if (index >= leafCount) known.delete(index);
    this.#owed = undefined;
    if (this.#synced === undefined) this.#agreed = BEGINNING;
    return reorganised(id);
  }

  /** Learns first which leaves and roots are none any more. */
  async #begin(target: Block, signal: AbortSignal | undefined): Promise<void> {
    const { nodes, home, fromBlock } = this.#options;
    this.#forget();
    const topics = [[LEAVES_VOIDED, LEAVES_SUSPENDED, ROOTS_REVOKED]];
    for await (const { logs } of nodes.logs(home.pool, fromBlock, target.number, { topics, signal })) {
      for (const log of logs) {
        const entry = readEntry(log);
        if (entry?.type === "voided" || entry?.type === "suspended") this.#voidRanges.push(entry);
        else if (entry?.type === "revoked") this.#revoked.push(entry);
        else throw doubted("a log that was not asked for");
      }
    }
  }

  /** False: something changed behind what was told, so begin anew. */
  async *#read(
    from: number,
    target: Block,
    known: () => NoteTree,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<StreamEvent, boolean, undefined> {
    const { nodes, home, onProgress } = this.#options;
    try {
      for await (const { to, logs } of nodes.logs(home.pool, from, target.number, { signal })) {
        for (const log of logs) {
          const entry = readEntry(log);
          if (entry !== undefined && this.#isNewRefutation(entry)) {
            if (from === this.#options.fromBlock) throw doubted("it says two things about the same logs");
            return false;
          }
          const told = entry === undefined ? [] : this.#take(entry, log, known());
          // As the service numbers them, whose stream may go on from here: it counts the statement itself, too.
          const first = entry?.type === "executed" ? 1 : 0;
          for (const [part, event] of told.entries()) {
            const id = `${log.block}-${log.blockHash.slice(2, 10)}-${log.index}.${first + part}`;
            yield { ...event, id } as StreamEvent;
            this.#at = { ...this.#at, id };
          }
        }
        onProgress?.({ block: to, target: target.number, leafCount: this.#at.leafCount });
      }
      if ((await nodes.block(target.number, signal)).hash !== target.hash) return false;
      await this.#requireRight(target, known(), signal);
      this.#synced = target;
      this.#agreed = this.#at;
      return true;
    } catch (error) {
      if (hasCode(error, "CHAIN_DOUBTED")) yield this.#goBack();
      throw error;
    }
  }

  /** What the first reading did not say. At the beginning it did. */
  #isNewRefutation(entry: PoolEntry): boolean {
    const { type } = entry;
    if (type === "voided" || type === "suspended")
      return !this.#voidRanges.some((one) => one.type === type && one.first === entry.first);
    return type === "revoked" && !this.#revoked.some(({ first }) => first === entry.first);
  }

  #take(entry: PoolEntry, log: PoolLog, tree: NoteTree): Told[] {
    switch (entry.type) {
      case "executed":
        return this.#takeExecuted(entry.executed, log, tree);
      case "note-hashed":
        return this.#takeHashed(entry.note, log, tree);
      case "credited":
        return this.#takeCredited(entry.note, log, tree);
      case "root": {
        const { root, leafCount, sequence } = entry;
        if (this.#revoked.some(({ first, last }) => first <= sequence && sequence <= last)) return [];
        if (leafCount > this.#at.leafCount)
          throw doubted(`leaves ${this.#at.leafCount} to ${leafCount - 1} of a root are missing`);
        this.#at = { ...this.#at, root };
        return [
          { kind: "root", data: { root: toHex(word(root)), leaf_count: leafCount, block_number: log.block } },
        ];
      }
      case "voided":
      case "suspended":
      case "revoked":
        return [];
    }
  }

  #takeExecuted(executed: Executed, log: PoolLog, tree: NoteTree): Told[] {
    this.#requireNothingOwed();
    const { kind, firstLeafIndex, nullifiers, commitments } = executed;
    this.#made.set(firstLeafIndex, madeBy(executed));
    if (commitments.length < KINDS[kind].leaves) this.#owed = { executed, txHash: log.txHash };
    const leaves = commitments.map((commitment, at) =>
      this.#leaf(leafOf(executed, at, commitment), log, tree),
    );
    // Of a refuted statement they are unspent again.
    const isRefuted = this.#voidRanges.some(
      ({ type, first }) => type === "voided" && first === firstLeafIndex,
    );
    const spent = isRefuted ? [] : nullifiers;
    return [
      ...spent.map((nullifier) => ({
        kind: "nullifier" as const,
        data: { nullifier: toHex(word(nullifier)), tx_hash: log.txHash, block_number: log.block },
      })),
      ...leaves,
    ];
  }

  #takeHashed(note: NoteHashed, log: PoolLog, tree: NoteTree): Told[] {
    const owed = this.#owed;
    const at = owed?.executed.commitments.length ?? 0;
    if (
      owed?.executed.statement !== note.statement ||
      owed.txHash !== log.txHash ||
      owed.executed.firstLeafIndex + at !== note.leafIndex
    )
      throw doubted(`it leaves out the swap of the note in block ${log.block}`);
    this.#owed = undefined;
    const { kind, data } = this.#leaf(leafOf(owed.executed, at, note.commitment), log, tree);
    return [{ kind, data: { ...data, ...measuredOf(note) } }];
  }

  #takeCredited(note: Credited, log: PoolLog, tree: NoteTree): Told[] {
    this.#requireNothingOwed();
    const { leafIndex: index, commitment, ephemeralKey, ciphertext } = note;
    const source = "forwarder" as const;
    const leaf = { index, commitment, ephemeralKey, output: 0, ciphertext, source };
    const { kind, data } = this.#leaf(leaf, log, tree);
    return [{ kind, data: { ...data, ...measuredOf(note) } }];
  }

  #leaf(leaf: Leaf, log: PoolLog, tree: NoteTree) {
    const { index, commitment } = leaf;
    const isVoid = this.#isVoid(index);
    if (isVoid) this.voids.set(index, commitment);
    const { leafCount, head } = this.#at;
    if (index > leafCount) throw doubted(`leaves ${leafCount} to ${index - 1} are missing`);
    if (index === leafCount) {
      this.#at = { ...this.#at, leafCount: leafCount + 1, head: nextHead(head, commitment) };
    } else if (this.queued(tree, index) !== commitment) {
      throw doubted(`leaf ${index} is another one than before`);
    }
    const data = {
      index,
      ephemeral_key: leaf.ephemeralKey,
      output: leaf.output,
      ciphertext: leaf.ciphertext,
      // A leaf that is void is nobody's note.
      ...(isVoid ? { ciphertext: "0x" } : {}),
      commitment: isVoid ? EMPTY_LEAF : toHex(word(commitment)),
      source: leaf.source,
      tx_hash: log.txHash,
      block_number: log.block,
    };
    return { kind: "leaf" as const, data };
  }

  #isVoid(index: number): boolean {
    return this.#voidRanges.some(({ first, count }) => first <= index && index < first + count);
  }

  #requireNothingOwed(): void {
    if (this.#owed !== undefined) throw doubted("it leaves out the note that a swap made");
  }

  /** What was told gives the pool's own queue and root at that block. */
  async #requireRight(target: Block, tree: NoteTree, signal: AbortSignal | undefined): Promise<void> {
    this.#requireNothingOwed();
    const view = new PoolView(this.#options.nodes, this.#options.home, target.number, signal);
    const queue = await view.queue();
    if (queue.leafCount !== this.#at.leafCount)
      throw doubted(`the pool's queue has ${queue.leafCount} leaves, and its logs ${this.#at.leafCount}`);
    if (queue.head !== this.#at.head)
      throw doubted("the leaves that it shows do not give the head of the pool's queue");
    const { root, leafCount } = await view.currentRoot();
    if (leafCount > tree.leafCount || tree.root(leafCount) !== root)
      throw doubted("the leaves that it shows do not give the pool's root");
    // By its value: a refutation gives an earlier root its own leaf count back.
    if (leafCount > 0 && this.#at.root !== undefined && this.#at.root !== root) throw doubted(LEFT_OUT);
  }
}

function madeBy({ kind, statement, nullifiers }: Executed): Made {
  return { leafCount: KINDS[kind].leaves, maker: makerOf(statement, nullifiers) };
}

function leafOf(executed: Executed, output: number, commitment: Field): Leaf {
  const { kind, firstLeafIndex, ephemeralKey, ciphertexts } = executed;
  return {
    ...{ index: firstLeafIndex + output, commitment, output, source: SOURCES[kind] },
    ...{ ephemeralKey: toHex(ephemeralKey), ciphertext: toHex(ciphertexts[output]!) },
  };
}

function measuredOf({ npk, asset, value }: Pick<NoteHashed, "npk" | "asset" | "value">) {
  return { npk: toHex(word(npk)), asset, value: String(value) };
}

/** Undefined: all that was told is taken back. */
function reorganised(id: string | undefined): StreamEvent {
  return { kind: "reorg", id: undefined, data: { from_id: id ?? null } };
}

function synced({ number }: Block, leafCount: number): StreamEvent {
  return { kind: "synced", id: undefined, data: { block_number: number, leaf_count: leafCount } };
}
