/**
 * `npm run operator`: developers, API keys and fee rules of an instance, written straight into its store, and the signers
 * of its enclaves (operator/signer.ts). Safe while the proxy runs: LMDB lets several processes share the
 * folder, and so does Redis. Trusts whoever may read that folder.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { parseArgs } from "node:util";
import { createApiKey } from "../../proxy/auth/api-keys.ts";
import { REMEMBERED_MS } from "../../proxy/auth/recent-callers.ts";
import { FELT_MS } from "../../proxy/auth/developers.ts";
import {
  addDeveloper,
  changeLimits,
  changeOrigins,
  disableDeveloper,
  enableDeveloper,
  revokeSessions,
  revokeUserSessions,
} from "../../proxy/auth/registration.ts";
import { loadPepper } from "../../proxy/auth/secret-files.ts";
import type { ApiKey, Developer, DeveloperLimits, KeyStore } from "../../proxy/store/keys.ts";
import { embeddedStores, sharedStores, type InstanceStores } from "../../proxy/store/instance.ts";
import { openChainDataStore } from "../../proxy/store/lmdb/chain-data.ts";
import { openDatabase, type Database } from "../../proxy/store/lmdb/database.ts";
import { UnfitFormat, type Instance } from "../../proxy/store/lmdb/instance-record.ts";
import { UnfitRedis } from "../../proxy/store/redis/fitness.ts";
import { asAddress } from "../../shared/protocol/brands.ts";
import { APP_OPTIONS, APPS_HELP, appsCommand } from "./operator/apps.ts";
import { BACKUP_HELP, backupCommand, restoreCommand } from "./operator/backup.ts";
import { DIFFERENT, INDEX_HELP, INDEX_OPTIONS, indexCommand } from "./operator/chain-index.ts";
import { feesCommand, FEES_HELP } from "./operator/fees.ts";
import { listingCommand } from "./operator/listings.ts";
import { signerCommand } from "./operator/signer.ts";
import { TICKETS_HELP, ticketsCommand } from "./operator/tickets.ts";
import { need, UsageError, type Result } from "./operator/command-line.ts";

const HELP = `Usage: npm run operator -- [--data FOLDER] [--redis URL] [--pepper FILE] [--json] COMMAND

  developers add NAME [--id ID] [--origin URL]… [limits]   a new developer
  developers list                                         all of them
  developers limits ID [limits]                           raise or lower limits
  developers origins ID [--origin URL]…                   replace the browser origins
  developers revoke-sessions ID [--sub USER]              end every session, or one user's; felt within 5 s
  developers disable ID                                   no key and no session of it is taken any more, and its
                                                          streams end; when it says so, that is true of every proxy.
                                                          What was accepted goes on to its end
  developers enable ID                                    its keys are good again; its users need new sessions
  keys create DEVELOPER NAME                              a new API key; it is shown this once
  keys list [DEVELOPER]                                   ids, last use, revocation; never a secret
  keys revoke KEY                                         by id (16 hex digits); when it says so, no proxy takes it
${APPS_HELP}
${TICKETS_HELP}
${INDEX_HELP}
${BACKUP_HELP}
  signer genesis | register | revoke | list               the enclaves' signers; see signer --help
  assets propose | admit | withdraw | remove | list       the tokens that the pool takes; see assets --help
  executor propose | admit | withdraw | remove | list     the venue of its swaps; see executor --help

${FEES_HELP}
limits: --session-per-minute N  --key-per-minute N  --key-per-day N

--data    the proxy's data folder (default CLOISTER_DATA_DIR). With --redis only index and fees received need it:
          they read what a proxy on this machine has of the chain
--pepper  the file of the API keys' pepper, for keys create (default CLOISTER_API_KEY_PEPPER_FILE)
--redis   URL of the durable Redis that the instance's proxies share (default CLOISTER_STORE_REDIS_URL; without
          it everything is in the data folder)
--instance  CHAIN-ID:POOL, which instance in that Redis, or of that backup (default from CLOISTER_CHAIN_ID and CLOISTER_POOL)
--json    prints one JSON object
`;

async function main(): Promise<void> {
  // Signers live on the chain and in files of their own: none of the options below is theirs.
  if (process.argv[2] === "signer") return signerCommand(process.argv.slice(3));
  // So do the contracts that the pool calls.
  if (process.argv[2] === "assets") return listingCommand("asset", process.argv.slice(3));
  if (process.argv[2] === "executor") return listingCommand("executor", process.argv.slice(3));
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      help: { type: "boolean", short: "h" },
      json: { type: "boolean" },
      data: { type: "string" },
      pepper: { type: "string" },
      redis: { type: "string" },
      instance: { type: "string" },
      id: { type: "string" },
      sub: { type: "string" },
      origin: { type: "string", multiple: true },
      flat: { type: "string" },
      bps: { type: "string" },
      sink: { type: "string" },
      "session-per-minute": { type: "string" },
      "key-per-minute": { type: "string" },
      "key-per-day": { type: "string" },
      ...APP_OPTIONS,
      ...INDEX_OPTIONS,
    },
  });
  if (values.help === true || positionals.length === 0) {
    process.stdout.write(HELP);
    return;
  }
  const [noun, ...words] = positionals;
  const folder = values.data ?? process.env["CLOISTER_DATA_DIR"];
  const isCopy = noun === "backup" || noun === "restore";
  if (isCopy && redisUrl(values) !== "")
    throw new UsageError(
      "what must not be lost is in the Redis: keep copies of its append-only files instead",
    );
  if (noun === "restore") {
    show(await restoreCommand(words, folder, readInstance(values)), values.json === true);
    return;
  }
  const database = openFolder(folder);
  let stores: InstanceStores | undefined;
  try {
    // Of the data folder alone, also while a Redis is unreachable.
    if (noun === "index") {
      const done = await indexCommand(needData(database), words, values, process.env);
      if (!done.isEqual) process.exitCode = DIFFERENT;
      show(done, values.json === true);
      return;
    }
    if (noun === "backup") {
      show(await backupCommand(needData(database), words), values.json === true);
      return;
    }
    stores = await openStores(database, values);
    const { keys } = stores;
    const { flat, bps, sink } = values;
    const print = (line: string): void => void process.stdout.write(`${line}\n`);
    let result: Result | undefined;
    if (noun === "apps") result = await appsCommand(stores.apps, keys, words, values);
    else if (noun === "fees") {
      const data = database && openChainDataStore(database);
      result = await feesCommand({ stores, data }, words, { flat, bps, sink, print });
    } else if (noun === "tickets") {
      const data = database && openChainDataStore(database);
      result = await ticketsCommand({ stores, data }, words, values, process.env);
    } else {
      result = await run(keys, positionals, {
        ...(values.id === undefined ? {} : { id: values.id }),
        ...(values.sub === undefined ? {} : { sub: values.sub }),
        origins: values.origin ?? [],
        limits: readLimits(values),
        pepperFile: values.pepper ?? process.env["CLOISTER_API_KEY_PEPPER_FILE"],
      });
    }
    if (result !== undefined) show(result, values.json === true);
  } finally {
    stores?.close();
    await database?.close();
  }
}

/** Undefined where no folder is named. */
function openFolder(folder: string | undefined): Database | undefined {
  if (folder === undefined || folder === "") return undefined;
  // A mistyped folder must not become a new, empty store that looks like lost data.
  if (!existsSync(join(folder, "store.lmdb")))
    throw new UsageError(`${folder} holds no store; start the proxy once`);
  return openDatabase(folder);
}

