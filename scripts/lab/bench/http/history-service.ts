// A service with a long history, in a process of its own: the proxy's own store, chunks, stream, routes and server. What happened
// in the pool is made up, row by row as an indexer would have logged it: transfers of four outputs and two
// nullifiers, sixteen in a block, with one X25519 key each, and now and then a payment to the wallet that is restored.

import { randomFillSync } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import Router from "@koa/router";
import Koa from "koa";
import { pino } from "pino";
import { eventsRoutes } from "../../../../proxy/api/events/events.routes.ts";
import { HistoryChunks } from "../../../../proxy/api/events/history.ts";
import { historyRoutes } from "../../../../proxy/api/events/history.routes.ts";
import { Hub } from "../../../../proxy/api/events/hub.ts";
import { compression } from "../../../../proxy/base/http/compression.ts";
import { errorHandler } from "../../../../proxy/base/http/error-handler.ts";
import { startHttpServer } from "../../../../proxy/base/http/server.ts";
import type { RequestState } from "../../../../proxy/base/http/state.ts";
import { CommitmentTree } from "../../../../proxy/api/merkle/tree.ts";
import { createMetrics } from "../../../../proxy/base/observe/metrics.ts";
import type { Tickets } from "../../../../proxy/api/payments/tickets.ts";
import type { ChainEvent, IndexedBlock, LoggedEvent } from "../../../../proxy/base/store/chain-data.ts";
import { openChainDataStore } from "../../../../proxy/base/store/lmdb/chain-data.ts";
import { openDatabase } from "../../../../proxy/base/store/lmdb/database.ts";
import { ENDPOINTS } from "../../../../shared/api/endpoints.ts";
import { OutputSealer } from "../../../../shared/notes/encryption.ts";
import { SUBTREE_LEAVES } from "../../../../shared/notes/merkle.ts";
import { noteCommitment, randomField } from "../../../../shared/notes/note.ts";
import { toBytes32 } from "../../../../shared/protocol/bytes.ts";
import { CIPHERTEXT_BYTES, KINDS } from "../../../../shared/protocol/statements.ts";
import { answer } from "../answering.ts";
import { ASSET, CHAIN_ID, keys, POOL } from "../client/restored-wallet.ts";

export interface HistoryQuestion {
  /** Chunks of so many outputs in all, a multiple of 4,096, and as many behind them as make it this. */
  readonly outputs: number;
  /** Payments to the wallet among them. */
  readonly own: number;
}

export interface HistoryAnswer {
  readonly port: number;
  /** Of making the chunks, on top of the index. */
  readonly chunkSeconds: number;
  readonly chunkBytes: number;
}

const { leaves: OUTPUTS, inputs: INPUTS } = KINDS.spend;
const IN_BLOCK = 16;
/** Blocks between two roots: some 1,000 leaves. */
const BLOCKS_A_ROOT = 16;

/** Blocks that the index takes in at once. */
const AT_ONCE = 64;
/**
 * Commitments of strangers come again and again: what they are costs the wallet nothing, and hashing a million leaves costs
 * this process minutes.
 */
const STRANGERS = Array.from({ length: 8 * SUBTREE_LEAVES }, () => randomField());

const random = (length: number): Uint8Array => randomFillSync(new Uint8Array(length));
const hash = () => toBytes32(random(32));

