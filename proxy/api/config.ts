/**
 * The proxy's settings: environment in, one frozen typed value out, or every fault at once. Trusts the
 * operator's environment to be meant, not to be right.
 */
import { z } from "zod";
import { address as addressText, amount as amountText } from "../../shared/api/values.ts";
import { feeOperation } from "../../shared/api/credentials.ts";
import { decodeShieldedAddress } from "../../shared/notes/address.ts";
import { ZERO_ADDRESS, type Address } from "../../shared/protocol/brands.ts";
import { asAddress } from "../../shared/protocol/host/text.ts";
import type { FeeOperation } from "../../shared/protocol/host/fees.ts";
import { asksFlat, readFeeSchedule, readPrices } from "../base/fee-settings.ts";
import { isSubnet } from "../base/own-hops.ts";
import {
  addressSetting,
  ConfigError,
  createReader,
  HTTP,
  REDIS,
  type Environment,
  type Reader,
  type ReaderOf,
  type Setting,
} from "../base/settings.ts";

export interface Asset {
  readonly address: Address;
  readonly symbol: string;
  readonly decimals: number;
}

/** Where an enclave listens: the platform's Unix socket and the port behind its CONNECT handshake. */
export interface EnclaveAddress {
  readonly path: string;
  readonly port: number;
}

export interface Minimum {
  readonly asset: Address;
  readonly operation: FeeOperation;
  readonly minimum: bigint;
}

export type Config = ReturnType<typeof readConfig>;
/** What a developer gets whose record says nothing else. */
export type LimitDefaults = Config["limits"];

const NO_VSOCK =
  "has a vsock: address: Node cannot open AF_VSOCK; run a vsock bridge on the host and give its unix:<path>:<port>";

const assetsShape = z.array(
  z.strictObject({
    address: addressSetting,
    symbol: z.string().regex(/^[\x21-\x7e]{1,32}$/, "1 to 32 printable characters"),
    decimals: z.int().min(0).max(36),
  }),
);
const minimumsShape = z.array(
  z.strictObject({ asset: addressText, operation: feeOperation, minimum: amountText.transform(BigInt) }),
);

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
    rpcUrl: read.url("CLOISTER_RPC_URL", HTTP) ?? "",
    chainId: integer("CLOISTER_CHAIN_ID", 1, Number.MAX_SAFE_INTEGER),
    deploymentBlock: integer("CLOISTER_DEPLOYMENT_BLOCK", 0, Number.MAX_SAFE_INTEGER),
    confirmations: integer("CLOISTER_CONFIRMATIONS", 1, 10_000),
    blockPollMs: integer("CLOISTER_BLOCK_POLL_MS", 10, 600_000),
    /** A node keeps so few of one sender that wait (geth 16 for certain), and an update covers the leaves of 64. */
    calls: Object.freeze({
      maxInFlight: integer("CLOISTER_CALLS_IN_FLIGHT", 1, 16),
      maxBatch: integer("CLOISTER_MEMBERS_PER_CALL", 1, 64),
    }),
    /** Tickets that may wait before QUEUE_FULL. */
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

type AssetSetting = Extract<
  Setting,
  "CLOISTER_USDC" | "CLOISTER_USDC_SYMBOL" | "CLOISTER_USDC_DECIMALS" | "CLOISTER_ASSETS"
>;
type FeesSetting = Extract<
  Setting,
  "CLOISTER_FEE_SCHEDULE" | "CLOISTER_PRICES" | "CLOISTER_MINIMUMS" | "CLOISTER_SERVICE_FEE_ADDRESS"
>;
type LimitSetting = Extract<Setting, `CLOISTER_LIMIT_${string}`>;

