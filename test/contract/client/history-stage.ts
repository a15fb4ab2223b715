// A service with a long history: real store, real chunks, tree and stream on the real edge. What happened in the pool is
// made up; between client and edge stands whatever a test puts there.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { eventsRoutes } from "../../../proxy/api/events/events.routes.ts";
import { HistoryChunks } from "../../../proxy/api/events/history.ts";
import { historyRoutes } from "../../../proxy/api/events/history.routes.ts";
import { Hub } from "../../../proxy/api/events/hub.ts";
import { createLogger } from "../../../proxy/base/logging.ts";
import type { IndexChange } from "../../../proxy/api/merkle/indexer.ts";
import type { Tickets } from "../../../proxy/api/payments/tickets.ts";
import type { ChainDataStore } from "../../../proxy/base/store/chain-data.ts";
import { openChainDataStore } from "../../../proxy/base/store/lmdb/chain-data.ts";
import { openDatabase, type Database } from "../../../proxy/base/store/lmdb/database.ts";
import { NODE_LEAVES } from "../../../shared/api/history-chunk.ts";
import { createClient, createWallet, memoryStorage, type Wallet } from "../../../shared/client/index.ts";
import type { RootVerifier } from "../../../shared/client/service/root-verifier.ts";
import type { WalletStorage } from "../../../shared/client/state/storage.ts";
import { SpendingKey } from "../../../shared/notes/keys.ts";
import { nullifierOf } from "../../../shared/notes/note.ts";
import type { Field } from "../../../shared/protocol/brands.ts";
import { appendTo, ASSET, MadeHistory, type MadeStatement, type Payee } from "../../support/made-history.ts";
import { vouchedPins } from "../../support/vouching.ts";
import { CHAIN_ID, POOL, startEdge, type Edge } from "../../support/edge.ts";
import { PREFIX } from "./checks.ts";
import { standInProver } from "./stand-in.ts";

export const CONFIRMATIONS = 2;
const NO_LIMIT = 1_000_000;

/** What becomes of an answer on its way; undefined for as it is. Streams pass. */
export type Bend = (url: URL, answer: () => Promise<Response>) => Promise<Response | undefined>;

export interface Wishes {
  readonly bend?: Bend;
  readonly storage?: WalletStorage;
  readonly verifyRoot?: RootVerifier;
  readonly worker?: string | URL;
}

export interface StageOptions {
  readonly chunkOutputs?: number;
  /** Whose pages may ask. */
  readonly origins?: readonly string[];
}

export class HistoryStage {
  readonly made = new MadeHistory();
  readonly keys: SpendingKey;
  readonly data: ChainDataStore;
  readonly seed: Uint8Array;
  readonly #folder: string;
  readonly #database: Database;
  readonly #listeners = new Set<(change: IndexChange) => void>();
  history!: HistoryChunks;
  #hub!: Hub;
  #edge!: Edge;
  #told = 0;

