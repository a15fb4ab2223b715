/**
 * The composition root: settings, collaborators, listen, orderly stop. Everything that the proxy is made of
 * is put together here and nowhere else.
 */
import { randomBytes } from "node:crypto";
import { pathToFileURL } from "node:url";
import type { Bytes32 } from "../../shared/protocol/brands.ts";
import { createApp } from "./app.ts";
import { createAuth } from "./auth/auth.ts";
import { loadKeyRing, loadPepper, loadSecret } from "../base/auth/secret-files.ts";
import { createBalances } from "./balances/balances.service.ts";
import { bridgeRoutes } from "./bridge/bridge.routes.ts";
import { readBridgeSettings } from "../base/bridge/bridge.settings.ts";
import { openBridges } from "./bridge/open-bridges.ts";
import { acceptedSigners } from "../base/chain/accepted-signers.ts";
import { checkChain } from "./check-chain.ts";
import { createConcurrencyLimit } from "../base/chain/concurrency-limit.ts";
import { brakesOfBlock } from "../base/chain/pool-brakes.ts";
import { createPool } from "../base/chain/pool.ts";
import { createChain } from "../base/chain/provider.ts";
import { recoverInTurn } from "../base/chain/recovery.ts";
import { createTokens } from "../base/chain/token.ts";
import { createVenue } from "./swap/venue.ts";
import type { Config } from "./config.ts";
import { createAttestor } from "./enclave-link/attestor.ts";
import { createDirectory } from "./enclave-link/directory.ts";
import { createDisagreements } from "./enclave-link/disagreements.ts";
import { createKeyCourier, createKeyRelease } from "./enclave-link/key-courier.ts";
import { createLink } from "./enclave-link/link.ts";
import { circuitsHashOf, warnOfOtherCircuits } from "./enclave-link/same-circuits.ts";
import { timedLink } from "./enclave-link/timed-link.ts";
import { eventsRoutes } from "./events/events.routes.ts";
import { createHistory } from "./events/history.ts";
import { historyRoutes } from "./events/history.routes.ts";
import { createHub } from "./events/hub.ts";
import { createFeeNotes } from "./fees/fee-notes.ts";
import { createFees } from "./fees/fee-rules.ts";
import { createConnectionCap } from "../base/http/connection-cap.ts";
import { startOperations } from "../base/http/operations.ts";
import { startReference } from "../base/http/reference.ts";
import { listenerOf } from "../base/http/listener.ts";
import { startHttpServer } from "../base/http/server.ts";
import { createKeySets } from "./identity/key-sets.ts";
import { createPinnedFetch } from "./identity/pinned-fetch.ts";
import { Limits } from "../base/limits/limits.ts";
import type { Logger } from "../base/logging.ts";
import { adoptRebuiltIndex } from "./merkle/index-rebuild.ts";
import { createIndexer, freshTip } from "./merkle/indexer.ts";
import { merkleRoutes } from "./merkle/merkle.routes.ts";
import { createMerkle } from "./merkle/merkle.service.ts";
import { createMetrics } from "../base/observe/metrics.ts";
import { createUsageCounter } from "./limits/usage-counter.ts";
import { openStores, openWindows } from "../base/open-stores.ts";
import { ownHops } from "../base/own-hops.ts";
import { createEarlier } from "./payments/earlier.ts";
import { createAdmission } from "./payments/admission.ts";
import { createAttestations } from "./payments/attestations.ts";
import { paymentRoutes } from "./payments/payments.routes.ts";
import { createPayments } from "./payments/payments.service.ts";
import { createTickets } from "./payments/tickets.ts";
import { createPrices } from "../base/prices/prices.ts";
import { runProcess } from "./process.ts";
import { createBalanceWatch } from "./sequencer/balance-watch.ts";
import { createGasWallet } from "../base/chain/gas-wallet.ts";
import { createRelayErrands } from "./sequencer/relay-errands.ts";
import { logAccepted } from "./sequencer/reporting.ts";
import { createRetention } from "./sequencer/retention.ts";
import { createSequencer } from "./sequencer/sequencer.ts";
import { createExchange } from "./sessions/exchange.service.ts";
import { createSessions } from "./sessions/sessions.service.ts";
import { keyHashesOf, loadCircuits } from "./status/circuits.ts";
import { createDiskWatch } from "./status/disk-watch.ts";
import { createHealthChecks } from "./status/health-checks.ts";
import { createPoolWatch } from "./status/pool-watch.ts";
import { createSnapshots } from "./status/snapshots.ts";
import { createStatus } from "./status/status.service.ts";
import { openChainDataStore } from "../base/store/lmdb/chain-data.ts";
import { openDatabase } from "../base/store/lmdb/database.ts";
import { claimInstance } from "../base/store/lmdb/instance-record.ts";
import { openRebuildStore } from "../base/store/lmdb/rebuild.ts";
import { swapRoutes } from "./swap/swap.routes.ts";
import { createSwapQuotes } from "./swap/swap.service.ts";

