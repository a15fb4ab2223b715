/** Proving artefacts from files. The prover compares them with the manifest's hashes. */
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";
import { brotliDecompress } from "node:zlib";
import type { ArtefactManifest, ArtefactSource } from "../prover/artefacts.ts";

const open = promisify(brotliDecompress);

/** From `{kind}.zkey.br` and `{kind}.wasm.br` in a folder, given as a URL that ends with a slash. */
export function folderArtefacts(folder: URL): ArtefactSource {
  return async (kind, { signal, progress } = {}) => {
    const entry = (await readManifest(folder)).circuits[kind];
    const file = async (part: "zkey" | "wasm"): Promise<Uint8Array> => {
      const bytes = entry?.[part].bytes;
      const packed = await readFile(new URL(`${kind}.${part}.br`, folder), { signal });
      // Into one piece of the right size: pieces put together would be a second copy of a key of 68 MB.
      const whole = await open(packed, bytes === undefined ? {} : { chunkSize: bytes + 64 });
      return new Uint8Array(whole.buffer, whole.byteOffset, whole.byteLength);
    };
    const wasm = await file("wasm");
    signal?.throwIfAborted();
    const [have = 0, missing = 0] = [entry?.wasm.bytes, entry?.zkey.bytes];
    if (missing > 0) progress?.(have / (have + missing));
    return { wasm, zkey: await file("zkey") };
  };
}

/** Of a folder that an application trusts as its own code: the manifest decides which proving files are used. */
export async function readManifest(folder: URL): Promise<ArtefactManifest> {
  return JSON.parse(await readFile(new URL("manifest.json", folder), "utf8")) as ArtefactManifest;
}
