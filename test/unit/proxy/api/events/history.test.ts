// The history in chunks: what is served of it, when, and what becomes of it when the chain goes back, a statement is
// refuted, or a chunk on disk is damaged.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { HistoryChunks } from "../../../../../proxy/api/events/history.ts";
import { historyRoutes } from "../../../../../proxy/api/events/history.routes.ts";
import { idOf } from "../../../../../proxy/api/events/position.ts";
import { createLogger } from "../../../../../proxy/base/logging.ts";
import type { IndexChange } from "../../../../../proxy/api/merkle/indexer.ts";
import { CommitmentTree } from "../../../../../proxy/api/merkle/tree.ts";
import type { ChainDataStore, LoggedEvent } from "../../../../../proxy/base/store/chain-data.ts";
import { openChainDataStore } from "../../../../../proxy/base/store/lmdb/chain-data.ts";
import { openDatabase, type Database } from "../../../../../proxy/base/store/lmdb/database.ts";
import { history as historySchema, type History } from "../../../../../shared/api/data.ts";
import { HistoryChunk, NODE_LEAVES } from "../../../../../shared/api/history-chunk.ts";
import { toHex } from "../../../../../shared/protocol/bytes.ts";
import { appendTo, MadeHistory, type MadeBlock } from "../../../../support/made-history.ts";
import { serveRoutes, type Served } from "../../../../support/routes.ts";

const CONFIRMATIONS = 3;
/** A chunk of statements of four leaves, eight in a block. */
const STATEMENTS = NODE_LEAVES / 4;
const BLOCKS = STATEMENTS / 8;

/** A proxy's index, its chunks and their routes. */
class Proxy {
  readonly data: ChainDataStore;
  readonly #database: Database;
  readonly #folder: string;
  #listeners: ((change: IndexChange) => void)[] = [];
  history: HistoryChunks;
  served!: Served;
  fault: string | undefined;

