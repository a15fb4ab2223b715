/** Proving artefacts from this repository's own files. The prover compares them with the manifest's hashes. */
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";
import { brotliDecompress } from "node:zlib";
import type { ArtefactManifest, ArtefactSource } from "../prover.ts";

const DEVELOPMENT = new URL("../../circuits/keys/development/", import.meta.url);

const open = promisify(brotliDecompress);

/** From `{kind}.zkey.br` and `{kind}.wasm.br` in a folder, given as a URL that ends with a slash. */
export function folderArtefacts(folder: URL = DEVELOPMENT): ArtefactSource {
  const file = async (name: string): Promise<Uint8Array> =>
    new Uint8Array(await open(await readFile(new URL(`${name}.br`, folder))));
  return async (kind) => {
    const [zkey, wasm] = await Promise.all([file(`${kind}.zkey`), file(`${kind}.wasm`)]);
    return { zkey, wasm };
  };
}

/** DEVELOPMENT ONLY unless another folder is given: see the README beside those keys. */
export async function readManifest(folder: URL = DEVELOPMENT): Promise<ArtefactManifest> {
  return JSON.parse(await readFile(new URL("manifest.json", folder), "utf8")) as ArtefactManifest;
}
