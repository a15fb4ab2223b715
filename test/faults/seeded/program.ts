/**
 * The proxy's and the relay's program and what hosts them, as a few files. Loading them as they lie, a thousand modules of it and of its
 * packages, takes more of the processor than a scenario does; and each process that is killed is loaded again.
 */
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "esbuild";
import { asItLies, asTheyLie, BUNDLING } from "../../../scripts/base/programs.ts";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
/** Their last lines run them. */
const MAINS = {
  main: path.join(ROOT, "proxy/api/main.ts"),
  relay: path.join(ROOT, "proxy/relay/main.ts"),
} as const;
const VENUES = path.join(ROOT, "scripts/stand-ins/venues");
/** Inside the checkout, from where packages that are left outside are found. */
const FOLDER = path.join(ROOT, ".cloister/build/faults");

export interface Program {
  /** Runs one of the next two when it is told to; see `host.ts`. */
  readonly host: string;
  /** URLs of the proxy's and the relay's `main.ts`, whose last line runs it; what it imports is in other files. */
  readonly main: string;
  readonly relay: string;
  /** Programs of other parties in scenarios of bridges: the attester, the exchange, and the other blockchain. */
  readonly attester: string;
  readonly exchange: string;
  readonly altchain: string;
  /** To be removed when nobody runs it any more. */
  readonly folder: string;
}

/** `name`: of the folder, so that two suites at a time do not write into the same one. */
export async function makeProgram(name: string): Promise<Program> {
  const outdir = path.join(FOLDER, name);
  await build({
    // Twice, so that all it imports is shared by two and has to be put into files of its own.
    entryPoints: {
      host: fileURLToPath(new URL("./host.ts", import.meta.url)),
      ...MAINS,
      "main-again": "again:main",
      "relay-again": "again:relay",
      attester: path.join(VENUES, "attester/main.ts"),
      exchange: path.join(VENUES, "exchange/main.ts"),
      altchain: path.join(VENUES, "altchain/main.ts"),
    },
    ...BUNDLING,
    outdir,
    // Less to parse. Not with `keepNames`, which does something for each closure that is ever made.
    minifyWhitespace: true,
    minifySyntax: true,
    plugins: [
      {
        name: "again",
        setup(bundler) {
          bundler.onResolve({ filter: /^again:/ }, ({ path: name }) => ({
            path: MAINS[name.slice("again:".length) as keyof typeof MAINS],
            namespace: "again",
          }));
          bundler.onLoad({ filter: /./, namespace: "again" }, async ({ path: file }) => ({
            contents: await asItLies(file),
            loader: "ts",
            resolveDir: path.dirname(file),
          }));
        },
      },
      asTheyLie,
    ],
  });
  return {
    host: path.join(outdir, "host.mjs"),
    main: pathToFileURL(path.join(outdir, "main.mjs")).href,
    relay: pathToFileURL(path.join(outdir, "relay.mjs")).href,
    attester: path.join(outdir, "attester.mjs"),
    exchange: path.join(outdir, "exchange.mjs"),
    altchain: path.join(outdir, "altchain.mjs"),
    folder: outdir,
  };
}
