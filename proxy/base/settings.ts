/**
 * The table of settings, and how one is read: by its name from the environment, with every fault noted and no value
 * repeated. What they mean together is in config.ts.
 */
import { z } from "zod";
import { address as addressText } from "../../shared/api/values.ts";
import type { Address } from "../../shared/protocol/brands.ts";
import { asAddress } from "../../shared/protocol/host/text.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

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

/** Name, default (undefined: required), and what it is. */
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
  CLOISTER_RPC_URL: [
    undefined,
    "JSON-RPC of the chain, http or https; several with spaces between them, the preferred one first",
  ],
  CLOISTER_CHAIN_ID: [undefined, "EIP-155 chain id; the RPC must agree"],
  CLOISTER_POOL: [undefined, "address of the pool"],
  CLOISTER_DEPLOYMENT_BLOCK: ["0", "block in which the pool was created"],
  CLOISTER_CONFIRMATIONS: ["6", "blocks after which a ticket is finalized"],
  CLOISTER_BLOCK_POLL_MS: [
    "1000",
    "how often a new block is looked for; by the index at once, where blocks take less than half a second",
  ],
  CLOISTER_CALLS_IN_FLIGHT: ["4", "calls of the gas wallet that are sent and in no block, at most"],
  CLOISTER_MEMBERS_PER_CALL: ["64", "payments that one call carries, at most"],
  CLOISTER_GAS_PER_CALL: [
    "16777216",
    "gas that one call may take: what the chain lets a transaction have (2^24 on Ethereum by EIP-7825, 32,000,000 on Arbitrum)",
  ],
  CLOISTER_MAX_WAITING: [
    "4000",
    "tickets that may wait before QUEUE_FULL, half of them of one developer; each costs about 1 kB of memory",
  ],
  CLOISTER_ENDED_TICKETS_DAYS: [
    "90",
    "days for which tickets that are over are kept and listed; 0: for a day, which repeats of their requests need",
  ],
  CLOISTER_USAGE_DAYS: ["400", "days for which sums of requests, refusals and payments are kept"],
  CLOISTER_USDC: [undefined, "address of the USDC token"],
  CLOISTER_USDC_SYMBOL: ["USDC", "its symbol"],
  CLOISTER_USDC_DECIMALS: ["6", "its decimals"],
  CLOISTER_ASSETS: ["[]", 'further assets, JSON list of {"address","symbol","decimals"}'],
  CLOISTER_SWAPS: ["off", "on | off: whether private swaps are accepted"],
  CLOISTER_SWAP_FACTORY: ["", "address of Uniswap v3's factory; required when swaps are on"],
  CLOISTER_SWAP_QUOTER: ["", "address of Uniswap v3's QuoterV2 over it; required when swaps are on"],
  CLOISTER_BRIDGES: [
    "",
    "JSON file that names the bridges' factory, chains, venues, minimums and ceilings (proxy/README.md); without it they are off",
  ],
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

export type Setting = keyof typeof SETTINGS;

/** Names, defaults (undefined: required) and what they are. */
export type SettingsTable<Name extends string> = Readonly<
  Record<Name, readonly [string | undefined, string]>
>;

/** Some of the proxy's settings, for another program of the same instance, with further ones of its own. */
export function settingsWith<Shared extends Setting, Own extends string>(
  shared: readonly Shared[],
  own: SettingsTable<Own>,
): SettingsTable<Shared | Own> {
  const taken = Object.fromEntries(shared.map((name) => [name, SETTINGS[name]]));
  return { ...taken, ...own } as SettingsTable<Shared | Own>;
}

export function configHelp(table: SettingsTable<string> = SETTINGS): string {
  const width = Math.max(...Object.keys(table).map((name) => name.length));
  const rows = Object.entries(table).map(([name, [preset, text]]) => {
    const note = preset === undefined ? "(required)" : preset === "" ? "" : `(default ${preset})`;
    return `  ${name.padEnd(width)}  ${text} ${note}`.trimEnd();
  });
  return `Settings, from the environment:\n${rows.join("\n")}\n`;
}

export const addressSetting = addressText.transform((text): Address => asAddress(text) ?? z.NEVER);

interface UrlKind {
  readonly protocols: ReadonlySet<string>;
  readonly words: string;
  /** With spaces between them. */
  readonly isList?: true;
}
export const HTTP: UrlKind = { protocols: new Set(["http:", "https:"]), words: "an http or https URL" };
export const HTTP_LIST: UrlKind = {
  ...HTTP,
  words: "http or https URLs with spaces between them",
  isList: true,
};
export const REDIS: UrlKind = { protocols: new Set(["redis:", "rediss:"]), words: "a redis or rediss URL" };

export type ReaderOf<Name extends string> = ReturnType<typeof createReaderOf<Name>>;
export type Reader = ReaderOf<Setting>;

export const createReader = (environment: Environment): Reader => createReaderOf(SETTINGS, environment);

/** Reads settings by their names, and notes what is wrong with each; what it answers for a faulty one is never used. */
export function createReaderOf<Name extends string>(table: SettingsTable<Name>, environment: Environment) {
  const faults: string[] = [];
  const fault = (name: Name, text: string): void => void faults.push(`${name} ${text}`);

  const text = (name: Name): string => {
    const given = environment[name]?.trim();
    if (given !== undefined && given !== "") return given;
    const [preset, meaning] = table[name];
    if (preset === undefined) fault(name, `is required: ${meaning}`);
    return preset ?? "";
  };
  const optional = (name: Name): string | undefined => {
    const given = text(name);
    return given === "" ? undefined : given;
  };
  const integer = (name: Name, least: number, most: number): number => {
    const given = text(name);
    if (given === "") return least;
    const value = /^(0|[1-9][0-9]{0,15})$/.test(given) ? Number(given) : NaN;
    if (value >= least && value <= most) return value;
    fault(name, `must be an integer from ${least} to ${most}`);
    return least;
  };
  const choice = <T extends string>(name: Name, choices: readonly [T, ...T[]]): T => {
    const given = text(name);
    const found = choices.find((one) => one === given);
    if (found === undefined) fault(name, `must be one of ${choices.join(", ")}`);
    return found ?? choices[0];
  };
  return {
    faults,
    fault,
    text,
    optional,
    integer,
    choice,
    isOn: (name: Name): boolean => choice(name, ["off", "on"]) === "on",
    list: (name: Name): readonly string[] => {
      const parts = text(name).split(",");
      return Object.freeze(parts.map((part) => part.trim()).filter((part) => part !== ""));
    },
    address: (name: Name): Address | undefined => {
      const given = optional(name);
      const checked = addressSetting.safeParse(given).data;
      if (given !== undefined && checked === undefined)
        fault(name, "must be an address: 0x and 40 hex digits");
      return checked;
    },
    url: (name: Name, { protocols, words, isList }: UrlKind): string | undefined => {
      const given = optional(name);
      const isFit = (one: string): boolean => URL.canParse(one) && protocols.has(new URL(one).protocol);
      if (given !== undefined && !(isList ? given.split(/\s+/) : [given]).every(isFit))
        fault(name, `must be ${words}`);
      return given;
    },
    json: <S extends z.ZodType>(name: Name, shape: S): z.output<S> | undefined => {
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
    },
  };
}
