/**
 * One proxy works on a data folder. A second one, such as a unit that was doubled, would take the sequencer away in turn,
 * and count limits and repeated requests for itself. What is on record is who works here, and when it was last seen to:
 * a process of this host that is gone has left the folder, and one of another host when it has not been seen for a while.
 */
import { readFileSync, statSync } from "node:fs";
import { hostname } from "node:os";
import { setTimeout as delay } from "node:timers/promises";
import { join } from "node:path";
import { STORE_FILE, THOUGH_FULL, type Database } from "./database.ts";

/** Another process works on this folder. */
export class FolderTaken extends Error {
  readonly code = "FOLDER_TAKEN";
  readonly exitCode = 4;

  constructor({ pid, host }: Holder) {
    super(`another proxy works on this data folder: process ${String(pid)} on ${host}`);
    this.name = "FolderTaken";
  }
}

export interface Holder {
  readonly pid: number;
  readonly host: string;
  /** When the process began, in its system's words: its number may be another's by now. Undefined where that is not told. */
  readonly began: string | undefined;
  /** Of the store's file: a restored backup has the holder of the folder that it is a copy of. */
  readonly inode: bigint;
  /** Milliseconds since 1970. */
  readonly seenAt: number;
}

const TABLE = "instance";
/** Beside whose store it is. */
export const HOLDER_KEY = "proxy";
const SEEN_EVERY_MS = 5_000;
/** So often it is seen before it counts as gone. */
const TIMES_SEEN = 3;

export interface HeldFolder {
  leave(): Promise<void>;
}

/**
 * Waits for a holder on another host to be gone, since it cannot be asked. Throws FolderTaken. `onLost`: another process
 * has taken the folder, because this one was held still for longer than that.
 */
export async function holdFolder(
  database: Database,
  folder: string,
  onLost: (error: FolderTaken) => void,
  seenEveryMs = SEEN_EVERY_MS,
): Promise<HeldFolder> {
  const table = database.table<Holder, string>(TABLE);
  const own = holderOf(process.pid, folder);
  const isOwn = ({ pid, host, began }: Holder): boolean =>
    pid === own.pid && host === own.host && began === own.began;

  /** Who else has it; undefined: we do. `isGone` says whether a holder has left. */
  const take = (isGone: (holder: Holder) => boolean): Promise<Holder | undefined> =>
    database.transaction(() => {
      const holder = table.get(HOLDER_KEY);
      const isAnother = holder !== undefined && holder.inode === own.inode && !isOwn(holder);
      if (isAnother && !isGone(holder)) return holder;
      table.putSync(HOLDER_KEY, { ...own, seenAt: Date.now() });
      return undefined;
    }, THOUGH_FULL);

  let other = await take(hasLeft);
  if (other !== undefined && other.host !== own.host) {
    await delay(seenEveryMs * TIMES_SEEN);
    const { seenAt } = other;
    other = await take((holder) => hasLeft(holder) || holder.seenAt === seenAt);
  }
  if (other !== undefined) throw new FolderTaken(other);

  const timer = setInterval(() => {
    void take(() => false).then(
      (holder) => {
        if (holder !== undefined) onLost(new FolderTaken(holder));
      },
      // On a full disk it is not seen; whoever looks then is on this host, or waits.
      () => undefined,
    );
  }, seenEveryMs);
  timer.unref();
  return {
    async leave() {
      clearInterval(timer);
      await database.transaction(() => {
        const holder = table.get(HOLDER_KEY);
        if (holder !== undefined && isOwn(holder)) table.removeSync(HOLDER_KEY);
      }, THOUGH_FULL);
    },
  };
}

/** A process of this host, as it would be on record. */
export function holderOf(pid: number, folder: string): Holder {
  const { ino: inode } = statSync(join(folder, STORE_FILE), { bigint: true });
  return { pid, host: hostname(), began: beginningOf(pid), inode, seenAt: Date.now() };
}

/** Of another host nothing is known. */
function hasLeft({ pid, host, began, seenAt }: Holder): boolean {
  if (host !== hostname()) return false;
  try {
    process.kill(pid, 0);
  } catch (error) {
    // EPERM: it is there, and somebody else's.
    return (error as NodeJS.ErrnoException).code === "ESRCH";
  }
  const now = beginningOf(pid);
  return began === undefined || now === undefined
    ? Date.now() - seenAt > SEEN_EVERY_MS * TIMES_SEEN
    : began !== now;
}

/** Linux tells it, as ticks since it was started, behind a name that may hold anything; with the boot, as both begin anew. */
function beginningOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${String(pid)}/stat`, "utf8");
    const ticks = stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19];
    return `${readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim()} ${String(ticks)}`;
  } catch {
    return undefined;
  }
}
