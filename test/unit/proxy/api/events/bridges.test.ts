// Bridge requests on the event stream: the open ones after `ready`, then every change, to their owners and nobody else.
import assert from "node:assert/strict";
import type { BridgeFacts, Leaving } from "../../../../../proxy/relay/fold/facts.ts";
import { createBridgeFigures } from "../../../../../proxy/relay/figures.ts";
import { openBridges } from "../../../../../proxy/api/bridge/open-bridges.ts";
import { progressFrom } from "../../../../../proxy/relay/fold/progress.ts";
import { Hub } from "../../../../../proxy/api/events/hub.ts";
import { createTickets } from "../../../../../proxy/api/payments/tickets.ts";
import { embeddedStores, type InstanceStores } from "../../../../../proxy/base/store/instance.ts";
import { openChainDataStore } from "../../../../../proxy/base/store/lmdb/chain-data.ts";
import type { Database } from "../../../../../proxy/base/store/lmdb/database.ts";
import { TIMEOUT_SECS } from "../../../../../shared/protocol/host/forwarders.ts";
import {
  arrivalOf,
  factsAbout,
  leavingOf,
  seenOf,
  spotOf,
  vaultOf,
} from "../../../../support/bridge-facts.ts";
import { BRIDGE_POOL, bridgeDraft, bridgeSettings } from "../../../../support/bridges.ts";
import { temporaryDatabase } from "../../../../support/fees.ts";
import { startRelayDesk } from "../../../../support/relay-desk.ts";
import { StreamReader } from "../../../../support/stream-reader.ts";
import { until } from "../../../../support/until.ts";

const LIMITS = { openPerUser: 10, openPerDeveloper: 100, openPerInstance: 100 };
const NOW = 2_000_000_000_000;

const arrived = (confirmations: number, leavings: readonly Leaving[] = []): BridgeFacts =>
  factsAbout(bridgeDraft(0, {}), {
    home: vaultOf("home", {
      ...{ balance: 9n, confirmations: 2, blockSecs: 1, leavings },
      arrivals: [arrivalOf(9n, spotOf(1, { confirmations, at: NOW / 1000 - 60 }))],
    }),
  });
const leaving = (what: "sweep" | "refund"): Leaving =>
  leavingOf(what, 9n, spotOf(2, { confirmations: 9, at: NOW / 1000 }), { leafIndex: 3 });

