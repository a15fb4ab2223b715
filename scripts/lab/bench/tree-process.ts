// An index of so many leaves in a process of its own, so that what it holds and how long a start takes is its alone.
import type { Chain } from "../../../proxy/base/chain/provider.ts";
import { Pool } from "../../../proxy/base/chain/pool.ts";
import { createLogger } from "../../../proxy/base/logging.ts";
import { Indexer } from "../../../proxy/api/merkle/indexer.ts";
import { openChainDataStore } from "../../../proxy/base/store/lmdb/chain-data.ts";
import { openDatabase } from "../../../proxy/base/store/lmdb/database.ts";
import type { LoggedEvent } from "../../../proxy/base/store/chain-data.ts";
import { mustField, type Address, type Bytes32 } from "../../../shared/protocol/brands.ts";
import { toBytes32, word } from "../../../shared/protocol/bytes.ts";
import { CIPHERTEXT_BYTES } from "../../../shared/protocol/statements.ts";
import { answer } from "./answering.ts";
import { cpuMs } from "./figures.ts";

export type TreeQuestion =
  | { readonly type: "fill"; readonly folder: string; readonly leaves: number }
  | { readonly type: "start"; readonly folder: string }
  | { readonly type: "append"; readonly leaves: number };

export interface TreeAnswer {
  readonly ms: number;
  readonly leaves: number;
  /** Resident in the whole process, and what the same process had before. */
  readonly rssBytes: number;
  readonly rssBeforeBytes: number;
}

/** In one block; some 90 payments. */
const IN_BLOCK = 256;
const hashOf = (n: number): Bytes32 => toBytes32(word(BigInt(n)));
/** Spread over the whole field, as commitments are. */
const leafAt = (index: number) => mustField((BigInt(index + 1) << 230n) + BigInt(index));
/** Whatever it is asked takes longer than the measurement: the index stays as it is on disk. */
const SILENT = { chainId: 1n, header: () => new Promise(() => undefined) } as unknown as Chain;

let indexer: Indexer | undefined;

answer(async (question: TreeQuestion): Promise<TreeAnswer> => {
  const rssBeforeBytes = process.memoryUsage.rss();
  const done = (ms: number, leaves: number): TreeAnswer => ({
    ...{ ms, leaves, rssBytes: process.memoryUsage.rss(), rssBeforeBytes },
  });
  const began = performance.now();
  switch (question.type) {
    case "fill":
      await fill(question.folder, question.leaves);
      return done(performance.now() - began, question.leaves);
    case "start": {
      const data = openChainDataStore(openDatabase(question.folder));
      const pool = new Pool(SILENT, `0x${"aa".repeat(20)}` as Address);
      const options = { deploymentBlock: 0, pollIntervalMs: 60_000 };
      indexer = new Indexer(SILENT, pool, data, createLogger("silent"), options);
      await indexer.start();
      return done(performance.now() - began, indexer.tree.leafCount);
    }
    case "append": {
      if (indexer === undefined) throw new Error("nothing was started");
      const { tree } = indexer;
      const ms = await cpuMs(1, () => {
        for (let i = 0; i < question.leaves; i++) tree.append(leafAt(tree.leafCount));
        tree.root(tree.leafCount);
      });
      return done(ms, tree.leafCount);
    }
  }
});

/** As a proxy writes them that has no subtrees yet: blocks of leaves, each with its sealed output. */
async function fill(folder: string, leaves: number): Promise<void> {
  const database = openDatabase(folder);
  const data = openChainDataStore(database);
  const sealed = {
    ...{ ephemeralKey: new Uint8Array(32).fill(7), output: 0 },
    ciphertext: new Uint8Array(CIPHERTEXT_BYTES).fill(9),
  };
  for (let first = 0; first < leaves; first += IN_BLOCK) {
    const number = first / IN_BLOCK;
    const block = { number, hash: hashOf(number + 1), timestamp: number };
    const events = Array.from({ length: Math.min(IN_BLOCK, leaves - first) }, (_, i): LoggedEvent => ({
      ...{ position: { block: number, logIndex: i, part: 0 }, blockHash: block.hash },
      txHash: hashOf(first),
      event: {
        ...{ kind: "leaf", index: first + i, commitment: leafAt(first + i), sealed },
        ...{ source: "spend", isLast: true },
      },
    }));
    await data.append([block], events);
  }
  await database.close();
}
