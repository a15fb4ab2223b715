/** Where the file of the library's workers is: beside the library, or where the application serves it. */
import type { WorkerFile } from "./groth16/threads.ts";

/** Not in the words that bundlers look for: they would pack the file a second time. */
const FILE = "../dist/worker.js";

/** @param named for bundlers that do not follow `new Worker(new URL("…", import.meta.url))` */
export function workerFile(named: string | URL | undefined): WorkerFile {
  return named === undefined
    ? {
        address: () => new URL(FILE, import.meta.url),
        startInBrowser: () => new Worker(new URL("../dist/worker.js", import.meta.url), { type: "module" }),
      }
    : {
        address: () => new URL(named, (globalThis as { location?: Location }).location?.href),
        startInBrowser: () => new Worker(named, { type: "module" }),
      };
}
