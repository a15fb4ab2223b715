/**
 * Mutual exclusion between processes by a file: who can link its name holds it. A process that was killed while it
 * held one leaves the file; the next one sees that its writer is gone and takes the file away, under a lock of its own
 * that is named after the dead writer, so that two who see the same never take away a third one's lock.
 */
import { randomBytes } from "node:crypto";
import { link, readFile, rm, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { setTimeout as delay } from "node:timers/promises";

/** A lock is held for a write of one file; who waits as long as this waits for somebody who hangs. */
const PATIENCE_MS = 20_000;
const LONGEST_PAUSE_MS = 50;

interface Holder {
  readonly id: string;
  readonly host: string;
  readonly pid: number;
  /** When the process began, by the system's own clock: another process of the same number is another holder. */
  readonly began: string;
}

export async function withFileLock<T>(file: string, work: () => Promise<T>): Promise<T> {
  await acquire(file);
  try {
    return await work();
  } finally {
    await rm(file, { force: true });
  }
}

async function acquire(file: string): Promise<void> {
  const { pid } = process;
  const id = randomBytes(8).toString("hex");
  const holder: Holder = { id, host: hostname(), pid, began: await beginningOf(pid) };
  const own = `${file}.${id}`;
  // Under a name of its own first, so that a lock is never seen half written.
  await writeFile(own, JSON.stringify(holder), { flag: "wx", mode: 0o600 });
  try {
    const end = Date.now() + PATIENCE_MS;
    for (let pauseMs = 1; !(await linked(own, file)); pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
      const other = await holderOf(file);
      if (other !== undefined && (await isGone(other))) {
        await withFileLock(`${file}-${other.id}`, async () => {
          if ((await holderOf(file))?.id === other.id) await rm(file, { force: true });
        });
      } else {
        if (Date.now() > end)
          throw new Error(`${file} is held; if no program uses the wallet any more, remove it`);
        await delay(pauseMs);
      }
    }
  } finally {
    await rm(own, { force: true });
  }
}

/** link(2) fails where the name is taken, also on network file systems that do not know O_EXCL. */
async function linked(own: string, file: string): Promise<boolean> {
  try {
    await link(own, file);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

/** Undefined when nobody holds it any more. */
async function holderOf(file: string): Promise<Holder | undefined> {
  try {
    return JSON.parse(await readFile(file, "utf8")) as Holder;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

/** Certainly. Of a process of another machine or container nobody here can tell. */
async function isGone({ host, pid, began }: Holder): Promise<boolean> {
  if (host !== hostname()) return false;
  try {
    process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ESRCH";
  }
  return (await beginningOf(pid)) !== began;
}

/** proc(5), field 22 of stat: the name before it may hold anything but ends with the last bracket. Empty elsewhere than on Linux. */
async function beginningOf(pid: number): Promise<string> {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? "";
}
