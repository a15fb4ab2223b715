/**
 * What `/info` says of the circuits, read once at start: signals from the protocol's table, hashes of the
 * verification keys that are in the tree, hashes of the proving artefacts from their manifest.
 */
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { z } from "zod";
import type { Info } from "../../../shared/api/service.ts";
import { KIND_NAMES, type Kind } from "../../../shared/protocol/statements.ts";
import { signalNames } from "../../../shared/protocol/host/statements.ts";
import {
  parseVerificationKey,
  verificationKeyHash,
  type VerificationKey,
} from "../../../shared/protocol/verification-key.ts";
import { benchmarkKeyAmong } from "../../base/chain/development-keys.ts";

export type Circuits = Info["circuits"];

const artefact = z.object({ sha256: z.string().regex(/^[0-9a-f]{64}$/) });
const manifestShape = z.object({
  purpose: z.string(),
  circuits: z.record(z.string(), z.object({ wasm: artefact, zkey: artefact, verificationKey: artefact })),
});

/** `keyFolder` holds `<kind>.json`. Throws on anything that does not fit together: it is the operator's to fix. */
export async function loadCircuits(
  manifestFile: string,
  keyFolder: URL,
  production: boolean,
): Promise<Circuits> {
  const manifest = manifestShape.parse(JSON.parse(await readFile(manifestFile, "utf8")));
  if (production && manifest.purpose.includes("development")) {
    throw new Error("the proving keys are marked development only: whoever made them can forge proofs");
  }
  const loaded = await Promise.all(KIND_NAMES.map((kind) => loadCircuit(kind, manifest, keyFolder)));
  const open = benchmarkKeyAmong(new Map(loaded.map(({ circuit, key }) => [circuit.kind, key])));
  if (production && open !== undefined)
    throw new Error(`the ${open} key is a benchmark key, under which everybody can forge proofs`);
  return loaded.map(({ circuit }) => circuit);
}

/** Hashes of the verification keys by kind. */
export function keyHashesOf(circuits: Circuits): ReadonlyMap<Kind, string> {
  const hashes = new Map<Kind, string>();
  for (const kind of KIND_NAMES) {
    const circuit = circuits.find((each) => each.kind === kind);
    if (circuit !== undefined) hashes.set(kind, circuit.verification_key_hash);
  }
  return hashes;
}

async function loadCircuit(
  kind: Kind,
  manifest: z.infer<typeof manifestShape>,
  keyFolder: URL,
): Promise<{ readonly circuit: Circuits[number]; readonly key: VerificationKey }> {
  const artefacts = manifest.circuits[kind];
  if (artefacts === undefined) throw new Error(`the manifest has no circuit ${kind}`);
  const keyText = await readFile(new URL(`${kind}.json`, keyFolder));
  if (createHash("sha256").update(keyText).digest("hex") !== artefacts.verificationKey.sha256) {
    throw new Error(`the verification key of ${kind} is not the one of the manifest`);
  }
  const key = parseVerificationKey(JSON.parse(keyText.toString("utf8")));
  const circuit = {
    kind,
    public_signals: signalNames(kind),
    verification_key_hash: verificationKeyHash(key),
    artefacts: { zkey_sha256: artefacts.zkey.sha256, wasm_sha256: artefacts.wasm.sha256 },
  };
  return { circuit, key };
}