  private constructor(folder: string) {
    this.#folder = folder;
    this.#database = openDatabase(folder);
    this.data = openChainDataStore(this.#database);
    this.history = this.#open(NODE_LEAVES);
  }

  static async start(): Promise<Proxy> {
    const proxy = new Proxy(await mkdtemp(path.join(tmpdir(), "cloister-history-")));
    proxy.served = await serveRoutes(historyRoutes(proxy.history));
    return proxy;
  }

  /** What is made of the store at a start. */
  async restart(chunkOutputs = NODE_LEAVES): Promise<void> {
    await this.served.close();
    await this.history.stop();
    this.history = this.#open(chunkOutputs);
    this.served = await serveRoutes(historyRoutes(this.history));
  }

  #open(chunkOutputs: number): HistoryChunks {
    this.#listeners = [];
    return new HistoryChunks(
      {
        state: () => ({ tip: this.data.tip(), syncedAt: 1, fault: this.fault }),
        onChange: (listener) => {
          this.#listeners.push(listener);
          return () => (this.#listeners = this.#listeners.filter((one) => one !== listener));
        },
      },
      this.data,
      createLogger("silent"),
      { confirmations: CONFIRMATIONS, chunkOutputs },
    );
  }

  async append(blocks: readonly MadeBlock[], atOnce?: number): Promise<void> {
    await appendTo(this.data, blocks, atOnce);
    for (const listener of this.#listeners) listener({ type: "advanced", tip: this.data.tip()! });
    await this.history.sync();
  }

  async reorg(ancestor: number): Promise<void> {
    const tip = this.data.tip()!;
    await this.data.rollbackTo(ancestor);
    for (const listener of this.#listeners) listener({ type: "reorg", tip, ancestor });
  }

  async list(): Promise<History> {
    return historySchema.parse(await (await this.get("/history")).json());
  }

  get(path: string, headers: Record<string, string> = {}): Promise<Response> {
    return this.served.get(path, { headers });
  }

  async page(from: number, limit: number, last: string): Promise<Uint8Array> {
    const answer = await this.get(`/history/chunks?from=${String(from)}&limit=${String(limit)}&last=${last}`);
    assert.equal(answer.status, 200);
    return new Uint8Array(await answer.arrayBuffer());
  }

  /** Every chunk, by itself. */
  async chunks(): Promise<Uint8Array[]> {
    const { chunks } = await this.list();
    return Promise.all(chunks.map(({ sha256 }, number) => this.page(number, 1, sha256)));
  }

  /** One byte of it, on disk. */
  async damage(chunk: number): Promise<void> {
    await this.#database.transaction(() => {
      const table = this.#database.table<Uint8Array, [string, number]>("chain");
      const bytes = Uint8Array.from(table.get(["chunk", chunk])!);
      bytes[200]! ^= 1;
      table.putSync(["chunk", chunk], Buffer.from(bytes));
    });
  }

  async stop(): Promise<void> {
    await this.served.close();
    await this.history.stop();
    await this.#database.close();
    await rm(this.#folder, { recursive: true, force: true });
  }
}

const sha256 = (bytes: Uint8Array): string => `0x${createHash("sha256").update(bytes).digest("hex")}`;

describe("events/history", () => {
  let proxy: Proxy;
  let made: MadeHistory;
  const others: Proxy[] = [];
  beforeEach(async () => {
    proxy = await Proxy.start();
    made = new MadeHistory();
  });
  afterEach(async () => {
    for (const one of [proxy, ...others.splice(0)]) await one.stop();
  });
  const another = async (): Promise<Proxy> => {
    others.push(await Proxy.start());
    return others.at(-1)!;
  };

  it("lists nothing before the first chunk is whole", async () => {
    made.strangers(STATEMENTS - 1);
    made.pass(10);
    await proxy.append(made.blocks);
    assert.deepEqual(await proxy.list(), {
      ...{ outputs_per_chunk: NODE_LEAVES, chunks: [], outputs: 0, block_number: null },
      ...{ last_event_id: null, voids: [] },
    });
  });

  it("lists a chunk when the block that it ends in is final, and not a block before", async () => {
    made.strangers(STATEMENTS);
    made.pass(CONFIRMATIONS - 2);
    await proxy.append(made.blocks);
    assert.equal((await proxy.list()).chunks.length, 0);
    made.pass(1);
    await proxy.append(made.blocks.slice(-1));
    const { chunks, outputs, block_number: block } = await proxy.list();
    assert.deepEqual([chunks.length, outputs, block], [1, NODE_LEAVES, BLOCKS]);
  });

  it("says in a chunk what the log says between two last outputs, all of it and in its order", async () => {
    made.strangers(3 * STATEMENTS - 5);
    made.pass(CONFIRMATIONS);
    await proxy.append(made.blocks);
    const chunks = await proxy.chunks();
    assert.equal(chunks.length, 2);
    const logged = made.blocks.flatMap(({ events }) => events);
    let at = 0;
    let previous = `0x${"00".repeat(32)}`;
    const tree = new CommitmentTree();
    for (const [number, bytes] of chunks.entries()) {
      const chunk = HistoryChunk.read(bytes)!;
      assert.deepEqual([chunk.number, toHex(chunk.previous)], [number, previous]);
      previous = sha256(bytes);
      let last: LoggedEvent | undefined;
      const expected: unknown[] = [];
      const nullifiers: unknown[] = [];
      for (let leaves = 0; leaves < NODE_LEAVES;) {
        const one = (last = logged[at++]!);
        const { event, txHash, position } = one;
        const transaction = { block: position.block, hash: txHash };
        if (event.kind === "nullifier") nullifiers.push([event.nullifier, transaction]);
        if (event.kind !== "leaf") continue;
        tree.append(event.commitment);
        const { ephemeralKey, output, ciphertext } = event.sealed;
        expected.push([
          ...[event.commitment, toHex(ephemeralKey), output, toHex(ciphertext), event.source, transaction],
        ]);
        leaves += 1;
      }
      const found: unknown[] = [];
      for (let place = 0; place < chunk.runCount; place++) {
        const { ephemeralKey, transaction, output, source, count } = chunk.run(place);
        for (let i = 0; i < count; i++) {
          const output_ = found.length;
          found.push([
            ...[chunk.commitment(output_), toHex(ephemeralKey), output + i, toHex(chunk.ciphertext(output_))],
            ...[source, chunk.transaction(transaction)],
          ]);
        }
      }
      assert.deepEqual(found, expected);
      assert.deepEqual(
        Array.from({ length: chunk.nullifierCount }, (_, i) => {
          const { nullifier, transaction } = chunk.nullifier(i);
          return [nullifier, chunk.transaction(transaction)];
        }),
        nullifiers,
      );
      const { position, blockHash } = last!;
      assert.deepEqual(chunk.end, { ...position, blockHash });
      assert.equal(toHex(chunk.nodes), toHex(tree.nodes(4, number, number + 1, (number + 1) * NODE_LEAVES)));
      // The newest root is of the block before, which ended with it.
      const rooted = (number + 1) * NODE_LEAVES - 32;
      assert.deepEqual(chunk.root, {
        root: tree.root(rooted),
        ...{ leafCount: rooted, block: (number + 1) * BLOCKS - 1 },
      });
      if (number === 1) assert.equal((await proxy.list()).last_event_id, idOf(last!));
    }
  });

  it("is the same to the byte on a proxy that read block by block, one that read all at once, and one that went back in between", async () => {
    made.strangers(2 * STATEMENTS);
    made.pass(CONFIRMATIONS);
    const fork = new MadeHistory();
    fork.strangers(STATEMENTS + 7);
    fork.pass(CONFIRMATIONS);
    const [slow, turned] = [await another(), await another()];
    await proxy.append(made.blocks, 1_000);
    for (const block of made.blocks) await slow.append([block]);
    await turned.append(made.blocks.slice(0, 3));
    await turned.append(fork.blocks.slice(3));
    assert.equal((await turned.list()).chunks.length, 1);
    await turned.reorg(3);
    // One of them has subtrees of its own kept, the others hash.
    await turned.append(made.blocks.slice(3));
    const subtree = { place: 0, nodes: made.tree.subtree(0) };
    await slow.data.keepSubtrees([subtree]);
    const expected = (await proxy.chunks()).map(sha256);
    assert.equal(expected.length, 2);
    for (const one of [slow, turned]) {
      assert.deepEqual((await one.chunks()).map(sha256), expected);
      assert.deepEqual(await one.list(), await proxy.list());
    }
  });

  it("takes the node of a kept subtree, and gives the same bytes as by hashing", async () => {
    made.strangers(STATEMENTS);
    made.pass(CONFIRMATIONS);
    const keeping = await another();
    await appendTo(keeping.data, made.blocks);
    await keeping.data.keepSubtrees([{ place: 0, nodes: made.tree.subtree(0) }]);
    await keeping.history.sync();
    await proxy.append(made.blocks);
    assert.deepEqual((await keeping.chunks()).map(sha256), (await proxy.chunks()).map(sha256));
  });

  it("says the same of leaves that were refuted before it was made as of those refuted after", async () => {
    const victim = made.statement([undefined, undefined, undefined]);
    made.strangers(STATEMENTS);
    const before = made.blocks.slice();
    made.refute(victim);
    made.root();
    made.strangers(STATEMENTS);
    made.pass(CONFIRMATIONS);
    const late = await another();
    await proxy.append(before);
    await proxy.append(made.blocks.slice(before.length));
    await late.append(made.blocks);
    const chunks = await proxy.chunks();
    assert.deepEqual((await late.chunks()).map(sha256), chunks.map(sha256));
    const [first, second] = chunks.map((bytes) => HistoryChunk.read(bytes)!);
    // As it was queued.
    assert.equal(first!.commitment(0), victim.commitments[0]);
    const queued = new CommitmentTree();
    for (let i = 0; i < NODE_LEAVES; i++) queued.append(first!.commitment(i));
    assert.equal(toHex(first!.nodes), toHex(queued.nodes(4, 0, 1, NODE_LEAVES)));
    const { firstLeafIndex, leafCount, nullifiers } = victim;
    const [told] = second!.voids();
    assert.deepEqual(
      [told?.firstLeafIndex, told?.leafCount, told?.nullifiers],
      [firstLeafIndex, leafCount, nullifiers],
    );
    assert.deepEqual((await late.list()).voids, [{ first_leaf_index: 0, count: 3 }]);
  });

  it("keeps its place among nullifiers for a refutation between two of them", async () => {
    const victim = made.statement([undefined, undefined]);
    made.refute(victim);
    made.statement([undefined, undefined], victim.nullifiers);
    made.root();
    made.mine();
    made.strangers(STATEMENTS);
    made.pass(CONFIRMATIONS);
    await proxy.append(made.blocks);
    const chunk = HistoryChunk.read((await proxy.chunks())[0]!)!;
    assert.equal(chunk.voids()[0]?.before, 2);
    assert.deepEqual(
      [chunk.nullifier(0), chunk.nullifier(2)].map(({ nullifier }) => nullifier),
      [victim.nullifiers[0], victim.nullifiers[0]],
    );
  });

  it("forgets a chunk with the block that it ends in, however final that was, and makes the other one", async () => {
    made.strangers(2 * STATEMENTS);
    made.pass(CONFIRMATIONS);
    await proxy.append(made.blocks);
    const before = await proxy.list();
    assert.equal(before.chunks.length, 2);
    await proxy.reorg(2 * BLOCKS - 1);
    assert.deepEqual((await proxy.list()).chunks, before.chunks.slice(0, 1));
    const fork = new MadeHistory();
    fork.strangers(2 * STATEMENTS);
    fork.pass(CONFIRMATIONS);
    // The same leaves, of another branch.
    await proxy.append(fork.blocks.slice(2 * BLOCKS - 1));
    const after = await proxy.list();
    assert.equal(after.chunks.length, 2);
    assert.equal(after.chunks[0]?.sha256, before.chunks[0]?.sha256);
    assert.notEqual(after.chunks[1]?.sha256, before.chunks[1]?.sha256);
    const last = before.chunks[1]!.sha256;
    assert.equal(await proxy.served.codeOf(`/history/chunks?from=1&limit=1&last=${last}`), "NOT_FOUND");
  });

  it("makes a damaged chunk again, and says meanwhile that it does", async () => {
    made.strangers(2 * STATEMENTS);
    made.pass(CONFIRMATIONS);
    await proxy.append(made.blocks);
    const before = await proxy.list();
    await proxy.damage(0);
    const [{ sha256: last }] = before.chunks as [History["chunks"][0]];
    assert.equal(
      await proxy.served.codeOf(`/history/chunks?from=0&limit=1&last=${last}`),
      "CHAIN_UNAVAILABLE",
    );
    await proxy.history.sync();
    assert.deepEqual(await proxy.list(), before);
    assert.equal(sha256(await proxy.page(0, 1, last)), last);
  });

  it("makes the last chunk again where it is damaged when the next one follows it", async () => {
    made.strangers(STATEMENTS);
    made.pass(CONFIRMATIONS);
    await proxy.append(made.blocks);
    const [first] = (await proxy.list()).chunks;
    await proxy.damage(0);
    const kept = made.blocks.length;
    made.strangers(STATEMENTS);
    made.pass(CONFIRMATIONS);
    await proxy.append(made.blocks.slice(kept));
    await proxy.history.sync();
    const { chunks } = await proxy.list();
    assert.deepEqual([chunks.length, chunks[0]], [2, first]);
  });

  it("is there after a start, and of the size that is asked for then", async () => {
    made.strangers(2 * STATEMENTS);
    made.pass(CONFIRMATIONS);
    await proxy.append(made.blocks);
    const before = await proxy.list();
    await proxy.restart();
    assert.deepEqual(await proxy.list(), before);
    await proxy.restart(2 * NODE_LEAVES);
    await proxy.history.sync();
    const after = await proxy.list();
    assert.deepEqual([after.chunks.length, after.outputs], [1, before.outputs]);
    assert.equal(after.last_event_id, before.last_event_id);
  });

  it("serves nothing while the chain's words do not fit together", async () => {
    proxy.fault = "the pool's root is not the root of its leaves";
    assert.equal(await proxy.served.codeOf("/history"), "CHAIN_UNAVAILABLE");
    const none = `0x${"00".repeat(32)}`;
    assert.equal(
      await proxy.served.codeOf(`/history/chunks?from=0&limit=1&last=${none}`),
      "CHAIN_UNAVAILABLE",
    );
  });

  describe("its routes", () => {
    beforeEach(async () => {
      made.strangers(3 * STATEMENTS);
      made.pass(CONFIRMATIONS);
      await proxy.append(made.blocks);
    });

    it("give chunks one after the other, to be kept by anybody for ever", async () => {
      const { chunks } = await proxy.list();
      const last = chunks[2]!.sha256;
      const answer = await proxy.get(`/history/chunks?from=1&limit=2&last=${last}`, {
        Accept: "application/octet-stream",
      });
      assert.equal(answer.headers.get("content-type"), "application/octet-stream");
      assert.equal(answer.headers.get("cache-control"), "public, max-age=31536000, immutable");
      const bytes = new Uint8Array(await answer.arrayBuffer());
      const length = chunks[1]!.bytes;
      assert.equal(sha256(bytes.subarray(0, length)), chunks[1]!.sha256);
      assert.equal(sha256(bytes.subarray(length)), last);
      const etag = answer.headers.get("etag")!;
      const again = await proxy.get(`/history/chunks?from=1&limit=2&last=${last}`, {
        "If-None-Match": etag,
      });
      assert.equal(again.status, 304);
    });

    it("give the list anew with each block, and 304 until then", async () => {
      const answer = await proxy.get("/history");
      assert.equal(answer.headers.get("cache-control"), "no-cache");
      const etag = answer.headers.get("etag")!;
      assert.equal((await proxy.get("/history", { "If-None-Match": etag })).status, 304);
      made.strangers(STATEMENTS);
      made.pass(CONFIRMATIONS);
      await proxy.append(made.blocks.slice(-BLOCKS - CONFIRMATIONS));
      const { status } = await proxy.get("/history", { "If-None-Match": etag });
      assert.equal(status, 200);
    });

    it("refuse chunks that are not there, another checksum, and what is no number", async () => {
      const { chunks } = await proxy.list();
      const last = chunks[2]!.sha256;
      const codeOf = (query: string): Promise<string | undefined> =>
        proxy.served.codeOf(`/history/chunks?${query}`);
      for (const query of [
        `from=2&limit=2&last=${last}`,
        `from=0&limit=2&last=${last}`,
        `from=3&limit=1&last=${last}`,
        `from=99999999999&limit=1&last=${last}`,
        `from=2&limit=1&last=0x${"00".repeat(32)}`,
      ])
        assert.equal(await codeOf(query), "NOT_FOUND", query);
      for (const query of [
        "",
        `from=0&limit=3`,
        `from=0&limit=0&last=${last}`,
        `from=0&limit=17&last=${last}`,
        `from=-1&limit=1&last=${last}`,
        `from=00&limit=1&last=${last}`,
        `from=0&limit=3&last=${last.slice(2)}`,
        `from=0&limit=3&last=${last}&more=1`,
      ])
        assert.equal(await codeOf(query), "INVALID_REQUEST", query);
      assert.equal(
        await proxy.served.codeOf(`/history/chunks?from=0&limit=3&last=${last}`, {
          Accept: "application/json",
        }),
        "NOT_ACCEPTABLE",
      );
    });
  });
});
