// Which test files a change has to pass: the properties, vectors, seeded faults, borders and the enclave's, every other one that
// takes less than two seconds, and of the rest those that depend on something that has changed since the last green gate, and a
// tenth of the others in turn.
import { readFileSync } from "node:fs";
import path from "node:path";
import { isFinal, ROOT } from "./suites.mjs";
import { costOf } from "./times.mjs";
import { changedSince, projectFiles, dependenciesOf } from "./sources.mjs";

/** `{ commit, gates }`: the last commit at which `npm run gate` was green, and how many gates were. */
export const LAST_GREEN = path.join(ROOT, "test/last-green.json");

/** The check that takes as long as they do. */
export const FORGE = "scripts/lab/forge.ts";
const COSTLY_SECS = 2;
/** What decides how every file is played. */
const AFFECTS_ALL =
  /^(\.ci\/|\.node-version|\.npmrc|package(-lock)?\.json|enclave\/package(-lock)?\.json|tsconfig\.json|scripts\/build\/(testing\/|[\w-]+\.mjs)|test\/support\/(as-modules\.mjs|tally\.cjs|waiting-by-time\.ts))/;
/** Rules are cheap, though their tests name all that they are about; the enclave's tests measure its coverage. */
const isAlwaysPlayed = (file) =>
  isFinal(file) || /^test\/(contract\/(borders|wire)|unit\/enclave)\//.test(file);
const SHARE = 10;

/** `{ isPlayed(file), why, changed }` of these test files and FORGE; `changed` is undefined where everything is played. */
export function selection(testFiles) {
  const files = [...testFiles, FORGE];
  const everything = (why) => ({ isPlayed: () => true, why: `every file, since ${why}` });
  const last = lastGreen();
  if (last === undefined) return everything("no green gate is recorded");
  const all = projectFiles();
  const changed = changedSince(last.commit);
  const present = new Set(all);
  if (all === undefined || changed === undefined)
    return everything(`the last green commit, ${last.commit}, is none before this one`);
  return selected(files, {
    changed,
    of: dependenciesOf(all),
    turn: last.gates,
    everything,
    exists: (file) => present.has(file),
    costOf,
  });
}

export function selected(files, { changed, of, turn, everything, exists, costOf }) {
  const shared = changed.find((file) => AFFECTS_ALL.test(file));
  if (shared !== undefined) return everything(`${shared} has changed`);
  const known = new Set(files.flatMap((file) => [...of(file)]));
  // Of code that is gone, whatever named it has changed too.
  const stranger = changed.find(
    (file) => !known.has(file) && !file.endsWith(".md") && (exists(file) || !/\.(ts|tsx|mjs)$/.test(file)),
  );
  if (stranger !== undefined)
    return everything(`${stranger} has changed, and which of them depend on it is not known`);

  // One that was never recorded is played until it is.
  const costly = files.filter(
    (file) => file === FORGE || (!isAlwaysPlayed(file) && costOf(file) >= COSTLY_SECS),
  );
  const touched = new Set(costly.filter((file) => changed.some((one) => of(file).has(one))));
  const others = costly.filter((file) => !touched.has(file)).sort();
  const leftOut = new Set(others.filter((_, i) => i % SHARE !== turn % SHARE));
  return {
    isPlayed: (file) => !leftOut.has(file),
    changed: changed.filter(exists),
    why: `${touched.size} of ${costly.length} costly files, which depend on what has changed, and ${others.length - leftOut.size} of the others`,
  };
}

function lastGreen() {
  try {
    const { commit, gates } = JSON.parse(readFileSync(LAST_GREEN, "utf8"));
    return /^[0-9a-f]{40}$/.test(commit) && Number.isSafeInteger(gates) ? { commit, gates } : undefined;
  } catch {
    return undefined;
  }
}
