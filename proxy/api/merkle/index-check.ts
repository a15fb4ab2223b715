/**
 * Whether an index says what the pool says. The queue's head is a hash over every leaf in order, so heads and root
 * are computed again from the stored leaves and compared with the pool's at one block; events, statements and
 * nullifiers are compared by sample. Believes the node: an operator who does not asks another one.
 */
import { isDeepStrictEqual } from "node:util";
import { yieldToEventLoop } from "../../base/event-loop.ts";
import type { Pool } from "../../base/chain/pool.ts";
import { ChainUnreachable, ChainRefused } from "../../base/chain/json-rpc.ts";
import type { Chain } from "../../base/chain/provider.ts";
import type { ChainDataStore, IndexedBlock, LoggedEvent } from "../../base/store/chain-data.ts";
import { ZERO_BYTES32, type Bytes32, type Field } from "../../../shared/protocol/brands.ts";
import { toHex } from "../../../shared/protocol/bytes.ts";
import { nextHead } from "../../../shared/protocol/tree.ts";
import { Expansion } from "./expansion.ts";
import { CommitmentTree, inTree } from "./tree.ts";

export interface IndexReport {
  /** The index's last block: both sides are read at it. Undefined for an empty index. */
  readonly block: IndexedBlock | undefined;
  /** Blocks of the chain above it. */
  readonly behind: number;
  readonly leafCount: number;
  readonly sampled: { readonly blocks: number; readonly events: number; readonly nullifiers: number };
  /** Sentences; none when index and pool are equal. */
  readonly differences: readonly string[];
}

const SLICE = 512;
/** One broken index has thousands; the first few say what is wrong. */
const MAX_DIFFERENCES = 20;

/** Throws ChainUnreachable when the node cannot answer, or the chain moved meanwhile: nothing is known then. */
export async function checkIndex(
  chain: Chain,
  pool: Pool,
  data: ChainDataStore,
  sample: number,
): Promise<IndexReport> {
  const differences: string[] = [];
  const differ = (sentence: string): void => {
    if (differences.length < MAX_DIFFERENCES) differences.push(sentence);
  };
  // One turn of the event loop is one snapshot: a proxy may be writing meanwhile.
  const tip = data.tip();
  const leafCount = data.leafCount();
  const root = data.currentRoot();
  const newest = await chain.header("latest");
  if (newest === undefined) throw new ChainUnreachable("the node has no newest block");
  const nothing = { blocks: 0, events: 0, nullifiers: 0 };
  if (tip === undefined || root === undefined) {
    differ("the index is empty");
    return { block: undefined, behind: newest.number, leafCount, sampled: nothing, differences };
  }
  const report = { block: tip, behind: Math.max(newest.number - tip.number, 0), leafCount };
  if ((await chain.header(tip.number))?.hash !== tip.hash) {
    differ(`block ${String(tip.number)} of the index is not on the chain`);
    return { ...report, sampled: nothing, differences };
  }

  const [queue, poolRoot, sequence] = await atBlock(tip.number, () =>
    Promise.all([
      pool.queue(tip.number),
      pool.currentRoot(tip.number),
      pool.rootSequence(root.root, tip.number),
    ]),
  );
  const computed = await recompute(data, leafCount, root.leafCount);
  compare(differ, "leaves", leafCount, queue.leafCount);
  compare(differ, "queue's head, from the stored leaves,", computed.head, queue.head);
  compare(differ, "stored queue's head", data.headAt(leafCount), queue.head);
  compare(differ, "rooted leaves", root.leafCount, poolRoot.leafCount);
  compare(differ, "root's number", root.sequence, sequence);
  compare(differ, "root, from the stored leaves,", String(computed.root), String(poolRoot.root));
  compare(differ, "stored root", String(root.root), String(poolRoot.root));
  const sampled = await compareSample(pool, data, Math.min(leafCount, queue.leafCount), sample, differ);

  const isStill = data.blockAtOrBelow(tip.number)?.hash === tip.hash;
  if (!isStill || (await chain.header(tip.number))?.hash !== tip.hash)
    throw new ChainUnreachable("the chain was reorganised while it was compared; ask again");
  return { ...report, sampled, differences };
}

