#!/usr/bin/env node
// Makes a fresh clone ready to run: packages of both lock files, then what is built from source.
// Everything is skipped when nothing changed, so every command may call it first. Plain JavaScript
// on Node's own modules, because it runs before anything is installed.
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import {
  copyFile,
  mkdir,
  mkdtemp,
  readFile,
  readdir,
  rename,
  rm,
  stat,
  utimes,
  writeFile,
} from "node:fs/promises";
import { hostname } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const STATE = path.join(ROOT, ".cloister", "setup");

const HELP = `Usage: node scripts/build/setup.mjs [--clean] [--quiet]

Installs the packages of package-lock.json and enclave/package-lock.json and builds what the
commands need. Does nothing when everything is up to date. npm start, npm test and npm run demo
call it themselves.

  --clean   install and build again from nothing
  --quiet   print only what goes wrong
  --help    this text`;

/** A failure whose text is meant for the person at the keyboard; shown without a stack. */
export class SetUpError extends Error {}

/** @param {{ clean?: boolean, quiet?: boolean }} options */
export async function setUp({ clean = false, quiet = false } = {}) {
  const say = quiet ? () => {} : (text) => process.stderr.write(`set-up: ${text}\n`);
  checkNode();
  await mkdir(STATE, { recursive: true });
  const release = await takeLock(say);
  try {
    for (const place of INSTALLS) await install(place, { clean, say });
    for (const step of BUILDS) await build(step, { clean, say });
  } finally {
    await release();
  }
}

// ---------------------------------------------------------------------------------------------
// What is installed and built

/** The enclave has its own lock, so that its few packages are chosen by nobody but itself. */
const INSTALLS = [
  { name: "packages", folder: ".", args: [], omitsDev: false },
  { name: "packages of the enclave", folder: "enclave", args: ["--omit=dev"], omitsDev: true },
];

export const BUILDS = [
  {
    name: "enclave",
    needs: "enclave/tsconfig.json",
    inputs: ["enclave", "shared/protocol", "shared/types", "tsconfig.json", "package-lock.json"],
    outputs: ["enclave/dist"],
    // A file left from an older source must not stay in the folder that is measured.
    emptyFirst: true,
    args: ["node_modules/typescript/bin/tsc", "-p", "enclave/tsconfig.json"],
    // The second verifier shares no line with the rest, not even a compilation.
    then: ["node_modules/typescript/bin/tsc", "-p", "enclave/second/tsconfig.json"],
    // The compiler emits what it compiled, and nothing else.
    copies: [["enclave/bn254.wasm", "enclave/dist/enclave/bn254.wasm"]],
  },
  {
    name: "contracts",
    needs: "scripts/build/contracts.ts",
    inputs: [
      ...["shared/contracts", "scripts/stand-ins/contracts", "test/support/contracts"],
      ...["scripts/build/contracts.ts", "scripts/build/solc-thread.mjs", "package-lock.json"],
    ],
    outputs: [".cloister/build/contracts"],
    emptyFirst: false,
    args: ["--import", "tsx", "scripts/build/contracts.ts"],
  },
  {
    name: "prover",
    needs: "scripts/build/prover.ts",
    inputs: ["shared/client", "shared/protocol", "scripts/build/prover.ts", "package-lock.json"],
    outputs: ["shared/client/dist"],
    emptyFirst: true,
    args: ["--import", "tsx", "scripts/build/prover.ts"],
  },
  pageStep("dashboard", "proxy/dashboard/page", "proxy/dashboard/dist", [
    "proxy/dashboard/contract",
    "shared/api",
    "shared/protocol",
  ]),
  pageStep(
    "wallet",
    "scripts/wallet-page",
    "scripts/wallet-page/dist",
    ["client", "notes", "api", "altchain", "protocol", "contracts"].map((folder) => `shared/${folder}`),
  ),
];

