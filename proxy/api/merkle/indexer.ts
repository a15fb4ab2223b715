/**
 * Follows the pool's log into the store and the tree. The node is believed only as far as its answers fit
 * together: a block must name its parent, a leaf must be the next one, a root must be the root of the leaves
 * before it. A block that is no longer canonical is noticed by its hash, since not every node announces it. That a node
 * has left out logs, as one of several behind a balancer does that lags, is noticed by what the pool itself holds.
 */
import { yieldToEventLoop } from "../../base/event-loop.ts";
import type { Logger } from "../../base/logging.ts";
import { PoolAbsent, type Pool } from "../../base/chain/pool.ts";
import { ZERO_BYTES32, type Bytes32, type Field } from "../../../shared/protocol/brands.ts";
import { emptyNode, nextHead } from "../../../shared/protocol/tree.ts";
import { Follow, type Fold } from "../../base/chain/follow.ts";
import { createPassing } from "../../base/chain/passing.ts";
import { ChainRefused, ChainUnreachable } from "../../base/chain/json-rpc.ts";
import { mayHaveSaid } from "../../base/chain/bloom.ts";
import type { Chain, Header, RawLog } from "../../base/chain/provider.ts";
import {
  type ChainDataStore,
  type ChainEvent,
  type IndexedBlock,
  type LoggedEvent,
} from "../../base/store/chain-data.ts";
import { SUBTREE_LEAVES } from "../../../shared/notes/merkle.ts";
import { Expansion } from "./expansion.ts";
import { CommitmentTree, inTree } from "./tree.ts";

export type IndexChange =
  | { readonly type: "advanced"; readonly tip: IndexedBlock }
  /** Every block above `ancestor`, up to `tip`, was reorganised out. */
  | { readonly type: "reorg"; readonly tip: IndexedBlock; readonly ancestor: number }
  /** The first pass since the start has reached the chain's head. */
  | { readonly type: "caught-up" };

export interface IndexState {
  readonly tip: IndexedBlock | undefined;
  /** Milliseconds since 1970 of the last pass that reached the chain's head. */
  readonly syncedAt: number | undefined;
  /** Set while what the chain says does not fit together: nothing of the tree is served then. */
  readonly fault: string | undefined;
}

/**
 * Names the block that the index ends with, as long as that is the chain's newest for all we know. What is asked at it
 * need not be asked again before the next block.
 */
export function freshTip({ tip, syncedAt, fault }: IndexState, now: number): Bytes32 | undefined {
  const isFresh = fault === undefined && syncedAt !== undefined && now - syncedAt < FRESH_MS;
  return isFresh ? tip?.hash : undefined;
}

export interface IndexerOptions {
  readonly deploymentBlock: number;
  readonly pollIntervalMs: number;
}

/** A few passes at the usual interval. */
const FRESH_MS = 3_000;
/** What has to be asked again: logs were left out, now or when blocks that are stored were read. */
class LogsMissing extends ChainUnreachable {}

/** Passes that wait for a node that refuses to say what the pool holds; then logs alone are followed until it says so again. */
const REFUSED_PASSES = 50;
/** Passes in which logs are missing before stored blocks are read again, where the node does not say what the pool held then. */
const MISSING_PASSES = 10;
/** Some 700 kB. */
const KEPT_AT_ONCE = 64;

/** What the pool has in its state: its queue, and the root of its tree. */
interface Held {
  readonly leafCount: number;
  readonly head: Bytes32;
  /** Undefined before there is a pool. */
  readonly root: Field | undefined;
}
/** `refused`: the node does not know the block, or its state; undefined: nothing of the pool is in it, or it was not asked. */
type HeldAnswer = Held | "refused" | undefined;
const NOTHING: Held = { leafCount: 0, head: ZERO_BYTES32, root: undefined };

/** What is asked about one block. */
interface Said {
  readonly header: Header;
  readonly logs: readonly RawLog[];
  readonly held: HeldAnswer;
}

/** Of the subtrees that were not whole at `before` leaves and are at `after`. */
function placesBetween(before: number, after: number): number[] {
  const first = Math.floor(before / SUBTREE_LEAVES);
  const end = Math.floor(after / SUBTREE_LEAVES);
  return Array.from({ length: Math.max(0, end - first) }, (_, i) => first + i);
}

