// The files of this copy of the project, and throw-away trees for tests that plant something.
import { mkdtemp, mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

export const PROJECT_ROOT = path.resolve(fileURLToPath(import.meta.url), "../../..");

const NOT_SOURCE = new Set(["node_modules", "dist", "coverage", ".cloister", ".git"]);

/** Paths below `folder`, relative to `root`, with forward slashes; built and installed files left out. */
export async function sourceFiles(root: string, folder: string): Promise<string[]> {
  const found: string[] = [];
  for (const entry of await readdir(path.join(root, folder), { withFileTypes: true })) {
    if (NOT_SOURCE.has(entry.name)) continue;
    const inside = path.posix.join(folder, entry.name);
    if (entry.isDirectory()) found.push(...(await sourceFiles(root, inside)));
    else if (entry.isFile()) found.push(inside);
  }
  return found.sort();
}

/** Writes a tree of files into a fresh temporary folder; `remove` takes it away. */
export async function plantTree(
  files: ReadonlyMap<string, string>,
): Promise<{ root: string; remove: () => Promise<void> }> {
  const root = await mkdtemp(path.join(tmpdir(), "cloister-tree-"));
  for (const [file, text] of files) {
    await mkdir(path.join(root, path.dirname(file)), { recursive: true });
    await writeFile(path.join(root, file), text);
  }
  return { root, remove: () => rm(root, { recursive: true, force: true }) };
}
