/**
 * Test files as one module each, so that a process of its own costs a file little: what it loads of ours is in it, and
 * packages of many modules are a few files beside it. Called with the folder to write to, then the files; prints where
 * each of them is.
 */
import path from "node:path";
import { build, type Plugin } from "esbuild";
import { asTheyLie, BUNDLING } from "../../base/programs.ts";

/** ES modules of many files. Every other package is taken as it lies. */
const JOINED =
  /^(ethers|zod|fast-check|preact|@noble\/(curves|hashes|ciphers)|@scure\/(base|bip32|bip39)|@solana\/kit)(\/|$)/;
const UNJOINED = "not once more";

/** Two versions of a package are two packages: what a folder resolves a name to counts, and not the name. */
function joinedPackages(folder: string, found: Map<string, string>): Plugin {
  return {
    name: "joined-packages",
    setup(bundler) {
      bundler.onResolve(
        { filter: JOINED },
        async ({ path: name, pluginData, kind, resolveDir, importer }) => {
          if (pluginData === UNJOINED) return undefined;
          const place = await bundler.resolve(name, { kind, resolveDir, importer, pluginData: UNJOINED });
          if (place.errors.length > 0) return { errors: place.errors };
          const known = found.get(place.path) ?? `package-${String(found.size)}`;
          found.set(place.path, known);
          return { path: path.join(folder, `${known}.mjs`), external: true };
        },
      );
    },
  };
}

export async function bundleTests(
  folder: string,
  files: readonly string[],
): Promise<Readonly<Record<string, string>>> {
  const packages = new Map<string, string>();
  const names = new Map(files.map((file, i) => [file, `file-${String(i)}`]));
  await build({
    ...BUNDLING,
    // Every file is a process: nothing in one is shared with another.
    splitting: false,
    packages: "external",
    sourcemap: "linked",
    sourcesContent: false,
    outdir: folder,
    entryPoints: [...names].map(([file, out]) => ({ in: path.resolve(file), out })),
    plugins: [joinedPackages(folder, packages), asTheyLie],
  });
  await build({
    ...BUNDLING,
    outdir: folder,
    entryPoints: [...packages].map(([file, out]) => ({ in: file, out })),
  });
  return Object.fromEntries([...names].map(([file, out]) => [file, path.join(folder, `${out}.mjs`)]));
}

if (import.meta.filename === process.argv[1]) {
  const [folder = "", ...files] = process.argv.slice(2);
  console.log(JSON.stringify(await bundleTests(folder, files)));
}
