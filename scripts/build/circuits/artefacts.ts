// Where the committed artefacts of the circuits lie, and the manifest that pins each of them by hash.
// What a manifest says is checked against the bytes every time they are read.

import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { brotliCompressSync, brotliDecompressSync, constants } from "node:zlib";
import { KIND_NAMES, type Kind } from "../../../shared/protocol/statements.ts";
import { parseVerificationKey, type VerificationKey } from "../../../shared/protocol/verification-key.ts";
import { repositoryRoot, sha256Hex, type CircuitName, type CompiledCircuit } from "./compile.ts";

export const keysFolder = path.join(repositoryRoot, "shared", "circuits", "keys", "development");
export const verificationKeysFolder = path.join(repositoryRoot, "shared", "protocol", "verification-keys");
export const manifestPath = path.join(keysFolder, "manifest.json");

export interface FilePin {
  /** Of the bytes before compression. */
  readonly sha256: string;
  readonly bytes: number;
  readonly compressedBytes: number;
}

export interface CircuitEntry {
  readonly constraints: number;
  readonly wires: number;
  readonly publicSignals: number;
  readonly r1cs: { readonly sha256: string };
  readonly wasm: FilePin;
  /** Absent while the circuit is newer than its keys: then nothing can be proven. */
  readonly zkey?: FilePin;
  readonly verificationKey?: { readonly sha256: string };
  readonly contributions?: number;
}

export interface Manifest {
  readonly purpose: "development only";
  readonly warning: string;
  readonly curve: "bn128";
  readonly protocol: "groth16";
  readonly compiler: { readonly circom2: string; readonly circomlib: string; readonly optimisation: "O2" };
  readonly setup?: {
    readonly snarkjs: string;
    readonly ptau: { readonly file: string; readonly sha256: string };
    readonly beacon: { readonly hex: string; readonly iterationsExponent: number };
  };
  readonly circuits: Readonly<Partial<Record<CircuitName, CircuitEntry>>>;
}

export async function emptyManifest(): Promise<Manifest> {
  return {
    purpose: "development only",
    warning:
      "One party made these keys on one machine: who kept its randomness can forge any statement. Never use them with money.",
    curve: "bn128",
    protocol: "groth16",
    compiler: {
      circom2: await packageVersion("circom2"),
      circomlib: await packageVersion("circomlib"),
      optimisation: "O2",
    },
    circuits: {},
  };
}

export async function readManifest(): Promise<Manifest | undefined> {
  try {
    return JSON.parse(await readFile(manifestPath, "utf8")) as Manifest;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

export async function writeManifest(manifest: Manifest): Promise<void> {
  await writeFile(manifestPath, `${JSON.stringify(manifest, null, 2)}\n`);
}

/** The part of an entry that the compiler decides. */
export function compiledPart(compiled: CompiledCircuit, wasm: FilePin): CircuitEntry {
  return {
    constraints: compiled.counts.constraints,
    wires: compiled.counts.wires,
    publicSignals: compiled.counts.publicInputs,
    r1cs: { sha256: compiled.r1csSha256 },
    wasm,
  };
}

/** Compresses as tightly as every browser can still open (window of 16 MB) and says what it pinned. */
export async function writeCompressed(
  fileName: string,
  bytes: Uint8Array,
  folder = keysFolder,
): Promise<FilePin> {
  const packed = brotliCompressSync(bytes, {
    params: {
      [constants.BROTLI_PARAM_QUALITY]: 11,
      [constants.BROTLI_PARAM_LGWIN]: 24,
      [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
    },
  });
  await writeFile(path.join(folder, fileName), packed);
  return { sha256: sha256Hex(bytes), bytes: bytes.length, compressedBytes: packed.length };
}

/** Reads a committed artefact; throws when its bytes are not the pinned ones. */
export async function readCompressed(fileName: string, pin: FilePin): Promise<Buffer> {
  const bytes = brotliDecompressSync(await readFile(path.join(keysFolder, fileName)));
  if (sha256Hex(bytes) !== pin.sha256) throw new Error(`${fileName} is not the file its manifest pins`);
  return bytes;
}

/** A folder's `<kind>.json` of every kind: the JSON that snarkjs writes. */
export async function readKeyFiles(folder = verificationKeysFolder): Promise<Record<Kind, unknown>> {
  const read = async (kind: Kind): Promise<[Kind, unknown]> => [
    kind,
    JSON.parse(await readFile(path.join(folder, `${kind}.json`), "utf8")),
  ];
  return Object.fromEntries(await Promise.all(KIND_NAMES.map(read))) as Record<Kind, unknown>;
}

/** The same, read as verification keys. */
export async function readKeys(folder = verificationKeysFolder): Promise<Record<Kind, VerificationKey>> {
  const files = await readKeyFiles(folder);
  const keys = KIND_NAMES.map((kind) => [kind, parseVerificationKey(files[kind])] as const);
  return Object.fromEntries(keys) as Record<Kind, VerificationKey>;
}

export async function packageVersion(name: string): Promise<string> {
  const text = await readFile(path.join(repositoryRoot, "node_modules", name, "package.json"), "utf8");
  return (JSON.parse(text) as { version: string }).version;
}