export class Indexer {
  readonly #chain: Chain;
  readonly #pool: Pool;
  readonly #store: ChainDataStore;
  readonly #logger: Logger;
  readonly #options: IndexerOptions;
  readonly #mayHold: (header: Header) => boolean;
  readonly tree = new CommitmentTree();
  readonly #listeners = new Set<(change: IndexChange) => void>();
  #syncedAt: number | undefined;
  /** Passes in a row that ended since the node refused to say what the pool holds. */
  #refusals = 0;
  /** Passes in a row in which logs were missing. */
  #missings = 0;
  #fault: string | undefined;
  readonly #following: Follow<Said>;
  readonly #passing: ReturnType<typeof createPassing>;

  constructor(chain: Chain, pool: Pool, store: ChainDataStore, logger: Logger, options: IndexerOptions) {
    this.#chain = chain;
    this.#pool = pool;
    this.#store = store;
    this.#logger = logger;
    this.#options = options;
    this.#mayHold = mayHaveSaid(pool.address);
    this.#following = new Follow(chain, this.#fold(), {
      isStopped: () => this.#passing.isStopped(),
      pollIntervalMs: options.pollIntervalMs,
      keepsUp: true,
    });
    this.#passing = createPassing(
      (since) => this.#pass(since),
      () => this.#following.waitMs(),
      (error) => {
        if (error instanceof ChainUnreachable)
          this.#logger.warn({ reason: error.message }, "indexing waits for the chain");
        else this.#logger.error({ err: error }, "indexing failed");
      },
    );
  }

  /** Rebuilds the tree from the store, then follows the chain until `stop`. */
  async start(): Promise<void> {
    await this.#rebuild();
    this.#passing.start();
  }

  stop(): Promise<void> {
    return this.#passing.stop();
  }

  /** One pass to the chain's head as it is now or later; several callers share one pass. */
  sync(): Promise<void> {
    return this.#passing.sync();
  }

  state(): IndexState {
    return { tip: this.#store.tip(), syncedAt: this.#syncedAt, fault: this.#fault };
  }

  onChange(listener: (change: IndexChange) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #emit(change: IndexChange): void {
    for (const listener of this.#listeners) listener(change);
  }

  /** Nothing else changes the store meanwhile: what follows the chain has not begun. */
  async #rebuild(): Promise<void> {
    let hashed: number[] = [];
    for (let place = 0; place * SUBTREE_LEAVES < this.#store.leafCount(); place++) {
      const from = place * SUBTREE_LEAVES;
      // Where a damaged store lacks leaves, nothing behind them is in its place; the root tells below.
      const kept = this.tree.leafCount === from ? this.#store.subtree(place) : undefined;
      if (kept !== undefined) this.tree.appendSubtree(kept);
      else {
        for (const leaf of this.#store.leaves(from, from + SUBTREE_LEAVES)) this.tree.append(inTree(leaf));
        hashed.push(place);
      }
      if (hashed.length === KEPT_AT_ONCE && this.tree.leafCount === from + SUBTREE_LEAVES) {
        await this.#keep(hashed);
        hashed = [];
      }
      if (kept === undefined || place % KEPT_AT_ONCE === 0) await yieldToEventLoop();
    }
    const current = this.#store.currentRoot();
    const isWhole = this.tree.leafCount === this.#store.leafCount();
    if (isWhole) await this.#keep(hashed);
    if (!isWhole || (current !== undefined && this.tree.root(current.leafCount) !== current.root)) {
      // The store is a copy of the chain and nothing else, so a damaged one is simply read again.
      this.#logger.error(
        { leafCount: this.#store.leafCount() },
        "the stored leaves do not give the stored root; indexing again",
      );
      await this.#store.clear();
      this.tree.truncate(0);
    }
  }

  /** For the next start; the tree itself does not need it, so that a full disk is no reason to stop. */
  async #keep(places: readonly number[]): Promise<void> {
    const whole = places.filter((place) => (place + 1) * SUBTREE_LEAVES <= this.tree.leafCount);
    if (whole.length === 0) return;
    try {
      await this.#store.keepSubtrees(whole.map((place) => ({ place, nodes: this.tree.subtree(place) })));
    } catch (err) {
      this.#logger.warn({ err }, "subtrees were not kept; the next start hashes them again");
    }
  }

  async #pass(since: number): Promise<void> {
    if (this.#syncedAt === undefined) await this.#leaveGap(false);
    try {
      await this.#followToHead(since);
      this.#missings = 0;
    } catch (error) {
      if (error instanceof LogsMissing) {
        this.#chain.doubt(error.message);
        this.#missings += 1;
        await this.#leaveGap(this.#missings % MISSING_PASSES === 0);
      }
      throw error;
    }
  }

  async #followToHead(since: number): Promise<void> {
    if (!(await this.#following.to(await this.#following.newest(since)))) return;
    const isFirst = this.#syncedAt === undefined;
    this.#syncedAt = Date.now();
    if (isFirst) this.#emit({ type: "caught-up" });
  }

  #fold(): Fold<Said> {
    return {
      tip: () => this.#store.tip(),
      start: () => this.#options.deploymentBlock,
      leaveOrphans: () => this.#leaveOrphans(),
      ask: async (header) => {
        // By most headers nothing of the pool is in the block, and a block with nothing of it leaves the pool as it was.
        const asked = this.#mayHold(header) ? this.#heldAt(header.hash) : undefined;
        const [logs, held] = await Promise.all([this.#pool.logs({ blockHash: header.hash }), asked]);
        return { header, logs, held };
      },
      take: async ({ header, logs, held }) => {
        // A node that lags will know. One that never does must not hold up the index: what it left out is missed at the next leaf.
        if (held === "refused" && (this.#refusals += 1) <= REFUSED_PASSES)
          throw new ChainUnreachable("the node does not know yet what the pool holds");
        await this.#take([header], logs, held);
      },
      takeRange: async (fromBlock, toBlock) => {
        let held: HeldAnswer;
        const ask = async (last: Header): Promise<readonly RawLog[]> => {
          const [logs, said] = await Promise.all([
            this.#pool.logs({ fromBlock, toBlock }),
            this.#heldAt(last.hash),
          ]);
          held = said;
          return logs;
        };
        const blocksOf = (logs: readonly RawLog[]) => logs.map(({ blockNumber }) => blockNumber);
        const { headers, logs } = await this.#following.readRange(fromBlock, toBlock, ask, blocksOf);
        await this.#take(headers, logs, held);
      },
    };
  }

  async #leaveOrphans(): Promise<void> {
    const tip = this.#store.tip()!;
    let candidate = this.#store.blockAtOrBelow(tip.number - 1);
    while (candidate !== undefined && !(await this.#following.has(candidate)))
      candidate = this.#store.blockAtOrBelow(candidate.number - 1);
    const ancestor = candidate?.number ?? this.#options.deploymentBlock - 1;
    this.#logger.warn({ from: tip.number, to: ancestor }, "the chain was reorganised");
    await this.#rollbackTo(ancestor, tip);
  }

  async #rollbackTo(ancestor: number, tip: IndexedBlock): Promise<void> {
    const restored = await this.#store.rollbackTo(ancestor);
    this.tree.truncate(this.#store.leafCount());
    for (const index of restored) this.tree.replace(index, inTree(this.#store.leaf(index)!));
    this.#fault = this.#faultOf(this.#store.currentRoot());
    this.#emit({ type: "reorg", tip, ancestor });
  }

  /** `held` by the pool at the last of these blocks. */
  async #take(headers: readonly Header[], logs: readonly RawLog[], held: HeldAnswer): Promise<void> {
    const hashes = new Map(headers.map(({ number, hash }) => [number, hash]));
    const events: LoggedEvent[] = [];
    const ordered = [...logs].sort((a, b) => a.blockNumber - b.blockNumber || a.logIndex - b.logIndex);
    let leafCount = this.tree.leafCount;
    const expand = new Expansion(this.#pool, (firstLeafIndex) => this.#store.madeAt(firstLeafIndex));
    for (const log of ordered) {
      if (hashes.get(log.blockNumber) !== log.blockHash)
        throw new ChainUnreachable("a log is of another block");
      for (const event of expand.take(log)) {
        if (event.event.kind === "leaf" && event.event.index !== leafCount++)
          throw new LogsMissing("the node left out leaves of the pool");
        events.push(event);
      }
    }
    expand.done();
    if (typeof held === "object" && !this.#isWhole(events, held))
      throw new LogsMissing("the node left out what the pool said");
    const blocks = headers.map(({ number, hash, timestamp }) => ({ number, hash, timestamp }));
    await this.#store.append(blocks, events);
    const before = this.tree.leafCount;
    for (const { event } of events) this.#follow(event);
    const tip = blocks.at(-1);
    if (tip !== undefined) this.#emit({ type: "advanced", tip });
    await this.#keep(placesBetween(before, this.tree.leafCount));
  }

  /** Where the node does not say, what is missing there is missed at the next leaf. */
  async #heldAt(hash: Bytes32): Promise<HeldAnswer> {
    try {
      const [queue, { root }] = await Promise.all([this.#pool.queue(hash), this.#pool.currentRoot(hash)]);
      this.#refusals = 0;
      return { ...queue, root };
    } catch (error) {
      if (error instanceof ChainRefused) return "refused";
      // The first blocks may be older than the pool; and some nodes say so of a state that they do not have.
      if (error instanceof PoolAbsent) return this.#store.currentRoot() === undefined ? NOTHING : undefined;
      throw error;
    }
  }

  /** Whether what is stored and these events are what the pool holds. */
  #isWhole(events: readonly LoggedEvent[], held: Held): boolean {
    const leaves = events.flatMap(({ event }) => (event.kind === "leaf" ? [event.commitment] : []));
    const head = leaves.reduce(nextHead, this.#store.headAt(this.#store.leafCount()) ?? ZERO_BYTES32);
    const roots = events.flatMap(({ event }) =>
      event.kind === "root" || event.kind === "revoked" ? [event.root] : [],
    );
    const root = roots.at(-1) ?? this.#store.currentRoot()?.root;
    const leafCount = this.tree.leafCount + leaves.length;
    return leafCount === held.leafCount && head === held.head && (root ?? held.root) === held.root;
  }

  /**
   * Goes back to before the last leaf and the last root that are stored, if the pool held more at the stored tip: between
   * there and here is what was left out. Otherwise it was left out just now, and nothing of it is stored. Where the node
   * has pruned what the pool held then, nobody can tell the two apart: with `readAgain` it goes back all the same.
   */
  async #leaveGap(readAgain: boolean): Promise<void> {
    const tip = this.#store.tip();
    if (tip === undefined) return;
    const held = await this.#heldAt(tip.hash);
    if (typeof held === "object" ? this.#isWhole([], held) : !readAgain) return;
    const leaf = this.#store.leaf(this.#store.leafCount() - 1);
    const known = [leaf, this.#store.currentRoot()].flatMap((one) => (one === undefined ? [] : [one.block]));
    const ancestor = (known.length === 0 ? this.#options.deploymentBlock : Math.min(...known)) - 1;
    this.#logger.error({ from: tip.number, to: ancestor }, "logs of the pool are missing in the index");
    await this.#rollbackTo(ancestor, tip);
  }

  #follow(event: ChainEvent): void {
    switch (event.kind) {
      case "leaf":
        this.tree.append(event.commitment);
        return;
      case "voided":
        for (let i = 0; i < event.leafCount; i++) this.tree.replace(event.firstLeafIndex + i, emptyNode(0));
        this.#logger.error(
          { statement: event.statement, count: event.leafCount },
          event.isSuspension === true
            ? "a statement is suspended: it was proved on a revoked root"
            : "a statement was refuted",
        );
        return;
      case "revoked":
        this.#fault = this.#faultOf(event);
        this.#logger.error(
          { first: event.first, last: event.last, leafCount: event.leafCount },
          "roots are revoked",
        );
        return;
      case "root":
        this.#fault ??= this.#faultOf(event);
        if (this.#fault !== undefined)
          this.#logger.fatal({ leafCount: event.leafCount, sequence: event.sequence }, this.#fault);
        return;
      case "nullifier":
      case "executed":
      case "rejected":
        return;
    }
  }

  /** Whoever signed a root that is not the root: paths that end nowhere are never served. Whatever stands on it is no better. */
  #faultOf(stand: { readonly root: Field; readonly leafCount: number } | undefined) {
    if (stand === undefined || this.tree.root(stand.leafCount) === stand.root) return undefined;
    return "the pool's root is not the root of its leaves";
  }
}
