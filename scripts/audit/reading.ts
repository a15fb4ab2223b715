/**
 * In which order a reviewer reads the image's own files, what in it nobody wrote, and what changed since he read it.
 * The order is that of the table in enclave/README.md, so that there is one.
 */
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { generatePairings, GENERATORS, PAIRINGS_FILE } from "../build/pairings.ts";

/** As the table names them: relative to its folder, or a bare name to the folder of the one before it in its row. */
export function readingOrder(readme: string, files: readonly string[], base = "enclave"): string[] {
  const known = new Set(files);
  const [, table = ""] = readme.split(/^## Reading order$/m);
  const [section = ""] = table.split(/^## /m);
  const named = section.split("\n").flatMap((row) => {
    let folder = base;
    const cell = /^\|([^|]*)\|/.exec(row)?.[1] ?? "";
    return [...cell.matchAll(/`([^`]+\.ts)`/g)].map(([, name = ""]) => {
      const beside = path.posix.join(folder, name);
      const file = known.has(beside) ? beside : path.posix.join(base, name);
      folder = path.posix.dirname(file);
      return file;
    });
  });
  return [...new Set([...named.filter((file) => known.has(file)), ...files])];
}

/** Of an image: its program, then the second verifier by its own README where that judges. */
export async function readingOrderOf(tree: string, files: readonly string[]): Promise<string[]> {
  const [program, second] = ["enclave", "enclave/second"].map(async (folder) => {
    const own = files.filter((file) => file.startsWith("enclave/second/") === (folder !== "enclave"));
    return readingOrder(await readFile(path.join(tree, folder, "README.md"), "utf8"), own, folder);
  });
  return [...(await program!), ...(await second!)];
}

export interface Vendored {
  readonly file: string;
  readonly bytes: number;
  readonly sha256: string;
  /** Packages with their versions here, which made it. */
  readonly generators: readonly string[];
  /** Whether they make the same bytes now. */
  readonly isReproduced: boolean;
}

export async function vendoredPairings(tree: string): Promise<Vendored> {
  const committed = await readFile(PAIRINGS_FILE);
  const lock = JSON.parse(await readFile(path.join(tree, "package-lock.json"), "utf8")) as {
    readonly packages: Readonly<Record<string, { readonly version?: string }>>;
  };
  return {
    file: path.relative(tree, PAIRINGS_FILE),
    bytes: committed.length,
    sha256: createHash("sha256").update(committed).digest("hex"),
    generators: GENERATORS.map((name) => `${name} ${lock.packages[`node_modules/${name}`]?.version ?? "?"}`),
    isReproduced: committed.equals(generatePairings()),
  };
}

export interface Change {
  readonly file: string;
  /** Lines; undefined for a file that has none. */
  readonly added: number | undefined;
  readonly removed: number | undefined;
}

/** What is in an image besides its own modules and is read too; whatever was in enclave/ and went is found with it. */
const READ_BESIDES = [
  "enclave/*.ts",
  "enclave/second/**/*.ts",
  "enclave/bn254.wasm",
  "enclave/package.json",
  "enclave/package-lock.json",
];
const INIT = ["enclave/init", "enclave/Dockerfile"];

/** Of `files` and what comes with them, as they are in the tree now. Throws for what git knows as no commit. */
export async function changedSince(
  tree: string,
  commit: string,
  files: readonly string[],
): Promise<Change[]> {
  const git = (...words: readonly string[]) => promisify(execFile)("git", words, { cwd: tree });
  // Never an option, whatever it begins with; and a name of a commit alone.
  const found = await git("rev-parse", "--verify", "--quiet", "--end-of-options", `${commit}^{commit}`).catch(
    () => {
      throw new Error(`${commit} is no commit here`);
    },
  );
  const chosen = [...new Set([...files, ...READ_BESIDES, ...INIT])].map((file) => `:(glob)${file}`);
  const folders = INIT.map((file) => `:(glob)${file}/**`);
  const options = ["diff", "--numstat", "--no-renames", "-z", found.stdout.trim(), "--"];
  const { stdout } = await git(...options, ...chosen, ...folders);
  return stdout
    .split("\0")
    .filter((row) => row !== "")
    .map((row) => {
      const [added = "", removed = "", file = ""] = row.split("\t");
      const lines = (count: string): number | undefined => (count === "-" ? undefined : Number(count));
      return { file, added: lines(added), removed: lines(removed) };
    });
}
