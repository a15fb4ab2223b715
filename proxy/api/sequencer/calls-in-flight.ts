/**
 * The calls that were sent and are in no block, as what is sent next has to see them. The pool takes a root update only
 * from its own root and its queue's head there on, so the update of a later call is made for the queue, the tree and the
 * root as the earlier ones leave them.
 *
 * What a later call assumes of the earlier ones is this and no more: each is executed, in order of nonces, with every
 * member, nothing of a stranger's in between, and its own update taken. Where that fails the pool skips the later
 * update, and says so; its members stand, each judged on what the chain is by then. So a wrong assumption costs gas, and
 * the leaves come into the tree with the next call. After an update that was skipped, the next one is over leaves that
 * are mined, and no others: whoever can make a member fail must not be able to keep every root away.
 *
 * Remembered from sending to finality and never stored: of a call that another term has sent nothing is known here, and
 * what goes behind it carries no update.
 */
import type { RootUpdate } from "../../../shared/protocol/attestation.ts";
import type { Bytes32, Field } from "../../../shared/protocol/brands.ts";
import { nextHead } from "../../../shared/protocol/tree.ts";
import type { ChainDataStore } from "../../base/store/chain-data.ts";
import type { Outgoing } from "../../base/store/tickets.ts";
import type { QueuedLeaf, QueueView, TreeView } from "./root-update.ts";

/** What a call does to queue and tree where all goes well. */
export interface CallEffect {
  readonly statements: readonly Bytes32[];
  /** Commitments by member, in their order. Undefined where the call adds leaves that nobody knows before it is executed. */
  readonly commitments: readonly (readonly Field[])[] | undefined;
  readonly update: RootUpdate | undefined;
}

/** The ground on which the next update is made. */
export interface Ground {
  readonly queue: QueueView;
  readonly tree: TreeView;
  /** Only leaves that are in the queue, and none that the call itself adds. */
  readonly isCertainOnly: boolean;
}

type IndexView = QueueView & Pick<ChainDataStore, "execution" | "rejection" | "root">;

export class CallsInFlight {
  readonly #index: IndexView;
  readonly #tree: TreeView;
  readonly #effects = new Map<number, CallEffect>();
  /** Of updates of which it is not known whether the pool took them, by nonce. */
  readonly #open = new Map<number, RootUpdate>();
  #waiting: readonly Outgoing[] = [];
  #wasSkipped = false;

  constructor(index: IndexView, tree: TreeView) {
    this.#index = index;
    this.#tree = tree;
  }

  /** In order of nonces, without a hole. */
  get waiting(): readonly Outgoing[] {
    return this.#waiting;
  }

