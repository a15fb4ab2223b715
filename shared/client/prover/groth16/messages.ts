/** What page, proving worker and its threads say to each other. All three run the code of one application. */
import type { SnarkjsProof } from "../../../protocol/host/proofs.ts";
import type { OpenedOutput, ScanKeys } from "../scan.ts";
import type { ClientErrorCode } from "../../base/errors.ts";

/**
 * Of these messages and of the code behind them. A worker's file that was copied to a server of files may be
 * older than the page; it is refused, since it would prove something else or nothing.
 */
export const WORKER_FORM = 3;

/** The first message to a worker: which of its parts it plays. */
export type Beginning =
  | { readonly part: "prover"; readonly form: number; readonly threads: number }
  | { readonly part: "thread"; readonly form: number; readonly program: WebAssembly.Module }
  | ({ readonly part: "scanner"; readonly form: number } & ScanKeys);

/** Its answer; nothing else is said before it. */
export type Ready =
  | { readonly type: "ready"; readonly form: number }
  | { readonly type: "unable"; readonly code: ClientErrorCode; readonly detail: string };

// ---------------------------------------------------------------- page and scanner

/** One at a time. Its bytes go over and come back, so that a long history takes the memory of one chunk in a worker. */
export interface ScanRequest {
  readonly chunk: Uint8Array<ArrayBuffer>;
}

export interface ScanAnswer {
  /** Undefined where the bytes are no chunk, or the scan failed. */
  readonly opened: readonly OpenedOutput[] | undefined;
  /** As it was sent. */
  readonly chunk: Uint8Array<ArrayBuffer>;
}

// ---------------------------------------------------------------- page and proving worker

export interface LoadRequest {
  readonly type: "load";
  readonly id: number;
  readonly kind: string;
  readonly files: { readonly zkey: Uint8Array; readonly wasm: Uint8Array };
  /** SHA-256, hex. */
  readonly expected: { readonly zkey: string; readonly wasm: string };
}

export interface ProveRequest {
  readonly type: "prove";
  readonly id: number;
  readonly kind: string;
  readonly signals: readonly bigint[];
  readonly witness: Readonly<Record<string, unknown>>;
}

export type Request = LoadRequest | ProveRequest | { readonly type: "abort"; readonly id: number };

export type Answer =
  | { readonly type: "progress"; readonly id: number; readonly fraction: number }
  | { readonly type: "done"; readonly id: number; readonly proof?: SnarkjsProof }
  | { readonly type: "failed"; readonly id: number; readonly code: ClientErrorCode; readonly detail: string };
