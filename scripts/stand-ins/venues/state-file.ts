// What a local venue must still know after it was killed: one JSON file that is either the old state or the new one,
// never half of each. One process writes it.
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import path from "node:path";
import type { z } from "zod";

export class StateFile<S extends z.ZodType> {
  readonly #file: string;
  readonly #shape: S;
  #last: Promise<void> = Promise.resolve();

  constructor(file: string, shape: S) {
    this.#file = file;
    this.#shape = shape;
  }

  /** Undefined when there is none yet; throws when it is not one of ours. */
  async load(): Promise<z.output<S> | undefined> {
    const text = await readFile(this.#file, "utf8").catch((error: unknown) => {
      if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
      throw error;
    });
    return text === undefined ? undefined : this.#shape.parse(JSON.parse(text));
  }

  /** In the order of the calls. When it resolves, this state outlives the process. */
  save(state: z.input<S>): Promise<void> {
    const text = `${JSON.stringify(state)}\n`;
    this.#last = this.#last.then(async () => {
      await mkdir(path.dirname(this.#file), { recursive: true, mode: 0o700 });
      await writeFile(`${this.#file}.tmp`, text, { mode: 0o600 });
      await rename(`${this.#file}.tmp`, this.#file);
    });
    return this.#last;
  }
}
