#!/usr/bin/env node
// `npm run check:release`: all that a change is spared, in parts of an hour at most, each recorded in test/RELEASED.md.
import { execFileSync, spawn } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { PARTS, readReleased, RELEASED, writtenReleased } from "./testing/released.mjs";
import { ROOT } from "./testing/suites.mjs";

const HELP = `Usage: npm run check:release [-- [PART ...] [--anew]]

Plays every suite and check whole, with more random cases, other releases of Node, guides, tour, screens and operator
commands. It takes hours, so it comes in parts, and test/RELEASED.md says of each when and on which commit it was green. A
part that was green on this commit is left out, so that a run that was ended goes on where it was.

  parts:   ${Object.keys(PARTS).join(", ")} (default: all)
  --anew   also what was green on this commit already
  --help   this text`;
/** What tells of runs is not part of what was run. */
const RECORDS = ["test/RELEASED.md", "test/times.json", "test/last-green.json"];

async function main(argv) {
  const unknown = argv.find((arg) => !(arg in PARTS) && arg !== "--anew" && arg !== "--help");
  if (argv.includes("--help")) return console.log(HELP);
  if (unknown !== undefined) return refuse(`${unknown} is no part and no option.\n\n${HELP}`, 2);
  const commit = git("rev-parse", "HEAD");
  if (git("status", "--porcelain", "--", ".", ...RECORDS.map((file) => `:!${file}`)) !== "")
    return refuse("something here is not committed: what is played has to be a commit", 1);

  const named = argv.filter((arg) => arg in PARTS);
  for (const part of named.length > 0 ? named : Object.keys(PARTS)) {
    if (readReleased().get(part)?.commit === commit && !argv.includes("--anew")) {
      console.log(`${part}: was green on this commit`);
      continue;
    }
    const seed = String(Number.parseInt(commit.slice(0, 8), 16));
    const began = performance.now();
    const { code, counts } = await play(PARTS[part], seed);
    const minutes = ((performance.now() - began) / 60_000).toFixed(1);
    if (code !== 0) return refuse(`${part}: RED after ${minutes} min (${counts})`, 1);
    const row = { part, date: new Date().toISOString().slice(0, 10), commit, seed, minutes, counts };
    writeFileSync(RELEASED, writtenReleased(readReleased().set(part, { ...row, unsteady: unsteady() })));
    console.log(`${part}: green after ${minutes} min`);
  }
}

function play(names, seed) {
  const child = spawn(process.execPath, ["scripts/build/test.mjs", ...names, "--release"], {
    cwd: ROOT,
    env: { ...process.env, CLOISTER_REQUIRE_ALL: "1", CLOISTER_SEED: seed },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let said = "";
  child.stdout.setEncoding("utf8").on("data", (text) => {
    process.stdout.write(text);
    said = (said + text).slice(-10_000);
  });
  return new Promise((resolve) => {
    child.once("close", (code) => resolve({ code: code ?? 1, counts: said.trimEnd().split("\n").at(-1) }));
  });
}

function unsteady() {
  const file = path.join(ROOT, ".cloister/unsteady.txt");
  const lines = existsSync(file) ? readFileSync(file, "utf8").split("\n").filter(Boolean) : [];
  return lines.map((line) => line.split(" ")[1]).join(", ") || "none";
}

function refuse(text, code) {
  console.error(text);
  process.exitCode = code;
}

function git(...args) {
  return execFileSync("git", args, { cwd: ROOT, encoding: "utf8" }).trim();
}

await main(process.argv.slice(2));
