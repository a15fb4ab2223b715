/**
 * Whether a store's file can be mapped at all. LMDB reads pages of a mapped file where they ought to be: of a file that was
 * cut, or is another one, the process would end by SIGBUS or SIGSEGV, without a line.
 */
import { closeSync, fstatSync, openSync, readSync } from "node:fs";

/** A store that cannot be opened. Nothing in it was touched. */
export class StoreDamaged extends Error {
  readonly code = "STORE_DAMAGED";
  readonly exitCode = 3;

  constructor(path: string, found: string) {
    super(
      `${path} is damaged: ${found}. Move the folder away, and make it anew from a backup: npm run operator -- restore BACKUP`,
    );
    this.name = "StoreDamaged";
  }
}

/** Of the two first pages, each a copy of where everything is; as lmdb 3.5.6 writes them, little-endian. */
const META = { bytes: 160, magic: 24, version: 28, pageSize: 48, lastPage: 144, transaction: 152 } as const;
const MAGIC = 0xbeefc0de;
const VERSION = 2;

/** Throws StoreDamaged. One that is not there, or is empty, is a new one. */
export function requireWholeFile(path: string): void {
  let file: number;
  try {
    file = openSync(path, "r");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return;
    throw error;
  }
  try {
    const { size } = fstatSync(file);
    if (size === 0) return;
    const first = metaAt(file, 0) ?? damaged("its beginning is no store's");
    const second = metaAt(file, first.pageSize) ?? damaged("its second page is no store's");
    const newest = first.transaction > second.transaction ? first : second;
    const needed = (newest.lastPage + 1n) * BigInt(newest.pageSize);
    if (BigInt(size) < needed) damaged(`it has ${String(size)} of at least ${String(needed)} bytes`);
  } finally {
    closeSync(file);
  }

  function damaged(found: string): never {
    throw new StoreDamaged(path, found);
  }
}

function metaAt(file: number, at: number) {
  const bytes = Buffer.alloc(META.bytes);
  if (readSync(file, bytes, 0, META.bytes, at) < META.bytes) return undefined;
  const pageSize = bytes.readUInt32LE(META.pageSize);
  const isMeta = bytes.readUInt32LE(META.magic) === MAGIC && bytes.readUInt32LE(META.version) === VERSION;
  if (!isMeta || pageSize < 512 || pageSize > 65_536) return undefined;
  const [lastPage, transaction] = [
    bytes.readBigUInt64LE(META.lastPage),
    bytes.readBigUInt64LE(META.transaction),
  ];
  return { pageSize, lastPage, transaction };
}
