/**
 * The proving worker: hashes and reads keys, runs witness programs, and makes proofs one after the other with
 * threads of its own. All of this would stop a page for as long as it takes.
 */
import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex } from "@noble/hashes/utils.js";
import type { Bn128 } from "ffjavascript";
import type { SnarkjsProof } from "../../../protocol/host/proofs.ts";
import { Fault } from "./fault.ts";
import { proveGroth16, publicSignalsOf, readProvingKey, readWitness, type ProvingKey } from "./prove.ts";
import { programOf, provingCurve, useThreads } from "./engine.ts";
import type { Answer, LoadRequest, ProveRequest, Request } from "./messages.ts";
import { ThreadPool } from "./pool.ts";
import type { Parent, WorkerFile } from "./threads.ts";
import { witnessFile } from "./witness.ts";

interface Loaded {
  readonly key: ProvingKey;
  readonly wasm: Uint8Array;
  /**
   * Never called. circom_runtime compiles the witness program for every proof; while a module of the same bytes is
   * alive, V8 (Chrome, Node) takes its machine code instead. Elsewhere this only costs the compilation.
   */
  readonly compiled: WebAssembly.Module;
}

/** Hashed between two reports. */
const PIECE = 4 << 20;
/** Of a proof's time: what the witness takes. The rest is proveGroth16's. */
const WITNESS_SHARE = 0.15;

/** Why a pool ended: its proof is not wanted any more. */
const ABORTED = new Fault("PROOF_FAILED", "aborted");

export class ProofServer {
  readonly #parent: Parent;
  readonly #file: WorkerFile;
  readonly #threads: number;
  readonly #loaded = new Map<string, Loaded>();
  /** Proofs that wait or are made. */
  readonly #wanted = new Set<number>();
  #turn: Promise<unknown> = Promise.resolve();
  #making: number | undefined;
  #curve: Promise<Bn128> | undefined;
  #pool: ThreadPool | undefined;

  constructor(parent: Parent, file: WorkerFile, threads: number) {
    this.#parent = parent;
    this.#file = file;
    this.#threads = threads;
  }

  async answer(request: Request): Promise<void> {
    if (request.type === "abort") {
      this.#abort(request.id);
      return;
    }
    const { id } = request;
    try {
      if (request.type === "load") {
        await this.#load(request);
        this.#say({ type: "done", id });
      } else {
        this.#wanted.add(id);
        const proof = await this.#inTurn(() => this.#prove(request));
        this.#say({ type: "done", id, proof });
      }
    } catch (error) {
      const { code, detail } =
        error instanceof Fault
          ? { code: error.code, detail: error.message }
          : { code: "PROOF_FAILED" as const, detail: "the prover ended without a proof" };
      this.#say({ type: "failed", id, code, detail });
    } finally {
      this.#wanted.delete(id);
    }
  }

  #say(answer: Answer): void {
    this.#parent.post(answer);
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#turn.then(work, work);
    this.#turn = turn.catch(() => undefined);
    return turn;
  }

  #abort(id: number): void {
    this.#wanted.delete(id);
    if (this.#making !== id) return;
    void this.#pool?.end(ABORTED);
    this.#pool = undefined;
  }

  async #load({ id, kind, files, expected }: LoadRequest): Promise<void> {
    const total = files.zkey.length + files.wasm.length;
    let hashed = 0;
    for (const part of ["zkey", "wasm"] as const) {
      const hash = sha256.create();
      for (let at = 0; at < files[part].length; at += PIECE) {
        const piece = files[part].subarray(at, at + PIECE);
        hash.update(piece);
        hashed += piece.length;
        this.#say({ type: "progress", id, fraction: hashed / total });
      }
      if (bytesToHex(hash.digest()) !== expected[part])
        throw new Fault("ARTEFACT_MISMATCH", `${kind}.${part}`);
    }
    this.#loaded.set(kind, {
      key: readProvingKey(files.zkey),
      wasm: files.wasm,
      compiled: await WebAssembly.compile(files.wasm.slice()),
    });
  }

  async #prove({ id, kind, signals, witness }: ProveRequest): Promise<SnarkjsProof> {
    this.#requireWanted(id);
    const loaded = this.#loaded.get(kind);
    if (loaded === undefined) throw new Error("proved before it was loaded");
    const report = (fraction: number): void => this.#say({ type: "progress", id, fraction });
    report(0);
    const wires = await witnessOf(witness, loaded.wasm);
    report(WITNESS_SHARE);
    // What was proved must be what will be said: a difference would only be found out as PROOF_INVALID.
    const proved = publicSignalsOf(loaded.key, wires);
    const same = proved.length === signals.length && proved.every((signal, at) => signal === signals[at]);
    if (!same) throw new Fault("PROOF_FAILED", "the proof speaks about another statement");
    this.#making = id;
    try {
      const curve = await this.#ready(id);
      return await proveGroth16(curve, loaded.key, wires, (fraction) =>
        report(WITNESS_SHARE + (1 - WITNESS_SHARE) * fraction),
      );
    } finally {
      this.#making = undefined;
    }
  }

  /** The curve with living threads. */
  async #ready(id: number): Promise<Bn128> {
    this.#curve ??= provingCurve();
    const curve = await this.#curve;
    if (this.#pool === undefined || this.#pool.isEnded) {
      const pool = await ThreadPool.start(this.#file, this.#threads, await programOf(curve));
      this.#pool = pool;
      useThreads(curve, this.#threads, () => pool);
    }
    this.#requireWanted(id);
    return curve;
  }

  #requireWanted(id: number): void {
    if (!this.#wanted.has(id)) throw ABORTED;
  }
}

async function witnessOf(witness: ProveRequest["witness"], program: Uint8Array): Promise<Uint8Array> {
  try {
    return readWitness(await witnessFile(witness, program));
  } catch {
    // circom_runtime's own error is not passed on: it is made while it holds the witness, and errors end up in logs.
    throw new Fault("PROOF_FAILED", "the witness does not satisfy the circuit");
  }
}