function needData(database: Database | undefined): Database {
  if (database === undefined) throw new UsageError("--data FOLDER is missing");
  return database;
}

function show({ data, text }: Result, isJson: boolean): void {
  process.stdout.write(`${isJson ? JSON.stringify(data) : text}\n`);
}

/** Where the proxy has them: beside what it read from the chain, or in the Redis that its settings name. */
async function openStores(
  database: Database | undefined,
  values: { readonly redis?: string; readonly instance?: string },
): Promise<InstanceStores> {
  const url = redisUrl(values);
  try {
    if (url === "") return embeddedStores(needData(database));
    const instance = readInstance(values);
    return await sharedStores({ url, instance, mustExist: true });
  } catch (error) {
    // Its words are for the operator and hold neither the URL nor a record.
    throw error instanceof UnfitRedis || error instanceof UnfitFormat ? new UsageError(error.message) : error;
  }
}

function redisUrl(values: { readonly redis?: string }): string {
  return values.redis ?? process.env["CLOISTER_STORE_REDIS_URL"] ?? "";
}

function readInstance(values: { readonly instance?: string }): Instance {
  const { CLOISTER_CHAIN_ID = "", CLOISTER_POOL = "" } = process.env;
  const named = values.instance ?? `${CLOISTER_CHAIN_ID}:${CLOISTER_POOL}`;
  const [, chainId, address] = /^([1-9]\d{0,15}):(.*)$/.exec(named) ?? [];
  const pool = asAddress(address);
  if (chainId === undefined || pool === undefined)
    throw new UsageError("--instance takes CHAIN-ID:POOL, as 1:0x… with the pool's address");
  return { chainId: Number(chainId), pool };
}

