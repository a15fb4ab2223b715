/**
 * A folder as the kernel unpacks it at boot: cpio, "newc" (Linux, Documentation/driver-api/early-userspace/
 * buffer-format.rst), not compressed. Owner, times, inode numbers and order are ours, so that the same files give
 * the same bytes, whatever made them.
 */
import { lstat, readdir, readFile } from "node:fs/promises";
import path from "node:path";

const FOLDER_MODE = 0o040755;
const FILE_MODE = 0o100644;
const PROGRAM_MODE = 0o100755;
const TRAILER = "TRAILER!!!";
/** Several archives follow each other in memory, each at a multiple of four bytes. */
const ARCHIVE_ALIGNMENT = 512;

export interface RamdiskEntry {
  /** Without a slash at the beginning. */
  readonly name: string;
  /** Absent: a folder. */
  readonly content?: Uint8Array;
  readonly isProgram?: boolean;
}

/** Everything below `folder`. Throws on links and devices: what they mean depends on where they are read. */
export async function entriesOf(folder: string, below = ""): Promise<RamdiskEntry[]> {
  const entries: RamdiskEntry[] = [];
  for (const file of await readdir(path.join(folder, below))) {
    const name = path.posix.join(below, file);
    const found = await lstat(path.join(folder, name));
    if (found.isDirectory()) {
      entries.push({ name }, ...(await entriesOf(folder, name)));
    } else if (found.isFile()) {
      const content = await readFile(path.join(folder, name));
      entries.push({ name, content, isProgram: (found.mode & 0o111) !== 0 });
    } else {
      throw new Error(`${name} is neither file nor folder, so it cannot be in an image`);
    }
  }
  return entries;
}

export function makeRamdisk(entries: readonly RamdiskEntry[]): Buffer {
  // By bytes a folder comes before what is in it.
  const inOrder = [...entries].sort((a, b) => Buffer.compare(Buffer.from(a.name), Buffer.from(b.name)));
  const parts = inOrder.flatMap((entry, i) => record(entry, i + 1));
  const all = Buffer.concat([...parts, ...record({ name: TRAILER }, 0)]);
  return Buffer.concat([all, padding(all.length, ARCHIVE_ALIGNMENT)]);
}

function record({ name, content, isProgram }: RamdiskEntry, inode: number): Uint8Array[] {
  const mode = content === undefined ? FOLDER_MODE : isProgram === true ? PROGRAM_MODE : FILE_MODE;
  const nameBytes = Buffer.from(`${name}\0`);
  const size = content?.length ?? 0;
  const links = content === undefined ? 2 : 1;
  // inode, mode, uid, gid, links, time, size, device (2), device this is (2), length of the name, check
  const numbers = [
    ...[inode, name === TRAILER ? 0 : mode, 0, 0, links, 0, size],
    ...[0, 0, 0, 0, nameBytes.length, 0],
  ];
  const header = `070701${numbers.map((number) => number.toString(16).padStart(8, "0")).join("")}`;
  const start = Buffer.concat([Buffer.from(header), nameBytes]);
  return [start, padding(start.length, 4), content ?? Buffer.alloc(0), padding(size, 4)];
}

function padding(length: number, multiple: number): Buffer {
  return Buffer.alloc((multiple - (length % multiple)) % multiple);
}
