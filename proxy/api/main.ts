/**
 * The composition root: ground, enclaves, line and edge are put together here, begin in their order and stop in their
 * order.
 */
import type { Config } from "./config.ts";
import { startOperations } from "../base/http/operations.ts";
import { startReference } from "../base/http/reference.ts";
import { listenerOf } from "../base/http/listener.ts";
import { startHttpServer } from "../base/http/server.ts";
import type { Logger } from "../base/logging.ts";
import { runProcess } from "./process.ts";
import { createBalanceWatch } from "./sequencer/balance-watch.ts";
import { createRetention } from "./sequencer/retention.ts";
import { createDiskWatch } from "./status/disk-watch.ts";
import { createPoolWatch } from "./status/pool-watch.ts";
import { createSnapshots } from "./status/snapshots.ts";
import { openEdge, type Edge } from "./edge.ts";
import { openEnclaves, type Enclaves } from "./enclaves.ts";
import { openGround, type Ground } from "./ground.ts";
import { openLine, type Line } from "./line.ts";

/** What a stop may take: a supervisor's usual patience is 10 s, and what is cut is found again at the next start. */
const REQUESTS_MS = 5_000;
/** How long the turns under way wait for what the node and the enclaves were asked. */
const PARTIES_MS = 3_000;

async function start(config: Config, logger: Logger): Promise<() => Promise<void>> {
  const ground = await openGround(config, logger);
  const { now, indexer, stores, database, folder } = ground;
  const enclaves = await openEnclaves(ground);
  const line = await openLine(ground, enclaves);
  const { prices, fees, sequencer } = line;
  const edge = await openEdge(ground, enclaves, line);
  const { hub, history, usage } = edge;
  const retention = createRetention({
    ...{ ...config.retention, tickets: stores.tickets, usage: stores.usage, now },
    fence: () => sequencer.fence(),
    logger: logger.child({ part: "retention" }),
  });
  let isServing = false;
  // Before anything that may take long: who watches sees a proxy that lives and is not ready.
  const watching = await watch(ground, enclaves, line, edge, () => isServing);

  enclaves.courier.start();
  prices.start(() => fees.refresh());
  await indexer.start();
  history.start();
  sequencer.start();
  usage.start();
  retention.start();
  const server = await startHttpServer(listenerOf(edge.app), config.host, config.port, { cap: edge.cap });
  const reference =
    config.referencePort === undefined ? undefined : await startReference(config.host, config.referencePort);
  const { chainId: chain_id, pool, host } = config;
  isServing = true;
  const besides = watching === undefined ? {} : { operations_port: watching.port };
  logger.info({ host, port: server.port, chain_id, pool, ...besides }, "listening");
  if (reference !== undefined) logger.info({ host, port: reference.port }, "reference page");

  return async () => {
    isServing = false;
    await reference?.stop(0);
    // First what would keep a request waiting; what is asked meanwhile still finds everything running.
    hub.close();
    line.endWaiting();
    await server.stop(REQUESTS_MS);
    edge.closeLimits();
    const hurry = setTimeout(() => {
      ground.leave();
      enclaves.closeLinks();
    }, PARTIES_MS);
    await Promise.all([retention.stop(), history.stop()]);
    await Promise.all([sequencer.stop(), indexer.stop(), prices.stop(), watching?.stopLooking()]);
    clearTimeout(hurry);
    // Nothing is answered any more, so nothing is counted after it.
    await usage.stop();
    const restored = enclaves.courier.stop();
    // What the courier still waits for ends with its connection.
    enclaves.closeLinks();
    await restored;
    await watching?.stop();
    enclaves.disagreements.stop();
    await ground.closeStores();
    await folder.leave();
    await database.close();
  };
}

/** Figures and probes, on the operator's port; undefined without one. */
async function watch(ground: Ground, enclaves: Enclaves, line: Line, edge: Edge, isServing: () => boolean) {
  const { config, logger, metrics, now, chain, pool, wallet, indexer } = ground;
  const balance = createBalanceWatch(chain, wallet.address);
  const assets = config.assets.map(({ address }) => address);
  const poolWatch = createPoolWatch(pool, assets);
  const disk = createDiskWatch(config.dataDir);
  metrics.observe(
    createSnapshots({
      ...{ sequencer: line.sequencer, indexer, status: edge.status, limits: edge.limits, balance, poolWatch },
      ...{ disk, cap: edge.cap, disagreements: enclaves.disagreements, now },
    }),
  );
  if (config.operationsPort === undefined) return undefined;
  const operations = await startOperations({
    port: config.operationsPort,
    metrics,
    health: async () => (isServing() ? edge.status.health() : { status: "not serving" }),
    onFault: (error) => logger.error({ err: error }, "the operator's port could not answer"),
  });
  metrics.watchProcess();
  balance.start();
  poolWatch.start();
  disk.start();
  logger.info({ host: "127.0.0.1", port: operations.port }, "metrics and probes");
  return {
    port: operations.port,
    stopLooking: () => Promise.all([balance.stop(), poolWatch.stop(), disk.stop()]),
    stop: () => operations.stop(0),
  };
}

await runProcess(start);
