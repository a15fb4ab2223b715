// A measuring or measured process of its own, so that neither side's work is counted as the other's: one question,
// one answer, over the channel that Node gives a forked child. Bundled, as programs of the service are, so that its
// memory is not the TypeScript loader's.

import { fork } from "node:child_process";
import { once } from "node:events";
import { bundledProgram } from "../../base/programs.ts";

export interface Child<Ask, Answer> {
  readonly pid: number;
  ask(question: Ask): Promise<Answer>;
  stop(): Promise<void>;
}

/** `file` is named from this folder, and among the bundled programs. */
export async function startChild<Ask extends object, Answer>(file: string): Promise<Child<Ask, Answer>> {
  const program = await bundledProgram(`scripts/lab/bench/${file}`);
  if (program === undefined) throw new Error(`${file} is not among the programs that are bundled`);
  const child = fork(program, {
    execArgv: [],
    stdio: ["ignore", "ignore", "inherit", "ipc"],
    serialization: "advanced",
  });
  const exit = once(child, "exit");
  return {
    pid: child.pid ?? -1,
    async ask(question) {
      const answer = once(child, "message");
      const end = exit.then(([code]) => {
        throw new Error(`${file} ended with ${String(code)} before it answered`);
      });
      // Whichever comes later has nobody who waits for it.
      end.catch(() => undefined);
      child.send(question);
      const [message] = (await Promise.race([answer, end])) as [{ ok?: Answer; fault?: string }];
      if (message.fault !== undefined) throw new Error(`${file}: ${message.fault}`);
      return message.ok as Answer;
    },
    async stop() {
      child.kill("SIGKILL");
      await exit;
    },
  };
}