  /** What they cost at most, wei: a node counts all of it against the balance of their sender. */
  get owed(): bigint {
    return this.#waiting.reduce(
      (sum, { gasLimit, attempts }) => sum + gasLimit * attempts.at(-1)!.maxFeePerGas,
      0n,
    );
  }

  sent(nonce: number, effect: CallEffect): void {
    this.#effects.set(nonce, effect);
    if (effect.update !== undefined) this.#open.set(nonce, effect.update);
  }

  /** `kept`: all that the store has, `waiting` those of them that are in no block; the index has the others. */
  see(kept: readonly Outgoing[], waiting: readonly Outgoing[]): void {
    this.#waiting = waiting;
    const isWaiting = new Set(waiting.map(({ nonce }) => nonce));
    for (const [nonce, update] of this.#open) {
      if (isWaiting.has(nonce)) continue;
      this.#open.delete(nonce);
      this.#wasSkipped = this.#index.root(update.newRoot) === undefined;
    }
    const isKept = new Set(kept.map(({ nonce }) => nonce));
    for (const nonce of this.#effects.keys()) if (!isKept.has(nonce)) this.#effects.delete(nonce);
  }

  /** Undefined where an update made now would not be taken for all that is known. */
  ground(): Ground | undefined {
    const index = this.#index;
    // The index may have met some of them since they were last looked at.
    const ahead = this.#waiting.filter((entry) => !this.#isMined(entry));
    const isWary = this.#wasSkipped && index.currentRoot()?.leafCount !== index.leafCount();
    if (ahead.length === 0) return { queue: index, tree: this.#tree, isCertainOnly: isWary };
    if (isWary) return undefined;
    const queue = new QueueAhead(index);
    for (const { nonce, attempts } of ahead) {
      const { commitments, update } = this.#effects.get(nonce) ?? {};
      if (commitments === undefined) return undefined;
      queue.add(commitments, attempts.at(-1)!.hash);
      if (update !== undefined) queue.root(update);
    }
    return { queue, tree: treeAhead(this.#tree, queue), isCertainOnly: false };
  }

  #isMined({ nonce, attempts }: Outgoing): boolean {
    const hashes = new Set(attempts.map(({ hash }) => hash));
    return (this.#effects.get(nonce)?.statements ?? []).some((statement) =>
      [this.#index.execution(statement), this.#index.rejection(statement)].some(
        (found) => found !== undefined && hashes.has(found.txHash),
      ),
    );
  }
}

/** The queue with leaves behind it that are to come. */
class QueueAhead implements QueueView {
  readonly #index: QueueView;
  readonly #added: QueuedLeaf[] = [];
  /** Of the leaves that the index has. */
  readonly base: number;
  #root: ReturnType<QueueView["currentRoot"]>;

  constructor(index: QueueView) {
    this.#index = index;
    this.base = index.leafCount();
    this.#root = index.currentRoot();
  }

  add(commitments: readonly (readonly Field[])[], txHash: Bytes32): void {
    for (const member of commitments)
      for (const [i, commitment] of member.entries()) {
        const index = this.leafCount();
        const before = this.headAt(index);
        if (before === undefined) return;
        const head = nextHead(before, commitment);
        this.#added.push({ index, commitment, head, txHash, isLast: i === member.length - 1 });
      }
  }

  /** Where the pool would take it there. */
  root(update: RootUpdate): void {
    const { oldRoot, newRoot, fromIndex, toIndex, headBefore, headAfter } = update;
    const [from, to] = [Number(fromIndex), Number(toIndex)];
    if (this.#root?.root !== oldRoot || this.#root.leafCount !== from) return;
    if (this.headAt(from) !== headBefore || this.headAt(to) !== headAfter) return;
    this.#root = { root: newRoot, leafCount: to };
  }

  currentRoot = () => this.#root;
  awaitsAdvance = () => this.#index.awaitsAdvance();
  leafCount = () => this.base + this.#added.length;
  leaf = (index: number) => (index < this.base ? this.#index.leaf(index) : this.#added[index - this.base]);
  leaves = (from: number, to: number) => [
    ...this.#index.leaves(from, Math.min(to, this.base)),
    ...this.added(from, to),
  ];
  headAt = (count: number) =>
    count <= this.base ? this.#index.headAt(count) : this.#added[count - this.base - 1]?.head;

  /** Of the leaves from `from` (inclusive) to `to` (exclusive), those to come. */
  added(from: number, to: number): readonly QueuedLeaf[] {
    return this.#added.slice(Math.max(from - this.base, 0), Math.max(to - this.base, 0));
  }
}

function treeAhead(tree: TreeView, queue: QueueAhead): TreeView {
  const split = (leafCount: number) => ({
    mined: Math.min(leafCount, queue.base),
    added: queue.added(queue.base, leafCount).map(({ commitment }) => commitment),
  });
  return {
    async frontierAfter(leafCount, more) {
      const { mined, added } = split(leafCount);
      return tree.frontierAfter(mined, [...added, ...more]);
    },
    async rootAfter(leafCount, more) {
      const { mined, added } = split(leafCount);
      return tree.rootAfter(mined, [...added, ...more]);
    },
  };
}
