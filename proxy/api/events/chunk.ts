/**
 * The next chunk of the history out of the log (see `shared/api/history-chunk.ts`). It depends on nothing but the log up to
 * its last output: two services make the same bytes, whenever they make them.
 */
import { createHash } from "node:crypto";
import {
  HistoryChunk,
  NODE_LEAVES,
  writeHistoryChunk,
  type ChunkNullifier,
  type ChunkOpening,
  type ChunkRoot,
  type ChunkRun,
  type ChunkTransaction,
  type ChunkVoid,
} from "../../../shared/api/history-chunk.ts";
import { mustField, type Field } from "../../../shared/protocol/brands.ts";
import { bytesToUint, toBytes32 } from "../../../shared/protocol/bytes.ts";
import { poseidon4 } from "../../../shared/protocol/host/poseidon.ts";
import { TREE_ARITY } from "../../../shared/protocol/tree.ts";
import { yieldToEventLoop } from "../../base/event-loop.ts";
import type { ChainDataStore, ChunkEntry, LoggedEvent, Position } from "../../base/store/chain-data.ts";

/** Read from the store in one turn of the event loop: three milliseconds. */
const EVENTS_AT_ONCE = 256;
/** Two milliseconds. */
const HASHES_AT_ONCE = 8;
const NO_CHUNK = new Uint8Array(32);

export interface MadeChunk {
  readonly bytes: Uint8Array;
  readonly entry: ChunkEntry;
}

export type ChunkSource = Pick<ChainDataStore, "chunk" | "eventsAfter" | "subtree" | "voids">;

/** Undefined where the log does not hold all of its outputs, or its predecessor cannot be read. */
export async function makeChunk(
  data: ChunkSource,
  outputs: number,
  before: ChunkEntry | undefined,
): Promise<MadeChunk | undefined> {
  const number = before === undefined ? 0 : before.number + 1;
  const root = rootBefore(data, before);
  if (root === "unknown") return undefined;
  const parts = new Parts(number * outputs, root);
  const last = await readInto(parts, data, outputs, before?.end.position);
  if (last === undefined) return undefined;
  const { position, blockHash } = last;
  const bytes = writeHistoryChunk({
    ...{ number, previous: before === undefined ? NO_CHUNK : Buffer.from(before.checksum.slice(2), "hex") },
    end: { ...position, blockHash },
    root: parts.root,
    nodes: await nodesOver(data, number * outputs, parts.commitments),
    ...{ transactions: parts.transactions, runs: parts.runs },
    ...{ ciphertexts: parts.ciphertexts, commitments: parts.commitments, openings: parts.openings },
    ...{ nullifiers: parts.nullifiers, voids: parts.voids },
  });
  const checksum = toBytes32(createHash("sha256").update(bytes).digest());
  const end = { position, blockHash };
  return { bytes, entry: { number, outputs, bytes: bytes.length, checksum, end } };
}

/** The newest root where the chunk before ends; "unknown" where that cannot be read. */
function rootBefore(data: ChunkSource, before: ChunkEntry | undefined): ChunkRoot | undefined | "unknown" {
  if (before === undefined) return undefined;
  const bytes = data.chunk(before.number);
  const chunk = bytes === undefined ? undefined : HistoryChunk.read(bytes);
  return chunk === undefined ? "unknown" : chunk.root;
}

/** Answers the event of the last output. */
async function readInto(
  parts: Parts,
  data: ChunkSource,
  outputs: number,
  after: Position | undefined,
): Promise<LoggedEvent | undefined> {
  for (let position = after; ;) {
    const logged = data.eventsAfter(position, EVENTS_AT_ONCE);
    if (logged.length === 0) return undefined;
    for (const one of logged) {
      if (!parts.take(one)) return undefined;
      if (parts.commitments.length === outputs) return one;
    }
    position = logged.at(-1)!.position;
    await yieldToEventLoop();
  }
}

