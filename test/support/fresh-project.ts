// Somebody else's project: a folder with nothing in it but a package.json, into which the packed client library is
// installed from its file, with its own dependencies, as npm gives them to anybody. Packing and installing take many
// seconds and come out the same for each test file of a process, so that is done once, and everybody gets a copy.
import { execFile } from "node:child_process";
import { rmSync } from "node:fs";
import { cp, mkdtemp, rm, writeFile } from "node:fs/promises";
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

let installed: Promise<string> | undefined;

export async function freshProject(): Promise<FreshProject> {
  installed ??= install();
  const original = await installed;
  const folder = await mkdtemp(path.join(tmpdir(), "cloister-project-"));
  await cp(original, folder, { recursive: true, verbatimSymlinks: true });
  const worker = path.join(folder, "node_modules", "cloister-client", "dist", "client", "dist", "worker.js");
  return {
    ...{ folder, worker },
    write: (file, text) => writeFile(path.join(folder, file), text),
    node: (...args) => run(folder, process.execPath, args),
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}

/** Where it stays until the process ends. */
async function install(): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), "cloister-project-"));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  const { file } = await packClient(folder);
  const empty = { name: "somebody-else", private: true, type: "module" };
  await writeFile(path.join(folder, "package.json"), JSON.stringify(empty));
  await run(folder, "npm", [
    "install",
    "--ignore-scripts",
    "--prefer-offline",
    "--no-audit",
    "--no-fund",
    file,
  ]);
  return folder;
}

async function run(folder: string, command: string, args: readonly string[]): Promise<string> {
  return (await promisify(execFile)(command, args, { cwd: folder, maxBuffer: 1 << 26 })).stdout;
}
