// `npm run operator -- backup …` and `restore …`: copies of the embedded store (proxy/base/store/lmdb/backup.ts).
import {
  makeBackup,
  restoreBackup,
  UnfitBackup,
  type BackupNote,
} from "../../proxy/base/store/lmdb/backup.ts";
import type { Database } from "../../proxy/base/store/lmdb/database.ts";
import type { Instance } from "../../proxy/base/store/lmdb/instance-record.ts";
import { UsageError } from "../base/command.ts";
import { need, noMore, type Result } from "./command-line.ts";

export const BACKUP_HELP = `  backup BACKUP                                           copies the data folder's store into the new folder BACKUP;
                                                          the proxy may run
  restore BACKUP                                          makes the data folder (--data), which must not be there or
                                                          be empty, of a backup of this instance (--instance)`;

/** What a proxy that starts on an older copy does not know any more. */
const AFTER_RESTORE = `Before the proxy starts on it:
- Keys revoked, developers disabled and sessions ended after that moment are good again: do it again, and put a new
  session key alone into the key ring to end every session.
- Never start a second proxy on the folder that this one replaces: both would sign with one wallet.
See "Backups" in proxy/README.md.`;

export async function backupCommand(database: Database, words: readonly string[]): Promise<Result> {
  const [target, ...rest] = words;
  noMore(rest);
  const folder = need(target, "BACKUP");
  const note = await makeBackup(database, folder).catch(explain);
  return { data: { backup: folder, ...note }, text: `${folder}\t${lineOf(note)}` };
}

export async function restoreCommand(
  words: readonly string[],
  folder: string | undefined,
  instance: Instance,
): Promise<Result> {
  const [source, ...rest] = words;
  noMore(rest);
  const target = need(folder, "--data FOLDER");
  const note = await restoreBackup(need(source, "BACKUP"), target, instance).catch(explain);
  return { data: { restored: target, ...note }, text: `${target}\t${lineOf(note)}\n${AFTER_RESTORE}` };
}

function lineOf({ chain_id, pool, made_at, bytes, sha256 }: BackupNote): string {
  return `as of ${made_at}, pool ${pool} on chain ${String(chain_id)}, ${String(bytes)} bytes, sha256 ${sha256}`;
}

function explain(error: unknown): never {
  throw error instanceof UnfitBackup ? new UsageError(error.message) : error;
}
