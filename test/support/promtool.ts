// Prometheus' own tool, where it is installed (Debian: the package `prometheus`).
import { spawn } from "node:child_process";
import { once } from "node:events";

export interface Ended {
  readonly code: number | null;
  readonly said: string;
}

/** Undefined where it is not installed. What it says on both streams is one text. */
export async function promtool(words: readonly string[], input = ""): Promise<Ended | undefined> {
  const child = spawn("promtool", words, { stdio: "pipe" });
  let said = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => (said += text));
  // One that refuses its input does not read it to the end.
  child.stdin.on("error", () => undefined).end(input);
  try {
    const [code] = (await once(child, "close")) as [number | null];
    return { code, said };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}
