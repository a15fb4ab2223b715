/**
 * Programs as a few files each. Loading the proxy as it lies, a thousand modules of it and of its packages, takes seconds
 * of a processor; a local stack starts ten programs, and a test suite a few hundred. Made when something of the source
 * is newer, into a folder that is named after what it was made from, so that nobody ever runs what is out of date.
 */
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build, transform, type BuildOptions, type Plugin } from "esbuild";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const FOLDER = path.join(ROOT, ".cloister/build/programs");

/**
 * What a local stack starts, and what an operator calls, each many times in the tests; and what benches measure, or
 * measure with.
 */
const PROGRAMS = [
  "proxy/api/main.ts",
  "proxy/relay/main.ts",
  "scripts/lab/bench/client/proving-process.ts",
  "scripts/lab/bench/client/restoring-process.ts",
  "scripts/lab/bench/client/scanning-process.ts",
  "scripts/lab/bench/client/storing-process.ts",
  "scripts/lab/bench/http/bare.ts",
  "scripts/lab/bench/http/history-service.ts",
  "scripts/lab/bench/http/load.ts",
  "scripts/lab/bench/http/streams.ts",
  "scripts/lab/bench/http/tree-service.ts",
  "scripts/lab/bench/sequencer/load.ts",
  "scripts/lab/bench/tree-process.ts",
  "scripts/audit/main.ts",
  "scripts/ceremony/main.ts",
  "scripts/deploy/pool.ts",
  "scripts/exit/main.ts",
  "scripts/image/main.ts",
  "scripts/operator/main.ts",
  "scripts/watch/main.ts",
  "scripts/stand-ins/kms/server.ts",
  "scripts/stand-ins/platform/main.ts",
  "scripts/stand-ins/venues/altchain/main.ts",
  "scripts/stand-ins/venues/attester/main.ts",
  "scripts/stand-ins/venues/exchange/main.ts",
] as const;
const SOURCES = ["proxy", "shared", "scripts", "enclave", "package-lock.json"];
const NOT_SOURCE = new Set(["node_modules", "dist"]);
/** Another process may run one of these still. */
const KEPT_MS = 3_600_000;

/** They load files of their own beside them. */
const OUTSIDE = ["esbuild", "litesvm", "lmdb", "pino", "snarkjs", "tiny-secp256k1", "typescript"];
/** Some packages are not modules, and ask for others in their own way. */
const REQUIRE =
  'import { createRequire as requireFrom } from "node:module"; const require = requireFrom(import.meta.url);';

let made: Promise<string> | undefined;

/** The file that runs a program of the repository; undefined for one that is run as it lies. */
export async function bundledProgram(program: string): Promise<string | undefined> {
  if (!PROGRAMS.some((name) => name === program)) return undefined;
  made ??= makeAll();
  return path.join(await made, `${nameOf(program)}.mjs`);
}

/** What Node is given to run a program of the repository: its bundle where it has one, else the loader and the program. */
export async function nodeArguments(program: string): Promise<readonly string[]> {
  const bundled = await bundledProgram(program);
  return bundled === undefined
    ? ["--import", import.meta.resolve("tsx"), path.join(ROOT, program)]
    : [bundled];
}

const nameOf = (program: string): string => program.replace(/\.ts$/, "").replaceAll("/", "-");

async function makeAll(): Promise<string> {
  const folder = path.join(FOLDER, await fingerprint());
  if (existsSync(folder)) return folder;
  await mkdir(FOLDER, { recursive: true });
  const own = await mkdtemp(path.join(FOLDER, "making-"));
  await build({
    ...BUNDLING,
    outdir: own,
    entryPoints: Object.fromEntries(
      PROGRAMS.map((program) => [nameOf(program), `run:${path.join(ROOT, program)}`]),
    ),
    plugins: [runAs, asTheyLie],
  });
  // Another process may have been faster, with the same.
  await rename(own, folder).catch(() => rm(own, { recursive: true, force: true }));
  await removeOld(path.basename(folder));
  return folder;
}

/** Of every source file: where it is, how long and how old. */
async function fingerprint(): Promise<string> {
  const files = (await Promise.all(SOURCES.map((source) => filesUnder(source)))).flat().sort();
  const told = await Promise.all(
    files.map(async (file) => {
      const { size, mtimeMs } = await stat(path.join(ROOT, file));
      return `${file} ${String(size)} ${String(mtimeMs)}`;
    }),
  );
  return createHash("sha256")
    .update([process.version, ...told].join("\n"))
    .digest("hex")
    .slice(0, 24);
}

async function filesUnder(place: string): Promise<readonly string[]> {
  if (!(await stat(path.join(ROOT, place))).isDirectory()) return [place];
  const entries = await readdir(path.join(ROOT, place), { withFileTypes: true });
  const found = await Promise.all(
    entries.map(async (entry) => {
      const inside = `${place}/${entry.name}`;
      if (entry.isDirectory()) return NOT_SOURCE.has(entry.name) ? [] : filesUnder(inside);
      return /\.(ts|json)$/.test(entry.name) ? [inside] : [];
    }),
  );
  return found.flat();
}

async function removeOld(newest: string): Promise<void> {
  for (const name of await readdir(FOLDER)) {
    const { mtimeMs } = await stat(path.join(FOLDER, name)).catch(() => ({ mtimeMs: Date.now() }));
    if (name !== newest && Date.now() - mtimeMs > KEPT_MS)
      await rm(path.join(FOLDER, name), { recursive: true, force: true });
  }
}

/** Into modules for Node: our own code, and the packages that can be put into a file. */
export const BUNDLING = {
  outExtension: { ".js": ".mjs" },
  bundle: true,
  splitting: true,
  format: "esm",
  platform: "node",
  target: "node20",
  external: OUTSIDE,
  banner: { js: REQUIRE },
  logLevel: "error",
} satisfies BuildOptions;

/** Programs look at the name that they were started by. */
const runAs: Plugin = {
  name: "run-as",
  setup(bundler) {
    bundler.onResolve({ filter: /^run:/ }, ({ path: name }) => ({ path: name.slice(4), namespace: "run" }));
    bundler.onLoad({ filter: /./, namespace: "run" }, ({ path: file }) => ({
      contents: `process.argv[1] = ${JSON.stringify(file)};\nawait import(${JSON.stringify(file)});\n`,
      resolveDir: path.dirname(file),
    }));
  },
};

/** Each finds the files beside it where they are. */
export const asTheyLie: Plugin = {
  name: "as-they-lie",
  setup(bundler) {
    bundler.onLoad({ filter: /\.ts$/ }, async ({ path: file }) => ({
      contents: await asItLies(file),
      loader: "ts",
    }));
  },
};

/** With its place in the place of `import.meta`, which a bundle has of its own. */
export async function asItLies(file: string): Promise<string> {
  const text = await readFile(file, "utf8");
  if (!text.includes("import.meta.")) return text;
  const place = { url: pathToFileURL(file).href, filename: file, dirname: path.dirname(file) };
  const { code } = await transform(text, {
    loader: "ts",
    target: "esnext",
    define: Object.fromEntries(
      Object.entries(place).map(([name, value]) => [`import.meta.${name}`, JSON.stringify(value)]),
    ),
    sourcefile: file,
    sourcemap: "inline",
    sourcesContent: false,
    tsconfigRaw: { compilerOptions: { verbatimModuleSyntax: true } },
  });
  return code;
}
