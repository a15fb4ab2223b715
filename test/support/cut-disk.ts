// This process's own writes to the disk, counted, with something that happens at one of them. Reading is not counted.
import fs from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";

/** Before a write, or, where `half` is given, with the first half of it on disk. */
export type AtWrite = (count: number, half: (() => Promise<void>) | undefined) => Promise<void>;

type Work = (...args: readonly never[]) => Promise<unknown>;
const WRITING = ["mkdir", "open", "writeFile", "link", "rename", "rm"] as const;

/** Gives how many there have been so far; `end` takes it all back. */
export async function watchWrites(at: AtWrite): Promise<{ readonly count: () => number; end(): void }> {
  let count = 0;
  const undo: (() => void)[] = [];
  function wrap(holder: Record<string, Work>, name: string, isHalved: boolean): void {
    const original = holder[name]!;
    holder[name] = async function (this: unknown, ...args: never[]): Promise<unknown> {
      // Not what only reads: an open for reading.
      if (name === "open" && (args[1] as unknown) === "r") return original.apply(this, args);
      count += 1;
      const half = async (): Promise<void> => {
        const bytes = args[0] as unknown as Uint8Array;
        await original.apply(this, [bytes.subarray(0, bytes.length / 2)] as unknown as never[]);
      };
      await at(count, isHalved ? half : undefined);
      return original.apply(this, args);
    };
    undo.push(() => void (holder[name] = original));
  }
  const handle = await fs.open(process.execPath, "r");
  const handles = Object.getPrototypeOf(handle) as Record<string, Work>;
  await handle.close();
  for (const name of WRITING) wrap(fs as unknown as Record<string, Work>, name, false);
  wrap(handles, "writeFile", true);
  wrap(handles, "sync", false);
  syncBuiltinESMExports();
  return {
    count: () => count,
    end() {
      for (const one of undo) one();
      syncBuiltinESMExports();
    },
  };
}
