/**
 * Room in the store's file before a transaction needs it, so that a full disk refuses a transaction and never breaks
 * one: when a write of its own fails, lmdb 3.5.6 words the fault into a buffer that is too short for it, and the
 * process dies (tried; may go when that is fixed). So the file's end is written ahead, with zeros that LMDB
 * neither reads nor minds. Where a written block can need another one (btrfs, zfs), this is no promise.
 */
import { closeSync, fstatSync, openSync, writeSync } from "node:fs";
import { StoreUnavailable } from "../unavailable.ts";

export interface Room {
  /**
   * Inside a write transaction, before it writes: the lock of that transaction is what keeps another process from
   * the file's end. `used`: bytes up to the last page in use. `needed`: what the transaction may write at most.
   * Throws StoreUnavailable when the disk is full, `thoughFull` only when what was written ahead is used up, too.
   */
  require(used: number, needed: number, thoughFull: boolean): void;
  close(): void;
}

/** Written ahead for what was accepted, which has to come to its end on a full disk. */
const AHEAD = 4 << 20;
/** What goes on though the disk is full needs no more than this, unless it says so. */
const LEAST = 1 << 20;
/** So that not every transaction writes ahead. */
const STEP = 4 << 20;
const ZEROS = Buffer.alloc(1 << 18);

export function openRoom(path: string): Room {
  const file = openSync(path, "r+");
  /** Others may have made it longer, never shorter. */
  let size = 0;

  function extend(to: number): void {
    size = fstatSync(file).size;
    while (size < to) size += writeSync(file, ZEROS, 0, Math.min(ZEROS.length, to - size), size);
  }

  return {
    require(used, needed, thoughFull) {
      const wanted = used + Math.max(AHEAD, needed);
      if (size >= wanted) return;
      try {
        extend(wanted + STEP);
      } catch (fault) {
        const least = thoughFull ? used + Math.max(LEAST, needed) : wanted;
        if (size < least)
          throw new StoreUnavailable(new Error("the disk has no room for the store", { cause: fault }));
      }
    },
    close: () => closeSync(file),
  };
}
