// The file that the client library's workers run (shared/client/prover/groth16/worker.ts), with all that it imports in it.
// Part of `npm run build`, and of the packed library.
import { build } from "esbuild";
import path from "node:path";

const ROOT = path.resolve(import.meta.dirname, "../..");

/** One file for browsers and Node: the packages' halves for browsers need nothing that Node lacks. */
export async function buildProver(to: string): Promise<void> {
  await build({
    entryPoints: [path.join(ROOT, "shared", "client", "prover", "groth16", "worker.ts")],
    outfile: to,
    bundle: true,
    platform: "browser",
    format: "esm",
    target: "es2022",
    minify: true,
    legalComments: "eof",
    logLevel: "warning",
    absWorkingDir: ROOT,
  });
}

if (process.argv[1] === import.meta.filename)
  await buildProver(path.join(ROOT, "shared", "client", "dist", "worker.js"));