/** USDC first; without a good address of its own it is left out, which is a fault. */
export function readAssets(
  read: Pick<ReaderOf<AssetSetting>, "address" | "text" | "integer" | "json" | "fault">,
): readonly Asset[] {
  const usdc = read.address("CLOISTER_USDC");
  const symbol = read.text("CLOISTER_USDC_SYMBOL");
  const decimals = read.integer("CLOISTER_USDC_DECIMALS", 0, 36);
  const further = read.json("CLOISTER_ASSETS", assetsShape) ?? [];
  const assets = [...(usdc === undefined ? [] : [{ address: usdc, symbol, decimals }]), ...further];
  const addresses = new Set(assets.map((asset) => asset.address));
  if (addresses.size !== assets.length) read.fault("CLOISTER_ASSETS", "names an asset twice");
  if (addresses.has(ZERO_ADDRESS)) read.fault("CLOISTER_ASSETS", "names the zero address");
  return assets;
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

export function readFees(
  read: Pick<ReaderOf<FeesSetting>, "json" | "fault" | "optional">,
  addresses: readonly Address[],
  addressPrefix: string,
) {
  const { json, fault } = read;
  const listed = (name: FeesSetting, text: string): Address | undefined => {
    const asset = asAddress(text);
    if (asset !== undefined && addresses.includes(asset)) return asset;
    fault(name, "names an asset that is not listed");
    return undefined;
  };
  const feeSchedule = readFeeSchedule({ json, listed, fault }, addresses);
  const prices = readPrices({ json, listed, fault }, feeSchedule);
  const minimums = (json("CLOISTER_MINIMUMS", minimumsShape) ?? []).flatMap((entry): Minimum[] => {
    const asset = listed("CLOISTER_MINIMUMS", entry.asset);
    return asset === undefined ? [] : [{ ...entry, asset }];
  });
  // Two rules for one thing would make it a matter of order which one a client must obey.
  for (const [name, rules] of [
    ["CLOISTER_FEE_SCHEDULE", feeSchedule],
    ["CLOISTER_MINIMUMS", minimums],
  ] as const) {
    const named = new Set(rules.map(({ asset, operation }) => `${asset} ${operation}`));
    if (named.size !== rules.length) fault(name, "has two entries for one asset and operation");
  }

  const text = read.optional("CLOISTER_SERVICE_FEE_ADDRESS");
  const sink = text === undefined ? undefined : decodeShieldedAddress(text, addressPrefix);
  if (text !== undefined && sink === undefined)
    fault("CLOISTER_SERVICE_FEE_ADDRESS", "is no shielded address of this network");
  if (text === undefined && feeSchedule.some((entry) => asksFlat(entry) || entry.bps > 0))
    fault("CLOISTER_SERVICE_FEE_ADDRESS", "is required when the schedule asks for a fee");
  return {
    /** Undefined when the service takes no fee. */
    serviceFee: text === undefined || sink === undefined ? undefined : Object.freeze({ text, sink }),
    feeSchedule,
    prices,
    minimums: Object.freeze(minimums),
  };
}

export function readLimits({ integer }: Pick<ReaderOf<LimitSetting>, "integer">) {
  return Object.freeze({
    sessionPerMinute: integer("CLOISTER_LIMIT_SESSION_PER_MINUTE", 1, 1_000_000),
    keyPerMinute: integer("CLOISTER_LIMIT_KEY_PER_MINUTE", 1, 1_000_000),
    keyPerDay: integer("CLOISTER_LIMIT_KEY_PER_DAY", 1, 10_000_000),
    streamsPerUser: integer("CLOISTER_LIMIT_STREAMS_PER_USER", 1, 10_000),
    streamsPerDeveloper: integer("CLOISTER_LIMIT_STREAMS_PER_DEVELOPER", 1, 100_000),
    /** Bad credentials from one address before it receives 429 instead of 401. */
    failuresPerMinute: integer("CLOISTER_LIMIT_FAILURES_PER_MINUTE", 1, 100_000),
    /** Tries of POST /session/exchange from one address. */
    exchangesPerMinute: integer("CLOISTER_LIMIT_EXCHANGES_PER_MINUTE", 1, 100_000),
    /** Proofs of one user that do not verify before the next ones are not looked at. */
    badProofsPerMinute: integer("CLOISTER_LIMIT_BAD_PROOFS_PER_MINUTE", 1, 100_000),
  });
}
