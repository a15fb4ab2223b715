/**
 * What the watcher knows by its own computation from the pool's log: the tree, the queue's head, roots and which of
 * them are revoked, spent nullifiers, accepted signers, claims, and what the pool owes in each asset. Believes no root
 * and no balance it was told. All of it follows from changes (changes.ts), so that a journal of them is the ledger.
 */
import {
  ZERO_BYTES32,
  mustField,
  type Address,
  type Bytes32,
  type Field,
} from "../../shared/protocol/brands.ts";
import { asAddress } from "../../shared/protocol/host/text.ts";
import { nextHead } from "../../shared/protocol/tree.ts";
import type { OwnerEvent, Proposal } from "../../proxy/base/chain/owner-events.ts";
import type { BlockRecord, Change, Flow } from "./changes.ts";
import { Claims } from "./claims.ts";
import { convictionOf, type Evidence } from "./evidence.ts";
import type { Finding } from "./findings.ts";
import { LeafTree } from "./leaf-tree.ts";
import { Roots, type Root } from "./roots.ts";

/** A statement's leaves in the queue. */
export interface Queued {
  readonly statement: Bytes32;
  readonly firstLeaf: number;
  readonly leaves: number;
  /** Nullifiers, or the hash of a deposit. */
  readonly marks: readonly string[];
  readonly flows: Flow[];
  /** Unix seconds of its block. */
  readonly time: number;
  /** Of the root that it was proved on; 0 for a deposit, as the empty tree's. Undefined where nobody showed it. */
  readonly rootNumber: number | undefined;
  /** First leaf of the suspended statement that it is again. */
  readonly confirms: number | undefined;
}

export class Ledger {
  /** With the kind of verifier of each. */
  readonly signers = new Map<Address, number>();
  /** All that ever were: a signature of theirs can be refuted. */
  readonly everSigners = new Set<Address>();
  /** By asset: what went in less what went out, less what a refutation showed to be nobody's. */
  readonly owed = new Map<Address, bigint>();
  /** Everything found in the blocks that count. */
  readonly findings: Finding[] = [];
  readonly claims = new Claims();
  readonly roots: Roots;
  statements = 0;
  head: Bytes32 = ZERO_BYTES32;
  /** Over the leaves in the tree. */
  rootedHead: Bytes32 = ZERO_BYTES32;
  /** Unix seconds before which no attestation counts. */
  attestedFrom = 0;
  isUnsound = false;
  /** From here on no leaf is void or proved on a revoked root. */
  doubtfulUpTo = 0;
  /** Proposed, and not admitted, withdrawn or expired. */
  #pending: readonly Proposal[] = [];
  readonly #tree = new LeafTree();
  /** All of the queue, void ones as they were queued. */
  readonly #leaves: Field[] = [];
  readonly #void = new Set<number>();
  /** By first leaf. */
  readonly #suspended = new Set<number>();
  /** By first leaf; a Map keeps the order of the queue. */
  readonly #executed = new Map<number, Queued>();
  /** Notes that belong to no statement: the time of each, by leaf. */
  readonly #credited = new Map<number, number>();
  /** By mark the first leaf of the statement that holds it. */
  readonly #marks = new Map<string, number>();
  /** Statements whose leaves became void at some time. */
  readonly #refuted = new Set<string>();
  /** Deposits whose leaves are void: a proof makes their notes again, and no money moves. */
  readonly #paid = new Set<string>();
  /** By first leaf. */
  readonly #unseen = new Set<number>();
  readonly #evidence = new Map<string, Evidence>();
  readonly #convictions = new Set<string>();
  #added: Change[] = [];

