// A pool as an indexer has read it: real store, real tree and the service's own routes on the real edge. What makes
// its leaves is the test. Between client and edge stands whatever a test puts there.
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { merkleRoutes } from "../../../proxy/api/merkle/merkle.routes.ts";
import { createMerkle } from "../../../proxy/api/merkle/merkle.service.ts";
import { CommitmentTree } from "../../../proxy/api/merkle/tree.ts";
import type { ChainEvent, LoggedEvent } from "../../../proxy/base/store/chain-data.ts";
import { openChainDataStore } from "../../../proxy/base/store/lmdb/chain-data.ts";
import { openDatabase } from "../../../proxy/base/store/lmdb/database.ts";
import { mustField, type Bytes32, type Field } from "../../../shared/protocol/brands.ts";
import { toHex, word } from "../../../shared/protocol/bytes.ts";
import { CIPHERTEXT_BYTES } from "../../../shared/protocol/statements.ts";
import { startEdge, type Edge } from "../../support/edge.ts";

export interface Passing {
  readonly url: URL;
  readonly status: number;
  readonly type: string;
  readonly body: Uint8Array;
}

/** What becomes of an answer on its way: sent as it is, changed, or taken over. */
export type Bend = (
  passing: Passing,
  response: ServerResponse,
) => Promise<Partial<Passing> | "taken"> | Partial<Passing> | "taken";

const hash = (n: number): Bytes32 => toHex(word(BigInt(n))) as Bytes32;

export class IndexedPool {
  /** What reached the service's data routes, as path and query. */
  readonly asked: string[] = [];
  bend: Bend = () => ({});
  readonly #folder: string;
  readonly #database: ReturnType<typeof openDatabase>;
  readonly #data: ReturnType<typeof openChainDataStore>;
  readonly #tree = new CommitmentTree();
  readonly #listeners = new Set<() => void>();
  readonly #between = createServer(
    (request, response) => void this.#pass(request.url!, request.headers, response),
  );
  #edge!: Edge;
  /** So that a reorganisation brings blocks of other hashes. */
  #fork = 0;

  private constructor(folder: string) {
    this.#folder = folder;
    this.#database = openDatabase(folder);
    this.#data = openChainDataStore(this.#database);
  }

  static async start(): Promise<IndexedPool> {
    const pool = new IndexedPool(await mkdtemp(path.join(tmpdir(), "cloister-indexed-")));
    const merkle = createMerkle(
      {
        tree: pool.#tree,
        state: () => ({ tip: pool.#data.tip(), syncedAt: 1, fault: undefined }),
        onChange: (listener) => {
          const heard = (): void => listener({ type: "advanced", tip: pool.#data.tip()! });
          pool.#listeners.add(heard);
          return () => pool.#listeners.delete(heard);
        },
      },
      pool.#data,
    );
    pool.#edge = await startEdge({ handlers: merkleRoutes(merkle) });
    await new Promise<void>((resolve) => pool.#between.listen(0, "127.0.0.1", resolve));
    return pool;
  }

  async stop(): Promise<void> {
    this.#between.closeAllConnections();
    await new Promise((resolve) => this.#between.close(resolve));
    await this.#edge.stop();
    await this.#database.close();
    await rm(this.#folder, { recursive: true, force: true });
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#between.address() as AddressInfo).port}`;
  }
  get key(): string {
    return this.#edge.key;
  }
  get root(): Field {
    return this.#tree.root(this.#tree.leafCount);
  }

  /** A block with these leaves and a root over all of them. */
  async grow(leaves: readonly Field[]): Promise<void> {
    const number = (this.#data.tip()?.number ?? 0) + 1;
    const first = this.#tree.leafCount;
    for (const leaf of leaves) this.#tree.append(leaf);
    const events: ChainEvent[] = leaves.map((commitment, at) => ({
      ...{ kind: "leaf", index: first + at, commitment, source: "spend", isLast: true },
      sealed: { ephemeralKey: new Uint8Array(32), output: 0, ciphertext: new Uint8Array(CIPHERTEXT_BYTES) },
    }));
    const sequence = (this.#data.currentRoot()?.sequence ?? 0) + 1;
    events.push({ kind: "root", root: this.root, leafCount: this.#tree.leafCount, sequence });
    const blockHash = hash(1_000_000 * this.#fork + number);
    const logged = events.map((event, logIndex): LoggedEvent => ({
      ...{ position: { block: number, logIndex, part: 0 }, blockHash, txHash: hash(1), event },
    }));
    await this.#data.append([{ number, hash: blockHash, timestamp: number }], logged);
    for (const listener of this.#listeners) listener();
  }

  /** All blocks after this one vanish. */
  async reorg(block: number): Promise<void> {
    this.#fork += 1;
    await this.#data.rollbackTo(block);
    this.#tree.truncate(this.#data.leafCount());
    for (const listener of this.#listeners) listener();
  }

  async #pass(
    path: string,
    headers: NodeJS.Dict<string | string[]>,
    response: ServerResponse,
  ): Promise<void> {
    this.asked.push(path);
    const { host: _ours, connection: _hop, ...rest } = headers;
    const answer = await fetch(`${this.#edge.url}${path}`, { headers: rest as Record<string, string> });
    const passing: Passing = {
      url: new URL(path, this.url),
      status: answer.status,
      type: answer.headers.get("content-type") ?? "",
      body: new Uint8Array(await answer.arrayBuffer()),
    };
    const bent = await this.bend(passing, response);
    if (bent === "taken") return;
    const { status, type, body } = { ...passing, ...bent };
    response.writeHead(status, { "Content-Type": type, "Content-Length": body.length }).end(body);
  }
}

export const leavesFrom = (first: number, count: number): Field[] =>
  Array.from({ length: count }, (_, at) => mustField(BigInt(first + at) * 0x1234567890abcdefn + 1n));
