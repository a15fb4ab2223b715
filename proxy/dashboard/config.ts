/**
 * The dashboard's settings: those of its instance's proxies that it needs, by the same names and with the same values,
 * and its own. It needs no key of the gas wallet, of sessions or of an enclave, and reads none.
 */
import { isIP } from "node:net";
import { readAssets, readFees, readLimits } from "../base/instance-config.ts";
import { isSubnet } from "../base/own-hops.ts";
import {
  ConfigError,
  createReaderOf,
  HTTP_LIST,
  REDIS,
  settingsWith,
  type Environment,
  type ReaderOf,
} from "../base/settings.ts";

export const DASHBOARD_SETTINGS = settingsWith(
  [
    ...(["CLOISTER_ENV", "CLOISTER_NETWORK", "CLOISTER_DATA_DIR", "CLOISTER_LOG_LEVEL"] as const),
    ...(["CLOISTER_RPC_URL", "CLOISTER_CHAIN_ID", "CLOISTER_POOL", "CLOISTER_DEPLOYMENT_BLOCK"] as const),
    ...(["CLOISTER_USDC", "CLOISTER_USDC_SYMBOL", "CLOISTER_USDC_DECIMALS", "CLOISTER_ASSETS"] as const),
    ...(["CLOISTER_ADDRESS_PREFIX", "CLOISTER_API_KEY_PEPPER_FILE", "CLOISTER_IDENTITY_LOOPBACK"] as const),
    ...(["CLOISTER_SERVICE_FEE_ADDRESS", "CLOISTER_FEE_SCHEDULE", "CLOISTER_PRICES"] as const),
    ...(["CLOISTER_MINIMUMS", "CLOISTER_LIMIT_SESSION_PER_MINUTE", "CLOISTER_LIMIT_KEY_PER_MINUTE"] as const),
    ...(["CLOISTER_LIMIT_KEY_PER_DAY", "CLOISTER_LIMIT_STREAMS_PER_USER"] as const),
    ...(["CLOISTER_LIMIT_STREAMS_PER_DEVELOPER", "CLOISTER_LIMIT_FAILURES_PER_MINUTE"] as const),
    ...(["CLOISTER_LIMIT_EXCHANGES_PER_MINUTE", "CLOISTER_LIMIT_BAD_PROOFS_PER_MINUTE"] as const),
    ...(["CLOISTER_STORE_REDIS_URL", "CLOISTER_LIMITS_REDIS_URL"] as const),
  ],
  {
    CLOISTER_DASHBOARD_ORIGIN: [
      undefined,
      "origin at which browsers reach the dashboard, https://dashboard.example, or http://localhost:PORT in development; passkeys are bound to its host name, so another one later needs new passkeys",
    ],
    CLOISTER_DASHBOARD_HOST: ["127.0.0.1", "address that the dashboard listens on"],
    CLOISTER_DASHBOARD_PORT: ["8791", "port that it listens on, 0 for a free one"],
    CLOISTER_DASHBOARD_TRUSTED_HOPS: [
      "0",
      "own hops in front of the dashboard that append to X-Forwarded-For",
    ],
    CLOISTER_DASHBOARD_TRUSTED_PROXIES: ["", "comma-separated addresses and subnets of those hops"],
    CLOISTER_DASHBOARD_API_URL: ["", "URL of the API, shown to developers"],
    CLOISTER_DASHBOARD_EXPLORER_TX: [
      "",
      "page of a transaction at a block explorer, with {tx} where its hash stands",
    ],
    CLOISTER_DASHBOARD_OPERATIONS: [
      "",
      "comma-separated URLs of the proxies' operations ports, for the operator's view",
    ],
    CLOISTER_DASHBOARD_GAS_WALLET: ["", "address of the gas wallet, for its balance in the operator's view"],
    CLOISTER_DASHBOARD_WATCHER_FILE: [
      "",
      "file that npm run watch keeps with --status, for its alarms in the operator's view",
    ],
    CLOISTER_DASHBOARD_IDLE_MINUTES: ["60", "a session without a request for so long has ended"],
    CLOISTER_DASHBOARD_SESSION_HOURS: ["12", "a session ends after so long, whatever happens"],
    CLOISTER_DASHBOARD_FRESH_MINUTES: [
      "5",
      "dangerous changes ask for the passkey again when it was used longer ago",
    ],
    CLOISTER_DASHBOARD_TRIES_PER_MINUTE: [
      "30",
      "tries to sign in, to sign up and to look at an invitation, a minute from one address",
    ],
    CLOISTER_DASHBOARD_CHANGES_PER_DAY: [
      "1000",
      "changes of one account that stay in the store, a day; an operator's are not counted",
    ],
  },
);
type Name = keyof typeof DASHBOARD_SETTINGS;

export type DashboardConfig = ReturnType<typeof readDashboardConfig>;