/** What a stop may take: a supervisor's usual patience is 10 s, and what is cut is found again at the next start. */
const REQUESTS_MS = 5_000;
/** How long the turns under way wait for what the node and the enclaves were asked. */
const PARTIES_MS = 3_000;
/** Questions to the node for quotes: at a time, and in the queue. */
const QUOTE_CALLS = [16, 2_000] as const;
const VERIFICATION_KEYS = new URL("../../shared/protocol/verification-keys/", import.meta.url);

async function start(config: Config, logger: Logger): Promise<() => Promise<void>> {
  const now = Date.now;
  const metrics = createMetrics();
  const [senderKey, keyRing, pepper, circuits] = await Promise.all([
    loadSecret(config.senderKeyFile),
    loadKeyRing(config.sessionKeysFile),
    loadPepper(config.pepperFile),
    loadCircuits(
      config.artefactManifestFile,
      config.verificationKeyFolder === undefined
        ? VERIFICATION_KEYS
        : pathToFileURL(`${config.verificationKeyFolder}/`),
      config.production,
    ),
  ]);

  const wallet = createGasWallet(senderKey, BigInt(config.chainId));
  // Before anything is opened: a fault in it is told with nothing begun.
  const bridgeSettings =
    config.bridgesFile === undefined
      ? undefined
      : readBridgeSettings(config.bridgesFile, { ...config, gasWallet: wallet.address });

  const leaving = new AbortController();
  const chain = createChain(config.rpcUrl, BigInt(config.chainId), {
    signal: leaving.signal,
    onAsked: (method, outcome, secs) => metrics.rpc(method, outcome, secs),
  });
  const pool = createPool(chain, config.pool);
  const tokens = createTokens(chain);
  const ourKeys = keyHashesOf(circuits);
  await checkChain(config, chain, pool, ourKeys, logger);

  const database = openDatabase(config.dataDir);
  await claimInstance(database, config);
  await adoptRebuiltIndex(openRebuildStore(database), config, logger);
  const data = openChainDataStore(database);
  const stores = await openStores(config, database, logger.child({ part: "store" }), metrics);

  const links = config.enclaves.map((address, place) => timedLink(createLink(address), place, metrics));
  const tipIfFresh = (): Bytes32 | undefined => freshTip(indexer.state(), now());
  const kindOf = acceptedSigners(pool, tipIfFresh);
  const directory = createDirectory(links, async (signer) => (await kindOf(signer)) !== undefined);
  void warnOfOtherCircuits(directory, circuitsHashOf(ourKeys), logger);
  const courier = createKeyCourier(
    links.map((link, enclave) => ({ link, pairFile: config.signerPairs[enclave] })),
    config.kms === undefined ? undefined : createKeyRelease(config.kms),
    logger.child({ part: "courier" }),
  );
  const disagreements = createDisagreements({
    ...{ store: stores.disagreements, logger: logger.child({ part: "verifiers" }), now },
  });
  await disagreements.start();
  const attestor = createAttestor(
    links,
    {
      home: pool.home,
      threshold: () => pool.threshold(),
      kindOf,
      verifyingKeyHash: (kind) => pool.verifyingKeyHash(kind),
      recover: recoverInTurn,
    },
    disagreements,
  );

  const indexer = createIndexer(chain, pool, data, logger.child({ part: "indexer" }), {
    deploymentBlock: config.deploymentBlock,
    pollIntervalMs: config.blockPollMs,
  });
  indexer.onChange((change) => {
    if (change.type === "reorg") metrics.reorganised(change.tip.number - change.ancestor);
  });
  const balance = createBalanceWatch(chain, wallet.address);
  const poolWatch = createPoolWatch(
    pool,
    config.assets.map(({ address }) => address),
  );
  const disk = createDiskWatch(config.dataDir);
  const prices = createPrices({
    ...config,
    chain,
    store: stores.prices,
    logger: logger.child({ part: "prices" }),
    now,
  });
  const fees = createFees({ ...config, prices, store: stores.feeRules, now });
  await stores.feeRules.describe(config);
  await prices.refresh();
  await fees.refresh();
  const bridges =
    bridgeSettings &&
    openBridges({
      ...{ settings: bridgeSettings, store: stores.bridges, relay: stores.relay, fees, pool, now },
      poolAddress: config.pool,
    });
  const errands =
    bridgeSettings &&
    createRelayErrands({
      ...{ store: stores.relay, fence: () => sequencer.fence(), logger: logger.child({ part: "errands" }) },
      ...{ forwarders: bridgeSettings.factory, transmitter: bridgeSettings.home.transmitter },
    });
  const sequencer = createSequencer(
    {
      chain,
      pool,
      tokens,
      attestor,
      store: stores.tickets,
      lease: stores.lease,
      data,
      tree: indexer.tree,
      sync: () => indexer.sync(),
      wallet,
      logger: logger.child({ part: "sequencer" }),
      metrics,
      now,
      ...(errands === undefined ? {} : { errands }),
    },
    { confirmations: config.confirmations, pollIntervalMs: config.blockPollMs, ...config.calls },
  );
  const tickets = createTickets(stores.tickets, {
    tipNumber: () => data.tip()?.number,
    blockedBy: (kind) => sequencer.blockedBy(kind),
  });
  tickets.onChange(({ status }) => {
    if (status.state === "queued") sequencer.wakeForTicket();
  });
  indexer.onChange(() => sequencer.wake());
  const unfollow =
    errands && stores.relay.follow({ offered: () => sequencer.wake(), missed: () => sequencer.wake() });

  const windows = await openWindows(config, logger.child({ part: "limits" }), metrics);
  const limits = new Limits(config.limits, windows.store);
  const auth = createAuth({
    store: stores.keys,
    pepper,
    keyRing,
    chainId: config.chainId,
    onFault: (error) => logger.error({ err: error }, "a key's use was not recorded"),
  });
  const admission = createAdmission({
    pool: { ...pool, ...brakesOfBlock(pool, tipIfFresh) },
    tokens,
    assets: config.assets,
    fees,
    tickets: stores.tickets,
    data,
    isFresh: () => tipIfFresh() !== undefined,
    now,
  });
  const payments = createPayments({
    pool,
    earlier: createEarlier(stores.tickets, (statement) => data.execution(statement)),
    admission,
    attestations: createAttestations(attestor),
    feeNotes: createFeeNotes(stores.feeNotes, data),
    store: stores.tickets,
    maxWaiting: config.maxWaiting,
    onAccepted: logAccepted(metrics, logger.child({ part: "tickets" })),
    now,
  });
  const quotes =
    config.venue === undefined
      ? undefined
      : createSwapQuotes({
          chain,
          pool,
          venue: createVenue(config.venue, chain, createConcurrencyLimit(...QUOTE_CALLS)),
          assets: config.assets,
          minimums: config.minimums,
          fees,
          now,
        });
  const hub = createHub(indexer, data, tickets, {
    chainId: config.chainId,
    pool: config.pool,
    bridges,
    now,
    onFault: (error) => logger.error({ err: error }, "an event stream was given up"),
  });
  const history = createHistory(indexer, data, logger.child({ part: "history" }), {
    confirmations: config.confirmations,
  });
  const status = createStatus({
    config,
    circuits,
    fees,
    limits,
    describeEnclaves: (nonce) => directory.describe(nonce),
    threshold: () => pool.threshold(),
    checks: createHealthChecks({
      ...{ chain, database, stores, indexer, sequencer, directory, courier, disagreements },
      threshold: () => pool.threshold(),
    }),
    bridges,
    warnings: () => prices.warnings(),
    randomBytes: (length) => randomBytes(length),
  });
  const usage = createUsageCounter({ store: stores.usage, logger: logger.child({ part: "usage" }), now });
  const retention = createRetention({
    ...{ ...config.retention, tickets: stores.tickets, usage: stores.usage, now },
    fence: () => sequencer.fence(),
    logger: logger.child({ part: "retention" }),
  });
  const hops = ownHops(config.trustedHops, config.trustedProxies);
  const cap = createConnectionCap(config.connections, hops, (by) => metrics.connectionRefused(by));
  metrics.observe(
    createSnapshots({
      ...{ sequencer, indexer, prices, limits, balance, poolWatch, disk, cap, disagreements, now },
    }),
  );
  const app = createApp({
    config: { swaps: config.swaps, bridges: bridges !== undefined },
    hops,
    logger: logger.child({ part: "http" }),
    metrics,
    usage,
    auth,
    limits,
    idempotency: stores.idempotency,
    sessions: createSessions(auth),
    exchange: createExchange({
      apps: stores.apps,
      auth,
      keySets: createKeySets(
        createPinnedFetch({ allowLoopback: config.identityLoopback }),
        now,
        (error, jwks_host) => logger.warn({ err: error, jwks_host }, "a key set could not be fetched"),
      ),
      logger: logger.child({ part: "exchange" }),
      now,
    }),
    status,
    balances: createBalances(chain, tokens, config.assets[0]),
    handlers: {
      ...merkleRoutes(createMerkle(indexer, data)),
      ...historyRoutes(history),
      ...eventsRoutes(hub, { openStream: (principal) => limits.openStream(principal) }),
      ...paymentRoutes(payments, tickets),
      ...swapRoutes(quotes),
      ...bridgeRoutes(bridges),
    },
  });

  let isServing = false;
  // Before anything that may take long: who watches sees a proxy that lives and is not ready.
  const operations =
    config.operationsPort === undefined
      ? undefined
      : await startOperations({
          port: config.operationsPort,
          metrics,
          health: async () => (isServing ? status.health() : { status: "not serving" }),
          onFault: (error) => logger.error({ err: error }, "the operator's port could not answer"),
        });
  if (operations !== undefined) {
    metrics.watchProcess();
    balance.start();
    poolWatch.start();
    disk.start();
    logger.info({ host: "127.0.0.1", port: operations.port }, "metrics and probes");
  }

  courier.start();
  prices.start(() => fees.refresh());
  await indexer.start();
  history.start();
  sequencer.start();
  usage.start();
  retention.start();
  const server = await startHttpServer(listenerOf(app), config.host, config.port, { cap });
  const reference =
    config.referencePort === undefined ? undefined : await startReference(config.host, config.referencePort);
  const { chainId: chain_id, pool: poolAddress, host } = config;
  isServing = true;
  const besides = operations === undefined ? {} : { operations_port: operations.port };
  logger.info({ host, port: server.port, chain_id, pool: poolAddress, ...besides }, "listening");

  if (reference !== undefined) logger.info({ host, port: reference.port }, "reference page");

  return async () => {
    isServing = false;
    await reference?.stop(0);
    // First what would keep a request waiting; what is asked meanwhile still finds everything running.
    hub.close();
    tickets.close();
    unfollow?.();
    await server.stop(REQUESTS_MS);
    limits.close();
    windows.close();
    const hurry = setTimeout(() => {
      leaving.abort();
      for (const link of links) link.close();
    }, PARTIES_MS);
    await Promise.all([retention.stop(), history.stop()]);
    await Promise.all([
      ...[sequencer.stop(), indexer.stop()],
      ...[prices.stop(), balance.stop(), poolWatch.stop(), disk.stop()],
    ]);
    clearTimeout(hurry);
    // Nothing is answered any more, so nothing is counted after it.
    await usage.stop();
    const restored = courier.stop();
    // What the courier still waits for ends with its connection.
    for (const link of links) link.close();
    await restored;
    await operations?.stop(0);
    disagreements.stop();
    stores.close();
    await database.close();
  };
}

await runProcess(start);
