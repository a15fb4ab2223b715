/**
 * The proxy's settings: environment in, one frozen typed value out, or every fault at once. Trusts the
 * operator's environment to be meant, not to be right.
 */
import { z } from "zod";
import { address as addressText, amount as amountText } from "../shared/api/values.ts";
import { feeOperation } from "../shared/api/credentials.ts";
import { decodeShieldedAddress, type ShieldedAddress } from "../shared/notes/address.ts";
import { asAddress, ZERO_ADDRESS, type Address } from "../shared/protocol/brands.ts";
import type { FeeOperation } from "../shared/protocol/host/fees.ts";
import {
  asksFlat,
  readFeeSchedule,
  readPrices,
  type FeeScheduleEntry,
  type PriceSetting,
} from "./fee-settings.ts";
import { isSubnet } from "./own-hops.ts";

export interface Asset {
  readonly address: Address;
  readonly symbol: string;
  readonly decimals: number;
}

export interface Minimum {
  readonly asset: Address;
  readonly operation: FeeOperation;
  readonly minimum: bigint;
}

/** Where an enclave listens: the platform's Unix socket and the port behind its CONNECT handshake. */
export interface EnclaveAddress {
  readonly path: string;
  readonly port: number;
}

export interface Config {
  readonly production: boolean;
  readonly network: string;
  readonly host: string;
  readonly port: number;
  /** Of the page that shows the OpenAPI document; undefined when there is none. */
  readonly referencePort: number | undefined;
  /** Of the operator's figures and probes, on the loopback address; undefined when there is none. */
  readonly operationsPort: number | undefined;
  readonly dataDir: string;
  readonly logLevel: "trace" | "debug" | "info" | "warn" | "error" | "silent";
  /** How many of our own hops stand in front and append to X-Forwarded-For. */
  readonly trustedHops: number;
  /** Addresses and subnets from which they connect; empty when the operator names none. */
  readonly trustedProxies: readonly string[];
  /** Open ones, in all and from one address. */
  readonly connections: { readonly all: number; readonly perAddress: number };

  readonly rpcUrl: string;
  readonly chainId: number;
  readonly pool: Address;
  readonly deploymentBlock: number;
  readonly confirmations: number;
  readonly blockPollMs: number;
  /** Tickets that may wait before QUEUE_FULL. */
  readonly maxWaiting: number;
  /** Listed assets; the first is the one `/balance/usdc` speaks of. */
  readonly assets: readonly [Asset, ...Asset[]];
  /** Whether private swaps are accepted. What was accepted before they were switched off is still carried. */
  readonly swaps: boolean;
  /** Uniswap v3, for quotes. Undefined where swaps are off. */
  readonly venue: { readonly factory: Address; readonly quoter: Address } | undefined;
  readonly addressPrefix: string;

  readonly enclaves: readonly EnclaveAddress[];
  /** Files of the signers' pairs in order of the enclaves; empty when somebody else restores them. */
  readonly signerPairs: readonly string[];
  /** Undefined without pairs. */
  readonly kms: { readonly region: string; readonly endpoint: string | undefined } | undefined;
  readonly artefactManifestFile: string;
  /** Undefined: those of the sources. */
  readonly verificationKeyFolder: string | undefined;

  readonly senderKeyFile: string;
  readonly sessionKeysFile: string;
  readonly pepperFile: string;
  /** Development only: identity providers on this machine, over http. */
  readonly identityLoopback: boolean;

  /** Undefined when the service takes no fee. */
  readonly serviceFee: { readonly text: string; readonly sink: ShieldedAddress } | undefined;
  readonly feeSchedule: readonly FeeScheduleEntry[];
  readonly prices: readonly PriceSetting[];
  readonly minimums: readonly Minimum[];
  readonly limits: LimitDefaults;
  /** Undefined: everything is in the data folder. May hold a password. */
  readonly storeRedisUrl: string | undefined;
  /** Undefined: each proxy counts for itself. May hold a password. */
  readonly limitsRedisUrl: string | undefined;
}