answer(async ({ outputs, own }: HistoryQuestion): Promise<HistoryAnswer> => {
  const folder = await mkdtemp(path.join(tmpdir(), "cloister-bench-history-"));
  process.on("exit", () => void rm(folder, { recursive: true, force: true }));
  const database = openDatabase(folder);
  const data = openChainDataStore(database);
  const tree = new CommitmentTree();
  const statements = outputs / OUTPUTS;
  const paysUs = Math.floor(statements / own);
  let sequence = 0;
  let blocks: IndexedBlock[] = [];
  let logged: LoggedEvent[] = [];
  for (let at = 0, number = 1; at < statements; number++) {
    const block = { number, hash: hash(), timestamp: number };
    const events: ChainEvent[] = [];
    for (const end = Math.min(at + IN_BLOCK, statements); at < end; at++)
      events.push(...transfer(tree, at % paysUs === 0 && at / paysUs < own));
    if (number % BLOCKS_A_ROOT === 0 || at === statements) {
      const leafCount = tree.leafCount;
      events.push({ kind: "root", root: tree.root(leafCount), leafCount, sequence: ++sequence });
    }
    const txHash = hash();
    blocks.push(block);
    for (const [part, event] of events.entries())
      logged.push({ position: { block: number, logIndex: 0, part }, blockHash: block.hash, txHash, event });
    if (blocks.length < AT_ONCE && at < statements) continue;
    await data.append(blocks, logged);
    blocks = [];
    logged = [];
  }
  for (let place = 0; (place + 1) * SUBTREE_LEAVES <= tree.leafCount; place += 64) {
    const places = Array.from({ length: 64 }, (_, i) => place + i);
    const whole = places.filter((one) => (one + 1) * SUBTREE_LEAVES <= tree.leafCount);
    await data.keepSubtrees(whole.map((one) => ({ place: one, nodes: tree.subtree(one) })));
  }

  const indexer = {
    onChange: () => () => undefined,
    state: () => ({ tip: data.tip(), syncedAt: 1, fault: undefined }),
  };
  const history = new HistoryChunks(indexer, data, pino({ level: "silent" }), { confirmations: 1 });
  const began = performance.now();
  await history.sync();
  const chunkSeconds = (performance.now() - began) / 1_000;
  const hub = new Hub(
    indexer,
    data,
    { onChange: () => () => undefined, openOf: () => Promise.resolve([]) } as unknown as Tickets,
    { chainId: CHAIN_ID, pool: POOL, now: Date.now },
  );

  const app = new Koa<RequestState>();
  app.use(compression());
  app.use(errorHandler(pino({ level: "silent" }), createMetrics()));
  app.use(async (ctx, next) => {
    ctx.state.principal = { kind: "api-key", developerId: "d", developerName: "D", keyId: "k" };
    ctx.state.stillGood = () => Promise.resolve(true);
    await next();
  });
  const routes = historyRoutes(history);
  const { events } = eventsRoutes(hub, { openStream: () => Promise.resolve(() => undefined) });
  const router = new Router<RequestState>()
    .get(ENDPOINTS.history.path, routes.history)
    .get(ENDPOINTS.historyChunks.path, routes.historyChunks)
    .get(ENDPOINTS.events.path, events);
  app.use(router.routes());
  const handle = app.callback();
  const server = await startHttpServer((request, response) => void handle(request, response), "127.0.0.1", 0);
  const chunkBytes = history.list().entries.reduce((sum, { bytes }) => sum + bytes, 0);
  return { port: server.port, chunkSeconds, chunkBytes };
});

/** A transfer among strangers, or one whose first output is the wallet's. */
function transfer(tree: CommitmentTree, isOurs: boolean): ChainEvent[] {
  const sealer = isOurs ? new OutputSealer(random(32)) : undefined;
  const note = sealer?.seal(keys.viewing.address, ASSET, 5n);
  const nullifiers = Array.from({ length: INPUTS }, () => randomField());
  const firstLeafIndex = tree.leafCount;
  const about = { statement: hash(), firstLeafIndex, leafCount: OUTPUTS, nullifiers, proofHash: hash() };
  // Any 32 bytes are a key, and as much work.
  const ephemeralKey = sealer?.ephemeralKey ?? random(32);
  const leaves = Array.from({ length: OUTPUTS }, (_, output): ChainEvent => {
    const isNote = output === 0 && note !== undefined;
    const commitment = isNote
      ? noteCommitment(keys.owner, note)
      : STRANGERS[(firstLeafIndex + output) % STRANGERS.length]!;
    tree.append(commitment);
    return {
      ...{ kind: "leaf", index: firstLeafIndex + output, commitment, source: "spend" },
      sealed: {
        ...{ ephemeralKey, output },
        ciphertext: isNote ? sealer!.ciphertexts[0]! : random(CIPHERTEXT_BYTES),
      },
      isLast: output === OUTPUTS - 1,
    };
  });
  return [
    { kind: "executed", ...about },
    ...nullifiers.map((nullifier) => ({ kind: "nullifier" as const, nullifier })),
    ...leaves,
  ];
}
