/**
 * The proxy's settings: environment in, one frozen typed value out, or every fault at once. Trusts the
 * operator's environment to be meant, not to be right.
 */
import { isSubnet } from "../base/own-hops.ts";
import { readAssets, readFees, readLimits, type Asset } from "../base/instance-config.ts";
import {
  ConfigError,
  createReader,
  HTTP,
  HTTP_LIST,
  REDIS,
  type Environment,
  type Reader,
  type Setting,
} from "../base/settings.ts";

/** Where an enclave listens: the platform's Unix socket and the port behind its CONNECT handshake. */
export interface EnclaveAddress {
  readonly path: string;
  readonly port: number;
}

export type Config = ReturnType<typeof readConfig>;

const NO_VSOCK =
  "has a vsock: address: Node cannot open AF_VSOCK; run a vsock bridge on the host and give its unix:<path>:<port>";

export function readConfig(environment: Environment) {
  const read = createReader(environment);
  const { text, optional, integer, isOn, fault } = read;

  const production = read.choice("CLOISTER_ENV", ["development", "production"]) === "production";
  const addressPrefix = text("CLOISTER_ADDRESS_PREFIX");
  if (addressPrefix !== "" && !/^[a-z][a-z0-9]{0,31}$/.test(addressPrefix))
    fault("CLOISTER_ADDRESS_PREFIX", "must be 1 to 32 lower-case letters and digits");
  const identityLoopback = isOn("CLOISTER_IDENTITY_LOOPBACK");
  if (production && identityLoopback) fault("CLOISTER_IDENTITY_LOOPBACK", "must be off in production");
  const pool = read.address("CLOISTER_POOL");
  const [usdc, ...furtherAssets] = readAssets(read);

  const config = {
    production,
    network: text("CLOISTER_NETWORK"),
    dataDir: text("CLOISTER_DATA_DIR"),
    logLevel: read.choice("CLOISTER_LOG_LEVEL", ["trace", "debug", "info", "warn", "error", "silent"]),
    ...readListening(read),
    rpcUrl: read.url("CLOISTER_RPC_URL", HTTP_LIST) ?? "",
    chainId: integer("CLOISTER_CHAIN_ID", 1, Number.MAX_SAFE_INTEGER),
    deploymentBlock: integer("CLOISTER_DEPLOYMENT_BLOCK", 0, Number.MAX_SAFE_INTEGER),
    confirmations: integer("CLOISTER_CONFIRMATIONS", 1, 10_000),
    blockPollMs: integer("CLOISTER_BLOCK_POLL_MS", 10, 600_000),
    /** A node keeps so few of one sender that wait (geth 16 for certain), and an update covers the leaves of 64. */
    calls: Object.freeze({
      maxInFlight: integer("CLOISTER_CALLS_IN_FLIGHT", 1, 16),
      maxBatch: integer("CLOISTER_MEMBERS_PER_CALL", 1, 64),
      maxGas: BigInt(integer("CLOISTER_GAS_PER_CALL", 3_000_000, 1_000_000_000)),
    }),
    maxWaiting: integer("CLOISTER_MAX_WAITING", 1, 1_000_000),
    /** How long what is only looked at is kept. */
    retention: Object.freeze({
      endedTicketsDays: integer("CLOISTER_ENDED_TICKETS_DAYS", 0, 36_500),
      usageDays: integer("CLOISTER_USAGE_DAYS", 1, 36_500),
    }),
    addressPrefix,
    ...readSwaps(read),
    /** Names what is bridged; undefined where nothing is. */
    bridgesFile: optional("CLOISTER_BRIDGES"),
    ...readEnclaves(read, production),
    artefactManifestFile: text("CLOISTER_ARTEFACT_MANIFEST"),
    /** Undefined: those of the sources. */
    verificationKeyFolder: optional("CLOISTER_VERIFICATION_KEYS"),
    senderKeyFile: text("CLOISTER_SENDER_KEY_FILE"),
    sessionKeysFile: text("CLOISTER_SESSION_KEYS_FILE"),
    pepperFile: text("CLOISTER_API_KEY_PEPPER_FILE"),
    /** Development only: identity providers on this machine, over http. */
    identityLoopback,
    ...readFees(
      read,
      [...(usdc === undefined ? [] : [usdc]), ...furtherAssets].map((asset) => asset.address),
      addressPrefix,
    ),
    limits: readLimits(read),
    /** Undefined: everything is in the data folder. May hold a password. */
    storeRedisUrl: read.url("CLOISTER_STORE_REDIS_URL", REDIS),
    /** Undefined: each proxy counts for itself. May hold a password. */
    limitsRedisUrl: read.url("CLOISTER_LIMITS_REDIS_URL", REDIS),
  };
  if (read.faults.length > 0 || pool === undefined || usdc === undefined) throw new ConfigError(read.faults);
  /** Listed assets; the first is the one `/balance/usdc` speaks of. */
  const assets: readonly [Asset, ...Asset[]] = Object.freeze([usdc, ...furtherAssets] as const);
  return Object.freeze({ ...config, pool, assets });
}

