// Runs dependency-cruiser as `npm run borders` means it: the project's own rules over a tree.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { createRequire } from "node:module";
import path from "node:path";
import { PROJECT_ROOT } from "../../support/tree.ts";

export interface Violation {
  readonly rule: string;
  readonly from: string;
  readonly to: string;
}

export interface CruiseResult {
  readonly violations: readonly Violation[];
  readonly totalCruised: number;
  readonly modules: readonly string[];
}

interface RawResult {
  modules: { source: string }[];
  summary: { totalCruised: number; violations: { rule: { name: string }; from: string; to: string }[] };
}

export const PARTS = ["enclave", "proxy", "shared", "scripts", "test"] as const;

const RULES_FILE = path.join(PROJECT_ROOT, ".dependency-cruiser.cjs");
const CRUISER = path.join(PROJECT_ROOT, "node_modules/dependency-cruiser/bin/dependency-cruise.mjs");

/** The names of all rules, from the file that the cruise reads. */
export function ruleNames(): string[] {
  const config = createRequire(import.meta.url)(RULES_FILE) as { forbidden: { name: string }[] };
  return config.forbidden.map((rule) => rule.name);
}

export async function cruise(root: string): Promise<CruiseResult> {
  const output = await new Promise<string>((resolve, reject) => {
    const args = [CRUISER, "--config", RULES_FILE, "--output-type", "json", ...PARTS];
    execFile(process.execPath, args, { cwd: root, maxBuffer: 256 * 1024 * 1024 }, (error, stdout, stderr) => {
      // The exit code counts violations; only an answer that is no JSON means that the run failed.
      if (stdout.startsWith("{")) resolve(stdout);
      else reject(new Error(`dependency-cruiser gave no answer: ${stderr}`, { cause: error }));
    });
  });
  const raw = JSON.parse(output) as RawResult;
  assert.equal(typeof raw.summary.totalCruised, "number");
  return {
    violations: raw.summary.violations.map(({ rule, from, to }) => ({ rule: rule.name, from, to })),
    totalCruised: raw.summary.totalCruised,
    modules: raw.modules.map((module) => module.source),
  };
}
