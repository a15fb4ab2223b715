#!/usr/bin/env node
// What forge takes for solc: the compiler of the lock file, which is JavaScript, behind the two options that
// forge uses. Trusts node_modules and its own pin, reads no network and no file that the input does not carry.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

/** The pin of package.json, said again here: forge must never be answered by another compiler. */
const PINNED = "0.8.37";
const USAGE = "Usage: forge-solc.mjs --version | forge-solc.mjs --standard-json < input.json";

/** Where a compiler that opens files itself would look; forge sends every source inside the input. */
const WITH_A_PATH = new Set(["--base-path", "--include-path", "--allow-paths"]);

const require = createRequire(import.meta.url);

/** @param {readonly string[]} args */
function answer(args) {
  const wanted = args.filter((arg, i) => !WITH_A_PATH.has(arg) && !WITH_A_PATH.has(args[i - 1] ?? ""));
  if (wanted.length !== 1 || !["--version", "--standard-json"].includes(wanted[0])) throw new Error(USAGE);
  const installed = require("solc/package.json").version;
  if (installed !== PINNED)
    throw new Error(`solc ${PINNED} is pinned, but ${installed} is installed: run npm ci`);
  const solc = require("solc");
  return wanted[0] === "--version"
    ? `solc, the solidity compiler commandline interface\nVersion: ${solc.version()}\n`
    : solc.compile(readFileSync(0, "utf8"));
}

try {
  process.stdout.write(answer(process.argv.slice(2)));
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}