/** What a developer gets whose record says nothing else. */
export interface LimitDefaults {
  readonly sessionPerMinute: number;
  readonly keyPerMinute: number;
  readonly keyPerDay: number;
  readonly streamsPerUser: number;
  readonly streamsPerDeveloper: number;
  /** Bad credentials from one address before it receives 429 instead of 401. */
  readonly failuresPerMinute: number;
  /** Tries of POST /session/exchange from one address. */
  readonly exchangesPerMinute: number;
  /** Proofs of one user that do not verify before the next ones are not looked at. */
  readonly badProofsPerMinute: number;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Thrown with all faults; the message is meant for the operator's terminal. Values are not repeated. */
export class ConfigError extends Error {
  readonly faults: readonly string[];
  constructor(faults: readonly string[]) {
    super(
      `the settings have ${faults.length === 1 ? "a fault" : `${faults.length} faults`}:\n  ${faults.join("\n  ")}`,
    );
    this.name = "ConfigError";
    this.faults = faults;
  }
}

/** Name, default (undefined: required), and what it is. Help and reading both go by this table. */
const SETTINGS = {
  CLOISTER_ENV: [
    "development",
    "development | production; production refuses everything marked development only",
  ],
  CLOISTER_NETWORK: ["first", "name of the network in /info"],
  CLOISTER_HOST: ["127.0.0.1", "address to listen on"],
  CLOISTER_PORT: ["8080", "port to listen on, 0 for a free one"],
  CLOISTER_REFERENCE_PORT: [
    "",
    "port of the page that shows the OpenAPI document, 0 for a free one; off when empty",
  ],
  CLOISTER_OPERATIONS_PORT: [
    "",
    "port of /metrics, /live and /ready on the loopback address, 0 for a free one; off when empty",
  ],
  CLOISTER_DATA_DIR: [undefined, "folder of the store"],
  CLOISTER_LOG_LEVEL: ["info", "trace | debug | info | warn | error | silent"],
  CLOISTER_TRUSTED_HOPS: ["0", "own hops in front that append to X-Forwarded-For"],
  CLOISTER_TRUSTED_PROXIES: [
    "",
    "comma-separated addresses and subnets of those hops and of balancers: nobody else's X-Forwarded-For is believed, and theirs are the connections of many",
  ],
  CLOISTER_MAX_CONNECTIONS: ["16384", "open connections; each needs a file descriptor"],
  CLOISTER_MAX_CONNECTIONS_PER_ADDRESS: [
    "256",
    "open connections from one address (IPv6 by /64) that is not one of our own hops",
  ],
  CLOISTER_RPC_URL: [undefined, "JSON-RPC of the chain, http or https"],
  CLOISTER_CHAIN_ID: [undefined, "EIP-155 chain id; the RPC must agree"],
  CLOISTER_POOL: [undefined, "address of the pool"],
  CLOISTER_DEPLOYMENT_BLOCK: ["0", "block in which the pool was created"],
  CLOISTER_CONFIRMATIONS: ["6", "blocks after which a ticket is finalized"],
  CLOISTER_BLOCK_POLL_MS: ["1000", "how often a new block is looked for"],
  CLOISTER_MAX_WAITING: ["2000", "tickets that may wait before QUEUE_FULL; each costs about 1 kB of memory"],
  CLOISTER_USDC: [undefined, "address of the USDC token"],
  CLOISTER_USDC_SYMBOL: ["USDC", "its symbol"],
  CLOISTER_USDC_DECIMALS: ["6", "its decimals"],
  CLOISTER_ASSETS: ["[]", 'further assets, JSON list of {"address","symbol","decimals"}'],
  CLOISTER_SWAPS: ["off", "on | off: whether private swaps are accepted"],
  CLOISTER_SWAP_FACTORY: ["", "address of Uniswap v3's factory; required when swaps are on"],
  CLOISTER_SWAP_QUOTER: ["", "address of Uniswap v3's QuoterV2 over it; required when swaps are on"],
  CLOISTER_ADDRESS_PREFIX: [undefined, "human-readable part of this network's shielded addresses"],
  CLOISTER_ENCLAVES: [undefined, "comma-separated unix:<path>:<port>"],
  CLOISTER_SIGNER_KEYS: ["", "comma-separated files of signers' pairs, one for each enclave or one for all"],
  CLOISTER_KMS_REGION: ["", "region of the KMS key of those pairs"],
  CLOISTER_KMS_ENDPOINT: ["", "URL of KMS where it is not AWS's own"],
  CLOISTER_ARTEFACT_MANIFEST: [undefined, "manifest.json of the proving keys, for /info"],
  CLOISTER_VERIFICATION_KEYS: [
    "",
    "folder of the verification keys that it names; those of the sources when empty",
  ],
  CLOISTER_SENDER_KEY_FILE: [
    undefined,
    "private key of the gas wallet, 0x and 64 hex digits, file mode 0600",
  ],
  CLOISTER_SESSION_KEYS_FILE: [undefined, "key ring of the session tokens, JSON, file mode 0600"],
  CLOISTER_API_KEY_PEPPER_FILE: [undefined, "pepper of the API keys, 0x and 64 hex digits, file mode 0600"],
  CLOISTER_IDENTITY_LOOPBACK: [
    "off",
    "on | off: keys of identity providers from loopback and over http, development only",
  ],
  CLOISTER_SERVICE_FEE_ADDRESS: ["", "shielded address that receives the service's fees"],
  CLOISTER_FEE_SCHEDULE: [
    "[]",
    'JSON list of {"asset","operation","flat" or "usd","bps"}; operation deposit|transfer|withdraw|swap',
  ],
  CLOISTER_PRICES: [
    "[]",
    'dollars a token, JSON list of {"asset","fixed"} or {"asset","feed","heartbeat_secs","min","max"}',
  ],
  CLOISTER_MINIMUMS: ["[]", 'JSON list of {"asset","operation","minimum"}'],
  CLOISTER_LIMIT_SESSION_PER_MINUTE: ["120", "requests a minute per user with a session"],
  CLOISTER_LIMIT_KEY_PER_MINUTE: ["60", "requests a minute per developer with an API key"],
  CLOISTER_LIMIT_KEY_PER_DAY: ["10000", "requests a day per developer with an API key"],
  CLOISTER_LIMIT_STREAMS_PER_USER: ["5", "open event streams per user"],
  CLOISTER_LIMIT_STREAMS_PER_DEVELOPER: ["50", "open event streams per developer's API keys"],
  CLOISTER_LIMIT_FAILURES_PER_MINUTE: ["30", "refused credentials a minute per address"],
  CLOISTER_LIMIT_EXCHANGES_PER_MINUTE: ["30", "exchanges of access tokens a minute per address"],
  CLOISTER_LIMIT_BAD_PROOFS_PER_MINUTE: ["20", "proofs that do not verify a minute per user"],
  CLOISTER_STORE_REDIS_URL: [
    "",
    "redis:// or rediss:// URL of a durable Redis (appendonly yes, appendfsync always, noeviction) that holds what several proxies of the instance share; without it everything is in the data folder, for one proxy",
  ],
  CLOISTER_LIMITS_REDIS_URL: [
    "",
    "redis:// or rediss:// URL; limits are then counted across all proxies of the instance",
  ],
} as const satisfies Record<string, readonly [string | undefined, string]>;

type Setting = keyof typeof SETTINGS;

export function configHelp(): string {
  const width = Math.max(...Object.keys(SETTINGS).map((name) => name.length));
  const rows = Object.entries(SETTINGS).map(([name, [preset, text]]) => {
    const note = preset === undefined ? "(required)" : preset === "" ? "" : `(default ${preset})`;
    return `  ${name.padEnd(width)}  ${text} ${note}`.trimEnd();
  });
  return `Settings, from the environment:\n${rows.join("\n")}\n`;
}

const assetsShape = z.array(
  z.strictObject({
    address: addressText,
    symbol: z.string().regex(/^[\x21-\x7e]{1,32}$/, "1 to 32 printable characters"),
    decimals: z.int().min(0).max(36),
  }),
);
const minimumsShape = z.array(
  z.strictObject({ asset: addressText, operation: feeOperation, minimum: amountText }),
);

export function readConfig(environment: Environment): Config {
  const faults: string[] = [];
  const fault = (name: Setting, text: string): void => {
    faults.push(`${name} ${text}`);
  };

  const text = (name: Setting): string => {
    const given = environment[name]?.trim();
    if (given !== undefined && given !== "") return given;
    const [preset] = SETTINGS[name];
    if (preset === undefined) fault(name, `is required: ${SETTINGS[name][1]}`);
    return preset ?? "";
  };
  const integer = (name: Setting, least: number, most: number): number => {
    const given = text(name);
    if (given === "") return least;
    const value = /^(0|[1-9][0-9]{0,15})$/.test(given) ? Number(given) : NaN;
    if (value >= least && value <= most) return value;
    fault(name, `must be an integer from ${least} to ${most}`);
    return least;
  };
  const choice = <T extends string>(name: Setting, choices: readonly [T, ...T[]]): T => {
    const given = text(name);
    const found = choices.find((one) => one === given);
    if (found === undefined) fault(name, `must be one of ${choices.join(", ")}`);
    return found ?? choices[0];
  };
  const address = (name: Setting): Address | undefined => {
    const given = text(name);
    if (given === "") return undefined;
    const checked = addressText.safeParse(given);
    if (checked.success) return asAddress(given);
    fault(name, "must be an address: 0x and 40 hex digits");
    return undefined;
  };
  const json = <S extends z.ZodType>(name: Setting, shape: S): z.output<S> | undefined => {
    let value: unknown;
    try {
      value = JSON.parse(text(name));
    } catch {
      fault(name, "is not JSON");
      return undefined;
    }
    const result = shape.safeParse(value);
    if (result.success) return result.data;
    const [first] = result.error.issues;
    fault(name, `does not fit: ${first?.path.join(".") ?? ""} ${first?.message ?? ""}`);
    return undefined;
  };

  const production = choice("CLOISTER_ENV", ["development", "production"]) === "production";
  const rpcUrl = text("CLOISTER_RPC_URL");
  if (rpcUrl !== "" && !isHttpUrl(rpcUrl)) fault("CLOISTER_RPC_URL", "must be an http or https URL");
  const addressPrefix = text("CLOISTER_ADDRESS_PREFIX");
  if (addressPrefix !== "" && !/^[a-z][a-z0-9]{0,31}$/.test(addressPrefix)) {
    fault("CLOISTER_ADDRESS_PREFIX", "must be 1 to 32 lower-case letters and digits");
  }

  const usdc = address("CLOISTER_USDC");
  const symbol = text("CLOISTER_USDC_SYMBOL");
  const decimals = integer("CLOISTER_USDC_DECIMALS", 0, 36);
  const further = (json("CLOISTER_ASSETS", assetsShape) ?? []).flatMap(({ address, ...asset }) => {
    const known = asAddress(address);
    return known === undefined ? [] : [{ ...asset, address: known }];
  });
  const addresses = [...(usdc === undefined ? [] : [usdc]), ...further.map((asset) => asset.address)];
  if (new Set(addresses).size !== addresses.length) fault("CLOISTER_ASSETS", "names an asset twice");
  if (addresses.includes(ZERO_ADDRESS)) fault("CLOISTER_ASSETS", "names the zero address");
  const listed = (name: Setting, asset: string): Address | undefined => {
    const known = asAddress(asset);
    if (known !== undefined && addresses.includes(known)) return known;
    fault(name, "names an asset that is not listed");
    return undefined;
  };

  const feeSchedule = readFeeSchedule({ json, listed, fault }, addresses);
  const prices = readPrices({ json, listed, fault }, feeSchedule);
  oneRuleEach("CLOISTER_FEE_SCHEDULE", feeSchedule, fault);
  const minimums = (json("CLOISTER_MINIMUMS", minimumsShape) ?? []).flatMap((entry) => {
    const asset = listed("CLOISTER_MINIMUMS", entry.asset);
    return asset === undefined ? [] : [{ ...entry, asset, minimum: BigInt(entry.minimum) }];
  });
  oneRuleEach("CLOISTER_MINIMUMS", minimums, fault);

  const sinkText = text("CLOISTER_SERVICE_FEE_ADDRESS");
  const sink = sinkText === "" ? undefined : decodeShieldedAddress(sinkText, addressPrefix);
  if (sinkText !== "" && sink === undefined) {
    fault("CLOISTER_SERVICE_FEE_ADDRESS", "is no shielded address of this network");
  }
  if (sinkText === "" && feeSchedule.some((entry) => asksFlat(entry) || entry.bps > 0)) {
    fault("CLOISTER_SERVICE_FEE_ADDRESS", "is required when the schedule asks for a fee");
  }

  const swaps = choice("CLOISTER_SWAPS", ["off", "on"]) === "on";
  const [factory, quoter] = [address("CLOISTER_SWAP_FACTORY"), address("CLOISTER_SWAP_QUOTER")];
  for (const name of ["CLOISTER_SWAP_FACTORY", "CLOISTER_SWAP_QUOTER"] as const) {
    if (swaps && text(name) === "") fault(name, "is required with CLOISTER_SWAPS=on: quotes ask there");
  }

  const pool = address("CLOISTER_POOL");
  const enclaves = readEnclaves(text("CLOISTER_ENCLAVES"), (reason) => fault("CLOISTER_ENCLAVES", reason));
  const signerPairs = readSignerPairs(text("CLOISTER_SIGNER_KEYS"), enclaves.length, (reason) =>
    fault("CLOISTER_SIGNER_KEYS", reason),
  );
  const kmsRegion = text("CLOISTER_KMS_REGION");
  const kmsEndpoint = text("CLOISTER_KMS_ENDPOINT");
  if (signerPairs.length > 0 && kmsRegion === "")
    fault("CLOISTER_KMS_REGION", "is required with CLOISTER_SIGNER_KEYS");
  if (kmsRegion !== "" && !/^[a-z]{2,}(-[a-z0-9]+)+$/.test(kmsRegion))
    fault("CLOISTER_KMS_REGION", "is no name of a region");
  if (kmsEndpoint !== "" && !isHttpUrl(kmsEndpoint))
    fault("CLOISTER_KMS_ENDPOINT", "must be an http or https URL");
  if (production && kmsEndpoint.startsWith("http:"))
    fault("CLOISTER_KMS_ENDPOINT", "must be https in production");
  const keyFolder = text("CLOISTER_VERIFICATION_KEYS");
  const limitsRedisUrl = text("CLOISTER_LIMITS_REDIS_URL");
  if (limitsRedisUrl !== "" && !isUrl(limitsRedisUrl, ["redis:", "rediss:"]))
    fault("CLOISTER_LIMITS_REDIS_URL", "must be a redis or rediss URL");
  const storeRedisUrl = text("CLOISTER_STORE_REDIS_URL");
  if (storeRedisUrl !== "" && !isUrl(storeRedisUrl, ["redis:", "rediss:"]))
    fault("CLOISTER_STORE_REDIS_URL", "must be a redis or rediss URL");
  const port = integer("CLOISTER_PORT", 0, 65_535);
  const optionalPort = (name: Setting): number | undefined =>
    text(name) === "" ? undefined : integer(name, 0, 65_535);
  const referencePort = optionalPort("CLOISTER_REFERENCE_PORT");
  const operationsPort = optionalPort("CLOISTER_OPERATIONS_PORT");
  if (operationsPort !== undefined && operationsPort > 0 && [port, referencePort].includes(operationsPort))
    fault("CLOISTER_OPERATIONS_PORT", "must be a port of its own: what it says is not for callers");
  const identityLoopback = choice("CLOISTER_IDENTITY_LOOPBACK", ["off", "on"]) === "on";
  if (production && identityLoopback) fault("CLOISTER_IDENTITY_LOOPBACK", "must be off in production");
  const trustedProxies = listOf(text("CLOISTER_TRUSTED_PROXIES"));
  if (!trustedProxies.every(isSubnet))
    fault("CLOISTER_TRUSTED_PROXIES", "must hold addresses and subnets such as 10.0.0.0/8");
  const config: Omit<Config, "pool" | "assets"> = {
    production,
    network: text("CLOISTER_NETWORK"),
    host: text("CLOISTER_HOST"),
    port,
    referencePort,
    operationsPort,
    dataDir: text("CLOISTER_DATA_DIR"),
    logLevel: choice("CLOISTER_LOG_LEVEL", ["trace", "debug", "info", "warn", "error", "silent"]),
    trustedHops: integer("CLOISTER_TRUSTED_HOPS", 0, 8),
    trustedProxies,
    connections: Object.freeze({
      all: integer("CLOISTER_MAX_CONNECTIONS", 1, 1_000_000),
      perAddress: integer("CLOISTER_MAX_CONNECTIONS_PER_ADDRESS", 1, 1_000_000),
    }),
    rpcUrl,
    chainId: integer("CLOISTER_CHAIN_ID", 1, Number.MAX_SAFE_INTEGER),
    deploymentBlock: integer("CLOISTER_DEPLOYMENT_BLOCK", 0, Number.MAX_SAFE_INTEGER),
    confirmations: integer("CLOISTER_CONFIRMATIONS", 1, 10_000),
    blockPollMs: integer("CLOISTER_BLOCK_POLL_MS", 10, 600_000),
    maxWaiting: integer("CLOISTER_MAX_WAITING", 1, 1_000_000),
    swaps,
    venue:
      swaps && factory !== undefined && quoter !== undefined ? Object.freeze({ factory, quoter }) : undefined,
    addressPrefix,
    enclaves,
    signerPairs,
    kms:
      signerPairs.length === 0
        ? undefined
        : Object.freeze({ region: kmsRegion, endpoint: kmsEndpoint === "" ? undefined : kmsEndpoint }),
    artefactManifestFile: text("CLOISTER_ARTEFACT_MANIFEST"),
    verificationKeyFolder: keyFolder === "" ? undefined : keyFolder,
    senderKeyFile: text("CLOISTER_SENDER_KEY_FILE"),
    sessionKeysFile: text("CLOISTER_SESSION_KEYS_FILE"),
    pepperFile: text("CLOISTER_API_KEY_PEPPER_FILE"),
    identityLoopback,
    storeRedisUrl: storeRedisUrl === "" ? undefined : storeRedisUrl,
    limitsRedisUrl: limitsRedisUrl === "" ? undefined : limitsRedisUrl,
    serviceFee: sink === undefined ? undefined : Object.freeze({ text: sinkText, sink }),
    feeSchedule,
    prices,
    minimums: Object.freeze(minimums),
    limits: Object.freeze({
      sessionPerMinute: integer("CLOISTER_LIMIT_SESSION_PER_MINUTE", 1, 1_000_000),
      keyPerMinute: integer("CLOISTER_LIMIT_KEY_PER_MINUTE", 1, 1_000_000),
      keyPerDay: integer("CLOISTER_LIMIT_KEY_PER_DAY", 1, 10_000_000),
      streamsPerUser: integer("CLOISTER_LIMIT_STREAMS_PER_USER", 1, 10_000),
      streamsPerDeveloper: integer("CLOISTER_LIMIT_STREAMS_PER_DEVELOPER", 1, 100_000),
      failuresPerMinute: integer("CLOISTER_LIMIT_FAILURES_PER_MINUTE", 1, 100_000),
      exchangesPerMinute: integer("CLOISTER_LIMIT_EXCHANGES_PER_MINUTE", 1, 100_000),
      badProofsPerMinute: integer("CLOISTER_LIMIT_BAD_PROOFS_PER_MINUTE", 1, 100_000),
    }),
  };
  if (faults.length > 0 || pool === undefined || usdc === undefined) throw new ConfigError(faults);
  const assets: [Asset, ...Asset[]] = [{ address: usdc, symbol, decimals }, ...further];
  return Object.freeze({ ...config, pool, assets: Object.freeze(assets) });
}

function readEnclaves(text: string, fault: (reason: string) => void): readonly EnclaveAddress[] {
  const found: EnclaveAddress[] = [];
  for (const entry of text.split(",").map((part) => part.trim())) {
    if (entry === "") continue;
    const unix = /^unix:(.+):([1-9][0-9]{0,9})$/.exec(entry);
    if (unix?.[1] !== undefined && Number(unix[2]) <= 0xffff_ffff) {
      found.push({ path: unix[1], port: Number(unix[2]) });
    } else if (entry.startsWith("vsock:")) {
      fault(
        "has a vsock: address: Node cannot open AF_VSOCK; run a vsock bridge on the host and give its unix:<path>:<port>",
      );
    } else {
      fault("must hold unix:<path>:<port> entries");
    }
  }
  return Object.freeze(found);
}

/** One file is meant for every enclave: several that run one image may hold the same key. */
function readSignerPairs(text: string, enclaves: number, fault: (reason: string) => void): readonly string[] {
  const files = listOf(text);
  const [only] = files;
  if (files.length === 1 && only !== undefined) return Object.freeze(Array<string>(enclaves).fill(only));
  if (files.length > 0 && files.length !== enclaves) fault("must hold one file, or one for each enclave");
  return Object.freeze(files);
}

function listOf(text: string): readonly string[] {
  const parts = text.split(",").map((part) => part.trim());
  return Object.freeze(parts.filter((part) => part !== ""));
}

/** Two rules for one thing would make it a matter of order which one a client must obey. */
function oneRuleEach(
  name: Setting,
  rules: readonly { readonly asset: string; readonly operation: string }[],
  fault: (name: Setting, text: string) => void,
): void {
  const seen = new Set(rules.map(({ asset, operation }) => `${asset} ${operation}`));
  if (seen.size !== rules.length) fault(name, "has two entries for one asset and operation");
}

function isHttpUrl(text: string): boolean {
  return isUrl(text, ["http:", "https:"]);
}

function isUrl(text: string, protocols: readonly string[]): boolean {
  return URL.canParse(text) && protocols.includes(new URL(text).protocol);
}
