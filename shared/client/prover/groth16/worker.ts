/**
 * The file that workers run: the proving worker, the threads that it starts, and the scanners of a long history. It is bundled into one file
 * without imports (`npm run build`), so that an application can serve it from wherever its policy allows.
 */
import { HistoryChunk } from "../../../api/history-chunk.ts";
import { chunkScan, type ScanKeys } from "../scan.ts";
import { Fault } from "./fault.ts";
import {
  WORKER_FORM,
  type Beginning,
  type Ready,
  type Request,
  type ScanAnswer,
  type ScanRequest,
} from "./messages.ts";
import { ProofServer } from "./serving.ts";
import { taskRunner, type Task, type TaskAnswer } from "./tasks.ts";
import { nodeModule, parentOfThisThread, type WorkerFile } from "./threads.ts";

/** `import.meta` is of the bundle that an application's bundler may have made; a browser's worker knows better. */
const address = (): string => (nodeModule("node:worker_threads") ? import.meta.url : location.href);
const OWN_FILE: WorkerFile = {
  address: () => new URL(address()),
  startInBrowser: () => new Worker(address(), { type: "module" }),
};

/** The smallest module there is: a magic number and a version. */
const EMPTY_MODULE = Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0);

const parent = parentOfThisThread();

function ready(): void {
  parent.post({ type: "ready", form: WORKER_FORM } satisfies Ready);
}

async function beProver(threads: number): Promise<(message: unknown) => void> {
  try {
    await WebAssembly.compile(EMPTY_MODULE);
  } catch (cause) {
    // There is no fault in this module: somebody forbids all of them, usually the policy this file came with.
    throw new Fault("WASM_FORBIDDEN", address(), { cause });
  }
  const server = new ProofServer(parent, OWN_FILE, threads);
  ready();
  return (message) => void server.answer(message as Request);
}

async function beThread(program: WebAssembly.Module): Promise<(message: unknown) => void> {
  const run = await taskRunner(program);
  ready();
  return (message) => {
    let answer: TaskAnswer;
    try {
      answer = { out: run(message as Task) };
    } catch (error) {
      answer = { fault: String(error) };
    }
    parent.post(answer, "out" in answer ? answer.out.map(({ buffer }) => buffer as ArrayBuffer) : []);
  };
}

function beScanner(keys: ScanKeys): (message: unknown) => void {
  const scan = chunkScan(keys);
  ready();
  return (message) => {
    const { chunk: bytes } = message as ScanRequest;
    const chunk = HistoryChunk.read(bytes);
    const opening = chunk === undefined ? Promise.resolve(undefined) : scan(chunk);
    void opening
      .catch(() => undefined)
      .then((opened) => parent.post({ opened, chunk: bytes } satisfies ScanAnswer, [bytes.buffer]));
  };
}

async function begin(beginning: Beginning): Promise<(message: unknown) => void> {
  switch (beginning.part) {
    case "prover":
      return beProver(beginning.threads);
    case "thread":
      return beThread(beginning.program);
    case "scanner":
      return beScanner(beginning);
  }
}

let serve: ((message: unknown) => void) | undefined;
parent.listen((message) => {
  if (serve !== undefined) {
    serve(message);
    return;
  }
  const beginning = message as Beginning;
  if (beginning.form !== WORKER_FORM) {
    ready();
    return;
  }
  begin(beginning).then(
    (listener) => (serve = listener),
    (error: unknown) => {
      const code = error instanceof Fault ? error.code : "WORKER_UNAVAILABLE";
      parent.post({ type: "unable", code, detail: (error as Error).message.slice(0, 300) } satisfies Ready);
    },
  );
});
