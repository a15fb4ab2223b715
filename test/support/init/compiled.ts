// The C of the image and of its host, compiled: as the image has it, and for tests with a look-out for every
// read and write outside of what it owns.
import { execFile, spawn, spawnSync, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { PROJECT_ROOT } from "../tree.ts";

const INIT = path.join(PROJECT_ROOT, "enclave/init");
const SOURCES_OF = {
  "first-init": initOf("first"),
  "second-init": initOf("second"),
  "stand-in": [path.join(PROJECT_ROOT, "test/support/init/stand-in.c")],
  "vsock-bridge": [path.join(PROJECT_ROOT, "scripts/image/host/vsock-bridge.c")],
};
export type ProgramName = keyof typeof SOURCES_OF;

/** As the Dockerfile does it. */
function initOf(program: string): string[] {
  return ["-include", path.join(INIT, `${program}.h`), path.join(INIT, "init.c")];
}

const FLAGS = {
  image: [`@${path.join(INIT, "compile.args")}`],
  watched: ["-std=c11", "-D_GNU_SOURCE", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"],
};

export const COMPILER_IS_MISSING =
  spawnSync("cc", ["--version"], { stdio: "ignore" }).status === 0
    ? undefined
    : "no C compiler here (on Debian: apt-get install gcc libc6-dev)";

export class CompiledPrograms {
  readonly #folder: string;
  readonly #running = new Set<ChildProcess>();
  #complaints = "";

  private constructor(folder: string) {
    this.#folder = folder;
  }

  static async make(): Promise<CompiledPrograms> {
    return new CompiledPrograms(await mkdtemp(path.join(tmpdir(), "cloister-init-")));
  }

  /** The path of the program; throws with the compiler's words. */
  async compile(name: ProgramName, flags: keyof typeof FLAGS): Promise<string> {
    const to = path.join(this.#folder, `${name}-${flags}`);
    const sources = [...SOURCES_OF[name], path.join(INIT, "bridge.c")];
    await promisify(execFile)("cc", [...FLAGS[flags], "-o", to, ...sources]);
    return to;
  }

  start(program: string, ...args: string[]): ChildProcess {
    const child = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"], env: {} });
    child.stderr.on("data", (chunk: Buffer) => (this.#complaints += chunk.toString()));
    this.#running.add(child);
    return child;
  }

  /** Throws what the programs and all their processes complained of: what the look-out found is there. */
  async stop(): Promise<void> {
    for (const child of this.#running) {
      // "close" and not "exit": that is when the last of its processes is gone.
      const closed = once(child, "close");
      child.kill("SIGKILL");
      await closed;
    }
    this.#running.clear();
    const complaints = this.#complaints;
    this.#complaints = "";
    if (complaints !== "") throw new Error(complaints);
  }

  async remove(): Promise<void> {
    await this.stop();
    await rm(this.#folder, { recursive: true, force: true });
  }
}
