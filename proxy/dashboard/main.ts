/** The dashboard as a program of its own, beside the proxies of its instance: it opens the store that they share, listens on an origin of its own, and ends in order. */
import path from "node:path";
import type { Me } from "./contract/account.ts";
import { checksumAddress } from "../../shared/api/checksum.ts";
import { loadPepper } from "../base/auth/secret-files.ts";
import { openNodes } from "../base/chain/nodes.ts";
import type { Chain } from "../base/chain/provider.ts";
import { clientAddress } from "../base/http/client-address.ts";
import { startHttpServer } from "../base/http/server.ts";
import { Limits } from "../base/limits/limits.ts";
import type { Logger } from "../base/logging.ts";
import { openExistingStores, openWindows } from "../base/open-stores.ts";
import { ownHops } from "../base/own-hops.ts";
import { runProgram } from "../base/program.ts";
import { configHelp } from "../base/settings.ts";
import { accountRoutes } from "./account.routes.ts";
import { Accounts } from "./accounts.service.ts";
import { Activity } from "./activity.service.ts";
import { createDashboardApp } from "./app.ts";
import { AppsService } from "./apps.service.ts";
import { DASHBOARD_SETTINGS, readDashboardConfig, type DashboardConfig } from "./config.ts";
import { developerRoutes } from "./developer.routes.ts";
import { DevelopersService } from "./developers.service.ts";
import { Fees } from "./fees.service.ts";
import { createHealth } from "./health.service.ts";
import { createKeys } from "./keys.service.ts";
import { operatorRoutes } from "./operator.routes.ts";
import { createOrigins } from "./origins.service.ts";
import { readPage } from "./page.middleware.ts";
import { Passkeys } from "./passkeys.ts";
import { createPoolView } from "./pool.service.ts";
import { createSessions } from "./sessions.ts";
import { createChanges, createStandings, createTries } from "./standings.ts";
import { createAlarms } from "./watcher-file.ts";
import { createWork } from "./work.service.ts";

const REQUESTS_MS = 5_000;
const NAME = "Cloister";
const PAGE_FOLDER = path.join(import.meta.dirname, "./dist");
const now = Date.now;

async function start(config: DashboardConfig, logger: Logger): Promise<() => Promise<void>> {
  const { pool, chainId, assets, origin } = config;
  const pepper = await loadPepper(config.pepperFile);
  const leaving = new AbortController();
  const { chain } = openNodes(config.rpcUrl, BigInt(chainId), { signal: leaving.signal, logger });
  const opened = await openExistingStores(config, logger);
  const { stores } = opened;
  const windows = await openWindows(config, logger, { redis: () => undefined });
  const limits = new Limits(config.limits, windows.store);
  const standings = createStandings({
    limits,
    ...{ defaults: config.limits, isShared: config.limitsRedisUrl !== undefined, keys: stores.keys },
  });

  const sessions = createSessions({
    ...config,
    ...{ accounts: stores.accounts, store: stores.dashboardSessions, pepper, now },
  });
  const accounts = new Accounts({
    ...{ store: stores.accounts, challenges: stores.dashboardSessions, developers: stores.keys, pepper, now },
    passkeys: new Passkeys({ rpId: config.rpId, origin, name: NAME }, now),
  });
  const apps = new AppsService({
    ...{ apps: stores.apps, requests: stores.appRequests, developers: stores.keys, now },
    allowLoopback: config.identityLoopback,
  });
  const fees = new Fees({ ...config, store: stores.feeRules, priceStore: stores.prices, now });
  const activity = new Activity({ ...stores, standings, explorerTx: config.explorerTx, now });
  const alarms = createAlarms(config.watcherFile, now);
  const health = createHealth({
    ...{ operations: config.operations, checkStore: () => stores.check(now()), alarms, now },
    newestBlock: () => timeOfNewest(chain),
  });

  const app = createDashboardApp({
    ...{ origin, sessions, pepper, logger: logger.child({ part: "http" }), now },
    files: await readPage(PAGE_FOLDER),
    countChange: createChanges(windows.store, config.changesPerDay),
    addressOf: clientAddress(ownHops(config.trustedHops, config.trustedProxies)),
    handlers: {
      ...accountRoutes({
        ...{ accounts, sessions, instance: instanceOf(config) },
        developerOf: (id) => stores.keys.developer(id),
        count: createTries(windows.store, config.triesPerMinute),
      }),
      ...developerRoutes({
        ...{ stores, apps, fees, activity, standings },
        keys: createKeys({ store: stores.keys, usage: stores.usage, pepper, now }),
        origins: createOrigins(stores.keys),
      }),
      ...operatorRoutes({
        ...{ apps, fees, activity, health, alarms },
        developers: new DevelopersService({
          ...{ keys: stores.keys, accounts: stores.accounts, defaults: config.limits, pepper, origin, now },
          sessionsOf: (account) => sessions.listOf(account),
        }),
        work: createWork({
          ...{ stores, gasWallet: config.gasWallet, health, now },
          balanceOf: (account) => chain.balance(account),
        }),
        poolView: createPoolView({ chain, pool, deploymentBlock: config.deploymentBlock }),
      }),
    },
  });
  const handle = app.callback();
  const server = await startHttpServer(
    (request, response) => void handle(request, response),
    config.host,
    config.port,
  );
  logger.info({ host: config.host, port: server.port, origin, assets: assets.length }, "listening");
  return async () => {
    await server.stop(REQUESTS_MS);
    leaving.abort();
    limits.close();
    windows.close();
    await opened.close();
  };
}

/** Unix seconds. */
async function timeOfNewest(chain: Pick<Chain, "header">): Promise<number> {
  const header = await chain.header("latest");
  if (header === undefined) throw new Error("no newest block");
  return header.timestamp;
}

function instanceOf(config: DashboardConfig): Me["instance"] {
  return {
    ...{ network: config.network, chain_id: config.chainId, pool: checksumAddress(config.pool) },
    ...{ api_url: config.apiUrl ?? null, explorer_tx_url: config.explorerTx ?? null },
    address_prefix: config.addressPrefix,
    assets: config.assets.map(({ address, symbol, decimals }) => ({
      ...{ address: checksumAddress(address), symbol, decimals },
    })),
  };
}

await runProgram({
  name: "dashboard",
  help: `Usage: node --import tsx proxy/dashboard/main.ts\n\n${configHelp(DASHBOARD_SETTINGS)}`,
  read: readDashboardConfig,
  start,
});