  private constructor(folder: string) {
    this.#folder = folder;
    this.seed = new Uint8Array(32).fill(7);
    this.keys = SpendingKey.fromSeed(this.seed);
    this.#database = openDatabase(folder);
    this.data = openChainDataStore(this.#database);
  }

  static async start({ chunkOutputs = NODE_LEAVES, origins = [] }: StageOptions = {}): Promise<HistoryStage> {
    const stage = new HistoryStage(await mkdtemp(path.join(tmpdir(), "cloister-long-")));
    const { data } = stage;
    const indexer = {
      state: () => ({ tip: data.tip(), syncedAt: 1, fault: undefined }),
      onChange: (listener: (change: IndexChange) => void) => {
        stage.#listeners.add(listener);
        return () => stage.#listeners.delete(listener);
      },
    };
    const options = { confirmations: CONFIRMATIONS, chunkOutputs };
    stage.history = new HistoryChunks(indexer, data, createLogger("silent"), options);
    stage.#hub = new Hub(
      indexer,
      data,
      { onChange: () => () => undefined, openOf: async () => [] } as unknown as Tickets,
      { chainId: CHAIN_ID, pool: POOL, now: Date.now },
    );
    const limits = { keyPerMinute: NO_LIMIT, streamsPerUser: NO_LIMIT, streamsPerDeveloper: NO_LIMIT };
    stage.#edge = await startEdge({
      ...{ limits, origins },
      handlers: {
        ...historyRoutes(stage.history),
        ...eventsRoutes(stage.#hub, { openStream: () => Promise.resolve(() => undefined) }),
      },
    });
    return stage;
  }

  get url(): string {
    return this.#edge.url;
  }

  session(): Promise<string> {
    return this.#edge.session();
  }

  async stop(): Promise<void> {
    this.#hub.close();
    await this.history.stop();
    await this.#edge.stop();
    await this.#database.close();
    await rm(this.#folder, { recursive: true, force: true });
  }

  /** What was made since becomes the service's history. */
  async tell(): Promise<void> {
    await appendTo(this.data, this.made.blocks.slice(this.#told));
    this.#told = this.made.blocks.length;
    for (const listener of this.#listeners) listener({ type: "advanced", tip: this.data.tip()! });
    await this.history.sync();
  }

  /** Every block above this one vanishes. */
  async reorg(ancestor: number): Promise<void> {
    const tip = this.data.tip()!;
    await this.data.rollbackTo(ancestor);
    for (const listener of this.#listeners) listener({ type: "reorg", tip, ancestor });
  }

  /** To the wallet of this stage. */
  mine(value: bigint): NonNullable<Payee> {
    return { to: this.keys.viewing.address, value };
  }

  /** Of an own note at that output of a statement. */
  nullifierOf({ commitments, firstLeafIndex }: MadeStatement, output: number): Field {
    const { nullifierKey } = this.keys.viewing;
    return nullifierOf(nullifierKey, commitments[output]!, firstLeafIndex + output);
  }

  /** A copy of the wallet on this device's empty storage, and what it asks for. */
  async wallet(wishes: Wishes = {}): Promise<{ wallet: Wallet; asked: string[] }> {
    const asked: string[] = [];
    const bent: typeof fetch = async (input, init) => {
      const url = new URL(input instanceof Request ? input.url : input);
      asked.push(`${url.pathname}${url.search}`);
      const answer = (): Promise<Response> => fetch(input, init);
      return (await wishes.bend?.(url, answer)) ?? answer();
    };
    const client = createClient({
      ...{ baseUrl: this.#edge.url, credential: { apiKey: this.#edge.key }, fetch: bent, tries: 2 },
      wait: async () => undefined,
    });
    const { storage = memoryStorage(), verifyRoot, worker } = wishes;
    const wallet = await createWallet({
      ...{ key: { seed: this.seed }, client, storage, prover: standInProver },
      pins: {
        ...{ chainId: CHAIN_ID, pool: POOL, assets: [ASSET], addressPrefix: PREFIX },
        ...{ enclaves: vouchedPins(), feeCeiling: { deposit: FREE, transfer: FREE, withdraw: FREE } },
      },
      ...(verifyRoot === undefined ? {} : { verifyRoot }),
      ...(worker === undefined ? {} : { worker }),
    });
    return { wallet, asked };
  }
}

const FREE = { flat: 0n, bps: 0 };

/** A service of an earlier release, which has no chunks. */
export const withoutChunks: Bend = async (url) =>
  url.pathname.startsWith("/history")
    ? new Response(
        JSON.stringify({
          ...{ type: "urn:cloister:error:NOT_FOUND", title: "There is nothing at this path", status: 404 },
          ...{ detail: "There is nothing at this path", code: "NOT_FOUND", retryable: false },
          request_id: "00000000-0000-0000-0000-000000000000",
        }),
        { status: 404, headers: { "Content-Type": "application/problem+json" } },
      )
    : undefined;

/** What a wallet can have met in a pool, over three chunks and behind them. */
export async function fillHistory(stage: HistoryStage): Promise<void> {
  const { made } = stage;
  made.strangers(10);
  const first = made.statement([stage.mine(100n), undefined, stage.mine(50n), undefined]);
  made.root();
  made.mine();
  // Spends in the block in which others pay, and change comes back.
  made.statement([undefined, undefined]);
  made.statement([stage.mine(60n), undefined, undefined], [stage.nullifierOf(first, 0)]);
  made.statement([undefined, undefined]);
  made.mine();
  made.credit(stage.keys.viewing.address, 25n);
  made.statement([stage.mine(0n), undefined]);
  made.root();
  made.mine();
  // Paid by a statement that is refuted later, in another chunk.
  const forged = made.statement([stage.mine(1_000n), undefined]);
  made.strangers(50);
  // Spends a note of its own, is refuted, and the note is spent once more.
  const taken = made.statement([undefined, undefined], [stage.nullifierOf(first, 2)]);
  made.root();
  made.mine();
  made.refute(taken);
  made.refute(forged);
  made.root(made.tree.leafCount);
  made.statement([stage.mine(45n), undefined], [stage.nullifierOf(first, 2)]);
  made.root();
  made.mine();
  made.strangers(140);
  const late = made.statement([stage.mine(7n), stage.mine(8n)]);
  made.mine();
  // Leaves that no root covers where the chunks end.
  for (let i = 0; i < 12; i++) made.statement([undefined, undefined, undefined, undefined]);
  made.mine();
  made.root();
  made.statement([undefined, stage.mine(3n)], [stage.nullifierOf(late, 1)]);
  made.root();
  made.mine();
  made.pass(CONFIRMATIONS);
  await stage.tell();
}
