// Loaded into the measured proxy before its own program: at a signal it collects, and writes down what is alive then.
// Without it a heap holds whatever was not worth collecting yet, which is more than what is measured.

import { renameSync, writeFileSync } from "node:fs";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc");
const file = process.env.BENCH_MEMORY_FILE;

process.on("SIGUSR2", () => {
  // What one collection lets go, with what it held, the next one finds.
  for (let times = 0; times < 3; times++) collect();
  writeFileSync(`${file}.part`, JSON.stringify(process.memoryUsage()));
  renameSync(`${file}.part`, file);
});
