/**
 * The proxy's program and what hosts it, as a few files. Loading them as they lie, a thousand modules of it and of its
 * packages, takes more of the processor than a scenario does; and each process that is killed is loaded again.
 */
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "esbuild";
import { asItLies, asTheyLie, BUNDLING } from "../../../scripts/build/programs.ts";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
const MAIN = path.join(ROOT, "proxy/api/main.ts");
const VENUES = path.join(ROOT, "scripts/stack/venues");
/** Inside the checkout, from where packages that are left outside are found. */
const FOLDER = path.join(ROOT, ".cloister/build/faults");

export interface Program {
  /** Runs `main` when it is told to; see `host.ts`. */
  readonly host: string;
  /** URL of `proxy/api/main.ts`, whose last line runs it; what it imports is in other files. */
  readonly main: string;
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
      main: MAIN,
      again: "the-same-again",
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
          bundler.onResolve({ filter: /^the-same-again$/ }, () => ({ path: MAIN, namespace: "again" }));
          bundler.onLoad({ filter: /./, namespace: "again" }, async () => ({
            contents: await asItLies(MAIN),
            loader: "ts",
            resolveDir: path.dirname(MAIN),
          }));
        },
      },
      asTheyLie,
    ],
  });
  return {
    host: path.join(outdir, "host.mjs"),
    main: pathToFileURL(path.join(outdir, "main.mjs")).href,
    attester: path.join(outdir, "attester.mjs"),
    exchange: path.join(outdir, "exchange.mjs"),
    altchain: path.join(outdir, "altchain.mjs"),
    folder: outdir,
  };
}
