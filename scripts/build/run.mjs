#!/usr/bin/env node
// `node scripts/build/run.mjs SCRIPT.ts [args]`: makes the clone ready, then runs the script in this very
// process. In one process a signal meets one program, nothing is orphaned when it is killed, and
// the exit code is the script's own.
import { existsSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { orExplain, setUp } from "./setup.mjs";

const SAME_KEYPRESS_MS = 500;

/**
 * After Ctrl-C the terminal signals the whole group and npm passes the signal on as well, so one
 * keypress arrives here twice. Scripts read a second signal as "at once, without tidying up".
 */
function hearEachSignalOnce() {
  const lastHeard = new Map();
  const emit = process.emit;
  process.emit = function (name, ...args) {
    if (name === "SIGINT" || name === "SIGTERM") {
      const now = performance.now();
      const previous = lastHeard.get(name) ?? -Infinity;
      lastHeard.set(name, now);
      if (now - previous < SAME_KEYPRESS_MS) return true;
    }
    return emit.call(this, name, ...args);
  };
}

const [script, ...args] = process.argv.slice(2);
if (script === undefined || script === "--help") {
  console.log("Usage: node scripts/build/run.mjs SCRIPT.ts [arguments of the script]");
  process.exit(script === undefined ? 2 : 0);
}
if (!existsSync(script)) {
  console.error(`${script} is not in this copy of the project.`);
  process.exit(2);
}

await orExplain(() => setUp());
hearEachSignalOnce();
const file = path.resolve(script);
process.argv = [process.execPath, file, ...args];
const loader = import.meta.resolve("tsx");
// What the script forks reads TypeScript too.
process.execArgv = [...process.execArgv, "--import", loader];
await import(loader);
try {
  await import(pathToFileURL(file).href);
} catch (error) {
  if (!String(error?.code).startsWith("ERR_PARSE_ARGS")) throw error;
  console.error(`${error.message}\nSee --help.`);
  process.exit(2);
}
