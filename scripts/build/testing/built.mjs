// What set-up has built serves every test, and nobody builds it again while others read it.
import { existsSync, readdirSync, statSync } from "node:fs";
import path from "node:path";
import { BUILDS } from "../setup.mjs";
import { ROOT } from "./suites.mjs";

const OUTPUTS = BUILDS.flatMap(({ outputs }) => outputs);

/** The places in which something was written or deleted after `ms`, a time as `Date.now()` tells it. */
export function writtenSince(ms, places = OUTPUTS, root = ROOT) {
  return places.filter((place) => newestIn(path.join(root, place)) > ms);
}

/** Deleting shows in the time of the folder. */
function newestIn(place) {
  if (!existsSync(place)) return 0;
  const below = readdirSync(place, { recursive: true }).map((name) => path.join(place, name));
  return Math.max(...[place, ...below].map((one) => statSync(one, { throwIfNoEntry: false })?.mtimeMs ?? 0));
}
