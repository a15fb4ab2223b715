// The coordinator's last step: verifies everything once more and writes what the project ships: proving keys,
// witness programs, verification keys, a manifest with purpose "ceremony", and the transcript.

import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { brotliCompressSync, constants } from "node:zlib";
import { zKey } from "snarkjs";
import { parseVerificationKey, verificationKeyHash } from "../../../shared/protocol/verification-key.ts";
import type { FilePin } from "../../build/circuits/artefacts.ts";
import { sha256Hex } from "../../build/circuits/compile.ts";
import { circuitsOf, exists, keyFile, newestLink, wasmFile, type Ceremony, type Say } from "./folder.ts";
import { announcementOf, CeremonyError, MINIMUM_PARTIES, type Transcript } from "./transcript.ts";
import { verifyCeremony } from "./verify.ts";

export interface FinishOptions {
  readonly folder: string;
  /** Made here; must not exist. */
  readonly out: string;
  readonly trustPowersOfTau?: boolean;
  readonly say: Say;
}

export interface CeremonyManifest {
  readonly purpose: "ceremony";
  readonly curve: "bn128";
  readonly protocol: "groth16";
  readonly compiler: { readonly circom2: string; readonly circomlib: string };
  readonly setup: {
    readonly snarkjs: string;
    readonly ptau: { readonly file: string; readonly sha256: string };
    readonly beacon: { readonly source: string; readonly hex: string; readonly iterationsExponent: number };
    readonly parties: readonly string[];
    readonly transcript: { readonly sha256: string };
  };
  readonly circuits: Readonly<
    Record<
      string,
      {
        readonly r1cs: { readonly sha256: string };
        readonly wasm: FilePin;
        readonly zkey: FilePin;
        /** `keyHash` is what pool and enclave pin: verifyingKeyHash of the protocol's specification. */
        readonly verificationKey: { readonly sha256: string; readonly keyHash: string };
        /** Without the beacon. */
        readonly contributions: number;
      }
    >
  >;
}

export async function finishCeremony(options: FinishOptions): Promise<CeremonyManifest> {
  const { folder, out, say } = options;
  if (await exists(out)) throw new CeremonyError("ORDER_OF_STEPS", `${out} exists already`);
  const ceremony = await verifyCeremony({ ...options, folder });
  const { setup, parties } = setupOf(ceremony.transcript);

  const transcript = `${JSON.stringify(ceremony.transcript, null, 2)}\n`;
  const partial = `${out}.partial`;
  await rm(partial, { recursive: true, force: true });
  await mkdir(path.join(partial, "verification-keys"), { recursive: true });
  await writeFile(path.join(partial, "transcript.json"), transcript);

  const circuits: Record<string, CeremonyManifest["circuits"][string]> = {};
  for (const circuit of circuitsOf(ceremony)) {
    say(`${circuit}: exporting and compressing`);
    const key = keyFile(ceremony, newestLink(ceremony), circuit);
    const json = await zKey.exportVerificationKey(key);
    const text = `${JSON.stringify(json, null, 1)}\n`;
    await writeFile(path.join(partial, "verification-keys", `${circuit}.json`), text);
    circuits[circuit] = {
      r1cs: { sha256: ceremony.transcript.opening.circuits[circuit]?.r1cs ?? "" },
      wasm: await pack(path.join(partial, `${circuit}.wasm.br`), await readFile(wasmFile(ceremony, circuit))),
      zkey: await pack(path.join(partial, `${circuit}.zkey.br`), await readFile(key)),
      verificationKey: {
        sha256: sha256Hex(Buffer.from(text)),
        keyHash: verificationKeyHash(parseVerificationKey(json)),
      },
      contributions: parties,
    };
  }
  const manifest: CeremonyManifest = {
    purpose: "ceremony",
    curve: "bn128",
    protocol: "groth16",
    compiler: toolsOf(ceremony),
    setup: { ...setup, transcript: { sha256: sha256Hex(Buffer.from(transcript)) } },
    circuits,
  };
  await writeFile(path.join(partial, "manifest.json"), `${JSON.stringify(manifest, null, 2)}\n`);
  await rename(partial, out);
  return manifest;
}

/** Throws unless enough parties took part and the beacon is applied. */
function setupOf({ opening, entries }: Transcript): {
  readonly setup: Omit<CeremonyManifest["setup"], "transcript">;
  readonly parties: number;
} {
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
    setup: {
      snarkjs: opening.tools.snarkjs,
      ptau: { file, sha256 },
      beacon: { source, hex: beacon.value, iterationsExponent },
      parties,
    },
    parties: parties.length,
  };
}

function toolsOf({ transcript }: Ceremony): CeremonyManifest["compiler"] {
  const { circom2, circomlib } = transcript.opening.tools;
  return { circom2, circomlib };
}

/** The same compression as for development keys: as tight as every browser can still open. */
async function pack(file: string, bytes: Uint8Array): Promise<FilePin> {
  const packed = brotliCompressSync(bytes, {
    params: {
      [constants.BROTLI_PARAM_QUALITY]: 11,
      [constants.BROTLI_PARAM_LGWIN]: 24,
      [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
    },
  });
  await writeFile(file, packed);
  return { sha256: sha256Hex(bytes), bytes: bytes.length, compressedBytes: packed.length };
}
