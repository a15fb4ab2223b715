// A measuring or measured process of its own, so that neither side's work is counted as the other's: one question,
// one answer, over the channel that Node gives a forked child.

import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

export interface Child<Ask, Answer> {
  readonly pid: number;
  ask(question: Ask): Promise<Answer>;
  stop(): Promise<void>;
}

/** `file` is named from this folder. */
export function startChild<Ask extends object, Answer>(file: string): Child<Ask, Answer> {
  const child = fork(fileURLToPath(new URL(file, import.meta.url)), {
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

/** The other side: answers one question after the other until the parent goes. */
export function answer(work: (question: never) => Promise<unknown>): void {
  process.on("disconnect", () => process.exit(0));
  process.on("message", (question) => {
    work(question as never).then(
      (ok) => process.send?.({ ok }),
      (error: unknown) => process.send?.({ fault: error instanceof Error ? error.message : String(error) }),
    );
  });
}