function readListening({ text, integer, list, fault }: Reader) {
  const optionalPort = (name: Setting): number | undefined =>
    text(name) === "" ? undefined : integer(name, 0, 65_535);
  const port = integer("CLOISTER_PORT", 0, 65_535);
  const referencePort = optionalPort("CLOISTER_REFERENCE_PORT");
  const operationsPort = optionalPort("CLOISTER_OPERATIONS_PORT");
  if (operationsPort !== undefined && operationsPort > 0 && [port, referencePort].includes(operationsPort))
    fault("CLOISTER_OPERATIONS_PORT", "must be a port of its own: what it says is not for callers");
  const trustedProxies = list("CLOISTER_TRUSTED_PROXIES");
  if (!trustedProxies.every(isSubnet))
    fault("CLOISTER_TRUSTED_PROXIES", "must hold addresses and subnets such as 10.0.0.0/8");
  return {
    host: text("CLOISTER_HOST"),
    port,
    /** Of the page that shows the OpenAPI document; undefined when there is none. */
    referencePort,
    /** Of the operator's figures and probes, on the loopback address; undefined when there is none. */
    operationsPort,
    /** How many of our own hops stand in front and append to X-Forwarded-For. */
    trustedHops: integer("CLOISTER_TRUSTED_HOPS", 0, 8),
    /** Addresses and subnets from which they connect; empty when the operator names none. */
    trustedProxies,
    /** Open ones, in all and from one address. */
    connections: Object.freeze({
      all: integer("CLOISTER_MAX_CONNECTIONS", 1, 1_000_000),
      perAddress: integer("CLOISTER_MAX_CONNECTIONS_PER_ADDRESS", 1, 1_000_000),
    }),
  };
}

function readSwaps({ text, address, isOn, fault }: Reader) {
  const swaps = isOn("CLOISTER_SWAPS");
  const [factory, quoter] = [address("CLOISTER_SWAP_FACTORY"), address("CLOISTER_SWAP_QUOTER")];
  for (const name of ["CLOISTER_SWAP_FACTORY", "CLOISTER_SWAP_QUOTER"] as const) {
    if (swaps && text(name) === "") fault(name, "is required with CLOISTER_SWAPS=on: quotes ask there");
  }
  const isThere = swaps && factory !== undefined && quoter !== undefined;
  return {
    /** Whether private swaps are accepted. What was accepted before they were switched off is still carried. */
    swaps,
    /** Uniswap v3, for quotes. Undefined where swaps are off. */
    venue: isThere ? Object.freeze({ factory, quoter }) : undefined,
  };
}

function readEnclaves(read: Reader, production: boolean) {
  const { fault } = read;
  const enclaves = read.list("CLOISTER_ENCLAVES").flatMap((entry): EnclaveAddress[] => {
    const unix = /^unix:(.+):([1-9][0-9]{0,9})$/.exec(entry);
    if (unix?.[1] !== undefined && Number(unix[2]) <= 0xffff_ffff)
      return [{ path: unix[1], port: Number(unix[2]) }];
    const isVsock = entry.startsWith("vsock:");
    fault("CLOISTER_ENCLAVES", isVsock ? NO_VSOCK : "must hold unix:<path>:<port> entries");
    return [];
  });

  const files = read.list("CLOISTER_SIGNER_KEYS");
  if (files.length > 1 && files.length !== enclaves.length)
    fault("CLOISTER_SIGNER_KEYS", "must hold one file, or one for each enclave");
  const region = read.text("CLOISTER_KMS_REGION");
  const endpoint = read.url("CLOISTER_KMS_ENDPOINT", HTTP);
  if (files.length > 0 && region === "")
    fault("CLOISTER_KMS_REGION", "is required with CLOISTER_SIGNER_KEYS");
  if (region !== "" && !/^[a-z]{2,}(-[a-z0-9]+)+$/.test(region))
    fault("CLOISTER_KMS_REGION", "is no name of a region");
  if (production && endpoint?.startsWith("http:") === true)
    fault("CLOISTER_KMS_ENDPOINT", "must be https in production");
  return {
    enclaves: Object.freeze(enclaves),
    /**
     * Files of the signers' pairs in order of the enclaves; empty when somebody else restores them. One file is meant
     * for every enclave: several that run one image may hold the same key.
     */
    signerPairs: Object.freeze(files.length === 1 ? enclaves.flatMap(() => files) : files),
    /** Undefined without pairs. */
    kms: files.length === 0 ? undefined : Object.freeze({ region, endpoint }),
  };
}
