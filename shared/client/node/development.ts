/** DEVELOPMENT ONLY: the proving keys in this repository, which one party made on one machine. Never for money, and not in the package. */
import { createProver, type Prover } from "../prover/prover.ts";
import { folderArtefacts, readManifest } from "./artefacts.ts";

export const DEVELOPMENT_KEYS = new URL("../../circuits/keys/development/", import.meta.url);

export async function developmentProver(options: { readonly threads?: number } = {}): Promise<Prover> {
  const source = folderArtefacts(DEVELOPMENT_KEYS);
  return createProver({ source, manifest: await readManifest(DEVELOPMENT_KEYS), ...options });
}
