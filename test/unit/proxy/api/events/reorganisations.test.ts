// Random histories with random reorganisations, readers that come and go at random places, and a proxy that is started
// again: what stands for a reader at the end is what stands on the chain, each event once. Nothing comes after the
// last step that could wake a reader: it is told that it has all, and then nobody looks for more.
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import fc from "fast-check";
import { Hub } from "../../../../../proxy/api/events/hub.ts";
import { idOf } from "../../../../../proxy/api/events/position.ts";
import type { IndexChange } from "../../../../../proxy/api/merkle/indexer.ts";
import type { ChainDataStore, LoggedEvent } from "../../../../../proxy/base/store/chain-data.ts";
import { openChainDataStore } from "../../../../../proxy/base/store/lmdb/chain-data.ts";
import { openDatabase, type Database } from "../../../../../proxy/base/store/lmdb/database.ts";
import { mustField } from "../../../../../shared/protocol/brands.ts";
import { StreamReader } from "../../../../support/stream-reader.ts";
import { until } from "../../../../support/until.ts";
import { hash, POOL_ADDRESS } from "../merkle/pool-log.ts";
import { overriding } from "../../../../support/overriding.ts";

type Step =
  /** Blocks with so many events each. */
  | { readonly type: "blocks"; readonly events: readonly number[] }
  | { readonly type: "reorg"; readonly depth: number }
  | { readonly type: "reconnect" | "restart" | "stall" | "pause" };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      type: fc.constant("blocks" as const),
      events: fc.array(fc.nat(9), { minLength: 1, maxLength: 4 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ type: fc.constant("reorg" as const), depth: fc.integer({ min: 1, max: 5 }) }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      type: fc.constantFrom("reconnect" as const, "restart" as const, "stall" as const, "pause" as const),
    }),
  },
);

/** Back to where only the store knows what was there, and nothing that comes after. */
const BELOW_THE_RING: Step[] = [
  { type: "blocks", events: [3, 9, 9] },
  { type: "reorg", depth: 2 },
];

describe("events under random reorganisations", function () {
  it("loses nothing and repeats nothing", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 25 }), async (steps) => {
        const world = await World.open();
        try {
          for (const one of steps) await world.take(one);
          await world.finish();
        } finally {
          await world.close();
        }
      }),
      { numRuns: 60, examples: [[BELOW_THE_RING]] },
    );
  });
});

/** A store on disk and a hub over it, told by a script instead of a chain. */
class World {
  readonly #folder: string;
  #database: Database;
  #data: ChainDataStore;
  #hub: Hub;
  #tell: (change: IndexChange) => void = () => undefined;
  #number = 0;
  #made = 0;
  #reads = 0;
  /** What a wallet has: of the streams before, and of the one that is open. */
  #wallet: string[] = [];
  #reader: StreamReader;

  static async open(): Promise<World> {
    return new World(await mkdtemp(path.join(tmpdir(), "cloister-reorg-")));
  }

  private constructor(folder: string) {
    this.#folder = folder;
    this.#database = openDatabase(folder);
    this.#data = openChainDataStore(this.#database);
    this.#hub = this.#start();
    this.#reader = new StreamReader(this.#hub);
  }

