// The pages that this project sends to browsers, as files to serve: bundled, split by route, minified, named by what is
// in them, source maps and compressed copies beside. Part of `npm run build`. `pages.ts NAME` builds one of PAGES.
import { build, type Metafile } from "esbuild";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { gzipSync } from "node:zlib";
import { bundledWithoutDescriptions } from "./without-descriptions.ts";

const ROOT = path.resolve(import.meta.dirname, "../..");
/** Where everything but index.html lies. A name there says what is in the file, so it may be kept permanently. */
const ASSETS = "assets";

/** The scripts of a page, in order. */
const STARTED = ["first", "main"] as const;

export interface Page {
  readonly title: string;
  /**
   * The folder of the sources: in it are first.ts, which runs before anything of main.tsx is, main.tsx, style.css and
   * icon.svg.
   */
  readonly from: string;
  readonly to: string;
  /** More files that a browser starts by themselves (workers), by the name under which they are built: `assets/NAME.js`. */
  readonly workers?: Readonly<Record<string, string>>;
  /** Modules that the page imports only after it can be used: outside the bound. */
  readonly later?: readonly string[];
  /** Most bytes, compressed, that a browser loads before any of its routes can be used. */
  readonly mostBytes: number;
}

/** By name; each is a step of setup.mjs. */
export const PAGES: Readonly<Record<string, Page>> = {
  dashboard: {
    title: "Cloister dashboard",
    from: "proxy/dashboard/page",
    to: "proxy/dashboard/dist",
    mostBytes: 150 * 1024,
  },
  wallet: {
    title: "Cloister wallet",
    from: "scripts/wallet-page",
    to: "scripts/wallet-page/dist",
    workers: {
      prover: "shared/client/prover/groth16/worker.ts",
      offline: "scripts/wallet-page/offline.ts",
      scan: "scripts/wallet-page/scan-worker.ts",
    },
    later: [
      "scripts/wallet-page/browser-key.ts",
      "shared/client/statements/execute-call.ts",
      "shared/client/disclosure/making.ts",
      "shared/client/disclosure/verifying.ts",
    ],
    mostBytes: 200 * 1024,
  },
};

export interface PageSizes {
  /** index.html, styles, and what the entry imports without asking. Bytes, compressed. */
  readonly entry: number;
  /** By module: what its route loads beside that. */
  readonly routes: ReadonlyMap<string, number>;
  /** The entry and the largest route. */
  readonly firstLoad: number;
}

/** Throws when the page is larger than its bound: then nothing is left in `to` that could be served. */
export async function buildPage(page: Page): Promise<PageSizes> {
  const to = path.resolve(ROOT, page.to);
  await rm(to, { recursive: true, force: true });
  await mkdir(to, { recursive: true });
  const metafile = await bundle(page, path.join(to, ASSETS));
  const files = new Outputs(metafile, to);
  await writeFile(path.join(to, "index.html"), indexHtml(page, files));
  const sizes = measure(page, files, await compress(to, ["index.html", ...files.names]));
  if (sizes.firstLoad <= page.mostBytes) return sizes;
  await rm(to, { recursive: true, force: true });
  throw new Error(
    `${page.from}: ${String(sizes.firstLoad)} bytes are loaded before it can be used, more than ${String(page.mostBytes)}\n${reportOf(page, sizes)}`,
  );
}

async function bundle({ from, workers = {} }: Page, to: string): Promise<Metafile> {
  const source = (file: string): string => path.join(ROOT, from, file);
  const shared = {
    bundle: true,
    platform: "browser" as const,
    format: "esm" as const,
    target: ["es2022", "chrome116", "firefox124", "safari17.4"],
    minify: true,
    sourcemap: "linked" as const,
    // Licences stay with what they are about.
    legalComments: "linked" as const,
    metafile: true as const,
    logLevel: "warning" as const,
    absWorkingDir: ROOT,
    outdir: to,
    plugins: [bundledWithoutDescriptions],
  };
  const { metafile } = await build({
    ...shared,
    entryPoints: {
      first: source("first.ts"),
      main: source("main.tsx"),
      style: source("style.css"),
      icon: source("icon.svg"),
    },
    splitting: true,
    loader: { ".svg": "copy" },
    entryNames: "[name]-[hash]",
    chunkNames: "[name]-[hash]",
    assetNames: "[name]-[hash]",
  });
  const started = Object.entries(workers);
  // The page names these in a URL, so they keep their names.
  if (started.length > 0)
    await build({ ...shared, entryPoints: Object.fromEntries(started.map(([name, file]) => [name, file])) });
  return metafile;
}

/** What the bundler wrote, by names relative to the page's folder. */
class Outputs {
  readonly names: readonly string[];
  readonly #metafile: Metafile;
  readonly #root: string;

