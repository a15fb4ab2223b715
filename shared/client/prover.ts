/**
 * Makes Groth16 proofs on this device. Proving keys and witness programs may come from anywhere: each is
 * compared with the hash this client was built with before it is used, since a foreign witness program
 * sees the spending key.
 */
import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex } from "@noble/hashes/utils.js";
import * as snarkjs from "snarkjs";
import type { Info } from "../api/service.ts";
import type { SnarkjsProof } from "../protocol/host/proofs.ts";
import { KIND_NAMES, type Kind, type Statement } from "../protocol/statements.ts";
import { ClientError } from "./errors.ts";
import { releaseProvingCurve } from "./groth16/engine.ts";
import { proveGroth16, publicSignalsOf, readProvingKey, readWitness, type ProvingKey } from "./groth16.ts";
import type { Witness } from "./statements.ts";

export interface Artefacts {
  /** Proving key. */
  readonly zkey: Uint8Array;
  /** Witness program. */
  readonly wasm: Uint8Array;
}

interface Loaded {
  readonly key: ProvingKey;
  readonly wasm: Uint8Array;
  /**
   * Never called. snarkjs compiles the witness program for every proof; while a module of the same bytes is
   * alive, V8 (Chrome, Node) takes its machine code instead. Elsewhere this only costs the compilation.
   */
  readonly compiled: WebAssembly.Module | undefined;
}

export type ArtefactSource = (kind: Kind) => Promise<Artefacts>;

/** SHA-256 (hex) of the uncompressed files, in the form of `shared/circuits/keys/…/manifest.json`. */
export interface ArtefactManifest {
  readonly circuits: Readonly<
    Record<string, { readonly zkey: { readonly sha256: string }; readonly wasm: { readonly sha256: string } }>
  >;
}

export interface ProverOptions {
  readonly source: ArtefactSource;
  readonly manifest: ArtefactManifest;
  /** Everything in the calling thread. Slower; for environments without workers. */
  readonly singleThread?: boolean;
}

export interface ProvingProgress {
  readonly phase: "download" | "load" | "prove";
  /** Of this phase, from 0 to 1. */
  readonly fraction: number;
}

export interface ProveOptions {
  /** Ends the proving at once. The prover can be used afterwards. */
  readonly signal?: AbortSignal | undefined;
  /** Download and load are said only where they are still to do, or under way for somebody else. */
  readonly progress?: ((at: ProvingProgress) => void) | undefined;
}

export interface Prover {
  /** Loads and checks what a kind needs, so that the first payment does not wait for it. */
  prepare(kind: Kind): Promise<void>;
  /** Throws ARTEFACT_MISMATCH or PROOF_FAILED. */
  prove(statement: Statement, witness: Witness, options?: ProveOptions): Promise<SnarkjsProof>;
  /** Throws ARTEFACT_MISMATCH when the service verifies by other keys than this prover proves with. */
  checkInfo(info: Info): void;
  /** Stops the worker threads; a Node process ends only after this. */
  close(): Promise<void>;
}

export function createProver({ source, manifest, singleThread = false }: ProverOptions): Prover {
  // Once for each kind that was ever used.
  const loaded = new Map<Kind, Promise<Loaded>>();

  function artefacts(kind: Kind): Promise<Loaded> {
    const known = loaded.get(kind);
    if (known !== undefined) return known;
    const loading = load(kind);
    loaded.set(kind, loading);
    // A failed download is tried again by the next proof.
    loading.catch(() => loaded.delete(kind));
    return loading;
  }

  async function load(kind: Kind): Promise<Loaded> {
    const expected = manifest.circuits[kind];
    if (expected === undefined)
      throw new ClientError("ARTEFACT_MISMATCH", `the manifest does not list ${kind}`);
    const files = await source(kind);
    for (const part of ["zkey", "wasm"] as const) {
      if (bytesToHex(sha256(files[part])) !== expected[part].sha256) {
        throw new ClientError("ARTEFACT_MISMATCH", `${kind}.${part}`);
      }
    }
    return {
      key: readProvingKey(files.zkey),
      wasm: files.wasm,
      // A program that does not compile is the proof's fault to report.
      compiled: await WebAssembly.compile(files.wasm.slice()).catch(() => undefined),
    };
  }

  return {
    async prepare(kind) {
      await artefacts(kind);
    },
    async prove(statement, witness) {
      const { key, wasm } = await artefacts(statement.kind);
      const wires = await witnessOf(witness, wasm);
      // What was proved must be what will be said: a difference would only be found out as PROOF_INVALID.
      const proved = publicSignalsOf(key, wires);
      const same =
        proved.length === statement.signals.length &&
        proved.every((signal, at) => signal === statement.signals[at]);
      if (!same) throw new ClientError("PROOF_FAILED", "the proof speaks about another statement");
      try {
        return await proveGroth16(key, wires, singleThread);
      } catch {
        throw new ClientError("PROOF_FAILED", "the prover ended without a proof");
      }
    },
    checkInfo(info) {
      for (const { kind, artefacts: hashes } of info.circuits) {
        const expected = manifest.circuits[kind];
        if (expected === undefined || !(KIND_NAMES as readonly string[]).includes(kind)) continue;
        const differs = hashes.zkey_sha256.replace(/^0x/, "") !== expected.zkey.sha256;
        if (differs) throw new ClientError("ARTEFACT_MISMATCH", `the service uses another ${kind} key`);
      }
    },
    close: releaseProvingCurve,
  };
}

/**
 * In pages of 64 kB. Programs of circom 2 bring their own memory; without this, circom_runtime 0.1 reserves 2 GB
 * beside it that nobody uses, and a phone may refuse.
 */
const WITNESS_OPTIONS = { memorySize: 1 };

async function witnessOf(input: Witness, wasm: Uint8Array): Promise<Uint8Array> {
  const file: { type: "mem"; data?: Uint8Array } = { type: "mem" };
  try {
    await snarkjs.wtns.calculate({ ...input }, wasm, file, WITNESS_OPTIONS);
  } catch {
    // snarkjs's own error is not passed on: it is made while it holds the witness, and errors end up in logs.
    throw new ClientError("PROOF_FAILED", "the witness does not satisfy the circuit");
  }
  return readWitness(file.data as Uint8Array);
}

/**
 * Artefacts by fetch from `{baseUrl}/{kind}.zkey` and `.wasm`, each kind when it is first needed: the key of
 * `spend9` is four times as large as that of `spend`. The address may be anyone's: hashes decide.
 */
export function fetchArtefacts(
  baseUrl: string,
  send: typeof fetch = (input, init) => fetch(input, init),
): ArtefactSource {
  async function file(name: string): Promise<Uint8Array> {
    let response: Response;
    let bytes: ArrayBuffer;
    try {
      response = await send(`${baseUrl.replace(/\/+$/, "")}/${name}`, { credentials: "omit" });
      bytes = await response.arrayBuffer();
    } catch (cause) {
      throw new ClientError("NETWORK", undefined, { cause });
    }
    if (!response.ok) throw new ClientError("UNEXPECTED_ANSWER", `status ${response.status} for ${name}`);
    return new Uint8Array(bytes);
  }
  return async (kind) => {
    const [zkey, wasm] = await Promise.all([file(`${kind}.zkey`), file(`${kind}.wasm`)]);
    return { zkey, wasm };
  };
}
