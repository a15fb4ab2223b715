// Python programs of the repository, run by the interpreter that the machine has (Debian: the package `python3`).
import { spawn } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import type { Context } from "mocha";
import { PROJECT_ROOT } from "./tree.ts";

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** In a `before` hook, first: leaves the suite out where there is no Python 3.11, and fails it where one is required. */
export async function requirePython(suite: Context): Promise<void> {
  const asked = await python(["-c", "import sys; sys.exit(sys.version_info < (3, 11))"]).catch(
    () => undefined,
  );
  if (asked?.code === 0) return;
  const text = "no Python from 3.11 on the path: install Debian's python3";
  if (process.env["CLOISTER_REQUIRE_ALL"] === "1") throw new Error(text);
  console.log(`    left out: ${text}`);
  suite.skip();
}

/** In the project's folder; `environment` beside the own one. Leaves no compiled file behind. */
export async function python(
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
  input = "",
): Promise<Ended> {
  const env = { ...process.env, PYTHONDONTWRITEBYTECODE: "1", ...environment };
  const child = spawn("python3", args, { cwd: PROJECT_ROOT, env, stdio: "pipe" });
  const said = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const)
    child[name].setEncoding("utf8").on("data", (text: string) => (said[name] += text));
  child.stdin.on("error", () => undefined).end(input);
  const [code] = (await once(child, "close")) as [number | null];
  return { code, ...said };
}

export const PYTHON_CLIENT = path.join("shared", "api", "python");