  constructor(metafile: Metafile, root: string) {
    this.#metafile = metafile;
    this.#root = root;
    this.names = Object.keys(metafile.outputs).map((output) => this.#nameOf(output));
  }

  #nameOf(output: string): string {
    return path.relative(this.#root, path.join(ROOT, output)).replaceAll(path.sep, "/");
  }

  /** The file whose name begins with `name` and ends with `extension`. */
  one(name: string, extension: string): string {
    const found = this.names.find(
      (file) => file.startsWith(`${ASSETS}/${name}-`) && file.endsWith(extension),
    );
    if (found === undefined) throw new Error(`nothing was built for ${name}${extension}`);
    return found;
  }

  /** The file and all that it imports without asking. */
  closure(file: string, seen = new Set<string>()): Set<string> {
    if (seen.has(file)) return seen;
    seen.add(file);
    for (const { path: imported, kind } of this.#of(file).imports)
      if (kind === "import-statement") this.closure(this.#nameOf(imported), seen);
    return seen;
  }

  /** What the page's scripts are, with all that they import without asking. */
  get started(): Set<string> {
    const seen = new Set<string>();
    for (const name of STARTED) this.closure(this.one(name, ".js"), seen);
    return seen;
  }

  /** What any file of the page imports when it is asked for, by the module that was written. */
  get routes(): Map<string, string> {
    const asked = Object.values(this.#metafile.outputs)
      .flatMap(({ imports }) => imports)
      .filter(({ kind }) => kind === "dynamic-import")
      .map(({ path: imported }) => this.#nameOf(imported));
    return new Map(asked.map((file) => [this.#of(file).entryPoint ?? file, file]));
  }

  #of(file: string): Metafile["outputs"][string] {
    const output = path.relative(ROOT, path.join(this.#root, file)).replaceAll(path.sep, "/");
    const found = this.#metafile.outputs[output];
    if (found === undefined) throw new Error(`${file} was not built`);
    return found;
  }
}

/** No script or style of its own: the policy under which it is served allows none. */
function indexHtml({ title }: Page, files: Outputs): string {
  // Modules of a page run in the order of their tags.
  const scripts = STARTED.map((name) => files.one(name, ".js"));
  const preloads = [...files.started].filter((file) => !scripts.includes(file));
  return `${[
    "<!doctype html>",
    '<html lang="en">',
    "<head>",
    '<meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    '<meta name="color-scheme" content="light dark">',
    '<meta name="referrer" content="no-referrer">',
    `<title>${title}</title>`,
    `<link rel="icon" type="image/svg+xml" href="/${files.one("icon", ".svg")}">`,
    `<link rel="stylesheet" href="/${files.one("style", ".css")}">`,
    ...preloads.map((file) => `<link rel="modulepreload" href="/${file}">`),
    ...scripts.map((file) => `<script type="module" src="/${file}"></script>`),
    "</head>",
    "<body>",
    '<div id="app"></div>',
    "<noscript><p>This page is a program: it needs JavaScript.</p></noscript>",
    "</body>",
    "</html>",
  ].join("\n")}\n`;
}

/** Writes NAME.gz beside what a server sends; the sizes by name. */
async function compress(to: string, names: readonly string[]): Promise<Map<string, number>> {
  const sizes = new Map<string, number>();
  for (const name of names.filter((name) => !/\.(map|txt)$/.test(name))) {
    const packed = gzipSync(await readFile(path.join(to, name)), { level: 9 });
    await writeFile(path.join(to, `${name}.gz`), packed);
    sizes.set(name, packed.length);
  }
  return sizes;
}

function measure(page: Page, files: Outputs, sizes: ReadonlyMap<string, number>): PageSizes {
  const sum = (names: Iterable<string>): number =>
    [...names].reduce((total, name) => total + (sizes.get(name) ?? 0), 0);
  const first = files.started;
  for (const name of ["index.html", files.one("style", ".css"), files.one("icon", ".svg")]) first.add(name);
  const routes = new Map(
    [...files.routes]
      .filter(([module]) => page.later?.includes(module) !== true)
      .map(([module, file]) => [module, sum([...files.closure(file)].filter((name) => !first.has(name)))]),
  );
  const entry = sum(first);
  return { entry, routes, firstLoad: entry + Math.max(0, ...routes.values()) };
}

function reportOf(page: Page, { entry, routes, firstLoad }: PageSizes): string {
  const row = (bytes: number, name: string): string =>
    `  ${(bytes / 1024).toFixed(1).padStart(7)} KiB  ${name}`;
  return [
    `${page.title}, compressed:`,
    row(entry, "what every route needs"),
    ...[...routes].sort(([, a], [, b]) => b - a).map(([module, bytes]) => row(bytes, `+ ${module}`)),
    row(firstLoad, `first load, of at most ${(page.mostBytes / 1024).toFixed(0)} KiB`),
  ].join("\n");
}

if (process.argv[1] === import.meta.filename) {
  const names = process.argv.length > 2 ? process.argv.slice(2) : Object.keys(PAGES);
  for (const name of names) {
    const page = PAGES[name];
    if (page === undefined) throw new Error(`${name} is no page: ${Object.keys(PAGES).join(", ")}`);
    console.log(reportOf(page, await buildPage(page)));
  }
}
