// test/RELEASED.md: which part of the release check was played last when, on which commit, and how it went.
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { ROOT } from "./suites.mjs";

export const RELEASED = path.join(ROOT, "test/RELEASED.md");
const DAY_MS = 86_400_000;

/** What `npm test` is given for each part; an hour at most each, on two processors. */
export const PARTS = {
  checks: ["lint", "types", "format", "borders", "unit", "enclave", "--coverage"],
  random: ["forge", "fuzz"],
  chain: ["chain", "adversarial"],
  contract: ["contract", "redis"],
  stacks: ["e2e", "faults"],
  pages: ["browser", "boot"],
  seeded: ["seeded"],
  nodes: ["nodes"],
};

const HEAD = `# What was played whole

The release check by parts, each as it was played last (\`npm run check:release\`). A gate plays less: CONTRIBUTING.md.

| part | date | commit | seed | minutes | counts | unsteady |
| ---- | ---- | ------ | ---- | ------- | ------ | -------- |
`;
const COLUMNS = ["part", "date", "commit", "seed", "minutes", "counts", "unsteady"];

/** The rows by part. */
export function readReleased(text = existsSync(RELEASED) ? readFileSync(RELEASED, "utf8") : "") {
  const rows = text
    .split("\n")
    .filter((line) => line.startsWith("| "))
    .map((line) => line.split("|").slice(1, -1))
    .map((cells) => Object.fromEntries(COLUMNS.map((name, i) => [name, (cells[i] ?? "").trim()])))
    .filter(({ part }) => part in PARTS);
  return new Map(rows.map((row) => [row.part, row]));
}

export function writtenReleased(rows) {
  const lines = Object.keys(PARTS).flatMap((part) => {
    const row = rows.get(part);
    return row === undefined ? [] : [`| ${COLUMNS.map((name) => row[name]).join(" | ")} |`];
  });
  return `${HEAD}${lines.join("\n")}\n`;
}

/** One line for who lands a change. */
export function ageOf(rows, now = Date.now()) {
  const parts = Object.keys(PARTS);
  const missing = parts.filter((part) => !rows.has(part));
  if (missing.length > 0) return `release check: ${missing.join(", ")} never played`;
  const oldest = Math.min(...parts.map((part) => Date.parse(rows.get(part).date)));
  const commits = new Set(parts.map((part) => rows.get(part).commit));
  const days = Math.floor((now - oldest) / DAY_MS);
  return `release check: ${days} days old, of ${commits.size === 1 ? "one commit" : `${commits.size} commits`}`;
}
