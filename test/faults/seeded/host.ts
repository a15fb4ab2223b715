/**
 * A process that has the proxy's or the relay's program loaded and runs it when it is told to, with settings of that run: loading
 * takes longer than a scenario. It runs its `main.ts`, from its environment to its orderly stop; only the
 * clock may be moved, as an operator's could, and `process.exit` after an orderly stop ends the run instead of the
 * process. Killed, it dies like any other process.
 */
import { EventEmitter } from "node:events";

export type Order =
  | { readonly do: "run"; readonly number: number; readonly environment: Readonly<Record<string, string>> }
  | { readonly do: "stop" }
  /** Milliseconds that this machine's clock is ahead of the true one. */
  | { readonly do: "clock"; readonly aheadMs: number };
export type Report = { readonly is: "loaded" } | { readonly is: "ended"; readonly code: number };

const trueNow = Date.now.bind(Date);
let aheadMs = 0;
Date.now = () => trueNow() + aheadMs;

const tell = (report: Report): void => void process.send?.(report);
const signals = new EventEmitter();

// The program listens for its signals once a run; they reach the run that is under way.
const listen = process.on.bind(process) as (
  name: string,
  listener: (...args: unknown[]) => void,
) => typeof process;
process.on = ((name: string, listener: (...args: unknown[]) => void) => {
  if (name !== "SIGTERM" && name !== "SIGINT") return listen(name, listener);
  signals.removeAllListeners(name);
  signals.on(name, listener);
  return process;
}) as typeof process.on;

const exit = process.exit.bind(process);
process.exit = ((code = 0) => {
  tell({ is: "ended", code: Number(code) });
  // A start that failed leaves half a proxy behind: nothing of it may meet the next run.
  if (code !== 0) exit(code);
}) as typeof process.exit;

const MAIN = process.argv[2] ?? "";
process.argv.length = 2;

function load(number: number): Promise<unknown> {
  return import(`${MAIN}?run=${String(number)}`);
}

async function run(number: number, environment: Readonly<Record<string, string>>): Promise<void> {
  const others = Object.entries(process.env).filter(([name]) => !name.startsWith("CLOISTER_"));
  process.env = { ...Object.fromEntries(others), ...environment };
  // Another module each time, so that its last line runs it again; what it imports stays loaded.
  await load(number);
}

listen("message", (order) => {
  const told = order as Order;
  switch (told.do) {
    case "run":
      void run(told.number, told.environment);
      return;
    case "stop":
      signals.emit("SIGTERM", "SIGTERM");
      return;
    case "clock":
      aheadMs = told.aheadMs;
  }
});
listen("disconnect", () => exit(0));

// Everything that main.ts imports, without its last line.
process.argv.push("--help");
const say = process.stdout.write.bind(process.stdout);
process.stdout.write = () => true;
await load(0);
process.stdout.write = say;
process.argv.pop();
tell({ is: "loaded" });