/** One of the pages that scripts/build/pages.ts knows, with the folders that its sources import from. */
function pageStep(name, sources, output, imported) {
  return {
    name: `${name} page`,
    needs: `${sources}/main.tsx`,
    inputs: [
      ...[sources, ...imported, "scripts/build/pages.ts", "scripts/build/without-descriptions.ts"],
      ...["tsconfig.json", "package-lock.json"],
    ],
    outputs: [output],
    emptyFirst: true,
    args: ["--import", "tsx", "scripts/build/pages.ts", name],
  };
}

const NOT_SOURCE = new Set(["node_modules", "dist", ".cloister", ".git", "pictures"]);

/** `engines` names what everything is tried on (npm run check:nodes), in the form `^20.19.0 || ^22.13.0`. */
function checkNode() {
  const wanted = JSON.parse(readFileSync(path.join(ROOT, "package.json"), "utf8")).engines.node;
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  const fits = (range) => {
    const [, its, least] = /^\^(\d+)\.(\d+)\.0$/.exec(range);
    return major === Number(its) && minor >= Number(least);
  };
  if (wanted.split(" || ").some(fits)) return;
  throw new SetUpError(
    `Node ${wanted.replaceAll("^", "").replaceAll(" ||", " or")} (or newer of the same release) is needed; this is ${process.versions.node}. See https://nodejs.org.`,
  );
}

// ---------------------------------------------------------------------------------------------
// Installing

async function install({ name, folder, args, omitsDev }, { clean, say }) {
  const at = path.join(ROOT, folder);
  if (!existsSync(path.join(at, "package-lock.json"))) return;
  const stamp = path.join(at, "node_modules", ".cloister-setup");
  const wanted = await digest(
    [path.join(folder, "package-lock.json"), path.join(folder, "package.json")],
    // Native packages differ by machine: a folder copied from another one is not installed here.
    `${process.platform} ${process.arch}`,
  );
  if (!clean) {
    if ((await textOf(stamp)) === wanted) return;
    // Somebody may have run npm by hand; then there is nothing to do but to note it.
    if (await agreesWithLock(at, omitsDev)) return writeFile(stamp, wanted);
  }
  say(`installing the ${name} …`);
  // What the cache holds needs no network.
  const flags = [
    "--prefer-offline",
    "--ignore-scripts",
    "--no-audit",
    "--no-fund",
    "--loglevel=error",
    ...args,
  ];
  const { code, log } = await runNpm(["ci", ...flags], at);
  if (code !== 0) throw new SetUpError(explainNpm(log, folder));
  // An enclave without packages leaves no folder behind.
  await mkdir(path.dirname(stamp), { recursive: true });
  await writeFile(stamp, wanted);
}

/** Whether node_modules holds what the lock names: npm leaves its own record of what it installed. */
async function agreesWithLock(at, omitsDev) {
  const lock = await textOf(path.join(at, "package-lock.json"));
  const record = await textOf(path.join(at, "node_modules", ".package-lock.json"));
  if (lock === undefined || record === undefined) return false;
  const locked = JSON.parse(lock).packages ?? {};
  const installed = JSON.parse(record).packages ?? {};
  const same = Object.entries(installed).every(
    ([where, entry]) =>
      locked[where]?.version === entry.version &&
      locked[where]?.integrity === entry.integrity &&
      existsSync(path.join(at, where)),
  );
  const complete = Object.entries(locked).every(
    ([where, entry]) =>
      where === "" ||
      where in installed ||
      (entry.optional === true && !fitsMachine(entry)) ||
      (omitsDev && (entry.dev === true || entry.devOptional === true)),
  );
  return same && complete;
}

/** npm leaves out optional packages made for other machines; a missing one for this machine matters. */
function fitsMachine({ os = [process.platform], cpu = [process.arch], libc }) {
  const libcHere = process.report.getReport().header.glibcVersionRuntime === undefined ? "musl" : "glibc";
  return (
    os.includes(process.platform) &&
    cpu.includes(process.arch) &&
    (libc === undefined || process.platform !== "linux" || libc.includes(libcHere))
  );
}

