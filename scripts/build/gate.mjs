#!/usr/bin/env node
// `npm run gate`: what CI does with the commit HEAD, in a fresh clone, and where it is green, the proof of it in the common
// git folder. A guard clears up behind it, however it ends.
import { execFileSync, spawn } from "node:child_process";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const LAST_GREEN = path.join(ROOT, "test/last-green.json");
const HELP = `Usage: npm run gate [-- --keep]

Clones the commit HEAD into a temporary folder, with ../shared beside it where that stands beside this checkout, and runs
its .ci/run. Uncommitted changes are not part of it. When everything passed, the file gate-green in the common git folder
holds the commit, and on its second line date, minutes and counts. One gate runs on a machine at a time, and nothing else
should run beside it.

  --keep   leaves the clone, and says where it is
  --help   this text`;

/** A name that the system forgets with its owner, so that a killed gate locks nobody out. Its own tests take another. */
const ONE_AT_A_TIME = `\0cloister-gate${process.env.CLOISTER_GATE_OF ?? ""}`;

async function main(argv) {
  const unknown = argv.find((arg) => !["--keep", "--help"].includes(arg));
  if (argv.includes("--help")) return console.log(HELP);
  if (unknown !== undefined) return refuse(`${unknown} is not an option.\n\n${HELP}`, 2);
  if (process.platform !== "linux") return refuse("the gate runs on Linux, as CI does", 1);
  if (!(await isAlone())) return refuse("another gate runs on this machine; it has to end first", 1);

  const commit = git("rev-parse", "HEAD");
  if (git("status", "--porcelain") !== "")
    console.log("gate: the uncommitted changes here are not part of it");
  const folder = realpathSync(mkdtempSync(path.join(tmpdir(), "gate-")));
  // As CI's: the enclave's tests start processes of other users, who have to find their files in it.
  chmodSync(folder, 0o755);
  const guard = spawn(process.execPath, [path.join(ROOT, "scripts/build/gate-guard.mjs"), folder], {
    stdio: ["pipe", "inherit", "inherit"],
    detached: true,
  });
  const began = performance.now();
  const clone = path.join(folder, "project");
  console.log(`gate: ${commit} in ${clone}`);
  git("clone", "--quiet", "--no-hardlinks", ROOT, clone);
  git("-C", clone, "checkout", "--quiet", "--detach", commit);
  const shared = path.join(ROOT, "../shared");
  if (existsSync(shared)) cpSync(shared, path.join(folder, "shared"), { recursive: true });

  const { code, lines } = await runCi(clone, path.join(folder, "tmp"));
  const minutes = ((performance.now() - began) / 60_000).toFixed(1);
  const counts = lines.at(-1) ?? "";
  const unsteady = lines.filter((line) => line.startsWith("UNSTEADY ")).length;
  if (code === 0) {
    const said = `${new Date().toISOString()}, ${minutes} min, ${counts}, ${unsteady} unsteady`;
    writeFileSync(
      path.join(git("rev-parse", "--path-format=absolute", "--git-common-dir"), "gate-green"),
      `${commit}\n${said}\n`,
    );
    // For the next change, and committed with it: what it leaves alone need not be played again.
    const { gates } = existsSync(LAST_GREEN) ? JSON.parse(readFileSync(LAST_GREEN, "utf8")) : { gates: 0 };
    writeFileSync(LAST_GREEN, `${JSON.stringify({ commit, gates: gates + 1 }, null, 2)}\n`);
  }
  guard.stdin.end(argv.includes("--keep") ? "keep" : "");
  await new Promise((resolve) => guard.once("close", resolve));
  console.log(`gate: ${code === 0 ? "green" : "RED"} after ${minutes} min, ${commit}`);
  process.exit(code === 0 ? 0 : 1);
}

function refuse(text, code) {
  console.error(text);
  process.exitCode = code;
}

function isAlone() {
  const server = createServer().unref();
  return new Promise((resolve) => {
    server.once("error", () => resolve(false));
    server.listen(ONE_AT_A_TIME, () => resolve(true));
  });
}

function git(...args) {
  return execFileSync("git", args, { cwd: ROOT, encoding: "utf8" }).trim();
}

/** Its exit code, and the last of what it said, by lines. */
function runCi(clone, temporary) {
  mkdirSync(temporary);
  const child = spawn(path.join(clone, ".ci/run"), [], {
    cwd: clone,
    env: { ...process.env, TMPDIR: temporary },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let said = "";
  child.stdout.setEncoding("utf8").on("data", (text) => {
    process.stdout.write(text);
    said = (said + text).slice(-20_000);
  });
  return new Promise((resolve) => {
    child.once("close", (code) => resolve({ code: code ?? 1, lines: said.trimEnd().split("\n") }));
  });
}

await main(process.argv.slice(2));