  #start(): Hub {
    const data = this.#data;
    const counted = overriding(data, {
      eventsAfter: (position, limit) => {
        this.#reads += 1;
        return data.eventsAfter(position, limit);
      },
    });
    return new Hub(
      {
        onChange: (listener) => {
          this.#tell = listener;
          return () => undefined;
        },
        state: () => ({ tip: data.tip(), syncedAt: 1, fault: undefined }),
      },
      counted,
      {
        onChange: () => () => undefined,
        openOf: () => Promise.resolve([]),
        view: () => Promise.reject(new Error("none")),
      },
      // So small that every reader meets the ring's edge and pages of the store.
      {
        chainId: 1,
        pool: POOL_ADDRESS,
        now: Date.now,
        log: { ringEvents: 12, ringBytes: 1 << 20, pageEvents: 5, pages: 3 },
      },
    );
  }

  async take(one: Step): Promise<void> {
    switch (one.type) {
      case "blocks":
        for (const events of one.events) await this.#addBlock(events);
        return;
      case "reorg": {
        const ancestor = Math.max(0, this.#number - one.depth);
        const tip = this.#data.tip()!;
        await this.#data.rollbackTo(ancestor);
        this.#number = this.#data.tip()?.number ?? 0;
        this.#tell({ type: "reorg", tip, ancestor });
        return;
      }
      case "reconnect":
        this.#leave();
        this.#connect();
        return;
      case "restart":
        this.#leave();
        this.#hub.close();
        await this.#database.close();
        this.#database = openDatabase(this.#folder);
        this.#data = openChainDataStore(this.#database);
        this.#hub = this.#start();
        this.#connect();
        return;
      case "stall":
        this.#reader.stall();
        return;
      case "pause":
        this.#reader.resume();
        // eslint-disable-next-line no-restricted-syntax -- how far the reader gets meanwhile is drawn too
        await new Promise((resolve) => setTimeout(resolve, 2));
        return;
    }
  }

  async #addBlock(count: number): Promise<void> {
    this.#number += 1;
    this.#made += 1;
    const blockHash = hash((this.#number << 16) + this.#made);
    // The prefix of a hash names a block, so it has to differ.
    const distinct =
      `0x${this.#made.toString(16).padStart(8, "0")}${blockHash.slice(10)}` as typeof blockHash;
    const events = Array.from({ length: count }, (_, logIndex): LoggedEvent => ({
      position: { block: this.#number, logIndex, part: 0 },
      blockHash: distinct,
      txHash: hash(1),
      event:
        logIndex % 4 === 3
          ? { kind: "rejected", statement: hash(2), reason: "0x" }
          : { kind: "nullifier", nullifier: mustField(BigInt(this.#made * 100 + logIndex)) },
    }));
    await this.#data.append([{ number: this.#number, hash: distinct, timestamp: this.#number }], events);
    const tip = this.#data.tip();
    if (tip !== undefined) this.#tell({ type: "advanced", tip });
  }

  /** What has come so far counts, as for a client whose connection breaks. */
  #leave(): void {
    this.#reader.leave();
    this.#wallet = this.#standing();
  }

  #standing(): string[] {
    const ids = [...this.#wallet];
    for (const event of this.#reader.events) {
      if (event.kind === "reorg") {
        const { from_id } = event.data;
        const at = from_id === null ? -1 : ids.indexOf(from_id);
        assert.ok(from_id === null || at >= 0, "sent back to an event that never came");
        ids.length = at + 1;
      } else if (event.id !== undefined) {
        assert.ok(!ids.includes(event.id), `${event.id} came twice`);
        ids.push(event.id);
      }
    }
    return ids;
  }

  #connect(): void {
    this.#reader = new StreamReader(this.#hub, { from: this.#wallet.at(-1) });
  }

  async finish(): Promise<void> {
    this.#reader.resume();
    const chain = this.#data
      .eventsAfter(undefined, 10_000)
      .filter(({ event }) => event.kind === "nullifier")
      .map(idOf);
    await until(
      "all to be told",
      () => this.#reader.kinds().at(-1) === "synced" && this.#standing().at(-1) === chain.at(-1),
    );
    await until("nobody to look for more", async () => {
      const reads = this.#reads;
      // eslint-disable-next-line no-restricted-syntax -- asked until it is so
      await new Promise((resolve) => setTimeout(resolve, 5));
      return this.#reads === reads;
    });
    assert.deepEqual(this.#standing(), chain);
    assert.equal(this.#reader.kinds().at(-1), "synced");
  }

  async close(): Promise<void> {
    this.#hub.close();
    await this.#database.close();
    await rm(this.#folder, { recursive: true, force: true });
  }
}
