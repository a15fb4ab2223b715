/**
 * At most so many questions to the node at a time, and so many more in line: what callers ask at will must
 * not take the node from the submitter and the indexer. A full line says so at once.
 */
import { ChainAway } from "./json-rpc.ts";

export interface QuestionLine {
  /** Runs when it is its turn; a question that is given up while it stands in line is never asked. */
  take<T>(question: () => Promise<T>, signal: AbortSignal): Promise<T>;
}

export function createQuestionLine(atOnce: number, inLine: number): QuestionLine {
  let running = 0;
  const line: (() => void)[] = [];

  return {
    async take(question, signal) {
      if (running >= atOnce) {
        if (line.length >= inLine) throw new ChainAway("too many questions to the node are waiting");
        await new Promise<void>((resolve) => line.push(resolve));
      } else {
        running++;
      }
      try {
        if (signal.aborted) throw new ChainAway("the question was given up before its turn");
        return await question();
      } finally {
        // The place is handed on, so `running` stays; without anybody in line it is free.
        const next = line.shift();
        if (next === undefined) running--;
        else next();
      }
    },
  };
}