class Parts {
  readonly transactions: ChunkTransaction[] = [];
  readonly runs: ChunkRun[] = [];
  readonly ciphertexts: Uint8Array[] = [];
  readonly commitments: Field[] = [];
  readonly openings: ChunkOpening[] = [];
  readonly nullifiers: ChunkNullifier[] = [];
  readonly voids: ChunkVoid[] = [];
  root: ChunkRoot | undefined;
  readonly #firstLeaf: number;

  constructor(firstLeaf: number, root: ChunkRoot | undefined) {
    this.#firstLeaf = firstLeaf;
    this.root = root;
  }

  /** False for a leaf that is not the next one. */
  take(logged: LoggedEvent): boolean {
    const { event, position } = logged;
    switch (event.kind) {
      case "leaf":
        if (event.index !== this.#firstLeaf + this.commitments.length) return false;
        this.#addOutput(event, this.#transactionOf(logged));
        return true;
      case "nullifier":
        this.nullifiers.push({ transaction: this.#transactionOf(logged), nullifier: event.nullifier });
        return true;
      case "voided": {
        const { firstLeafIndex, leafCount, nullifiers } = event;
        const before = this.nullifiers.length;
        const transaction = this.#transactionOf(logged);
        this.voids.push({ transaction, before, firstLeafIndex, leafCount, nullifiers });
        return true;
      }
      case "root":
      case "revoked":
        this.root = { root: event.root, leafCount: event.leafCount, block: position.block };
        return true;
      case "executed":
      case "rejected":
        return true;
    }
  }

  #addOutput(event: Extract<LoggedEvent["event"], { kind: "leaf" }>, transaction: number): void {
    const { sealed, source, opening } = event;
    const { ephemeralKey, output } = sealed;
    const last = this.runs.at(-1);
    const follows =
      last?.transaction === transaction &&
      last.source === source &&
      last.output + last.count === output &&
      Buffer.compare(last.ephemeralKey, ephemeralKey) === 0;
    if (follows) this.runs[this.runs.length - 1] = { ...last, count: last.count + 1 };
    else this.runs.push({ ephemeralKey, transaction, output, source, count: 1 });
    if (opening !== undefined) this.openings.push({ output: this.commitments.length, ...opening });
    this.ciphertexts.push(sealed.ciphertext);
    this.commitments.push(event.commitment);
  }

  /** The log has the events of a transaction one after the other. */
  #transactionOf({ txHash, position }: LoggedEvent): number {
    if (this.transactions.at(-1)?.hash !== txHash)
      this.transactions.push({ block: position.block, hash: txHash });
    return this.transactions.length - 1;
  }
}

/** Roots of the subtrees over these leaves as they were queued. */
async function nodesOver(data: ChunkSource, firstLeaf: number, leaves: readonly Field[]): Promise<Field[]> {
  const nodes: Field[] = [];
  const voids = data.voids();
  for (let at = 0; at < leaves.length; at += NODE_LEAVES) {
    const from = firstLeaf + at;
    const isEmptied = voids.some(
      (one) => one.firstLeafIndex < from + NODE_LEAVES && one.firstLeafIndex + one.leafCount > from,
    );
    const kept = isEmptied ? undefined : data.subtree(from / NODE_LEAVES);
    nodes.push(
      kept === undefined
        ? await nodeOver(leaves.slice(at, at + NODE_LEAVES))
        : mustField(bytesToUint(kept.slice(-32))),
    );
  }
  return nodes;
}

async function nodeOver(leaves: readonly Field[]): Promise<Field> {
  let row = leaves;
  let hashed = 0;
  while (row.length > 1) {
    const parents: Field[] = [];
    for (let at = 0; at < row.length; at += TREE_ARITY) {
      parents.push(poseidon4(row[at]!, row[at + 1]!, row[at + 2]!, row[at + 3]!));
      if (++hashed % HASHES_AT_ONCE === 0) await yieldToEventLoop();
    }
    row = parents;
  }
  return row[0]!;
}
