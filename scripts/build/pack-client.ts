// `npm run pack:client`: the client library as a package for other people's projects, from the sources of this
// checkout. Its dependencies have exactly the versions that were tested here.
import { execFile } from "node:child_process";
import { copyFile, mkdir, mkdtemp, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { parseArgs, promisify } from "node:util";
import { build } from "esbuild";
import ts from "typescript";
import { z } from "zod";
import { buildProver } from "./prover.ts";
import { withoutDescriptions } from "./without-descriptions.ts";

const HELP = `Usage: npm run pack:client -- [--out FOLDER] [--json]

Compiles shared/client/ and what it reaches, and packs it with npm as cloister-client: the entry "." runs in
browsers and in Node, "./service" is its part without a wallet, "./chain" adds a pool read from chain nodes, "./node" files on disk, "./worker" is the file in
which proofs are made. Proving keys are not in it: an application brings those of its service's ceremony.

  --out FOLDER   where the package goes (default: .cloister)
  --json         prints one JSON object
  --help         this text`;

const ROOT = path.resolve(import.meta.dirname, "../..");
const NAME = "cloister-client";
const ENTRIES = ["client/index.ts", "client/service/index.ts", "client/chain.ts", "client/node/index.ts"];
/** The worker's file, from which alone proofs are made. */
const WORKER = "client/dist/worker.js";
/** Imported for what it does: a bundler must not leave it out. */
const ACTING = ["api/zod.js"];
/** Bundled with the packages that they use a small part of: nobody has to install the whole of those. */
const SELF_CONTAINED = { file: "client/statements/execute-call.js", packages: ["ethers"] };

const manifestShape = z.object({
  version: z.string(),
  license: z.string(),
  engines: z.record(z.string(), z.string()),
  dependencies: z.record(z.string(), z.string()),
});
const packedShape = z.tuple([
  z.object({ filename: z.string(), size: z.number(), files: z.array(z.unknown()) }),
]);

export interface PackedClient {
  readonly file: string;
  readonly bytes: number;
  readonly files: number;
}

/** Throws with the compiler's words when the sources do not compile. */
export async function packClient(out: string): Promise<PackedClient> {
  const folder = await mkdtemp(path.join(tmpdir(), "cloister-client-"));
  try {
    const dist = path.join(folder, "dist");
    const packages = await compile(dist);
    await buildProver(path.join(dist, WORKER));
    await containPackages(path.join(dist, SELF_CONTAINED.file));
    for (const name of SELF_CONTAINED.packages) packages.delete(name);
    const root = manifestShape.parse(JSON.parse(await readFile(path.join(ROOT, "package.json"), "utf8")));
    const dependencies = Object.fromEntries(
      Object.entries(root.dependencies).filter(([name]) => packages.has(name)),
    );
    const unknown = [...packages].filter((name) => dependencies[name] === undefined);
    if (unknown.length > 0) throw new Error(`not in package.json: ${unknown.join(", ")}`);
    const manifest = {
      name: NAME,
      version: root.version,
      description:
        "Private payments from a browser or from Node: keys, notes, proofs, and the service's interface",
      license: root.license,
      type: "module",
      engines: root.engines,
      sideEffects: [WORKER, ...ACTING].map((file) => `./dist/${file}`),
      files: ["dist", "GUIDE.md"],
      exports: {
        ".": { types: "./dist/client/index.d.ts", default: "./dist/client/index.js" },
        "./service": { types: "./dist/client/service/index.d.ts", default: "./dist/client/service/index.js" },
        "./chain": { types: "./dist/client/chain.d.ts", default: "./dist/client/chain.js" },
        "./node": { types: "./dist/client/node/index.d.ts", default: "./dist/client/node/index.js" },
        "./worker": `./dist/${WORKER}`,
      },
      dependencies,
    };
    await writeFile(path.join(folder, "package.json"), `${JSON.stringify(manifest, undefined, 2)}\n`);
    await copyFile(path.join(ROOT, "LICENSE"), path.join(folder, "LICENSE"));
    for (const name of ["README.md", "GUIDE.md"])
      await copyFile(path.join(ROOT, "shared", "client", name), path.join(folder, name));
    await mkdir(out, { recursive: true });
    const args = ["pack", "--json", "--ignore-scripts", "--pack-destination", path.resolve(out)];
    const { stdout } = await promisify(execFile)("npm", args, { cwd: folder });
    const [{ filename, size, files }] = packedShape.parse(JSON.parse(stdout));
    return { file: path.join(path.resolve(out), filename), bytes: size, files: files.length };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** In its place, with `SELF_CONTAINED.packages` and what these import inside. */
async function containPackages(file: string): Promise<void> {
  await build({
    entryPoints: [file],
    outfile: file,
    allowOverwrite: true,
    bundle: true,
    format: "esm",
    target: "es2022",
    minify: true,
    legalComments: "eof",
    logLevel: "warning",
    // The compiled files have no node_modules above them.
    nodePaths: [path.join(ROOT, "node_modules")],
    plugins: [
      {
        name: "the library's other files stay files",
        setup(building) {
          building.onResolve({ filter: /^\./ }, ({ importer }) =>
            importer === file ? { external: true } : undefined,
          );
        },
      },
    ],
  });
}

/** The names of the npm packages that the compiled files import. */
async function compile(to: string): Promise<Set<string>> {
  const shared = path.join(ROOT, "shared");
  const { config } = ts.readConfigFile(path.join(ROOT, "tsconfig.json"), (file) => ts.sys.readFile(file)) as {
    config: { compilerOptions: object };
  };
  const { options } = ts.convertCompilerOptionsFromJson(
    {
      ...config.compilerOptions,
      noEmit: false,
      declaration: true,
      rootDir: shared,
      outDir: to,
      types: ["node"],
    },
    ROOT,
  );
  const types = path.join(shared, "types");
  const program = ts.createProgram(
    [
      ...ENTRIES.map((file) => path.join(shared, file)),
      ...(await readdir(types)).map((file) => path.join(types, file)),
    ],
    options,
  );
  const { diagnostics } = program.emit(
    undefined,
    (file, text) => ts.sys.writeFile(file, file.endsWith(".d.ts") ? asShipped(text) : text),
    undefined,
    false,
    { before: [withoutDescriptions] },
  );
  const faults = [...ts.getPreEmitDiagnostics(program), ...diagnostics];
  if (faults.length > 0) {
    const at = { getCurrentDirectory: () => ROOT, getCanonicalFileName: String, getNewLine: () => "\n" };
    throw new Error(ts.formatDiagnostics(faults, at));
  }
  const imported = program
    .getSourceFiles()
    .filter(({ fileName, isDeclarationFile }) => !isDeclarationFile && fileName.startsWith(shared))
    .flatMap(({ text }) => ts.preProcessFile(text).importedFiles.map(({ fileName }) => fileName));
  return new Set(
    imported
      .filter((name) => !name.startsWith(".") && !name.startsWith("node:"))
      .map((name) =>
        name
          .split("/")
          .slice(0, name.startsWith("@") ? 2 : 1)
          .join("/"),
      ),
  );
}

/** The compiler rewrites the endings of imports in programs, and leaves those of declarations as they are. */
function asShipped(declaration: string): string {
  return declaration.replaceAll(/((?:from|import\() ?"\.{1,2}\/[^"]+)\.ts"/g, '$1.js"');
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: { out: { type: "string" }, json: { type: "boolean" }, help: { type: "boolean" } },
  });
  if (values.help === true) {
    console.log(HELP);
    return;
  }
  const packed = await packClient(values.out ?? path.join(ROOT, ".cloister"));
  console.log(
    values.json === true
      ? JSON.stringify(packed)
      : `${packed.file}\n${String(packed.files)} files, ${(packed.bytes / 1024).toFixed(0)} KiB`,
  );
}

if (process.argv[1] === import.meta.filename) await main();
