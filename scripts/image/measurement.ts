/**
 * What is in the enclave's image, and the hashes by which a running enclave is recognised in simulation.
 * Reads files only. A Nitro image adds kernel and init; its PCRs come from the image builder.
 *
 *   pcr0  every file of the image
 *   pcr1  the Node executable that runs it
 *   pcr2  our own part: package.json, dist/ and configuration.json
 *
 * Each of 0 and 2 is SHA-384 over lines `<SHA-384 of the file>  <path>\n`, paths relative to the image and
 * sorted by bytes, which is what `LC_ALL=C sort` and `sha384sum` print.
 */
import { createHash } from "node:crypto";
import { lstat, readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import type { Measurement } from "../../shared/protocol/attestation-document.ts";

export type { Measurement };

export const ENCLAVE_FOLDER = fileURLToPath(new URL("../../enclave", import.meta.url));
/** In the image's root. Not in git: it is made with the image. */
export const CONFIGURATION_FILE = "configuration.json";

export interface Program {
  /** Of the pool's `VerifierKind`. */
  readonly name: "first" | "second";
  /** What is started, and what verifies for it; as enclave/init/<name>.h has them. */
  readonly main: string;
  readonly verifier: string;
  /** Of what is built, files and folders that the other program alone has. */
  readonly without: readonly string[];
}
export type ProgramName = Program["name"];
export const PROGRAM_NAMES: readonly ProgramName[] = ["first", "second"];

const emitted = (...files: readonly string[]): string[] => files.map((file) => `dist/enclave/${file}`);

/** Both are built from one tree; no file of one's judge is in the other's image. */
export const PROGRAMS: Readonly<Record<ProgramName, Program>> = {
  first: {
    name: "first",
    main: "dist/enclave/main.js",
    verifier: "dist/enclave/verifier.js",
    without: emitted("second-main.js", "second.js", "second"),
  },
  second: {
    name: "second",
    main: "dist/enclave/second-main.js",
    verifier: "dist/enclave/second/process.js",
    without: emitted(
      ...["main.js", "first.js", "attest.js", "attest-root.js", "claims.js"],
      ...["verifier.js", "verify.js", "bn254.js", "bn254.wasm"],
    ),
  },
};

/** Of a command line, where the first goes without saying. Throws for what is neither. */
export function programNamed(name = "first"): ProgramName {
  if (name !== "first" && name !== "second") throw new Error(`${name} is neither first nor second`);
  return name;
}

/** Not in an image, though the packages bring them: their own tests, 36 MB, which nothing loads. The Dockerfile removes the same. */
const LEFT_OUT = /^node_modules\/[^/]+\/test$/;

export interface FilesOptions {
  /** Whose, of a tree's enclave/, where both are built. Default: all that is there, as an image has one's alone. */
  readonly program?: ProgramName | undefined;
}

export interface MeasureOptions extends FilesOptions {
  /** Stands for the file of the folder, which may then be absent. */
  readonly configuration?: string;
  /** Default: the one that runs this. */
  readonly node?: string;
}

/** Paths relative to `folder`, sorted: package.json, dist/ and the packages of the lock file, without what is left out. */
export async function codeFiles(
  folder: string,
  { program, withoutOwnCode = false }: FilesOptions & { readonly withoutOwnCode?: boolean } = {},
): Promise<string[]> {
  const without = program === undefined ? [] : PROGRAMS[program].without;
  const packages = await lockedPackages(folder);
  const parts = withoutOwnCode ? packages : ["package.json", "dist", ...packages];
  const files = (await Promise.all(parts.map((part) => filesBelow(folder, part)))).flat();
  return sorted(
    files.filter((file) => !without.some((left) => file === left || file.startsWith(`${left}/`))),
  );
}

/** The same and the configuration: everything that is in an image. */
export async function imageFiles(folder: string, options: FilesOptions = {}): Promise<string[]> {
  return sorted([CONFIGURATION_FILE, ...(await codeFiles(folder, options))]);
}

export async function measureImage(folder: string, options: MeasureOptions = {}): Promise<Measurement> {
  const { configuration, node = process.execPath } = options;
  const read = (file: string): Promise<Uint8Array> | string =>
    file === CONFIGURATION_FILE && configuration !== undefined
      ? configuration
      : readFile(path.join(folder, file)).catch(() => {
          throw new Error(`the enclave's image lacks ${file}`);
        });
  const lines = await Promise.all(
    (await imageFiles(folder, options)).map(async (file) => ({
      file,
      line: `${sha384(await read(file))}  ${file}\n`,
    })),
  );
  const over = (chosen: typeof lines): string => sha384(chosen.map(({ line }) => line).join(""));
  return {
    pcr0: over(lines),
    pcr1: sha384(await readFile(node)),
    pcr2: over(lines.filter(({ file }) => !file.startsWith("node_modules/"))),
  };
}

async function lockedPackages(folder: string): Promise<string[]> {
  const lock = JSON.parse(await readFile(path.join(folder, "package-lock.json"), "utf8")) as {
    packages: Record<string, { dev?: boolean }>;
  };
  return Object.entries(lock.packages)
    .filter(([where, { dev }]) => where !== "" && dev !== true)
    .map(([where]) => where);
}

async function filesBelow(folder: string, part: string): Promise<string[]> {
  if (LEFT_OUT.test(part)) return [];
  const entry = await lstat(path.join(folder, part)).catch(() => undefined);
  if (entry === undefined) throw new Error(`the enclave's image lacks ${part}: run the set-up first`);
  if (entry.isFile()) return [part];
  // A link could point to something that is not measured.
  if (!entry.isDirectory()) throw new Error(`${part} is neither file nor folder, so it cannot be measured`);
  const names = await readdir(path.join(folder, part));
  return (await Promise.all(names.map((name) => filesBelow(folder, `${part}/${name}`)))).flat();
}

function sorted(files: readonly string[]): string[] {
  return [...files].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
}

function sha384(data: string | Uint8Array): string {
  return createHash("sha384").update(data).digest("hex");
}
