/** The bridge relay as a program of its own, beside the proxies of its instance: it opens the store that they share, and listens for nobody but its operator. */
import { openNodes } from "../base/chain/nodes.ts";
import { startOperations } from "../base/http/operations.ts";
import { LeaseKeeper } from "../base/lease-keeper.ts";
import type { Logger } from "../base/logging.ts";
import { openExistingStores } from "../base/open-stores.ts";
import { runProgram } from "../base/program.ts";
import { readBridgeSettings } from "../base/bridge/bridge.settings.ts";
import { configHelp } from "../base/settings.ts";
import { readRelayConfig, RELAY_SETTINGS, type RelayConfig } from "./config.ts";
import { createRelayMetrics } from "./metrics.ts";
import { startRelay } from "./relay.ts";

/** How long the lease outlives a relay that has died or is cut off. */
const LEASE_MS = 5_000;

async function start(config: RelayConfig, logger: Logger): Promise<() => Promise<void>> {
  const settings = readBridgeSettings(config.bridgesFile, { ...config, gasWallet: undefined });
  const leaving = new AbortController();
  const { chain } = openNodes(config.rpcUrl, BigInt(config.chainId), { signal: leaving.signal, logger });
  const opened = await openExistingStores(config, logger);
  const { stores } = opened;
  const keeper = new LeaseKeeper(stores.relayLease, {
    leaseMs: LEASE_MS,
    onChange(fence) {
      if (fence === undefined) logger.warn("another relay acts, or none that we know of");
      else logger.info({ fence }, "this relay acts");
      relay.wake();
    },
    onFault: (error) => logger.error({ err: error }, "the relay's lease could not be asked for"),
  });
  const fence = () => keeper.current();
  const metrics = createRelayMetrics(() => fence() !== undefined);
  const relay = await startRelay({
    ...{ settings, stores, chain, fence, metrics, logger, now: Date.now },
    ...{ addressPrefix: config.addressPrefix, confirmations: config.confirmations },
    pollIntervalMs: config.blockPollMs,
  });
  keeper.start();
  const operations =
    config.operationsPort === undefined
      ? undefined
      : await startOperations({
          port: config.operationsPort,
          metrics,
          async health() {
            await stores.check(Date.now());
            return { status: "ok", unreachable: relay.unreachable(), acts: fence() !== undefined };
          },
          onFault: (error) => logger.error({ err: error }, "the operator's port could not answer"),
        });
  if (operations !== undefined) metrics.watchProcess();
  const besides = operations === undefined ? {} : { operations_port: operations.port };
  logger.info({ chain_id: config.chainId, pool: config.pool, ...besides }, "relaying");
  return async () => {
    leaving.abort();
    await relay.stop();
    await keeper.stop();
    await operations?.stop(0);
    await opened.close();
  };
}

await runProgram({
  name: "relay",
  help: `Usage: node --import tsx proxy/relay/main.ts\n\n${configHelp(RELAY_SETTINGS)}`,
  read: readRelayConfig,
  start,
});
