/** A party's bundled program as a process, which says a line when it listens. */
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { supervised, type Child } from "../../../../scripts/base/child.ts";
import { PATIENCE_MS } from "../../../../scripts/base/poll.ts";
import { childEnvironment } from "../../../../scripts/base/service.ts";

const LAST_WORDS = 2_000;

export async function startProgram(file: string, args: readonly string[]): Promise<Child> {
  const spawned = spawn(process.execPath, [file, ...args], {
    env: childEnvironment(),
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  let complaint = "";
  spawned.stderr.on(
    "data",
    (chunk: Buffer) => (complaint = (complaint + chunk.toString()).slice(-LAST_WORDS)),
  );
  const child = supervised(spawned);
  await new Promise<void>((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`${file} did not start`)), PATIENCE_MS);
    const lines = createInterface({ input: spawned.stdout });
    lines.once("line", () => {
      clearTimeout(timer);
      lines.close();
      spawned.stdout.resume();
      resolve();
    });
    void child.ended.then(() => reject(new Error(`${file} ended at its start: ${complaint}`)));
  });
  return child;
}
