// Ends the whole process when one case takes far too long in code that carries no probes. The shared
// memory holds the number of the case, its length and its bytes.
import { writeSync } from "node:fs";
import { workerData } from "node:worker_threads";

const { memory, limitMs } = workerData;
const [header, bytes] = [new Int32Array(memory, 0, 2), new Uint8Array(memory, 8)];
let last = -1;
let since = Date.now();

setInterval(() => {
  const current = Atomics.load(header, 0);
  if (current !== last) {
    last = current;
    since = Date.now();
  } else if (Date.now() - since > limitMs) {
    const input = Buffer.from(bytes.slice(0, header[1])).toString("hex");
    writeSync(2, `\nHANG: one case ran for more than ${limitMs / 1000} seconds.\n  input ${input}\n`);
    process.kill(process.pid, "SIGKILL");
  }
}, 1000);