describe("bridge requests on the stream, and in the figures", () => {
  let database: Database;
  let stores: InstanceStores;
  let hub: Hub;
  let bridges: ReturnType<typeof openBridges>;
  const facts = new Map<string, BridgeFacts>();
  const listeners = new Set<(id: string) => void>();
  let relay: Awaited<ReturnType<typeof startRelayDesk>>;
  const book = {
    progressOf: (record: ReturnType<typeof bridgeDraft>) =>
      progressFrom(record, seenOf(facts.get(record.id), { isComplete: true }), {
        ...{ timeoutSecs: TIMEOUT_SECS, bridgingSecs: 1, now: NOW / 1000 },
      }),
    onChange(listener: (id: string) => void) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    ...{ isComplete: () => true, heads: () => ({}), unreachable: () => ["second"] },
  };
  const show = (id: string, found: BridgeFacts): void => {
    facts.set(id, found);
    for (const listener of listeners) listener(id);
  };

  beforeEach(async () => {
    database = temporaryDatabase();
    stores = embeddedStores(database);
    bridges = openBridges({
      ...{ settings: bridgeSettings(), store: stores.bridges, relay: stores.relay },
      poolAddress: BRIDGE_POOL,
      pool: { isAsset: async () => true },
      fees: { rulesFor: async () => ({ service: undefined, developer: undefined }) },
      now: () => NOW,
    });
    relay = await startRelayDesk({ stores, book, settings: bridgeSettings(), now: () => NOW });
    const tickets = createTickets(stores.tickets, { tipNumber: () => 1, blockedBy: () => undefined });
    const indexer = { onChange: () => () => undefined, state: () => ({ syncedAt: 1 }) as never };
    hub = new Hub(indexer, openChainDataStore(database), tickets, {
      ...{ chainId: 31_337, pool: BRIDGE_POOL, bridges, now: Date.now, tickMs: 10 },
    });
  });
  afterEach(async () => {
    hub.close();
    facts.clear();
    listeners.clear();
    await relay.stop();
    await database.close();
  });
  const told = (reader: StreamReader): string[] =>
    reader.events.flatMap((event) =>
      event.kind === "bridge" ? [`${event.data.bridge_id.slice(-2)} ${event.data.state}`] : [],
    );

  it("tells the open ones after ready, and each change, to the owner and its developer alone", async () => {
    const [mine, theirs] = [bridgeDraft(1, {}), bridgeDraft(2, { sub: "bob" })];
    await stores.bridges.make(mine, LIMITS);
    await stores.bridges.make(theirs, LIMITS);
    const owner = { developerId: "d", sub: "user" };
    const own = new StreamReader(hub, { owner });
    const developer = new StreamReader(hub, { owner: { developerId: "d", sub: undefined } });
    const stranger = new StreamReader(hub, { owner: { developerId: "e", sub: undefined } });
    const deaf = new StreamReader(hub, { owner, kinds: new Set(["ticket"]) });
    await until("the open ones", () => told(own).length === 1 && told(developer).length === 2);
    assert.deepEqual(own.kinds().slice(0, 2), ["ready", "bridge"]);
    assert.deepEqual(told(own), ["01 awaiting_funds"]);
    show(mine.id, arrived(1));
    await until("its arrival", () => told(own).includes("01 detected"));
    show(mine.id, arrived(9, [leaving("sweep")]));
    await until("its end", () => told(own).includes("01 completed"));
    show(theirs.id, arrived(9));
    await until("the other's", () => told(developer).includes("02 shielding"));
    // A request that was made just now, at this proxy or another.
    await stores.bridges.make(bridgeDraft(3, {}), LIMITS);
    await until("the new one", () => told(own).includes("03 awaiting_funds"));
    assert.ok(told(own).every((line) => !line.startsWith("02")));
    assert.deepEqual([...told(stranger), ...told(deaf)], []);
  });

  it("figures: what stands, what the chains showed, and how long the oldest waits for us", async () => {
    const counted: string[] = [];
    const figures = createBridgeFigures({
      ...{ store: stores.bridges, book, onChange: (listener) => bridges.onChange(listener), now: () => NOW },
      count: (event) => counted.push(event),
    });
    const [old, fresh] = [bridgeDraft(1, {}), bridgeDraft(2, { kind: "from-altchain" })];
    facts.set(old.id, arrived(9, [leaving("refund")]));
    await stores.bridges.make(old, LIMITS);
    await figures.start();
    assert.deepEqual(counted, [], "what was there before is no news");
    await stores.bridges.make(fresh, LIMITS);
    const stateOf = () =>
      figures.snapshot().requests.map(({ venue, state, count }) => `${venue} ${state} ${count}`);
    await until("the new one", () => stateOf().includes("altchain awaiting_funds 1"));
    show(fresh.id, arrived(1));
    await until("its arrival", () => counted.length === 1);
    assert.deepEqual(figures.snapshot().oldestWaitingSecs, 60);
    show(fresh.id, arrived(9, [leaving("sweep")]));
    await until("its sweep", () => counted.length === 2);
    // Taken back and again: it is counted once.
    show(fresh.id, arrived(1));
    show(fresh.id, arrived(9, [leaving("sweep")]));
    await until("it to stand again", () => stateOf().includes("altchain completed 1"));
    assert.deepEqual(counted, ["arrival", "sweep"]);
    assert.deepEqual(stateOf(), ["perpvenue refunded 1", "altchain completed 1"]);
    assert.deepEqual([figures.snapshot().oldestWaitingSecs, figures.snapshot().unreachable], [0, 1]);
    await stores.bridges.close(fresh.id, fresh.watchUntil);
    await until("the closed one to be gone", () => stateOf().length === 1);
    figures.stop();
  });
});
