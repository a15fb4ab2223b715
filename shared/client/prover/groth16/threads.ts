/**
 * Starts workers, in browsers and in Node, and finds out why one does not start. A browser that its policy
 * forbids a worker says so to nobody who does not listen: the worker is silent for ever.
 */
import { Fault } from "./fault.ts";
import { WORKER_FORM, type Beginning, type Ready } from "./messages.ts";

/** Where the worker's file is. */
export interface WorkerFile {
  readonly address: () => URL;
  /** Written out, because bundlers look for `new Worker(new URL("…", import.meta.url))` in so many words. */
  readonly startInBrowser: () => Worker;
}

export interface Thread {
  post(message: unknown, transfer?: readonly ArrayBuffer[]): void;
  /** Ends it in the middle of whatever it does. */
  end(): Promise<unknown>;
}

export interface ThreadListener {
  readonly message: (message: unknown) => void;
  /** At most once, and nothing comes after it: it did not start, or it ended by itself. */
  readonly failed: (error: Fault) => void;
}

/** Several times what a slow network needs for the file. */
const START_LIMIT_MS = 30_000;
/** A browser reports a violation of its policy beside the worker's error event, in either order. */
const VIOLATION_DELAY_MS = 200;

/** The parts of Node's modules that are used here; importing them, even their types, would be for Node alone. */
interface NodePort {
  postMessage(message: unknown, transfer: readonly ArrayBuffer[]): void;
  on(event: "message", listener: (message: unknown) => void): void;
}
interface NodeWorker extends NodePort {
  on(event: "message", listener: (message: unknown) => void): void;
  on(event: "error", listener: (error: Error) => void): void;
  on(event: "exit", listener: () => void): void;
  terminate(): Promise<unknown>;
}
interface NodeModules {
  "node:worker_threads": {
    readonly Worker: new (file: URL, options: { workerData: object; execArgv: string[] }) => NodeWorker;
    readonly parentPort: NodePort | null;
  };
  "node:os": { availableParallelism(): number };
}

/** The modules of Node, unseen by bundlers; undefined in a browser. */
export function nodeModule<Name extends keyof NodeModules>(name: Name): NodeModules[Name] | undefined {
  const { process } = globalThis as unknown as {
    process?: { getBuiltinModule?: (name: Name) => NodeModules[Name] };
  };
  return process?.getBuiltinModule?.(name);
}

export function processors(): number {
  const { navigator } = globalThis as { navigator?: { hardwareConcurrency?: number } };
  return navigator?.hardwareConcurrency ?? nodeModule("node:os")?.availableParallelism() ?? 2;
}

/** Resolves when the worker is ready for its part; throws WORKER_FORBIDDEN, WASM_FORBIDDEN or WORKER_UNAVAILABLE. */
export function startThread(
  file: WorkerFile,
  beginning: Beginning,
  listener: ThreadListener,
): Promise<Thread> {
  return new Promise((resolve, reject) => {
    let thread: Thread | undefined;
    let isReady = false;
    let hasFailed = false;
    const failed = (error: Fault): void => {
      if (hasFailed) return;
      hasFailed = true;
      clearTimeout(limit);
      // A browser may refuse while it still makes the worker.
      queueMicrotask(() => void thread?.end());
      if (isReady) listener.failed(error);
      else reject(error);
    };
    const limit = setTimeout(
      () => failed(unavailable(file, `it did not start within ${String(START_LIMIT_MS / 1000)} s`)),
      START_LIMIT_MS,
    );
    const message = (said: unknown): void => {
      if (hasFailed) return;
      if (isReady || thread === undefined) {
        listener.message(said);
        return;
      }
      const ready = said as Ready;
      if (ready.type === "unable") failed(new Fault(ready.code, ready.detail));
      else if (ready.form !== WORKER_FORM)
        failed(unavailable(file, "it is of another version than the application"));
      else {
        isReady = true;
        clearTimeout(limit);
        resolve(thread);
      }
    };
    try {
      const started = (typeof Worker === "function" ? inBrowser : inNode)(file, { message, failed });
      thread = started;
      started.post(beginning);
    } catch (cause) {
      failed(cause instanceof Fault ? cause : unavailable(file, "the worker was refused", { cause }));
    }
  });
}

function inBrowser(file: WorkerFile, { message, failed }: ThreadListener): Thread {
  let worker: Worker | undefined;
  let isForbidden = false;
  const leave = (): void => {
    removeEventListener("securitypolicyviolation", violated);
    worker?.terminate();
  };
  // Bubbles to the window, and is at home in a worker's own scope.
  const violated = ({ effectiveDirective, blockedURI, disposition }: SecurityPolicyViolationEvent): void => {
    if (effectiveDirective !== "worker-src" || disposition !== "enforce") return;
    isForbidden = true;
    failed(new Fault("WORKER_FORBIDDEN", blockedURI));
  };
  addEventListener("securitypolicyviolation", violated);
  try {
    worker = file.startInBrowser();
  } catch (cause) {
    // Chromium before 119 throws where newer browsers send events.
    setTimeout(() => {
      if (!isForbidden) failed(unavailable(file, String(cause), { cause }));
      leave();
    }, VIOLATION_DELAY_MS);
    return { post: () => undefined, end: async () => undefined };
  }
  worker.addEventListener("message", ({ data }) => message(data));
  worker.addEventListener("messageerror", () => failed(unavailable(file, "a message could not be read")));
  worker.addEventListener("error", (event) => {
    event.preventDefault();
    setTimeout(() => {
      // A file that cannot be loaded has no words; a fault in the running worker has.
      if (!isForbidden) failed(unavailable(file, event.message || "the file could not be loaded"));
    }, VIOLATION_DELAY_MS);
  });
  const started = worker;
  return {
    post: (said, transfer = []) => started.postMessage(said, [...transfer]),
    end: async () => leave(),
  };
}

function inNode(file: WorkerFile, { message, failed }: ThreadListener): Thread {
  const threads = nodeModule("node:worker_threads");
  if (threads === undefined)
    throw new Fault("WORKER_UNAVAILABLE", "there are no workers in this environment");
  const worker = new threads.Worker(file.address(), {
    // web-worker, which ffjavascript brings, looks into it when it is loaded in a thread.
    workerData: {},
    // What the application gave to Node (loaders, inspectors) is nothing for these threads.
    execArgv: [],
  });
  worker.on("message", message);
  worker.on("error", (cause) => failed(unavailable(file, cause.message, { cause })));
  worker.on("exit", () => failed(unavailable(file, "it ended")));
  return {
    post: (said, transfer = []) => worker.postMessage(said, [...transfer]),
    end: () => worker.terminate(),
  };
}

function unavailable(file: WorkerFile, why: string, options?: ErrorOptions): Fault {
  // A file may be a data: address of any length.
  return new Fault("WORKER_UNAVAILABLE", `${String(file.address()).slice(0, 200)}: ${why}`, options);
}

/** The side of the one who started this thread. */
export interface Parent {
  post(message: unknown, transfer?: readonly ArrayBuffer[]): void;
  listen(listener: (message: unknown) => void): void;
}

export function parentOfThisThread(): Parent {
  const port = nodeModule("node:worker_threads")?.parentPort;
  if (port) {
    return {
      post: (said, transfer = []) => port.postMessage(said, [...transfer]),
      listen: (listener) => port.on("message", listener),
    };
  }
  return {
    post: (said, transfer = []) => postMessage(said, { transfer: [...transfer] }),
    listen: (listener) => {
      addEventListener("message", ({ data }) => listener(data));
    },
  };
}
