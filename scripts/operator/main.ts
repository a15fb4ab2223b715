/**
 * `npm run operator`: developers, API keys and fee rules of an instance, written straight into its store, and the images
 * and signers of its enclaves (operator/image.ts, operator/signer.ts). Safe while the proxy runs: it is asked where it has the
 * store, and Redis is for many. Trusts whoever may read that folder.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { closing, openFolderStores, type OpenStores } from "../../proxy/base/open-stores.ts";
import { sharedStores } from "../../proxy/base/store/instance.ts";
import { openChainDataStore } from "../../proxy/base/store/lmdb/chain-data.ts";
import { openDatabase, type Database } from "../../proxy/base/store/lmdb/database.ts";
import { UnfitFormat, type Instance } from "../../proxy/base/store/lmdb/instance-record.ts";
import { UnfitRedis } from "../../proxy/base/store/redis/fitness.ts";
import { asAddress } from "../../shared/protocol/host/text.ts";
import { APPS, APPS_HELP } from "./apps.ts";
import { BACKUP_HELP, backupCommand, restoreCommand } from "./backup.ts";
import { BRIDGES, BRIDGES_HELP } from "./bridges.ts";
import { DIFFERENT, INDEX_HELP, indexCommand } from "./chain-index.ts";
import { DEVELOPERS, KEYS } from "./developers.ts";
import { DISAGREEMENTS, DISAGREEMENTS_HELP } from "./disagreements.ts";
import { FEES, FEES_HELP } from "./fees.ts";
import { ACCOUNTS, INVITATIONS, INVITATIONS_HELP } from "./invitations.ts";
import { listingCommand } from "./listings.ts";
import { imageCommand } from "./image.ts";
import { signerCommand } from "./signer.ts";
import { auditCommand, HISTORY_HELP, usageCommand } from "./history.ts";
import { TICKETS, TICKETS_HELP } from "./tickets.ts";
import { UsageError } from "../base/command.ts";
import {
  authorOf,
  parseStoreCommand,
  runVerb,
  show,
  type Kept,
  type Result,
  type StoreValues,
  type Verbs,
} from "./command-line.ts";

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
${INVITATIONS_HELP}
${APPS_HELP}
${TICKETS_HELP}
${DISAGREEMENTS_HELP}
${BRIDGES_HELP}
${HISTORY_HELP}
${INDEX_HELP}
${BACKUP_HELP}
  image propose | admit | revoke | list                   which code may vouch in the pool; see image --help
  signer genesis | register | remove | expel | list       the enclaves' signers; see signer --help
  assets judge | propose | admit | withdraw | remove | list  the tokens that the pool takes; see assets --help
  executor propose | admit | withdraw | remove | list     the venue of its swaps; see executor --help

${FEES_HELP}
limits: --session-per-minute N  --key-per-minute N  --key-per-day N

--data    the proxy's data folder (default CLOISTER_DATA_DIR). With --redis only index and fees received need it:
          they read what a proxy on this machine has of the chain
--pepper  the file of the API keys' pepper, for keys create and invitations create (default CLOISTER_API_KEY_PEPPER_FILE)
--redis   URL of the durable Redis that the instance's proxies share (default CLOISTER_STORE_REDIS_URL; without
          it everything is in the data folder)
--instance  CHAIN-ID:POOL, which instance in that Redis, or of that backup (default from CLOISTER_CHAIN_ID and CLOISTER_POOL)
--by NAME  who does it, for the audit log (default: the name of this account on this machine)
--json    prints one JSON object
`;

/** What is asked of an instance's stores. */
const COMMANDS: Readonly<Record<string, Verbs>> = {
  ...{ developers: DEVELOPERS, keys: KEYS, apps: APPS, fees: FEES, tickets: TICKETS, bridges: BRIDGES },
  ...{ invitations: INVITATIONS, accounts: ACCOUNTS, disagreements: DISAGREEMENTS },
};

