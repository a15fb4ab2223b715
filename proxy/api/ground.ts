/** What everything else stands on: secrets, the chain and its pool, the database, its stores and the index. */
import { pathToFileURL } from "node:url";
import type { Bytes32 } from "../../shared/protocol/brands.ts";
import { loadKeyRing, loadPepper, loadSecret } from "../base/auth/secret-files.ts";
import { readBridgeSettings } from "../base/bridge/bridge.settings.ts";
import { checkChain } from "./check-chain.ts";
import { Pool } from "../base/chain/pool.ts";
import { openNodes } from "../base/chain/nodes.ts";
import { createTokens } from "../base/chain/token.ts";
import type { Config } from "./config.ts";
import type { Logger } from "../base/logging.ts";
import { adoptRebuiltIndex } from "./merkle/index-rebuild.ts";
import { Indexer, freshTip } from "./merkle/indexer.ts";
import { createMetrics } from "../base/observe/metrics.ts";
import { openStores } from "../base/open-stores.ts";
import { createGasWallet } from "../base/chain/gas-wallet.ts";
import { keyHashesOf, loadCircuits } from "./status/circuits.ts";
import { openChainDataStore } from "../base/store/lmdb/chain-data.ts";
import { openDatabase } from "../base/store/lmdb/database.ts";
import { holdFolder } from "../base/store/lmdb/folder-holder.ts";
import { claimInstance } from "../base/store/lmdb/instance-record.ts";
import { openRebuildStore } from "../base/store/lmdb/rebuild.ts";

export type Ground = Awaited<ReturnType<typeof openGround>>;

const VERIFICATION_KEYS = new URL("../../shared/protocol/verification-keys/", import.meta.url);

/** Throws before anything is served where settings, keys and the chain do not fit. */
export async function openGround(config: Config, logger: Logger) {
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
  const nodes = openNodes(config.rpcUrl, BigInt(config.chainId), {
    ...{ signal: leaving.signal, logger },
    onAsked: (method, outcome, secs) => metrics.rpc(method, outcome, secs),
  });
  const { chain } = nodes;
  const pool = new Pool(chain, config.pool);
  const ourKeys = keyHashesOf(circuits);
  await checkChain(config, chain, pool, ourKeys, logger);

  const database = openDatabase(config.dataDir);
  await claimInstance(database, config);
  const folder = await holdFolder(database, config.dataDir, (error) => {
    // As a crash: nothing is written after it, and what was accepted is the other's.
    logger.fatal({ err: error }, "this proxy was held still, and another has taken its data folder");
    process.exit(error.exitCode);
  });
  await adoptRebuiltIndex(openRebuildStore(database), config, logger);
  const data = openChainDataStore(database);
  const { stores, close: closeStores } = await openStores(
    config,
    database,
    logger.child({ part: "store" }),
    metrics,
  );
  const indexer = new Indexer(chain, pool, data, logger.child({ part: "indexer" }), {
    deploymentBlock: config.deploymentBlock,
    pollIntervalMs: config.blockPollMs,
  });
  indexer.onChange((change) => {
    if (change.type === "reorg") metrics.reorganised(change.tip.number - change.ancestor);
  });
  return {
    ...{ config, logger, now, metrics, keyRing, pepper, circuits, ourKeys, wallet, bridgeSettings },
    ...{
      nodes,
      chain,
      pool,
      tokens: createTokens(chain),
      database,
      folder,
      data,
      stores,
      closeStores,
      indexer,
    },
    tipIfFresh: (): Bytes32 | undefined => freshTip(indexer.state(), now()),
    /** Ends what the node is asked. */
    leave: () => leaving.abort(),
  };
}
