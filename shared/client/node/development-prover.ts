/** DEVELOPMENT ONLY: a prover over the proving keys in this repository, which one party made on one machine. Never for money. */
import { createProver, type Prover } from "../prover.ts";
import { folderArtefacts, readManifest } from "./artefacts.ts";

export async function developmentProver(options: { readonly singleThread?: boolean } = {}): Promise<Prover> {
  return createProver({ source: folderArtefacts(), manifest: await readManifest(), ...options });
}
