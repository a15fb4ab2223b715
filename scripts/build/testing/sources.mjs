// What each file depends on: what it imports and what it names by its place. Here both are words in quotes with a folder
// or an ending in them, so they are found without reading the language. More is found than is meant, seldom less.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import path from "node:path";
import { BUILDS } from "../setup.mjs";
import { ROOT } from "./suites.mjs";

const QUOTED = /["'`]([\w@./-]+)["'`]/g;
const NAMING = /\.(ts|tsx|mjs|cjs|js|sol|toml)$/;
/** Between the parts of a path. */
const PARTED = /["'`], ["'`]/g;
/** A name alone is most often no place; dots alone are a way to one. */
const isPlace = (word) => /[./]/.test(word) && /[^./]/.test(word);
/** Lists of what can be made: who uses one of these names it too. */
const LISTS = new Set(["scripts/base/programs.ts", "scripts/build/setup.mjs"]);
const isIn = (file, place) => file === place || file.startsWith(`${place}/`);

/** All files of the project by their place in it; undefined where it lies in no repository. */
export function projectFiles() {
  try {
    return git("ls-files", "--cached", "--others", "--exclude-standard");
  } catch {
    return undefined;
  }
}

/** What differs from this commit, committed or not; undefined where it is no commit before this one. */
export function changedSince(commit) {
  try {
    git("merge-base", "--is-ancestor", commit, "HEAD");
    return [
      ...git("diff", "--name-only", "--no-renames", commit),
      ...git("ls-files", "--others", "--exclude-standard"),
    ];
  } catch {
    return undefined;
  }
}

function git(...args) {
  const options = { cwd: ROOT, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"], maxBuffer: 1 << 26 };
  return execFileSync("git", args, options).split("\n").filter(Boolean);
}

/** A function from a file to the set of all that it depends on, itself among them. */
export function dependenciesOf(all, textOf = (file) => readFileSync(path.join(ROOT, file), "utf8")) {
  const files = new Set(all);
  const folders = new Set(all.flatMap((file) => foldersOf(file)));
  const under = memo((place) => all.filter((file) => isIn(file, place)));

  /** From the file's own folder, or from the root; there a name alone would be that of many folders' files. */
  const placesOf = (word, file) =>
    [
      path.posix.join(path.posix.dirname(file), word),
      ...(word.includes("/") || file.startsWith("test/") ? [path.posix.normalize(word)] : []),
    ].map((place) => place.replace(/\/$/, ""));
  /** Of what is built, all that it is built from. */
  const filesAt = (place) => {
    if (files.has(place)) return [place];
    const built = BUILDS.filter(({ outputs }) => outputs.some((output) => isIn(place, output)));
    return [
      ...(folders.has(place) ? under(place) : []),
      ...built.flatMap(({ inputs }) => inputs.flatMap(under)),
    ];
  };
  const named = memo((file) => {
    if (!NAMING.test(file) || LISTS.has(file)) return [];
    const text = textOf(file);
    const words = [text, text.replaceAll(PARTED, "/")]
      .flatMap((one) => [...one.matchAll(QUOTED)].map(([, word]) => word))
      .filter((word) => isPlace(word));
    return [...new Set(words.flatMap((word) => placesOf(word, file)).flatMap(filesAt))];
  });
  return memo((file) => {
    const found = new Set([file]);
    for (const one of found) for (const next of named(one)) found.add(next);
    return found;
  });
}

const foldersOf = (file) => {
  const parts = file.split("/").slice(0, -1);
  return parts.map((_, i) => parts.slice(0, i + 1).join("/"));
};

function memo(make) {
  const made = new Map();
  return (key) => {
    if (!made.has(key)) made.set(key, make(key));
    return made.get(key);
  };
}