export function runNpm(args, cwd) {
  const cli = process.env.npm_execpath;
  // Under npm the path of its own script is known: no second npm from PATH, and no shell.
  if (cli !== undefined && /npm-cli\.[cm]?js$/.test(cli)) return run(process.execPath, [cli, ...args], cwd);
  return run("npm", args, cwd, process.platform === "win32");
}

function explainNpm(log, folder) {
  const offline = /ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|ENOTCACHED/.test(log);
  const reason = offline
    ? "the npm registry could not be reached. The first set-up needs it once; check the network, a proxy, or npm's own settings, and run the command again."
    : "npm could not install the packages; its own words are above.";
  return `${log.trim()}\n\nin ${folder === "." ? "the project's folder" : `${folder}/`}: ${reason}`;
}

// ---------------------------------------------------------------------------------------------
// Building

async function build({ name, needs, inputs, outputs, emptyFirst, args, then, copies = [] }, { clean, say }) {
  if (!existsSync(path.join(ROOT, needs))) return;
  const stamp = path.join(STATE, `${name}.sha256`);
  // The outputs count as well: a file changed or deleted after the build is made again.
  const current = async () =>
    `${await digest(inputs, process.version)} ${await digest(outputs, "", new Set())}`;
  if (!clean && (await textOf(stamp)) === (await current())) return;
  say(`building the ${name} …`);
  await rm(stamp, { force: true });
  if (emptyFirst) {
    for (const output of outputs) await rm(path.join(ROOT, output), { recursive: true, force: true });
  }
  for (const command of then === undefined ? [args] : [args, then]) {
    const { code, log } = await run(process.execPath, command, ROOT);
    if (code !== 0) throw new SetUpError(`${log.trim()}\n\nthe ${name} could not be built; see above.`);
  }
  for (const [from, to] of copies) await copyFile(path.join(ROOT, from), path.join(ROOT, to));
  await writeFile(stamp, await current());
}

/** One SHA-256 over names and contents of files and whole folders, in an order of its own. */
async function digest(places, salt, skip = NOT_SOURCE) {
  const hash = createHash("sha256").update(salt);
  for (const place of places) {
    for (const file of await filesUnder(place, skip)) {
      const content = await readFile(path.join(ROOT, file));
      hash.update(`\0${file}\0${content.length}\0`).update(content);
    }
  }
  return hash.digest("hex");
}

/** A file itself; of a folder, all files below it that are in no skipped folder, sorted. */
async function filesUnder(place, skip) {
  const found = await stat(path.join(ROOT, place)).catch(() => undefined);
  if (!found?.isDirectory()) return found === undefined ? [] : [place];
  const entries = await readdir(path.join(ROOT, place), { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(ROOT, path.join(entry.parentPath, entry.name)))
    .filter((file) => !file.split(path.sep).some((part) => skip.has(part)))
    .sort();
}

/** Runs to the end with no input; the output is kept and shown only when it is needed. */
function run(command, args, cwd, shell = false) {
  const env = Object.fromEntries(
    // npm tells its scripts where *this* project is; a second npm would believe it in any folder.
    Object.entries(process.env).filter(
      ([key]) => !/^npm_(package_|lifecycle_|config_local_prefix$)/.test(key),
    ),
  );
  return new Promise((resolve) => {
    const child = spawn(command, args, { cwd, env, shell, stdio: ["ignore", "pipe", "pipe"] });
    if (child.pid !== undefined) {
      void writeFile(path.join(STATE, "lock", "child"), String(child.pid)).catch(() => {});
    }
    let log = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (log += String(chunk)));
    child.on("error", (error) => resolve({ code: 1, log: `${log}\n${error.message}` }));
    child.on("close", (code) => resolve({ code: code ?? 1, log }));
  });
}