/** Throws ConfigError with every fault at once. */
export function readDashboardConfig(environment: Environment) {
  const read = createReaderOf<Name>(DASHBOARD_SETTINGS, environment);
  const { text, optional, integer } = read;
  const production = read.choice("CLOISTER_ENV", ["development", "production"]) === "production";
  const addressPrefix = text("CLOISTER_ADDRESS_PREFIX");
  const pool = read.address("CLOISTER_POOL");
  const assets = readAssets(read);
  const config = {
    production,
    network: text("CLOISTER_NETWORK"),
    logLevel: read.choice("CLOISTER_LOG_LEVEL", ["trace", "debug", "info", "warn", "error", "silent"]),
    dataDir: text("CLOISTER_DATA_DIR"),
    rpcUrl: read.url("CLOISTER_RPC_URL", HTTP_LIST) ?? "",
    chainId: integer("CLOISTER_CHAIN_ID", 1, Number.MAX_SAFE_INTEGER),
    deploymentBlock: integer("CLOISTER_DEPLOYMENT_BLOCK", 0, Number.MAX_SAFE_INTEGER),
    addressPrefix,
    pepperFile: text("CLOISTER_API_KEY_PEPPER_FILE"),
    identityLoopback: read.isOn("CLOISTER_IDENTITY_LOOPBACK"),
    ...readFees(
      read,
      assets.map(({ address }) => address),
      addressPrefix,
    ),
    limits: readLimits(read),
    storeRedisUrl: read.url("CLOISTER_STORE_REDIS_URL", REDIS),
    limitsRedisUrl: read.url("CLOISTER_LIMITS_REDIS_URL", REDIS),
    ...readPlace(read, production),
    ...readViews(read),
    idleMs: integer("CLOISTER_DASHBOARD_IDLE_MINUTES", 1, 1440) * 60_000,
    sessionMs: integer("CLOISTER_DASHBOARD_SESSION_HOURS", 1, 24 * 30) * 3_600_000,
    freshMs: integer("CLOISTER_DASHBOARD_FRESH_MINUTES", 1, 60) * 60_000,
    triesPerMinute: integer("CLOISTER_DASHBOARD_TRIES_PER_MINUTE", 1, 100_000),
    changesPerDay: integer("CLOISTER_DASHBOARD_CHANGES_PER_DAY", 1, 100_000),
    /** Undefined: none is shown. */
    apiUrl: optional("CLOISTER_DASHBOARD_API_URL"),
  };
  if (read.faults.length > 0 || pool === undefined) throw new ConfigError(read.faults);
  return Object.freeze({ ...config, pool, assets });
}

function readPlace(read: ReaderOf<Name>, production: boolean) {
  const { text, integer, list, fault } = read;
  const given = text("CLOISTER_DASHBOARD_ORIGIN");
  const url = URL.canParse(given) ? new URL(given) : undefined;
  if (given !== "" && (url === undefined || url.origin !== given || !/^https?:$/.test(url.protocol)))
    fault("CLOISTER_DASHBOARD_ORIGIN", "must be an origin such as https://dashboard.example, nothing behind");
  const host = url?.hostname ?? "";
  // WebAuthn binds a passkey to a name.
  if (isIP(host.replace(/^\[(.*)\]$/, "$1")) !== 0)
    fault("CLOISTER_DASHBOARD_ORIGIN", "must have a host name, not an address: passkeys are bound to it");
  else if (url?.protocol === "http:" && (production || host !== "localhost"))
    fault("CLOISTER_DASHBOARD_ORIGIN", "must be https; http is for localhost in development only");
  const trustedProxies = list("CLOISTER_DASHBOARD_TRUSTED_PROXIES");
  if (!trustedProxies.every(isSubnet))
    fault("CLOISTER_DASHBOARD_TRUSTED_PROXIES", "must hold addresses and subnets such as 10.0.0.0/8");
  return {
    /** As browsers send it. */
    origin: given,
    /** To which passkeys are bound. */
    rpId: host,
    host: text("CLOISTER_DASHBOARD_HOST"),
    port: integer("CLOISTER_DASHBOARD_PORT", 0, 65_535),
    trustedHops: integer("CLOISTER_DASHBOARD_TRUSTED_HOPS", 0, 8),
    trustedProxies,
  };
}

function readViews(read: ReaderOf<Name>) {
  const { optional, list, address, fault } = read;
  const explorerTx = optional("CLOISTER_DASHBOARD_EXPLORER_TX");
  const isFit = (text: string): boolean =>
    text.split("{tx}").length === 2 && /^https?:$/.test(protocolOf(text.replace("{tx}", "0x")));
  if (explorerTx !== undefined && !isFit(explorerTx))
    fault("CLOISTER_DASHBOARD_EXPLORER_TX", "must be an http or https URL with {tx} once");
  const operations = list("CLOISTER_DASHBOARD_OPERATIONS");
  if (!operations.every((url) => /^https?:$/.test(protocolOf(url))))
    fault("CLOISTER_DASHBOARD_OPERATIONS", "must hold http or https URLs");
  return {
    explorerTx,
    operations,
    gasWallet: address("CLOISTER_DASHBOARD_GAS_WALLET"),
    watcherFile: optional("CLOISTER_DASHBOARD_WATCHER_FILE"),
  };
}

const protocolOf = (text: string): string => (URL.canParse(text) ? new URL(text).protocol : "");
