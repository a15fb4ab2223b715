/**
 * What the watcher knows by its own computation from the pool's log: the tree, the queue's head, spent
 * nullifiers, accepted signers, and what the pool owes in each asset. Believes no root and no balance it was told.
 */
import {
  mustField,
  ZERO_BYTES32,
  type Address,
  type Bytes32,
  type Field,
} from "../../../shared/protocol/brands.ts";
import { Frontier, nextHead } from "../../../shared/protocol/tree.ts";
import type { Finding } from "./findings.ts";
import type { OwnerEvent, Proposal } from "../owner-events.ts";

/**
 * A block in which the pool said something: what it added, and the small state after it. The records of all
 * blocks, in order, are the ledger; taking back a block means leaving its record out. Numbers are decimal text.
 */
export interface BlockRecord {
  readonly number: number;
  readonly hash: Bytes32;
  readonly leaves: readonly string[];
  /** Nullifiers, and hashes of deposits. */
  readonly marks: readonly string[];
  /** Roots that the watcher computed where the pool announced one. */
  readonly roots: readonly string[];
  readonly findings: readonly Finding[];
  readonly after: {
    readonly frontier: readonly string[];
    readonly rootedCount: string;
    readonly rootedHead: Bytes32;
    readonly announced: { readonly root: string; readonly sequence: number };
    readonly head: Bytes32;
    readonly signers: readonly Address[];
    readonly pending: readonly Proposal[];
    readonly owed: Readonly<Record<string, string>>;
    readonly statements: number;
  };
}

export class Ledger {
  readonly signers = new Set<Address>();
  /** Proposed, and not admitted, withdrawn or expired. */
  #pending: readonly Proposal[] = [];
  /** By asset: what went in less what went out. */
  readonly owed = new Map<Address, bigint>();
  /** Everything found in the blocks that count. */
  readonly findings: Finding[] = [];
  statements = 0;
  /** The newest root that the pool announced, true or not. */
  announced: { root: bigint; sequence: number };
  head: Bytes32 = ZERO_BYTES32;
  rootedHead: Bytes32 = ZERO_BYTES32;
  #frontier = Frontier.empty();
  /** In the queue and not yet in the tree. */
  readonly #waiting: Field[] = [];
  readonly #marks = new Set<string>();
  readonly #roots = new Set<string>();
  #added = noAdditions();

  constructor() {
    const empty = this.#frontier.root();
    this.announced = { root: empty, sequence: 0 };
    this.#roots.add(String(empty));
  }

  get leafCount(): bigint {
    return this.#frontier.leafCount + BigInt(this.#waiting.length);
  }
  get rootedCount(): bigint {
    return this.#frontier.leafCount;
  }

  get pending(): readonly Proposal[] {
    return this.#pending;
  }

  change({ change, role, subject, proposal }: OwnerEvent): void {
    const others = this.#pending.filter((one) => one.role !== role || one.subject !== subject);
    this.#pending = proposal === undefined ? others : [...others, proposal];
    if (role !== "signer") return;
    if (change === "admitted") this.signers.add(subject);
    if (change === "removed") this.signers.delete(subject);
  }

  /** Those that have expired by then; they are pending no more. */
  expire(unixSecs: number): readonly Proposal[] {
    const expired = this.#pending.filter(({ expiresAt }) => unixSecs >= expiresAt);
    this.#pending = this.#pending.filter((one) => !expired.includes(one));
    return expired;
  }

  append(leaf: Field): void {
    this.#waiting.push(leaf);
    this.#added.leaves.push(String(leaf));
    this.head = nextHead(this.head, leaf);
  }

  /** The root and head that the first `leafCount` leaves really have; the tree then stands there. Undefined when it cannot. */
  advance(leafCount: bigint): { readonly root: Field; readonly head: Bytes32 } | undefined {
    if (leafCount <= this.rootedCount || leafCount > this.leafCount) return undefined;
    for (const leaf of this.#waiting.splice(0, Number(leafCount - this.rootedCount))) {
      this.#frontier.append(leaf);
      this.rootedHead = nextHead(this.rootedHead, leaf);
    }
    const root = this.#frontier.root();
    this.#roots.add(String(root));
    this.#added.roots.push(String(root));
    return { root, head: this.rootedHead };
  }

  hasRoot(root: bigint): boolean {
    return this.#roots.has(String(root));
  }

  /** False when it was there before. */
  mark(nullifierOrDeposit: bigint | Bytes32): boolean {
    const key = String(nullifierOrDeposit);
    if (this.#marks.has(key)) return false;
    this.#marks.add(key);
    this.#added.marks.push(key);
    return true;
  }

  owe(asset: Address, change: bigint): void {
    this.owed.set(asset, (this.owed.get(asset) ?? 0n) + change);
  }

  report(finding: Finding): void {
    this.findings.push(finding);
    this.#added.findings.push(finding);
  }

  /** Ends a block. */
  seal(number: number, hash: Bytes32): BlockRecord {
    const added = this.#added;
    this.#added = noAdditions();
    return {
      number,
      hash,
      ...added,
      after: {
        frontier: this.#frontier.nodes().map(String),
        rootedCount: String(this.rootedCount),
        rootedHead: this.rootedHead,
        announced: { root: String(this.announced.root), sequence: this.announced.sequence },
        head: this.head,
        signers: [...this.signers],
        pending: this.#pending,
        owed: Object.fromEntries([...this.owed].map(([asset, amount]) => [asset, String(amount)])),
        statements: this.statements,
      },
    };
  }

  /** The ledger after these blocks. Hashes nothing again: a watcher's own records are believed. */
  static async from(records: AsyncIterable<BlockRecord>): Promise<Ledger> {
    const ledger = new Ledger();
    let last: BlockRecord | undefined;
    for await (const record of records) {
      for (const leaf of record.leaves) ledger.#waiting.push(mustField(BigInt(leaf)));
      const rooted = BigInt(record.after.rootedCount) - BigInt(last?.after.rootedCount ?? 0);
      ledger.#waiting.splice(0, Number(rooted));
      for (const mark of record.marks) ledger.#marks.add(mark);
      for (const root of record.roots) ledger.#roots.add(root);
      ledger.findings.push(...record.findings);
      last = record;
    }
    if (last !== undefined) ledger.#stand(last.after);
    return ledger;
  }

  #stand({ frontier, rootedCount, announced, ...after }: BlockRecord["after"]): void {
    const tree = Frontier.from(
      BigInt(rootedCount),
      frontier.map((node) => mustField(BigInt(node))),
    );
    if (tree === undefined) throw new TypeError("a frontier that fits no tree");
    this.#frontier = tree;
    this.rootedHead = after.rootedHead;
    this.announced = { root: BigInt(announced.root), sequence: announced.sequence };
    this.head = after.head;
    for (const signer of after.signers) this.signers.add(signer);
    this.#pending = after.pending;
    for (const [asset, amount] of Object.entries(after.owed)) this.owed.set(asset as Address, BigInt(amount));
    this.statements = after.statements;
  }
}

function noAdditions(): { leaves: string[]; marks: string[]; roots: string[]; findings: Finding[] } {
  return { leaves: [], marks: [], roots: [], findings: [] };
}