interface Options {
  readonly id?: string;
  readonly sub?: string;
  readonly origins: readonly string[];
  readonly limits: DeveloperLimits;
  readonly pepperFile: string | undefined;
}

async function run(store: KeyStore, words: readonly string[], options: Options): Promise<Result> {
  const [noun, verb, first, second, ...rest] = words;
  if (rest.length > 0) throw new UsageError("too many words");
  const { id, sub, origins, limits } = options;
  switch (`${noun ?? ""} ${verb ?? ""}`) {
    case "developers add":
      return shown(
        await addDeveloper(store, {
          name: need(first, "NAME"),
          origins,
          limits,
          ...(id === undefined ? {} : { id }),
        }),
      );
    case "developers list": {
      const all = await store.developers();
      return { data: { developers: all }, text: all.map((one) => shown(one).text).join("\n") };
    }
    case "developers limits":
      return shown(await changeLimits(store, need(first, "ID"), limits));
    case "developers origins":
      return shown(await changeOrigins(store, need(first, "ID"), origins));
    case "developers revoke-sessions": {
      const developerId = need(first, "ID");
      if (sub === undefined) return shown(await revokeSessions(store, developerId));
      await revokeUserSessions(store, developerId, sub);
      return { data: { developer: developerId, sub }, text: `revoked the sessions of ${sub}` };
    }
    case "developers disable": {
      const developer = await disableDeveloper(store, need(first, "ID"), new Date().toISOString());
      // Proxies remember for so long that it was not: what is said here is true everywhere.
      await delay(FELT_MS);
      return shown(developer);
    }
    case "developers enable":
      return shown(await enableDeveloper(store, need(first, "ID")));
    case "keys create":
      return createKey(store, need(first, "DEVELOPER"), need(second, "NAME"), options.pepperFile);
    case "keys list": {
      const keys = (await store.keys(first)).map(withoutHash);
      return { data: { keys }, text: keys.map((key) => lineOf(key)).join("\n") };
    }
    case "keys revoke": {
      const keyId = need(first, "KEY");
      const done = await store.revokeKey(keyId, new Date().toISOString());
      if (!done) throw new UsageError(`there is no live key ${keyId}`);
      // Proxies may remember for so long that it was good: what is said here is true everywhere.
      await delay(REMEMBERED_MS);
      return { data: { revoked: keyId }, text: `revoked ${keyId}` };
    }
    default:
      throw new UsageError("unknown command; see --help");
  }
}

async function createKey(
  store: KeyStore,
  developerId: string,
  name: string,
  pepperFile: string | undefined,
): Promise<Result> {
  if (pepperFile === undefined) throw new UsageError("--pepper FILE is missing");
  if ((await store.developer(developerId)) === undefined)
    throw new UsageError(`there is no developer ${developerId}`);
  const { key, record } = await createApiKey(store, await loadPepper(pepperFile), developerId, name);
  return { data: { key, id: record.id, developer: developerId, name }, text: key };
}

function shown(developer: Developer): Result {
  const { id, name, limits, origins, disabledAt } = developer;
  const raised = Object.entries(limits).map(([limit, value]) => `${limit}=${String(value)}`);
  const state = disabledAt === undefined ? [] : [`disabled ${disabledAt}`];
  return { data: developer, text: [id, name, ...state, ...raised, ...origins].join("\t") };
}

type ShownKey = Omit<ApiKey, "secretHash">;

function withoutHash({ secretHash: _hash, ...key }: ApiKey): ShownKey {
  return key;
}

function lineOf(key: ShownKey): string {
  const used = key.lastUsedAt === undefined ? "never used" : `last used ${key.lastUsedAt}`;
  const state = key.revokedAt === undefined ? "live" : `revoked ${key.revokedAt}`;
  return [key.id, key.developerId, key.name, state, used].join("\t");
}

function readLimits(values: Readonly<Record<string, unknown>>): DeveloperLimits {
  const read = (option: string): number | undefined => {
    const text = values[option];
    if (typeof text !== "string") return undefined;
    if (!/^[1-9][0-9]{0,8}$/.test(text)) throw new UsageError(`--${option} takes a positive integer`);
    return Number(text);
  };
  const sessionPerMinute = read("session-per-minute");
  const keyPerMinute = read("key-per-minute");
  const keyPerDay = read("key-per-day");
  return {
    ...(sessionPerMinute === undefined ? {} : { sessionPerMinute }),
    ...(keyPerMinute === undefined ? {} : { keyPerMinute }),
    ...(keyPerDay === undefined ? {} : { keyPerDay }),
  };
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = error instanceof UsageError ? 2 : 1;
});
