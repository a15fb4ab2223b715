// The page of the stream's browser test: nothing but the client library's events, and how asking ends.
import { ApiProblem, ClientError, createClient, type Client } from "../../shared/client/index.ts";
import { ranOut } from "../support/clocks.ts";

export interface Outcome {
  readonly code: string;
  readonly message: string;
  /** Pauses and limits that ran out meanwhile, all together. */
  readonly waitedMs: number;
}

declare global {
  interface Window {
    /** Told of every event. */
    seen(kind: string): Promise<void>;
    streams: typeof streams;
  }
}

const clientOf = (service: string, token: string): Client =>
  createClient({ baseUrl: service, credential: { sessionProvider: async () => token } });

async function outcomeOf(work: () => Promise<unknown>): Promise<Outcome> {
  const { result, clocks } = await ranOut(() =>
    work().then(
      () => ["done", ""] as const,
      (error: unknown) =>
        error instanceof ClientError || error instanceof ApiProblem
          ? ([error.code, error.message] as const)
          : (["untyped", String(error)] as const),
    ),
  );
  const [code, message] = result;
  return { code, message, waitedMs: clocks.totalMs };
}

export const streams = {
  /** Until the page goes. */
  async follow(service: string, token: string): Promise<void> {
    for await (const { kind } of clientOf(service, token).events()) await window.seen(kind);
  },
  async open(service: string, token: string): Promise<Outcome> {
    return outcomeOf(() => clientOf(service, token).events().next());
  },
  async ask(service: string, token: string): Promise<Outcome> {
    return outcomeOf(() => clientOf(service, token).whoami());
  },
};
window.streams = streams;