async function textOf(file) {
  return readFile(file, "utf8").catch(() => undefined);
}

// ---------------------------------------------------------------------------------------------
// One set-up at a time

const BEAT_MS = 2_000;
const SILENT_MS = 60_000;

/**
 * The lock is a folder that appears in one step together with its owner's name (a rename onto a
 * folder that is not empty fails), so nobody ever sees a lock without an owner. Its owner touches
 * it every few seconds; one whose process is gone, or that has been silent for a minute, is stale.
 */
async function takeLock(say) {
  const lock = path.join(STATE, "lock");
  const owner = JSON.stringify({ pid: process.pid, host: hostname() });
  let told = false;
  for (;;) {
    if (await claim(lock, owner)) break;
    const seen = await ownerOf(lock);
    if (seen !== undefined && seen.isStale) {
      await breakLock(lock, seen.text);
      continue;
    }
    if (!told && seen !== undefined) say(`waiting for another set-up (process ${seen.pid}) …`);
    told = true;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  const beat = setInterval(() => void touch(lock), BEAT_MS);
  beat.unref();
  return async () => {
    clearInterval(beat);
    if ((await textOf(path.join(lock, "owner"))) === owner) await rm(lock, { recursive: true, force: true });
  };
}

async function claim(lock, owner) {
  const mine = await mkdtemp(path.join(STATE, "claim-"));
  await writeFile(path.join(mine, "owner"), owner);
  try {
    await rename(mine, lock);
    return true;
  } catch (error) {
    await rm(mine, { recursive: true, force: true });
    if (["ENOTEMPTY", "EEXIST", "EPERM"].includes(error.code)) return false;
    throw error;
  }
}

async function ownerOf(lock) {
  try {
    const text = await readFile(path.join(lock, "owner"), "utf8");
    const { pid, host } = JSON.parse(text);
    const { mtimeMs } = await stat(path.join(lock, "owner"));
    // A set-up that was killed may have left npm at work in the same folder: wait for that one too.
    const child = Number(await textOf(path.join(lock, "child")));
    const isGone = host === hostname() && !isAlive(pid) && !(child > 0 && isAlive(child));
    return { text, pid, isStale: isGone || Date.now() - mtimeMs > SILENT_MS };
  } catch {
    return undefined; // released while we looked
  }
}

function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === "EPERM";
  }
}

/** Moves a stale lock away. If it changed hands in between, the new owner gets it back. */
async function breakLock(lock, staleOwner) {
  const aside = path.join(await mkdtemp(path.join(STATE, "stale-")), "lock");
  try {
    await rename(lock, aside);
    if ((await textOf(path.join(aside, "owner"))) !== staleOwner) await rename(aside, lock);
  } catch {
    // Somebody else moved it first, or a third process claimed it since: both mean "look again".
  } finally {
    await rm(path.dirname(aside), { recursive: true, force: true });
  }
}

async function touch(lock) {
  const now = new Date();
  await utimes(path.join(lock, "owner"), now, now).catch(() => {});
}

// ---------------------------------------------------------------------------------------------

/** Runs `main`, and turns a failure meant for people into its plain text and exit code 1. */
export async function orExplain(main) {
  try {
    await main();
  } catch (error) {
    process.stderr.write(error instanceof SetUpError ? `\n${error.message}\n` : `\n${error.stack}\n`);
    process.exit(1);
  }
}

if (process.argv[1] !== undefined && path.resolve(process.argv[1]) === fileURLToPath(import.meta.url)) {
  const args = process.argv.slice(2);
  const unknown = args.find((arg) => !["--clean", "--quiet", "--help"].includes(arg));
  if (args.includes("--help")) console.log(HELP);
  else if (unknown !== undefined) {
    console.error(`${unknown} is not an option.\n\n${HELP}`);
    process.exitCode = 2;
  } else {
    await orExplain(() => setUp({ clean: args.includes("--clean"), quiet: args.includes("--quiet") }));
  }
}
