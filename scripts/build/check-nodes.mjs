#!/usr/bin/env node
// Runs suites and the demo on each release of Node that package.json's `engines` names, one after the other. The releases
// are npm packages of exact versions with a lock of their own (scripts/build/nodes/). What passed is remembered for these very
// sources, so that a run that was ended goes on where it was.
import { execFileSync, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { orExplain, runNpm, SetUpError } from "./setup.mjs";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const STATE = path.join(ROOT, ".cloister", "nodes");
const LOCKED = ["package.json", "package-lock.json"];
const RELEASES = ["20", "22", "24"];

/** A folder of its own: the demo must not play on a stack that somebody runs on another release. */
const DEMO = ["scripts/build/run.mjs", "scripts/demo/main.ts", "--folder", path.join(STATE, "demo")];
const STEPS = {
  unit: ["scripts/build/test.mjs", "unit", "enclave"],
  contract: ["scripts/build/test.mjs", "contract", "chain"],
  demo: DEMO,
  // What a release is most likely to break: native packages, the loader, HTTP, WebAssembly and workers.
  quick: [
    "node_modules/mocha/bin/mocha.js",
    "test/contract/store/lmdb.test.ts",
    "test/contract/http/service.test.ts",
    "test/unit/enclave/verify.test.ts",
  ],
};
const USUAL = ["unit", "contract", "demo"];

const HELP = `Usage: npm run check:nodes [-- [RELEASE ...] [STEP ...] [--anew]]

Runs steps on releases of Node, from their npm packages, and ends with a table of what passed.

  releases:  ${RELEASES.join(", ")} (default: all)
  steps:     ${Object.keys(STEPS).join(", ")} (default: ${USUAL.join(", ")})
  --anew     also what has passed on these sources already`;

async function main(argv) {
  if (argv.includes("--help")) return console.log(HELP);
  const unknown = argv.find((arg) => !RELEASES.includes(arg) && !(arg in STEPS) && arg !== "--anew");
  if (unknown !== undefined) {
    console.error(`${unknown}: no such release or step.\n\n${HELP}`);
    process.exitCode = 2;
    return;
  }
  const chosen = (list, usual) =>
    argv.some((arg) => list.includes(arg)) ? list.filter((one) => argv.includes(one)) : usual;
  const releases = chosen(RELEASES, RELEASES);
  const steps = chosen(Object.keys(STEPS), USUAL);
  await install();
  const passed = argv.includes("--anew") ? {} : remembered();
  const table = [];
  // By release, since each one makes the builds again.
  for (const release of releases) {
    const node = programOf(release);
    const version = outputOf(node, ["--version"]);
    for (const step of steps) {
      const name = `${version} ${step}`;
      if (passed[name] !== undefined) {
        table.push([name, `passed before (${passed[name]})`]);
        continue;
      }
      console.log(`\n══ ${name} (${table.length + 1} of ${releases.length * steps.length})`);
      const began = performance.now();
      const code = run(node, STEPS[step]);
      const secs = `${Math.round((performance.now() - began) / 1000)} s`;
      table.push([name, code === 0 ? `passed, ${secs}` : `FAILED, ${secs}`]);
      if (code !== 0) process.exitCode = 1;
      else remember(name, secs);
    }
  }
  console.log("");
  for (const [name, result] of table) console.log(`${name.padEnd(20)} ${result}`);
}

async function install() {
  const places = LOCKED.map((file) => [path.join(ROOT, "scripts/build/nodes", file), path.join(STATE, file)]);
  const isCurrent = places.every(
    ([from, to]) => existsSync(to) && readFileSync(from, "utf8") === readFileSync(to, "utf8"),
  );
  if (isCurrent && RELEASES.every((release) => existsSync(placeOf(release)))) return;
  mkdirSync(STATE, { recursive: true });
  console.log(`installing Node ${RELEASES.join(", ")} …`);
  // `engine-strict` and the rest of the project's settings do not reach this folder.
  const [[from, to], [fromLock, toLock]] = places;
  copyFileSync(fromLock, toLock);
  copyFileSync(from, to);
  const { code, log } = await runNpm(["ci", "--ignore-scripts", "--no-audit", "--no-fund"], STATE);
  if (code !== 0)
    throw new SetUpError(`${log.trim()}\n\nthe releases of Node could not be installed; see above.`);
}

function placeOf(release) {
  const name = `node${release}-${process.platform}-${process.arch}`;
  return path.join(STATE, "node_modules", name, "bin", "node");
}

function programOf(release) {
  const place = placeOf(release);
  if (existsSync(place)) return place;
  throw new SetUpError(
    `Node ${release} comes for Linux on x64 and arm64 only; here is ${process.platform} ${process.arch}.`,
  );
}

// ---------------------------------------------------------------------------------------------
// What has passed on these sources

const memory = path.join(STATE, "passed.json");

function remembered() {
  if (!existsSync(memory)) return {};
  const { sources, passed } = JSON.parse(readFileSync(memory, "utf8"));
  return sources !== undefined && sources === sourcesNow() ? passed : {};
}

function remember(name, secs) {
  const passed = { ...remembered(), [name]: secs };
  writeFileSync(memory, JSON.stringify({ sources: sourcesNow(), passed }));
}

/** Commit and every change since, files that git does not know yet included. Undefined in a copy without git. */
function sourcesNow() {
  if (!existsSync(path.join(ROOT, ".git"))) return undefined;
  const hash = createHash("sha256").update(outputOf("git", ["rev-parse", "HEAD"]));
  hash.update(outputOf("git", ["diff", "HEAD", "--binary"]));
  const unknown = outputOf("git", ["ls-files", "--others", "--exclude-standard", "-z"]);
  for (const file of unknown.split("\0").filter((name) => name !== ""))
    hash.update(`\0${file}\0`).update(readFileSync(path.join(ROOT, file)));
  return hash.digest("hex");
}

// ---------------------------------------------------------------------------------------------

/** With this release first on the PATH, for what a test starts by name. */
function run(node, args) {
  const PATH = [path.dirname(node), process.env.PATH].join(path.delimiter);
  const options = { cwd: ROOT, env: { ...process.env, PATH }, stdio: ["ignore", "inherit", "inherit"] };
  const { status, error } = spawnSync(node, args, options);
  if (error !== undefined) throw error;
  return status ?? 1;
}

function outputOf(command, args) {
  const options = { cwd: ROOT, encoding: "utf8", stdio: ["ignore", "pipe", "inherit"], maxBuffer: 2 ** 30 };
  return execFileSync(command, args, options).trim();
}

await orExplain(() => main(process.argv.slice(2)));
