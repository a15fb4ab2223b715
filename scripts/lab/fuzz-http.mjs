#!/usr/bin/env node
// `npm run fuzz:http`: the fuzz over the OpenAPI document with other requests than the ones of the suite.
import { randomInt } from "node:crypto";
import { spawnSync } from "node:child_process";
import { parseArgs } from "node:util";

const HELP = `Usage: npm run fuzz:http [-- OPTIONS]

Sends requests drawn from the OpenAPI document to the HTTP surface, swaps off and on. Exit code 1 when one is
answered by a fault of ours or by what is not documented; the requests that did it are printed, made as small
as they go.

  --runs N   requests in all (20,000)
  --seed N   repeats a run (drawn, and printed, when absent)
  --help     this text`;

const { values } = parseArgs({
  options: { runs: { type: "string" }, seed: { type: "string" }, help: { type: "boolean", default: false } },
});
const runs = values.runs ?? "20000";
const seed = values.seed ?? String(randomInt(2 ** 31));
if (values.help) {
  console.log(HELP);
} else if (!/^[1-9]\d{0,8}$/.test(runs) || !/^\d{1,10}$/.test(seed)) {
  console.error(`Not a number of requests or a seed.\n\n${HELP}`);
  process.exitCode = 2;
} else {
  const env = { ...process.env, CLOISTER_FUZZ_SEED: seed, CLOISTER_FUZZ_RUNS: runs };
  const args = ["node_modules/mocha/bin/mocha.js", "test/contract/http/fuzz.test.ts"];
  const cwd = new URL("../..", import.meta.url);
  process.exitCode = spawnSync(process.execPath, args, { cwd, env, stdio: "inherit" }).status ?? 1;
}
