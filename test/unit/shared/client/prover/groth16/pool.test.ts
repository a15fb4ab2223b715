// Threads of a proof: work that ends, is refused or is cut off never leaves anybody waiting.
import assert from "node:assert/strict";
import type { Bn128, Step } from "ffjavascript";
import { provingCurve } from "../../../../../../shared/client/prover/groth16/engine.ts";
import type { Fault } from "../../../../../../shared/client/prover/groth16/fault.ts";
import { ThreadPool } from "../../../../../../shared/client/prover/groth16/pool.ts";
import { startPool, workerFile } from "./curve.ts";

/** Gives `bytes` back, after writing so many of them. */
const echo = (bytes: Uint8Array): Step[] => [
  { cmd: "ALLOCSET", var: 0, buff: bytes },
  { cmd: "GET", out: 0, var: 0, len: bytes.length },
];
const coded =
  (code: string, words = /./) =>
  (error: Fault): boolean =>
    error.code === code && words.test(error.message);

describe("client: threads of a proof", () => {
  let curve: Bn128;
  let pool: ThreadPool;
  before(async () => {
    curve = await provingCurve();
  });
  beforeEach(async () => {
    pool = await startPool(curve, 2);
  });
  afterEach(() => pool.end(new Error("the test is over")));

  it("do more tasks than there are threads, each in memory that is free again", async () => {
    const tasks = Array.from({ length: 20 }, (_, i) => new Uint8Array(1_000_000).fill(i));
    const answers = await Promise.all(tasks.map((bytes) => pool.queue(echo(bytes))));
    answers.forEach(([answer], i) => assert.deepEqual(answer, tasks[i]));
  });

  it("refuse a task that fails, say a lack of memory, and do the next", async () => {
    const huge: Step[] = [
      { cmd: "ALLOC", var: 0, len: 0x7fff_ffff },
      { cmd: "ALLOC", var: 1, len: 0x7fff_ffff },
    ];
    await assert.rejects(pool.queue(huge), coded("PROOF_FAILED"));
    const unknown: Step[] = [{ cmd: "CALL", fnName: "no_such_function", params: [] }];
    await assert.rejects(pool.queue(unknown), coded("PROOF_FAILED"));
    const bytes = Uint8Array.of(1, 2, 3);
    assert.deepEqual(await pool.queue(echo(bytes)), [bytes]);
  });

  it("end in the middle of a task, and whoever waits is told why", async () => {
    const work = Array.from({ length: 10 }, () => pool.queue(echo(new Uint8Array(20_000_000))));
    const reason = new Error("not wanted any more");
    const all = Promise.allSettled(work);
    await pool.end(reason);
    for (const one of await all) {
      assert.equal(one.status, "rejected");
      assert.equal(one.reason, reason);
    }
    await assert.rejects(pool.queue(echo(Uint8Array.of(1))), reason);
  });

  it("do not start from a file that is not there, or is no worker of this version", async () => {
    const from = (address: URL): Promise<ThreadPool> =>
      WebAssembly.compile(curve.tm.code.slice()).then((program) =>
        ThreadPool.start(workerFile(address), 2, program),
      );
    await assert.rejects(
      from(new URL("no-such-file.js", import.meta.url)),
      coded("WORKER_UNAVAILABLE", /no-such-file/),
    );
    const older =
      'import { parentPort } from "node:worker_threads";' +
      'parentPort.on("message", () => parentPort.postMessage({ type: "ready", form: 0 }));';
    await assert.rejects(
      from(new URL(`data:text/javascript,${encodeURIComponent(older)}`)),
      coded("WORKER_UNAVAILABLE", /another version/),
    );
    await assert.rejects(
      from(new URL("data:text/javascript,process.exit(3)")),
      coded("WORKER_UNAVAILABLE", /ended/),
    );
  });
});
