// The proxy's own tree routes, compression and server over a tree of 2^20 leaves. Only what is in the tree is made up:
// hashing a million leaves takes minutes and is not what is measured. What the rest of a request costs is measured
// with /merkle/root, against the whole service.

import { randomFillSync } from "node:crypto";
import Router from "@koa/router";
import Koa from "koa";
import { pino } from "pino";
import { compression } from "../../../../proxy/base/http/compression.ts";
import { errorHandler } from "../../../../proxy/base/http/error-handler.ts";
import { listenerOf } from "../../../../proxy/base/http/listener.ts";
import { startHttpServer } from "../../../../proxy/base/http/server.ts";
import type { RequestState } from "../../../../proxy/base/http/state.ts";
import { merkleRoutes } from "../../../../proxy/api/merkle/merkle.routes.ts";
import { createMerkle } from "../../../../proxy/api/merkle/merkle.service.ts";
import { NODE_BYTES } from "../../../../shared/notes/merkle.ts";
import { createMetrics } from "../../../../proxy/base/observe/metrics.ts";
import { ENDPOINTS } from "../../../../shared/api/endpoints.ts";
import { mustField } from "../../../../shared/protocol/brands.ts";
import { toBytes32 } from "../../../../shared/protocol/bytes.ts";
import { answer } from "../answering.ts";

const LEAVES = 2 ** 20;

/** Answered with the port. */
answer(async (): Promise<number> => {
  const leaves = randomFillSync(new Uint8Array(LEAVES * NODE_BYTES));
  const hash = toBytes32(leaves.slice(0, 32));
  const tip = { number: 1_000, hash, timestamp: 0 };
  const merkle = createMerkle(
    {
      onChange: () => () => undefined,
      state: () => ({ tip, syncedAt: 1, fault: undefined }),
      tree: { nodes: (_level, from, to) => leaves.subarray(from * NODE_BYTES, to * NODE_BYTES) },
    },
    {
      leafCount: () => LEAVES,
      leaf: (index) => ({
        index,
        commitment: mustField(1n),
        head: hash,
        block: 1,
        txHash: hash,
        isLast: true,
        isVoid: false,
      }),
      currentRoot: () => ({ root: mustField(1n), leafCount: LEAVES, sequence: 1, block: 1 }),
      voids: () => [],
    },
  );
  const app = new Koa<RequestState>();
  app.use(compression());
  app.use(errorHandler(pino({ level: "silent" }), createMetrics()));
  const { merkleRoot, merkleTree } = merkleRoutes(merkle);
  const router = new Router<RequestState>()
    .get(ENDPOINTS.merkleRoot.path, merkleRoot)
    .get(ENDPOINTS.merkleTree.path, merkleTree);
  app.use(router.routes());
  const server = await startHttpServer(listenerOf(app), "127.0.0.1", 0);
  return server.port;
});
