/** The prover in its worker, with proving files that are fetched once. Whoever serves or caches them, their hashes decide. */
import {
  ClientError,
  createProver,
  fetchArtefacts,
  type ArtefactSource,
  type Prover,
} from "../../shared/client/index.ts";
import type { Config } from "./config.ts";

const CACHE = "cloister-proving-files";

export function openProver({ artefacts, manifest }: Config): Prover {
  const address = new URL(artefacts, location.href).href;
  const prover = createProver({ source: keptFiles(address), manifest, worker: "/assets/prover.js" });
  return {
    ...prover,
    // What was damaged in the browser's cache is fetched anew, once.
    prepare: (kind, options) => again(() => prover.prepare(kind, options)),
    prove: (statement, witness, options) => again(() => prover.prove(statement, witness, options)),
  };
}

async function again<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof ClientError) || error.code !== "ARTEFACT_MISMATCH") throw error;
    if (!(await caches.delete(CACHE))) throw error;
    return work();
  }
}

function keptFiles(address: string): ArtefactSource {
  return fetchArtefacts(address, async (input, init) => {
    const url = input instanceof Request ? input.url : String(input);
    const cache = await caches.open(CACHE);
    const kept = await cache.match(url);
    if (kept !== undefined) return kept;
    // Those of another version.
    for (const old of await cache.keys()) if (!old.url.startsWith(address)) await cache.delete(old);
    const response = await fetch(url, init);
    if (response.ok) await cache.put(url, response.clone());
    return response;
  });
}
