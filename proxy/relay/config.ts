/**
 * The relay's settings: those of its instance's proxies that it needs, by the same names and with the same values, and its
 * own. The keys that it needs stand in the bridges' file; it needs none of the gas wallet, of sessions or of an enclave.
 */
import { readAssets } from "../base/instance-config.ts";
import {
  ConfigError,
  createReaderOf,
  HTTP_LIST,
  REDIS,
  settingsWith,
  type Environment,
} from "../base/settings.ts";

export const RELAY_SETTINGS = settingsWith(
  [
    ...(["CLOISTER_DATA_DIR", "CLOISTER_LOG_LEVEL", "CLOISTER_STORE_REDIS_URL"] as const),
    ...(["CLOISTER_RPC_URL", "CLOISTER_CHAIN_ID", "CLOISTER_POOL"] as const),
    ...(["CLOISTER_CONFIRMATIONS", "CLOISTER_BLOCK_POLL_MS"] as const),
    ...(["CLOISTER_USDC", "CLOISTER_USDC_SYMBOL", "CLOISTER_USDC_DECIMALS", "CLOISTER_ASSETS"] as const),
    ...(["CLOISTER_ADDRESS_PREFIX", "CLOISTER_BRIDGES"] as const),
  ],
  {
    CLOISTER_RELAY_OPERATIONS_PORT: [
      "",
      "port of the relay's /metrics, /live and /ready on the loopback address, 0 for a free one; off when empty",
    ],
  },
);

export type RelayConfig = ReturnType<typeof readRelayConfig>;

/** Throws ConfigError with every fault at once. */
export function readRelayConfig(environment: Environment) {
  const read = createReaderOf(RELAY_SETTINGS, environment);
  const { text, integer, fault } = read;
  const bridgesFile = text("CLOISTER_BRIDGES");
  if (bridgesFile === "") fault("CLOISTER_BRIDGES", "is required: without it there is nothing to relay");
  const pool = read.address("CLOISTER_POOL");
  const port = text("CLOISTER_RELAY_OPERATIONS_PORT");
  const config = {
    logLevel: read.choice("CLOISTER_LOG_LEVEL", ["trace", "debug", "info", "warn", "error", "silent"]),
    dataDir: text("CLOISTER_DATA_DIR"),
    storeRedisUrl: read.url("CLOISTER_STORE_REDIS_URL", REDIS),
    rpcUrl: read.url("CLOISTER_RPC_URL", HTTP_LIST) ?? "",
    chainId: integer("CLOISTER_CHAIN_ID", 1, Number.MAX_SAFE_INTEGER),
    confirmations: integer("CLOISTER_CONFIRMATIONS", 1, 10_000),
    blockPollMs: integer("CLOISTER_BLOCK_POLL_MS", 10, 600_000),
    addressPrefix: text("CLOISTER_ADDRESS_PREFIX"),
    assets: readAssets(read),
    bridgesFile,
    operationsPort: port === "" ? undefined : integer("CLOISTER_RELAY_OPERATIONS_PORT", 0, 65_535),
  };
  if (read.faults.length > 0 || pool === undefined) throw new ConfigError(read.faults);
  return Object.freeze({ ...config, pool });
}
