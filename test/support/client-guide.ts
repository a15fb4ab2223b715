// The client library's guide as a reader follows it: its files, as they stand on the page, in a project of somebody
// else's into which the packed library is installed, beside a running stack.
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdir, readFile, symlink } from "node:fs/promises";
import path from "node:path";
import { DEVELOPMENT_KEYS } from "../../shared/client/node/development.ts";
import { freshProject } from "./fresh-project.ts";
import type { TestStack } from "./stack.ts";
import { PROJECT_ROOT } from "./tree.ts";

/** What a reader installs beside the library; here it is linked, so that nothing is asked of a registry. */
const BESIDE = ["ethers", "esbuild"];

export interface GuideProject {
  readonly folder: string;
  /** Runs Node with this to its end. Throws with what it said when it fails. */
  node(...args: readonly string[]): Promise<string>;
  /** A block of shell, as it stands but for these words. */
  shell(block: string, words?: Readonly<Record<string, string>>): Promise<string>;
  /** Starts what does not end by itself; resolves when it has said so. */
  serve(
    args: readonly string[],
    environment: Readonly<Record<string, string>>,
    said: string,
  ): Promise<ChildProcess>;
  remove(): Promise<void>;
}

/** The blocks of code by their names. Each has one, or nobody could tell whether it was run. */
export async function guideBlocks(): Promise<ReadonlyMap<string, string>> {
  const text = await readFile(path.join(PROJECT_ROOT, "shared", "client", "GUIDE.md"), "utf8");
  const blocks = [...text.matchAll(/^```([^\n]*)\n(.*?)^```$/gms)].map(([, head = "", body = ""]) => {
    const [language = "", name = "", ...more] = head.split(" ");
    if (name === "" || more.length > 0) throw new Error(`a block has no name: ${body.slice(0, 60)}`);
    return [language === "sh" ? `sh ${name}` : name, body] as const;
  });
  if (new Set(blocks.map(([name]) => name)).size !== blocks.length) throw new Error("a name stands twice");
  return new Map(blocks);
}

export async function guideProject(on: TestStack): Promise<GuideProject> {
  const [project, blocks] = [await freshProject(), await guideBlocks()];
  const modules = path.join(project.folder, "node_modules");
  for (const [name, text] of blocks) if (!name.startsWith("sh ")) await project.write(name, text);
  for (const name of BESIDE)
    await symlink(path.join(PROJECT_ROOT, "node_modules", name), path.join(modules, name));
  await mkdir(path.join(modules, ".bin"), { recursive: true });
  await symlink("../esbuild/bin/esbuild", path.join(modules, ".bin", "esbuild"));
  const env = {
    ...process.env,
    CLOISTER_STACK: path.join(on.stack.folder.path, "stack.json"),
    CLOISTER_KEYS: DEVELOPMENT_KEYS.href,
  };

  function start(command: string, args: readonly string[], more: Readonly<Record<string, string>>) {
    const child = spawn(command, args, { cwd: project.folder, env: { ...env, ...more }, stdio: "pipe" });
    const said = { stdout: "", stderr: "" };
    for (const name of ["stdout", "stderr"] as const)
      child[name].setEncoding("utf8").on("data", (text: string) => (said[name] += text));
    child.stdin.end();
    return { child, said };
  }

  async function run(command: string, args: readonly string[]): Promise<string> {
    const { child, said } = start(command, args, {});
    const [code] = (await once(child, "close")) as [number | null];
    if (code !== 0)
      throw new Error(`${command} ${args.join(" ")} ended with ${String(code)}: ${said.stderr}`);
    return said.stdout;
  }

  return {
    folder: project.folder,
    node: (...args) => run(process.execPath, args),
    shell(block, words = {}) {
      let text = blocks.get(`sh ${block}`);
      if (text === undefined) throw new Error(`the guide has no block ${block}`);
      for (const [word, value] of Object.entries(words)) {
        if (!text.includes(word)) throw new Error(`the block ${block} does not say ${word}`);
        text = text.replaceAll(word, value);
      }
      return run("bash", ["-euc", text]);
    },
    async serve(args, environment, words) {
      const { child, said } = start(process.execPath, args, environment);
      await new Promise<void>((resolve, reject) => {
        child.stdout.on("data", () => {
          if (said.stdout.includes(words)) resolve();
        });
        child.once("close", () => reject(new Error(`ended: ${said.stderr}`)));
      });
      return child;
    },
    remove: () => project.remove(),
  };
}
