/** What callers reach: every endpoint, and what stands before it. */
import { randomBytes } from "node:crypto";
import { createApp } from "./app.ts";
import { createAuth } from "./auth/auth.ts";
import { createBalances } from "./balances/balances.service.ts";
import { bridgeRoutes } from "./bridge/bridge.routes.ts";
import { clockWarnings } from "../base/clocks.ts";
import { createConcurrencyLimit } from "../base/chain/concurrency-limit.ts";
import { brakesOfBlock } from "../base/chain/pool-brakes.ts";
import { UniswapVenue } from "./swap/venue.ts";
import { eventsRoutes } from "./events/events.routes.ts";
import { HistoryChunks } from "./events/history.ts";
import { historyRoutes } from "./events/history.routes.ts";
import { Hub } from "./events/hub.ts";
import { createFeeNotes } from "./fees/fee-notes.ts";
import { createConnectionCap } from "../base/http/connection-cap.ts";
import { createKeySets } from "./identity/key-sets.ts";
import { createPinnedFetch } from "./identity/pinned-fetch.ts";
import { Limits } from "../base/limits/limits.ts";
import { merkleRoutes } from "./merkle/merkle.routes.ts";
import { createMerkle } from "./merkle/merkle.service.ts";
import { UsageCounter } from "./limits/usage-counter.ts";
import { openWindows } from "../base/open-stores.ts";
import { ownHops } from "../base/own-hops.ts";
import { createEarlier } from "./payments/earlier.ts";
import { Admission } from "./payments/admission.ts";
import { createAttestations } from "./payments/attestations.ts";
import { paymentRoutes } from "./payments/payments.routes.ts";
import { createPayments } from "./payments/payments.service.ts";
import { logAccepted } from "./sequencer/reporting.ts";
import { createExchange } from "./sessions/exchange.service.ts";
import { createSessions } from "./sessions/sessions.service.ts";
import { createHealthChecks } from "./status/health-checks.ts";
import { createStatus } from "./status/status.service.ts";
import { swapRoutes } from "./swap/swap.routes.ts";
import { SwapQuotes } from "./swap/swap.service.ts";
import type { Ground } from "./ground.ts";
import type { Enclaves } from "./enclaves.ts";
import type { Line } from "./line.ts";
import type { Payments } from "./payments/payments.service.ts";

/** Questions to the node for quotes: at a time, and in the queue. */
const QUOTE_CALLS = [16, 2_000] as const;

export type Edge = Awaited<ReturnType<typeof openEdge>>;

export async function openEdge(ground: Ground, enclaves: Enclaves, line: Line) {
  const { config, logger, metrics, now, chain, pool, tokens, stores, data, indexer, database } = ground;
  const { directory, courier, disagreements } = enclaves;
  const { prices, fees, bridges, sequencer, tickets } = line;
  const windows = await openWindows(config, logger.child({ part: "limits" }), metrics);
  const limits = new Limits(config.limits, windows.store);
  const auth = createAuth({
    ...{ store: stores.keys, pepper: ground.pepper, keyRing: ground.keyRing, chainId: config.chainId },
    onFault: (error) => logger.error({ err: error }, "a key's use was not recorded"),
  });
  const hub = new Hub(indexer, data, tickets, {
    ...{ chainId: config.chainId, pool: config.pool, bridges, now },
    onFault: (error) => logger.error({ err: error }, "an event stream was given up"),
  });
  const history = new HistoryChunks(indexer, data, logger.child({ part: "history" }), {
    confirmations: config.confirmations,
  });
  const status = createStatus({
    ...{ config, circuits: ground.circuits, fees, limits, bridges },
    describeEnclaves: (nonce) => directory.describe(nonce),
    threshold: () => pool.threshold(),
    checks: createHealthChecks({
      ...{ chain, database, stores, indexer, sequencer, directory, courier, disagreements },
      threshold: () => pool.threshold(),
    }),
    warnings: () => [
      ...[...prices.warnings(), ...ground.nodes.warnings()],
      ...clockWarnings(indexer.state().tip, now()),
    ],
    randomBytes: (length) => randomBytes(length),
  });
  const usage = new UsageCounter({ store: stores.usage, logger: logger.child({ part: "usage" }), now });
  const hops = ownHops(config.trustedHops, config.trustedProxies);
  const cap = createConnectionCap(config.connections, hops, (by) => metrics.connectionRefused(by));
  const app = createApp({
    config: { swaps: config.swaps, bridges: bridges !== undefined },
    ...{ hops, logger: logger.child({ part: "http" }), metrics, usage, auth, limits, status },
    idempotency: stores.idempotency,
    sessions: createSessions(auth),
    exchange: createExchange({
      ...{ apps: stores.apps, auth, now, logger: logger.child({ part: "exchange" }) },
      keySets: createKeySets(
        createPinnedFetch({ allowLoopback: config.identityLoopback }),
        now,
        (error, jwks_host) => logger.warn({ err: error, jwks_host }, "a key set could not be fetched"),
      ),
    }),
    balances: createBalances(chain, tokens, config.assets[0]),
    handlers: {
      ...merkleRoutes(createMerkle(indexer, data)),
      ...historyRoutes(history),
      ...eventsRoutes(hub, { openStream: (principal) => limits.openStream(principal) }),
      ...paymentRoutes(paymentsOf(ground, enclaves, line), tickets),
      ...swapRoutes(quotesOf(ground, line)),
      ...bridgeRoutes(bridges),
    },
  });
  return {
    ...{ app, status, hub, history, usage, limits, cap },
    closeLimits() {
      limits.close();
      windows.close();
    },
  };
}

function paymentsOf(ground: Ground, { attestor }: Enclaves, { fees }: Line): Payments {
  const { config, logger, metrics, now, pool, tokens, stores, data, tipIfFresh, bridgeSettings } = ground;
  const { venue } = config;
  const admission = new Admission({
    ...{ pool, brakes: brakesOfBlock(pool, tipIfFresh), tokens, assets: config.assets, fees },
    deadEnds: [
      ...(venue === undefined ? [] : [venue.factory, venue.quoter]),
      ...(bridgeSettings === undefined ? [] : [bridgeSettings.factory]),
    ],
    ...{ tickets: stores.tickets, data, isFresh: () => tipIfFresh() !== undefined, now },
  });
  return createPayments({
    ...{ pool, data, admission, store: stores.tickets, maxWaiting: config.maxWaiting, now },
    earlier: createEarlier(stores.tickets, (statement) => data.execution(statement)),
    attestations: createAttestations(attestor),
    feeNotes: createFeeNotes(stores.feeNotes, data),
    onAccepted: logAccepted(metrics, logger.child({ part: "tickets" })),
  });
}

function quotesOf({ config, chain, pool, now }: Ground, { fees }: Line): SwapQuotes | undefined {
  if (config.venue === undefined) return undefined;
  const venue = new UniswapVenue(config.venue, chain, createConcurrencyLimit(...QUOTE_CALLS));
  return new SwapQuotes({
    ...{ chain, pool, venue, assets: config.assets, minimums: config.minimums, fees, now },
  });
}
