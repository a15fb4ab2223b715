// The coordinator's last step: verifies everything once more and writes what the project ships: proving keys,
// witness programs, verification keys, a manifest with purpose "ceremony", and the transcript.

import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { zKey } from "snarkjs";
import { parseVerificationKey, verificationKeyHash } from "../../shared/protocol/verification-key.ts";
import { writeCompressed } from "../build/circuits/artefacts.ts";
import { sha256Hex } from "../build/circuits/compile.ts";
import { circuitsOf, exists, keyFile, newestLink, wasmFile, type Ceremony } from "./folder.ts";
import { announcementOf, CeremonyError, MINIMUM_PARTIES, type Transcript } from "./transcript.ts";
import { verifyCeremony, type VerifyOptions } from "./verify.ts";

export interface FinishOptions extends Pick<VerifyOptions, "folder" | "trustPowersOfTau" | "say"> {
  /** Made here; must not exist. */
  readonly out: string;
}

export async function finishCeremony(options: FinishOptions) {
  const { out, say } = options;
  if (await exists(out)) throw new CeremonyError("ORDER_OF_STEPS", `${out} exists already`);
  const ceremony = await verifyCeremony(options);
  const { tools } = ceremony.transcript.opening;
  const setup = setupOf(ceremony.transcript);

  const transcript = `${JSON.stringify(ceremony.transcript, null, 2)}\n`;
  const partial = `${out}.partial`;
  await rm(partial, { recursive: true, force: true });
  await mkdir(path.join(partial, "verification-keys"), { recursive: true });
  await writeFile(path.join(partial, "transcript.json"), transcript);

  const circuits: Record<string, Awaited<ReturnType<typeof exportCircuit>>> = {};
  for (const circuit of circuitsOf(ceremony)) {
    say(`${circuit}: exporting and compressing`);
    circuits[circuit] = await exportCircuit(ceremony, circuit, partial, setup.parties.length);
  }
  const manifest = {
    purpose: "ceremony",
    curve: "bn128",
    protocol: "groth16",
    compiler: { circom2: tools.circom2, circomlib: tools.circomlib },
    setup: { ...setup, transcript: { sha256: sha256Hex(Buffer.from(transcript)) } },
    circuits,
  };
  await writeFile(path.join(partial, "manifest.json"), `${JSON.stringify(manifest, null, 2)}\n`);
  await rename(partial, out);
  return manifest;
}

async function exportCircuit(ceremony: Ceremony, circuit: string, to: string, parties: number) {
  const key = keyFile(ceremony, newestLink(ceremony), circuit);
  const json = await zKey.exportVerificationKey(key);
  const text = `${JSON.stringify(json, null, 1)}\n`;
  await writeFile(path.join(to, "verification-keys", `${circuit}.json`), text);
  return {
    r1cs: { sha256: ceremony.transcript.opening.circuits[circuit]?.r1cs ?? "" },
    wasm: await writeCompressed(`${circuit}.wasm.br`, await readFile(wasmFile(ceremony, circuit)), to),
    zkey: await writeCompressed(`${circuit}.zkey.br`, await readFile(key), to),
    verificationKey: {
      sha256: sha256Hex(Buffer.from(text)),
      /** What pool and enclave pin: verifyingKeyHash of the protocol's specification. */
      keyHash: verificationKeyHash(parseVerificationKey(json)),
    },
    /** Without the beacon. */
    contributions: parties,
  };
}

/** Throws unless enough parties took part and the beacon is applied. */
function setupOf({ opening, entries }: Transcript) {
  const parties = entries.flatMap((entry) => (entry.type === "contribution" ? [entry.party] : []));
  if (parties.length < MINIMUM_PARTIES)
    throw new CeremonyError(
      "TOO_FEW_PARTIES",
      `${String(MINIMUM_PARTIES)} parties at least must contribute; there ${parties.length === 1 ? "is 1" : `are ${String(parties.length)}`}`,
    );
  const announced = announcementOf(entries);
  const beacon = entries.find((entry) => entry.type === "beacon");
  if (announced === undefined || beacon === undefined)
    throw new CeremonyError("ORDER_OF_STEPS", "the beacon is not applied yet");
  const { file, sha256 } = opening.ptau;
  const { source, iterationsExponent } = announced;
  return {
    snarkjs: opening.tools.snarkjs,
    ptau: { file, sha256 },
    beacon: { source, hex: beacon.value, iterationsExponent },
    parties,
  };
}