  constructor() {
    this.roots = new Roots(this.#tree.root());
  }

  // ---------------------------------------------------------------- reading

  get leafCount(): bigint {
    return BigInt(this.#leaves.length);
  }
  get rootedCount(): bigint {
    return BigInt(this.#tree.leafCount);
  }
  get pending(): readonly Proposal[] {
    return this.#pending;
  }
  /** Whether doubtful leaves wait: only `advance` extends the tree then. */
  get isRolledBack(): boolean {
    return this.#tree.leafCount < this.doubtfulUpTo;
  }
  get tree(): Pick<LeafTree, "frontier" | "path" | "root"> {
    return this.#tree;
  }

  /** As they were queued. */
  leavesBetween(from: number, to: number): readonly Field[] {
    return this.#leaves.slice(from, to);
  }

  /** Whether a statement was found false, or could not be judged. */
  isDoubtful(firstLeaf: number): boolean {
    const isFalse = (one: Evidence): boolean => one.type === "statement" && one.firstLeaf === firstLeaf;
    return this.#unseen.has(firstLeaf) || [...this.#evidence.values()].some(isFalse);
  }

  /** Of the queue, over its first leaves; no fewer than are in the tree. */
  headAt(leafCount: number): Bytes32 {
    return this.leavesBetween(this.#tree.leafCount, leafCount).reduce<Bytes32>(nextHead, this.rootedHead);
  }

  executedAt(firstLeaf: number): Queued | undefined {
    return this.#executed.get(firstLeaf);
  }

  isVoid(leaf: number): boolean {
    return this.#void.has(leaf);
  }

  /** The statement of that name, where it, or what confirmed it last, is suspended and has all these marks. */
  suspended(statement: Bytes32, marks: readonly string[]): Queued | undefined {
    const firstLeaf = this.#marks.get(marks[0]!);
    if (firstLeaf === undefined || !this.#suspended.has(firstLeaf)) return undefined;
    const holder = this.#executed.get(firstLeaf)!;
    const holdsAll =
      String(holder.marks) === String(marks) && marks.every((mark) => this.#marks.get(mark) === firstLeaf);
    const found = this.originOf(holder);
    return found.statement === statement && holdsAll ? found : undefined;
  }

  /** What moved the money of a statement that came again, perhaps more than once. */
  originOf(queued: Queued): Queued {
    const { confirms } = queued;
    return confirms === undefined ? queued : this.originOf(this.#executed.get(confirms)!);
  }

  /** Statements of that part of the queue that were proved on a root that is revoked, and are not empty. */
  taintedBetween(from: number, to: number): Queued[] {
    const found: Queued[] = [];
    for (let place = from; place < Math.min(to, this.#leaves.length); place++) {
      const queued = this.#executed.get(place);
      if (queued?.rootNumber === undefined || this.#void.has(place)) continue;
      if (this.roots.numbered(queued.rootNumber) === undefined) found.push(queued);
    }
    return found;
  }

  /** Leaf counts at which a statement or a credited note ended, from `from` on, oldest first. */
  boundariesAfter(from: number, to: number): number[] {
    const found: number[] = [];
    // Few leaves, so this looks at places and not at all statements.
    for (let place = Math.max(0, from - 4); place < to; place++) {
      const leaves = this.#executed.get(place)?.leaves ?? (this.#credited.has(place) ? 1 : 0);
      const end = leaves === 0 ? 0 : place + leaves;
      if (end > from && end <= to) found.push(end);
    }
    return found;
  }

  wasRefuted(statement: Bytes32): boolean {
    return this.#refuted.has(statement);
  }

  isPaid(deposit: Bytes32): boolean {
    return this.#paid.has(deposit);
  }

  /** When the last of the first `leafCount` leaves was queued: no root over them can be older. */
  queuedAt(leafCount: number): number {
    for (let place = leafCount - 1; place >= 0; place--) {
      const time = this.#executed.get(place)?.time ?? this.#credited.get(place);
      if (time !== undefined) return time;
    }
    return 0;
  }

  /** What is false and not yet shown to the pool for each of its signers. */
  get openEvidence(): readonly Evidence[] {
    return [...this.#evidence.values()].filter(({ signers, digest }) =>
      signers.some((signer) => !this.#convictions.has(convictionOf(signer, digest))),
    );
  }

  /** What those who are named signed, where a finding says that it is false. */
  evidenceBehind({ digest, signers = [] }: Finding): Evidence | undefined {
    return digest && this.#evidence.get(evidenceKey(digest, signers));
  }

  // ---------------------------------------------------------------- changing

  /** @returns which of the marks were there before */
  execute(
    executed: Omit<Queued, "flows" | "firstLeaf" | "leaves"> & { readonly leaves: readonly Field[] },
  ): string[] {
    const { leaves, ...rest } = executed;
    const twice = executed.marks.filter((mark) => this.#marks.has(mark));
    const head = leaves.reduce<Bytes32>(nextHead, this.head);
    this.#change({ type: "executed", ...rest, leaves: leaves.map(String), head });
    return twice;
  }

  /** A note that belongs to no statement. */
  credit(leaf: Field, time: number): void {
    this.#change({ type: "credited", leaf: String(leaf), time, head: nextHead(this.head, leaf) });
  }

  /** The amounts of the statement whose first leaf that is; of a claim's payment and of a credited note, none. */
  owe(asset: Address, amount: bigint, firstLeaf?: number): void {
    this.#change({
      type: "owe",
      asset,
      amount: String(amount),
      ...(firstLeaf === undefined ? {} : { firstLeaf }),
    });
  }

  /** Its proof is not known. */
  countUnseen(firstLeaf: number): void {
    this.#change({ type: "unseen", firstLeaf });
  }

  /** The root and head that the first `leafCount` leaves really have; the tree then stands there. Undefined when it cannot. */
  advance(leafCount: bigint, told: Pick<Root, "announced" | "sequence" | "since">): Root | undefined {
    const [from, to] = [this.#tree.leafCount, Number(leafCount)];
    if (to <= from || to > this.#leaves.length) return undefined;
    const head = this.headAt(to);
    const nodes = this.#tree.append(this.#appended(from, to)).map(String);
    const root = { ...told, truth: this.#tree.root(), leafCount: to, head };
    this.#tree.truncate(from);
    const { announced, truth } = root;
    this.#change({ type: "root", ...root, announced: String(announced), truth: String(truth), nodes });
    return root;
  }

  voidLeaves(firstLeaf: number, count: number): void {
    this.#change({ type: "void", firstLeaf, count });
  }
  suspend(firstLeaf: number, count: number): void {
    this.#change({ type: "suspend", firstLeaf, count });
  }
  /** A deposit whose leaves are void; it can be proved no more. */
  returnDeposit(statement: Bytes32): void {
    this.#change({ type: "returned", statement });
  }
  /** The tree stands at `leafCount` then. */
  revoke(first: number, last: number, leafCount: number): void {
    this.#change({ type: "revoke", first, last, leafCount });
  }
  /** Something came in, went, or was proposed; of a signer that came in with its kind of verifier. */
  change(event: OwnerEvent, kind?: number): void {
    this.#change({ type: "owner", event, ...(kind === undefined ? {} : { kind }) });
  }
  /** Those that have expired by then; they are pending no more. */
  expire(unixSecs: number): readonly Proposal[] {
    const expired = this.#pending.filter(({ expiresAt }) => unixSecs >= expiresAt);
    if (expired.length > 0) this.#change({ type: "expire", unixSecs });
    return expired;
  }
  closeAttestedPath(until: number): void {
    this.#change({ type: "close", until });
  }
  stopAsUnsound(): void {
    this.#change({ type: "unsound" });
  }
  claim(change: Extract<Change, { type: "claim" }>): void {
    this.#change(change);
  }
  keep(evidence: Evidence): void {
    this.#change({ type: "evidence", evidence });
  }
  convict(signer: Address, digest: Bytes32): void {
    this.#change({ type: "convict", signer, digest });
  }
  report(finding: Finding): void {
    this.#change({ type: "finding", finding });
  }

  /** Ends a block. */
  seal(number: number, hash: Bytes32): BlockRecord {
    const changes = this.#added;
    this.#added = [];
    return { number, hash, changes };
  }

  /** The ledger after these blocks. Hashes nothing again: a watcher's own records are believed. */
  static async from(records: AsyncIterable<BlockRecord>): Promise<Ledger> {
    const ledger = new Ledger();
    for await (const { changes } of records) for (const change of changes) ledger.#apply(change);
    return ledger;
  }

  #change(change: Change): void {
    this.#added.push(change);
    this.#apply(change);
  }

  #appended(from: number, to: number): Field[] {
    return this.#leaves.slice(from, to).map((leaf, i) => (this.#void.has(from + i) ? mustField(0n) : leaf));
  }

  #apply(change: Change): void {
    switch (change.type) {
      case "executed":
        this.#applyExecuted(change);
        return;
      case "credited":
        this.#credited.set(this.#leaves.length, change.time);
        this.#leaves.push(toField(change.leaf));
        this.head = change.head;
        return;
      case "owe": {
        const { asset, amount, firstLeaf } = change;
        if (firstLeaf !== undefined) this.#executed.get(firstLeaf)?.flows.push({ asset, amount });
        this.#addOwed(asset, BigInt(amount));
        return;
      }
      case "unseen":
        this.#unseen.add(change.firstLeaf);
        return;
      case "root": {
        const { leafCount, head, nodes } = change;
        this.#tree.append(this.#appended(this.#tree.leafCount, leafCount), nodes.map(toField));
        this.rootedHead = head;
        const [announced, truth] = [BigInt(change.announced), toField(change.truth)];
        this.roots.add({ ...change, announced, truth });
        return;
      }
      case "void":
        this.#applyVoid(change.firstLeaf, change.count);
        return;
      case "suspend":
        this.#empty(change.firstLeaf, change.count);
        if (this.#executed.has(change.firstLeaf)) this.#suspended.add(change.firstLeaf);
        return;
      case "returned":
        this.#paid.delete(change.statement);
        return;
      case "revoke": {
        const newest = this.roots.revoke(change.first, change.last);
        this.#tree.truncate(change.leafCount);
        this.rootedHead = newest.head;
        // All that waits may be proved on one of them; what comes later cannot be.
        this.doubtfulUpTo = this.#leaves.length;
        return;
      }
      case "owner":
        this.#applyOwner(change.event, change.kind ?? 0);
        return;
      case "expire":
        this.#pending = this.#pending.filter(({ expiresAt }) => change.unixSecs < expiresAt);
        return;
      case "close":
        this.attestedFrom = change.until;
        return;
      case "unsound":
        this.isUnsound = true;
        return;
      case "claim":
        this.claims.apply(change);
        return;
      case "evidence":
        this.#evidence.set(evidenceKey(change.evidence.digest, change.evidence.signers), change.evidence);
        return;
      case "convict":
        this.#convictions.add(convictionOf(change.signer, change.digest));
        return;
      case "finding":
        this.findings.push(change.finding);
    }
  }

  #applyExecuted(change: Extract<Change, { type: "executed" }>): void {
    const { statement, leaves, marks, time, head, rootNumber, confirms } = change;
    const firstLeaf = this.#leaves.length;
    for (const leaf of leaves) this.#leaves.push(toField(leaf));
    for (const mark of marks) this.#marks.set(mark, firstLeaf);
    const queued = { statement, marks, time, rootNumber, confirms };
    this.#executed.set(firstLeaf, { ...queued, firstLeaf, leaves: leaves.length, flows: [] });
    this.#paid.delete(statement);
    this.head = head;
    this.statements += 1;
  }

  /**
   * Its nullifiers are unspent again, and what it took out is owed again: to whoever holds the notes that it named. Of one
   * that confirmed another they are the other's again, and it took nothing out.
   */
  #applyVoid(firstLeaf: number, count: number): void {
    const executed = this.#executed.get(firstLeaf);
    // What was suspended is empty in every root already.
    if (!this.#void.has(firstLeaf)) this.doubtfulUpTo = Math.max(this.doubtfulUpTo, firstLeaf + count);
    this.#empty(firstLeaf, count);
    if (executed === undefined) return;
    this.#refuted.add(executed.statement);
    this.#suspended.delete(firstLeaf);
    for (const mark of executed.marks) {
      if (executed.confirms === undefined) this.#marks.delete(mark);
      else this.#marks.set(mark, executed.confirms);
    }
    const isDeposit = executed.marks.includes(executed.statement);
    // A deposit's money stays here, for whoever proves the deposit.
    if (isDeposit) this.#paid.add(executed.statement);
    else for (const { asset, amount } of executed.flows) this.#addOwed(asset, -BigInt(amount));
  }

  #empty(firstLeaf: number, count: number): void {
    for (let leaf = firstLeaf; leaf < firstLeaf + count; leaf++) this.#void.add(leaf);
  }

  #applyOwner({ change, role, subject, proposal }: OwnerEvent, kind: number): void {
    const others = this.#pending.filter((one) => one.role !== role || one.subject !== subject);
    this.#pending = proposal === undefined ? others : [...others, proposal];
    const signer = role === "signer" ? asAddress(subject) : undefined;
    if (signer === undefined) return;
    if (change === "removed") this.signers.delete(signer);
    if (change !== "admitted") return;
    this.signers.set(signer, kind);
    this.everSigners.add(signer);
  }

  #addOwed(asset: Address, amount: bigint): void {
    this.owed.set(asset, (this.owed.get(asset) ?? 0n) + amount);
  }
}

function evidenceKey(digest: Bytes32, signers: readonly Address[]): string {
  return `${digest} ${signers.join()}`;
}

function toField(text: string): Field {
  return mustField(BigInt(text));
}
