// How the commands of the local stack begin and end.
import { runCommand } from "../base/command.ts";
import { StackError } from "../base/stack-file.ts";

/** A StackError is meant for the person at the keyboard; anything else shows where it came from. */
export const runStackCommand: typeof runCommand = (config, main) =>
  runCommand({ failure: (error) => (error instanceof StackError ? error.message : error), ...config }, main);

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** With --json, standard output carries the result alone. */
export function speaker(json: boolean): (text: string) => void {
  return json ? (text) => void process.stderr.write(`${text}\n`) : console.log;
}

/** Resolves at Ctrl-C. */
export function interruption(): Promise<"interrupted"> {
  return new Promise((resolve) => {
    const interrupt = (): void => resolve("interrupted");
    process.on("SIGINT", interrupt).on("SIGTERM", interrupt);
  });
}

/** Stops once, however often it is called; at Ctrl-C too, and the process ends then. */
export function stoppingOnce(stop: () => Promise<void>): () => Promise<void> {
  let stopping: Promise<void> | undefined;
  const once = (): Promise<void> => (stopping ??= stop());
  const interrupted = (): void => void once().finally(() => process.exit(130));
  process.once("SIGINT", interrupted).once("SIGTERM", interrupted);
  return once;
}
