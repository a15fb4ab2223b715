/**
 * Makes Groth16 proofs on this device, in a worker. Proving keys and witness programs may come from anywhere: each is
 * compared with the hash this client was built with before it is used, since a foreign witness program
 * sees the spending key. The worker's file is code of the application as this file is.
 */
import type { Info } from "../../api/service.ts";
import type { SnarkjsProof } from "../../protocol/host/proofs.ts";
import { KIND_NAMES, type Kind, type Statement } from "../../protocol/statements.ts";
import type { ArtefactManifest, ArtefactSource } from "./artefacts.ts";
import { ClientError } from "../base/errors.ts";
import { checkOptions, proverOptions, type Lists } from "../base/options.ts";
import { ProvingWorker } from "./proving-worker.ts";
import { SharedWork } from "../base/shared-work.ts";
import type { Witness } from "../statements/statements.ts";
import { workerFile } from "./worker-file.ts";

export interface ProverOptions {
  readonly source: ArtefactSource;
  readonly manifest: ArtefactManifest;
  /**
   * Where the application serves `cloister-client/worker`, for bundlers that do not follow
   * `new Worker(new URL("…", import.meta.url))`. Code of the application: it sees the spending key. Browsers want it
   * on the page's own origin.
   */
  readonly worker?: string | URL;
  /** How many threads prove. Default: one for each processor. */
  readonly threads?: number;
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
  prepare(kind: Kind, options?: ProveOptions): Promise<void>;
  /**
   * Throws ARTEFACT_MISMATCH, PROOF_FAILED, what the source throws, the signal's reason; and WORKER_FORBIDDEN,
   * WASM_FORBIDDEN, WORKER_UNAVAILABLE where this environment does not let it prove.
   */
  prove(
    statement: Pick<Statement, "kind" | "signals">,
    witness: Witness,
    options?: ProveOptions,
  ): Promise<SnarkjsProof>;
  /** Throws ARTEFACT_MISMATCH when the service verifies by other keys than this prover proves with. */
  checkInfo(info: Info): void;
  /** Stops the worker and its threads; a Node process ends only after this. */
  close(): Promise<void>;
}

/** Throws OPTIONS_INVALID. */
export function createProver(options: ProverOptions): Prover {
  checkOptions(proverOptions satisfies Lists<ProverOptions>, options, "createProver");
  const { source, manifest, worker: named, threads } = options;
  // Once for each kind that was ever used, until the worker ends.
  const loaded = new Map<Kind, SharedWork<ProvingProgress>>();
  const worker = new ProvingWorker(workerFile(named), threads, () => loaded.clear());

  async function load(kind: Kind, options: ProveOptions): Promise<void> {
    options.signal?.throwIfAborted();
    let loading = loaded.get(kind);
    if (loading === undefined || loading.isAbandoned) {
      const started = new SharedWork<ProvingProgress>((signal, progress) => loadInto(kind, signal, progress));
      loading = started;
      loaded.set(kind, started);
      // A failed or aborted download is tried again by the next proof.
      started.done.catch(() => {
        if (loaded.get(kind) === started) loaded.delete(kind);
      });
    }
    await loading.wait(options);
  }

  async function loadInto(
    kind: Kind,
    signal: AbortSignal,
    progress: (at: ProvingProgress) => void,
  ): Promise<void> {
    const expected = manifest.circuits[kind];
    if (expected === undefined)
      throw new ClientError("ARTEFACT_MISMATCH", `the manifest does not list ${kind}`);
    const [downloading, loading] = [during("download", progress), during("load", progress)];
    downloading(0);
    const { zkey, wasm } = await source(kind, { signal, expected, progress: downloading });
    signal.throwIfAborted();
    downloading(1);
    loading(0);
    const files = { zkey: whole(zkey), wasm: whole(wasm) };
    const hashes = { zkey: expected.zkey.sha256, wasm: expected.wasm.sha256 };
    const transfer = [files.zkey.buffer, files.wasm.buffer];
    await worker.ask(
      { type: "load", kind, files, expected: hashes },
      { signal, transfer, progress: loading },
    );
  }

  return {
    prepare: (kind, options = {}) => load(kind, options),
    async prove({ kind, signals }, witness, options = {}) {
      await load(kind, options);
      const proving = { signal: options.signal, progress: during("prove", options.progress) };
      return (await worker.ask({ type: "prove", kind, signals, witness }, proving)) as SnarkjsProof;
    },
    checkInfo(info) {
      for (const { kind, artefacts: hashes } of info.circuits) {
        const expected = manifest.circuits[kind];
        if (expected === undefined || !(KIND_NAMES as readonly string[]).includes(kind)) continue;
        const differs = hashes.zkey_sha256.replace(/^0x/, "") !== expected.zkey.sha256;
        if (differs) throw new ClientError("ARTEFACT_MISMATCH", `the service uses another ${kind} key`);
      }
    },
    close: () => worker.close(),
  };
}

/** Tells of one phase alone. */
function during(phase: ProvingProgress["phase"], progress: ProveOptions["progress"]) {
  return (fraction: number): void => progress?.({ phase, fraction });
}

/** Alone in its memory, so that the memory can be handed over without anything else. */
function whole(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const { buffer } = bytes;
  const isAlone = buffer instanceof ArrayBuffer && buffer.byteLength === bytes.length;
  return isAlone ? new Uint8Array(buffer) : new Uint8Array(bytes);
}