/** A node without old states refuses with its own words, which say nothing to an operator. */
async function atBlock<T>(number: number, ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (cause) {
    if (!(cause instanceof ChainUnreachable || cause instanceof ChainRefused)) throw cause;
    const what = `the node does not say what the pool held at block ${String(number)}`;
    throw new ChainUnreachable(`${what} (far behind its head that takes an archive node)`, { cause });
  }
}

async function recompute(
  data: ChainDataStore,
  leafCount: number,
  rootedLeaves: number,
): Promise<{ head: Bytes32; root: Field | undefined }> {
  const tree = new CommitmentTree();
  let head: Bytes32 = ZERO_BYTES32;
  for (let from = 0; from < leafCount; from += SLICE) {
    for (const leaf of data.leaves(from, Math.min(from + SLICE, leafCount))) {
      tree.append(inTree(leaf));
      head = nextHead(head, leaf.commitment);
    }
    await yieldToEventLoop();
  }
  return { head, root: rootedLeaves > tree.leafCount ? undefined : tree.root(rootedLeaves) };
}

/** Blocks that hold evenly spread leaves, the first and the last among them, as the node tells them now. */
async function compareSample(
  pool: Pool,
  data: ChainDataStore,
  leafCount: number,
  sample: number,
  differ: (sentence: string) => void,
): Promise<IndexReport["sampled"]> {
  const blocks = new Set<number>();
  const count = Math.min(sample, leafCount);
  for (let i = 0; i < count; i++) {
    const index = count === 1 ? leafCount - 1 : Math.floor((i * (leafCount - 1)) / (count - 1));
    const leaf = data.leaf(index);
    if (leaf === undefined) differ(`leaf ${String(index)} is missing`);
    else {
      blocks.add(leaf.block);
      if ((await pool.isVoid(index)) !== leaf.isVoid)
        differ(`leaf ${String(index)} is void on one side only`);
    }
  }
  const found: LoggedEvent[] = [];
  for (const block of blocks) {
    const expansion = new Expansion(pool, (firstLeafIndex) => data.madeAt(firstLeafIndex));
    const logs = await pool.logs({ fromBlock: block, toBlock: block });
    const ordered = [...logs].sort((a, b) => a.logIndex - b.logIndex);
    found.push(...ordered.flatMap((log) => expansion.take(log)));
    expansion.done();
  }
  let nullifiers = 0;
  for (const logged of found) {
    compareEvent(data, logged, differ);
    if (logged.event.kind !== "nullifier" || nullifiers >= sample) continue;
    nullifiers += 1;
    // Of a refuted statement it is unspent again, on both sides.
    if ((await pool.isSpent(logged.event.nullifier)) !== (data.spender(logged.event.nullifier) !== undefined))
      differ(`a nullifier of block ${String(logged.position.block)} is spent on one side only`);
  }
  return { blocks: blocks.size, events: found.length, nullifiers };
}

function compareEvent(data: ChainDataStore, found: LoggedEvent, differ: (sentence: string) => void): void {
  const { event, position, txHash } = found;
  const where = `block ${String(position.block)}, log ${String(position.logIndex)}`;
  const kept = data.eventAt(position);
  if (kept === undefined || !isDeepStrictEqual(plain(kept), plain(found))) {
    differ(`${where}: the ${event.kind} of the chain is not the one of the event log`);
  }
  switch (event.kind) {
    case "leaf":
      if (data.leaf(event.index)?.commitment !== event.commitment)
        differ(`${where}: leaf ${String(event.index)} is another one`);
      return;
    case "executed": {
      if (data.leaf(event.firstLeafIndex)?.isVoid === true) return;
      const execution = data.execution(event.statement);
      if (execution?.txHash !== txHash || execution.block !== position.block)
        differ(`${where}: the index does not know that ${event.statement} was executed there`);
      for (const nullifier of event.nullifiers) {
        if (data.spender(nullifier)?.statement !== (event.confirms ?? event.statement))
          differ(`${where}: the index does not know a nullifier that ${event.statement} spent`);
      }
      return;
    }
    case "nullifier":
    case "root":
    case "voided":
    case "revoked":
    case "rejected":
      return;
  }
}

/** Bytes come back from disk as another class than they came from the node in. */
function plain(value: unknown): unknown {
  if (value instanceof Uint8Array) return toHex(value);
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, plain(inner)]));
}

function compare<T>(differ: (sentence: string) => void, what: string, ours: T, theirs: T): void {
  if (ours !== theirs) differ(`${what}: ${String(ours)} in the index, ${String(theirs)} in the pool`);
}
