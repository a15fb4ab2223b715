// Ways to break the pool (forge-mutations.json), each a small edit, and a copy of the project in which one of them is
// done. That the forge tests notice every one says that their passing means something. Touches nothing outside
// .cloister/.
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { cp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";

export interface Mutation {
  /** What is wrong with the pool now. */
  readonly name: string;
  /** Below shared/contracts/. */
  readonly file: string;
  /** Stands in the file exactly once. */
  readonly from: string;
  readonly to: string;
  /** Contracts whose tests have to notice, to save the time of all others. */
  readonly tests: string;
}

const ROOT = path.resolve(import.meta.dirname, "../..");
const MUTANTS = path.join(".cloister", "forge", "mutants");

const WAYS = JSON.parse(
  readFileSync(path.join(import.meta.dirname, "forge-mutations.json"), "utf8"),
) as Readonly<Record<Mutation["file"], Readonly<Record<Mutation["name"], Omit<Mutation, "file" | "name">>>>>;

export const MUTATIONS: readonly Mutation[] = Object.entries(WAYS).flatMap(([file, edits]) =>
  Object.entries(edits).map(([name, edit]) => ({ name, file, ...edit })),
);

/** What the builder of the contracts reads. */
const COPIED = [
  ...["shared/contracts", "scripts/stand-ins/contracts", "test/support/contracts"],
  ...["package.json", "tsconfig.json", "scripts/build/contracts.ts", "scripts/build/solc-thread.mjs"],
  // The builder writes the interface into it.
  "shared/protocol/SPEC.md",
];

/** Builds the pool with that one edit; the folder of its compiled contracts, from the project's root. */
export async function breakPool({ name, file, from, to }: Mutation): Promise<string> {
  const at = path.join(MUTANTS, name.replaceAll(/[^a-z]+/g, "-"));
  const copy = path.join(ROOT, at);
  await rm(copy, { recursive: true, force: true });
  for (const each of COPIED) await cp(path.join(ROOT, each), path.join(copy, each), { recursive: true });
  await symlink(path.join(ROOT, "node_modules"), path.join(copy, "node_modules"), "dir");
  const source = path.join(copy, "shared", "contracts", file);
  const broken = editedText(await readFile(source, "utf8"), from, to);
  if (broken === undefined) throw new Error(`"${name}" does not fit ${file} any more`);
  await writeFile(source, broken);
  // The same builder with the same settings, in the copy.
  await promisify(execFile)(process.execPath, ["--import", "tsx", "scripts/build/contracts.ts"], {
    cwd: copy,
  });
  return path.join(at, ".cloister", "build", "contracts");
}

/** Undefined unless `from` stands in the text exactly once. */
export function editedText(text: string, from: string, to: string): string | undefined {
  const parts = text.split(from);
  return parts.length === 2 ? parts.join(to) : undefined;
}
