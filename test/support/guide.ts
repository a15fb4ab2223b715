// The operator's guide as programs: its blocks by kind and place, and a shell that a person would type them into.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { PROJECT_ROOT } from "./tree.ts";

export interface Block {
  /** What stands behind the fence: `sh`, `sh words`, `sh elsewhere=FILE`, `console`. */
  readonly kind: string;
  readonly text: string;
  /** The headings above it, from the second level on. */
  readonly under: readonly string[];
}

/** `file`: a document of the repository. */
export async function blocksOf(file: string): Promise<readonly Block[]> {
  const blocks: Block[] = [];
  const under: string[] = [];
  let open: { kind: string; lines: string[] } | undefined;
  for (const line of (await readFile(path.join(PROJECT_ROOT, file), "utf8")).split("\n")) {
    const [, level = "", title = ""] = /^(#{2,3}) (.*)$/.exec(line) ?? [];
    if (open === undefined && line.startsWith("```")) open = { kind: line.slice(3), lines: [] };
    else if (open !== undefined && line === "```") {
      blocks.push({ kind: open.kind, text: `${open.lines.join("\n")}\n`, under: [...under] });
      open = undefined;
    } else if (open !== undefined) open.lines.push(line);
    else if (level !== "") under.splice(level.length - 2, under.length, title);
  }
  assert.equal(open, undefined, `${file}: a block without its end`);
  return blocks;
}

export interface Shell {
  /** Types a block, waits for its end, and holds what was shown against its lines `#> text`. Throws when a command failed. */
  type(text: string): Promise<string>;
  /** Ends it, and whatever it left running. */
  close(): Promise<void>;
}

/** `replacing`: of the guide's paths and ports, what they are here. */
export function openShell(
  environment: Readonly<Record<string, string>>,
  replacing: readonly (readonly [string, string])[] = [],
): Shell {
  // A group of its own, so that what it started goes with it.
  const child = spawn("bash", ["-s"], {
    cwd: PROJECT_ROOT,
    env: { PATH: process.env["PATH"] ?? "", HOME: process.env["HOME"] ?? "", ...environment },
    stdio: ["pipe", "pipe", "pipe"],
    detached: true,
  });
  let said = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => (said += text));
  child.stdin.on("error", () => undefined);
  const ended = once(child, "close");
  let count = 0;
  child.stdin.write("set -eu\n");

  /** All that was said until the end of what was typed. */
  async function run(command: string): Promise<string> {
    const mark = `-- ${String((count += 1))} typed --`;
    said = "";
    // No program of it may read what is typed next.
    child.stdin.write(`{\n${command}\n} < /dev/null\necho '${mark}'\n`);
    const isDone = new Promise<void>((resolve) => {
      child.stdout.on("data", function look() {
        if (!said.includes(`${mark}\n`)) return;
        child.stdout.off("data", look);
        resolve();
      });
    });
    const isOver = await Promise.race([isDone.then(() => false), ended.then(() => true)]);
    assert.ok(!isOver, `the shell ended at:\n${command}\nit said:\n${said}`);
    return said.replace(`${mark}\n`, "");
  }

  return {
    async type(text) {
      let all = "";
      for (const [command, expected] of commandsOf(text)) {
        const here = replacing.reduce((so, [from, to]) => so.replaceAll(from, to), command);
        const shown = await run(here);
        for (const words of expected)
          assert.ok(shown.includes(words), `${here}\ndoes not show: ${words}\nbut:\n${shown}`);
        all += shown;
      }
      return all;
    },
    async close() {
      // Its members, too: redis-server --daemonize leaves the group, and is ended by its own command.
      try {
        process.kill(-(child.pid ?? 0), "SIGKILL");
      } catch (error) {
        // It ended at a command that failed, and so did all that it had begun.
        if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
      }
      await ended;
    },
  };
}

/** Commands, each with what it must have shown: a block is cut behind its lines `#> text`. */
function commandsOf(text: string): (readonly [string, readonly string[]])[] {
  const commands: [string, string[]][] = [];
  let lines: string[] = [];
  for (const line of text.trimEnd().split("\n")) {
    if (!line.startsWith("#> ")) lines.push(line);
    else if (lines.length > 0) {
      commands.push([lines.join("\n"), [line.slice(3)]]);
      lines = [];
    } else commands.at(-1)?.[1].push(line.slice(3));
  }
  if (lines.length > 0) commands.push([lines.join("\n"), []]);
  return commands;
}
