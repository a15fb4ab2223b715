/** Runs the tasks of ffjavascript's curve in this thread: allocate, set, call, get. Trusts whoever sent them. */
import type { Step } from "ffjavascript";

/** In pages of 64 kB: what the program's own data takes, and as much as 32-bit addresses reach. */
const FIRST_PAGES = 25;
const MOST_PAGES = 32_767;
const PAGE = 65_536;

export type Task = readonly Step[];
export type TaskAnswer = { readonly out: Uint8Array[] } | { readonly fault: string };

export type TaskRunner = (task: Task) => Uint8Array[];

export async function taskRunner(program: WebAssembly.Module): Promise<TaskRunner> {
  const memory = new WebAssembly.Memory({ initial: FIRST_PAGES, maximum: MOST_PAGES });
  const { exports } = await WebAssembly.instantiate(program, { env: { memory } });

  /** The program keeps the address of its free memory in the first word. */
  const free = (): Uint32Array => new Uint32Array(memory.buffer, 0, 1);
  const allocate = (bytes: number): number => {
    const [from = 0] = free();
    const at = (from + 3) & ~3;
    const end = at + bytes;
    const missing = end - memory.buffer.byteLength;
    if (missing > 0) memory.grow(Math.ceil(missing / PAGE));
    free()[0] = end;
    return at;
  };
  const set = (at: number, bytes: Uint8Array): void => new Uint8Array(memory.buffer).set(bytes, at);

  return (task) => {
    const [before = 0] = free();
    const variables: number[] = [];
    const out: Uint8Array[] = [];
    const addressOf = (variable: number): number => variables[variable] as number;
    try {
      for (const step of task) {
        switch (step.cmd) {
          case "ALLOC":
            variables[step.var] = allocate(step.len);
            break;
          case "ALLOCSET":
            set((variables[step.var] = allocate(step.buff.length)), step.buff);
            break;
          case "SET":
            set(addressOf(step.var), step.buff);
            break;
          case "CALL":
            (exports[step.fnName] as (...params: number[]) => void)(
              ...step.params.map((param) =>
                "var" in param ? addressOf(param.var) + (param.offset ?? 0) : param.val,
              ),
            );
            break;
          case "GET":
            out[step.out] = new Uint8Array(memory.buffer).slice(
              addressOf(step.var),
              addressOf(step.var) + step.len,
            );
        }
      }
      return out;
    } finally {
      free()[0] = before;
    }
  };
}
