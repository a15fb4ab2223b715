// What a request may leave behind: the whole content of a running proxy's store, record by record, and what the
// chain knows of its sender and its pool. Two of them compared say what moved in between.
import { createHash } from "node:crypto";
import path from "node:path";
import { open } from "lmdb";
import type { TestNetwork } from "./stack.ts";

/** Table and record, to a digest of what is in it. */
export type StoreContent = ReadonlyMap<string, string>;

export interface Trace {
  readonly store: StoreContent;
  readonly chain: ChainTrace;
}

export interface ChainTrace {
  /** Transactions of the sender, with those that wait for a block. */
  readonly nonce: number;
  readonly gasMoney: bigint;
  /** Sent and not mined, of anybody. */
  readonly waiting: readonly string[];
  /** Of everything that the pool's contract remembers. */
  readonly poolStorage: string;
}

/** What time and good credentials move by themselves; each is left out of its record's digest, and nothing else is. */
const MOVES: Readonly<Record<string, (value: unknown) => unknown>> = {
  // When a key was last used: also by who sent nonsense with it.
  "api-keys": (value) => ({ ...(JSON.parse(value as string) as object), lastUsedAt: undefined }),
  // When the proxy was last seen on its folder: by itself.
  instance: (value) => (typeof value === "object" ? { ...value, seenAt: undefined } : value),
  // Until when the service's terms are enough: renewed every half minute, whoever asks.
  "fee-promises": (value) =>
    (JSON.parse(value as string) as readonly object[]).map((kept) => ({ ...kept, goodUntil: undefined })),
};

/** Sums of requests, refused ones among them: whoever shows a credential is counted, and nothing is decided by them. */
const COUNTS_REQUESTS = /^usage(:|$)/;

/** Reads beside the running proxy, as its operator's tool does. */
export async function storeContent(folder: string): Promise<StoreContent> {
  const root = open({ path: path.join(folder, "store.lmdb"), noSubdir: true, maxDbs: 64, readOnly: true });
  const content = new Map<string, string>();
  try {
    // Tables are records of the store's nameless one.
    for (const table of [...root.getKeys()].map(String).filter((name) => !COUNTS_REQUESTS.test(name))) {
      const move = MOVES[table];
      const encoding = move === undefined ? "binary" : "msgpack";
      for (const { key, value } of root.openDB<unknown>({ name: table, encoding }).getRange()) {
        content.set(`${table} ${JSON.stringify(key)}`, digest(move === undefined ? value : move(value)));
      }
    }
  } finally {
    await root.close();
  }
  return content;
}

export async function takeTrace(network: TestNetwork): Promise<Trace> {
  const { chain, entry, local } = network;
  const sender = await network.sender();
  const send = chain.send.bind(chain) as (method: string, params: readonly unknown[]) => Promise<unknown>;
  const { pending, queued } = (await send("txpool_content", [])) as Record<"pending" | "queued", object>;
  const proof = (await send("eth_getProof", [entry.pool, [], "latest"])) as { storageHash: string };
  return {
    store: await storeContent(local.folder.inside("store")),
    chain: {
      nonce: await chain.getTransactionCount(sender, "pending"),
      gasMoney: await chain.getBalance(sender),
      waiting: [...Object.keys(pending), ...Object.keys(queued)],
      poolStorage: proof.storageHash,
    },
  };
}

/** Records that were added, changed or taken away, as `table key`. */
export function changedRecords(before: StoreContent, after: StoreContent): string[] {
  const names = new Set([...before.keys(), ...after.keys()]);
  return [...names].filter((name) => before.get(name) !== after.get(name)).sort();
}

/** Tables in which something changed. */
export const changedTables = (before: StoreContent, after: StoreContent): string[] => [
  ...new Set(changedRecords(before, after).map((name) => name.split(" ")[0] ?? "")),
];

/** What the indexer writes of a block without an event of the pool. */
export const isEmptyBlock = (record: string): boolean => /^chain ("tip"|\["block",[0-9]+\])$/.test(record);

function digest(value: unknown): string {
  const bytes = value instanceof Uint8Array ? value : JSON.stringify(value, plain);
  return createHash("sha256").update(bytes).digest("base64url");
}

const plain = (_key: string, value: unknown): unknown =>
  typeof value === "bigint" ? `${String(value)}n` : value;
