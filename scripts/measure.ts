/**
 * Measures the enclave's image: what is in it, and the hashes by which a running enclave is recognised
 * in simulation. Reads files only. A Nitro image adds kernel and init; its PCRs come from the image builder.
 *
 *   pcr0  every file of the image
 *   pcr1  the Node executable that runs it
 *   pcr2  our own code: package.json and dist/
 *
 * Each of 0 and 2 is SHA-384 over lines `<SHA-384 of the file>  <path>\n`, paths relative to the image and
 * sorted by bytes, which is what `LC_ALL=C sort` and `sha384sum` print.
 */
import { createHash } from "node:crypto";
import { lstat, readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

export const ENCLAVE_FOLDER = fileURLToPath(new URL("../enclave", import.meta.url));

/** Lower-case hex, 96 digits each. */
export interface Measurement {
  readonly pcr0: string;
  readonly pcr1: string;
  readonly pcr2: string;
}

/** Paths relative to `folder`, sorted: package.json, dist/ and the packages of the lock file, whole. */
export async function imageFiles(folder: string): Promise<string[]> {
  const packages = await lockedPackages(folder);
  const lists = await Promise.all(
    ["package.json", "dist", ...packages].map((part) => filesBelow(folder, part)),
  );
  return lists.flat().sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
}

export async function measureImage(folder: string, node = process.execPath): Promise<Measurement> {
  const lines = await Promise.all(
    (await imageFiles(folder)).map(async (file) => ({
      file,
      line: `${sha384(await readFile(path.join(folder, file)))}  ${file}\n`,
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
  const entry = await lstat(path.join(folder, part)).catch(() => undefined);
  if (entry === undefined) throw new Error(`the enclave's image lacks ${part}: run the set-up first`);
  if (entry.isFile()) return [part];
  // A link could point to something that is not measured.
  if (!entry.isDirectory()) throw new Error(`${part} is neither file nor folder, so it cannot be measured`);
  const names = await readdir(path.join(folder, part));
  return (await Promise.all(names.map((name) => filesBelow(folder, `${part}/${name}`)))).flat();
}

function sha384(data: string | Uint8Array): string {
  return createHash("sha384").update(data).digest("hex");
}

const HELP = `Usage: npm run measure -- [--json]

Prints the measurement of enclave/ as it is built now (see enclave/README.md).

  --json   all three registers and the list of files
  --help   this text`;

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { json: { type: "boolean" }, help: { type: "boolean" } } });
  if (values.help === true) {
    console.log(HELP);
    return;
  }
  const measurement = await measureImage(ENCLAVE_FOLDER);
  console.log(
    values.json === true
      ? JSON.stringify({ ...measurement, files: await imageFiles(ENCLAVE_FOLDER) })
      : measurement.pcr0,
  );
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main();
