// The coordinator's first step: pins circuits, tools and powers of tau, and makes key number 0 of every
// circuit. It adds no randomness, so everybody can repeat it and must get the same bytes.

import { copyFile, mkdir, rename, writeFile } from "node:fs/promises";
import path from "node:path";
import { zKey } from "snarkjs";
import { packageVersion } from "../build/circuits/artefacts.ts";
import { mustNotBeFalse, progress } from "../build/circuits/ceremony.ts";
import { sha256Hex } from "../build/circuits/compile.ts";
import {
  exists,
  hashFile,
  keyFile,
  OPENING,
  ptauFile,
  r1csFile,
  timestamp,
  wasmFile,
  writeTranscript,
  type Ceremony,
  type StepOptions,
} from "./folder.ts";
import { checkPowersOfTau } from "./verify.ts";
import type { Sources } from "./sources.ts";
import { CeremonyError, parseTranscript, type Opening, type Transcript } from "./transcript.ts";

export interface InitOptions extends StepOptions {
  /** Prepared for phase 2. */
  readonly ptau: string;
  /** What the powers of tau's own publishers say. */
  readonly ptauSha256?: string | undefined;
  readonly sources: Sources;
}

export async function initCeremony(options: InitOptions): Promise<Ceremony> {
  const { folder, say } = options;
  if (await exists(path.join(folder, "transcript.json")))
    throw new CeremonyError("ORDER_OF_STEPS", `${folder} holds a ceremony already`);
  await mkdir(path.join(folder, "circuits"), { recursive: true });
  await mkdir(path.join(folder, OPENING), { recursive: true });

  const ptauHash = await hashFile(options.ptau);
  say(`powers of tau: SHA-256 ${ptauHash}`);
  if (options.ptauSha256 !== undefined && options.ptauSha256 !== ptauHash)
    throw new CeremonyError("FILE_REPLACED", "the powers of tau do not have the SHA-256 that was given");
  await checkPowersOfTau(options.ptau, say);
  await copyFile(options.ptau, `${ptauFile(options)}.partial`);
  await rename(`${ptauFile(options)}.partial`, ptauFile(options));

  const circuits: Opening["circuits"] = {};
  for (const { name, r1cs, wasm } of options.sources.circuits) {
    await writeFile(r1csFile(options, name), r1cs);
    await writeFile(wasmFile(options, name), wasm);
    const file = keyFile(options, OPENING, name);
    say(`${name}: making key number 0`);
    await mustNotBeFalse(
      `key number 0 of ${name}`,
      zKey.newZKey(r1csFile(options, name), ptauFile(options), file, progress(name)),
    );
    circuits[name] = { r1cs: sha256Hex(r1cs), wasm: sha256Hex(wasm), key: await hashFile(file) };
  }
  const transcript: Transcript = {
    opening: {
      format: "cloister ceremony 1",
      startedAt: timestamp(options.now),
      sources: { ...options.sources.files },
      tools: {
        snarkjs: await packageVersion("snarkjs"),
        circom2: await packageVersion("circom2"),
        circomlib: await packageVersion("circomlib"),
        node: process.version,
      },
      ptau: { file: path.basename(options.ptau), sha256: ptauHash, verifiedBySnarkjs: true },
      circuits,
    },
    entries: [],
  };
  // Last: without this file the folder is no ceremony, and a repeated step starts again.
  await writeTranscript(folder, parseTranscript(JSON.stringify(transcript)));
  return { folder, transcript };
}
