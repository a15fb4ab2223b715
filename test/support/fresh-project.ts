// Somebody else's project: a folder with nothing in it but a package.json, into which the packed client library is
// installed from its file, with its own dependencies, as npm gives them to anybody.
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { packClient } from "../../scripts/build/pack-client.ts";

export interface FreshProject {
  readonly folder: string;
  /** The file that the prover's workers run, for a page's server to give out: esbuild leaves it where it is. */
  readonly worker: string;
  write(file: string, text: string): Promise<void>;
  /** Runs Node with this in the project; resolves with what it printed. */
  node(...args: readonly string[]): Promise<string>;
  remove(): Promise<void>;
}

export async function freshProject(): Promise<FreshProject> {
  const folder = await mkdtemp(path.join(tmpdir(), "cloister-project-"));
  const remove = (): Promise<void> => rm(folder, { recursive: true, force: true });
  const write = (file: string, text: string): Promise<void> => writeFile(path.join(folder, file), text);
  const run = async (command: string, args: readonly string[]): Promise<string> =>
    (await promisify(execFile)(command, args, { cwd: folder, maxBuffer: 1 << 26 })).stdout;
  try {
    const { file } = await packClient(folder);
    await write("package.json", JSON.stringify({ name: "somebody-else", private: true, type: "module" }));
    await run("npm", ["install", "--ignore-scripts", "--prefer-offline", "--no-audit", "--no-fund", file]);
  } catch (error) {
    await remove();
    throw error;
  }
  const worker = path.join(folder, "node_modules", "cloister-client", "dist", "client", "dist", "worker.js");
  return { folder, worker, write, node: (...args) => run(process.execPath, args), remove };
}
