// `npm run fuzz:http`: the fuzz over the OpenAPI document with other requests than the ones of the suite.
import { spawnSync } from "node:child_process";
import { randomInt } from "node:crypto";
import { repositoryRoot } from "../build/circuits/compile.ts";
import { runCommand, wholeNumber } from "../base/command.ts";

const HELP = `Usage: npm run fuzz:http [-- OPTIONS]

Sends requests drawn from the OpenAPI document to the HTTP surface, swaps off and on. Exit code 1 when one is
answered by a fault of ours or by what is not documented; the requests that did it are printed, made as small
as they go.

  --runs N   requests in all (20,000)
  --seed N   repeats a run (drawn, and printed, when absent)
  --help     this text`;

const OPTIONS = { runs: { type: "string" }, seed: { type: "string" }, help: { type: "boolean" } } as const;

await runCommand({ help: HELP, options: OPTIONS }, ({ values }) => {
  const env = {
    ...process.env,
    CLOISTER_FUZZ_RUNS: String(wholeNumber("--runs", values.runs ?? "20000", 1, 999_999_999)),
    CLOISTER_FUZZ_SEED: String(
      wholeNumber("--seed", values.seed ?? String(randomInt(2 ** 31)), 0, 9_999_999_999),
    ),
  };
  const args = ["node_modules/mocha/bin/mocha.js", "test/contract/http/fuzz.test.ts"];
  const { status } = spawnSync(process.execPath, args, { cwd: repositoryRoot, env, stdio: "inherit" });
  return Promise.resolve(status ?? 1);
});