async function main(args: string[]): Promise<void> {
  const [command, ...words] = args;
  // Signers, and the contracts that the pool calls, are on the chain and in files of their own: with other options.
  if (command === "signer") return signerCommand(words);
  if (command === "image") return imageCommand(words);
  if (command === "assets") return listingCommand("asset", words);
  if (command === "executor") return listingCommand("executor", words);
  const { values, positionals } = parseStoreCommand(args);
  if (values.help === true || positionals.length === 0) process.stdout.write(HELP);
  else show(await run(positionals, values), values.json);
}

async function run(
  [command = "", ...words]: readonly string[],
  values: StoreValues,
): Promise<Result | undefined> {
  const folder = values.data ?? process.env["CLOISTER_DATA_DIR"];
  if ((command === "backup" || command === "restore") && redisUrl(values) !== "")
    throw new UsageError(
      "what must not be lost is in the Redis: keep copies of its append-only files instead",
    );
  if (command === "restore") return restoreCommand(words, folder, readInstance(values));
  // Opened where it is asked for: whoever is held still with LMDB's lock holds up the proxy.
  let opened: Database | undefined;
  const database = (): Database => (opened ??= openDatabase(needFolder(folder)));
  let close: (() => Promise<void>) | undefined;
  try {
    if (command === "backup") return await backupCommand(database(), words);
    // Of the data folder alone, also while a Redis is unreachable.
    if (command === "index") {
      const done = await indexCommand(database(), words, values, process.env);
      if (!done.isEqual) process.exitCode = DIFFERENT;
      return done;
    }
    const { stores, ...opening } = await openStores(folder, values);
    close = () => opening.close();
    const kept: Kept = {
      ...{ stores, values, by: authorOf(values) },
      get data() {
        return folder === undefined || folder === "" ? undefined : openChainDataStore(database());
      },
    };
    if (command === "audit") return await auditCommand(kept, words);
    if (command === "usage") return await usageCommand(kept, words);
    const verbs = Object.hasOwn(COMMANDS, command) ? COMMANDS[command] : undefined;
    return await runVerb(verbs ?? {}, words, kept);
  } finally {
    await close?.();
    await opened?.close();
  }
}

function needFolder(folder: string | undefined): string {
  if (folder === undefined || folder === "") throw new UsageError("--data FOLDER is missing");
  // A mistyped folder must not become a new, empty store that looks like lost data.
  if (!existsSync(join(folder, "store.lmdb")))
    throw new UsageError(`${folder} holds no store; start the proxy once`);
  return folder;
}

/** Where the proxy has them: beside what it read from the chain, or in the Redis that its settings name. */
async function openStores(folder: string | undefined, values: StoreValues): Promise<OpenStores> {
  const url = redisUrl(values);
  try {
    if (url === "") return await openFolderStores(needFolder(folder));
    const instance = readInstance(values);
    return closing(await sharedStores({ url, instance, mustExist: true }));
  } catch (error) {
    // Its words are for the operator and hold neither the URL nor a record.
    throw error instanceof UnfitRedis || error instanceof UnfitFormat ? new UsageError(error.message) : error;
  }
}

function redisUrl(values: StoreValues): string {
  return values.redis ?? process.env["CLOISTER_STORE_REDIS_URL"] ?? "";
}

function readInstance(values: StoreValues): Instance {
  const { CLOISTER_CHAIN_ID = "", CLOISTER_POOL = "" } = process.env;
  const named = values.instance ?? `${CLOISTER_CHAIN_ID}:${CLOISTER_POOL}`;
  const [, chainId, address] = /^([1-9]\d{0,15}):(.*)$/.exec(named) ?? [];
  const pool = asAddress(address);
  if (chainId === undefined || pool === undefined)
    throw new UsageError("--instance takes CHAIN-ID:POOL, as 1:0x… with the pool's address");
  return { chainId: Number(chainId), pool };
}

main(process.argv.slice(2)).catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = error instanceof UsageError ? 2 : 1;
});
