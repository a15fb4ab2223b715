/** What every relay of the suite is made of: a server on a free port before a party, answers that hang, and a count of what struck. */
import { createServer, type Agent, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** Longer than any healthy answer, shorter than a proxy's own patience, so that a scenario does not wait for that. */
const HANG_MS = 600;

/** Answers that do not come, until their time is over or all of them are let go. */
export class Hanging {
  readonly #ends = new Set<() => void>();

  hang(): Promise<void> {
    return new Promise((resolve) => {
      const end = (): void => {
        clearTimeout(timer);
        this.#ends.delete(end);
        resolve();
      };
      const timer = setTimeout(end, HANG_MS);
      this.#ends.add(end);
    });
  }

  letGo(): void {
    for (const end of this.#ends) end();
  }
}

/** How often each fault struck since the last look. */
export class Struck<Fault> {
  #counts = new Map<Fault, number>();

  count(fault: Fault): void {
    this.#counts.set(fault, (this.#counts.get(fault) ?? 0) + 1);
  }

  take(): Map<Fault, number> {
    const taken = this.#counts;
    this.#counts = new Map();
    return taken;
  }
}

export interface Listening {
  readonly url: string;
  readonly close: () => Promise<void>;
}

/** Where `serve` fails the caller's connection is cut. `agent`: by which it asks on; it ends with the server. */
export async function listenBefore(
  agent: Agent,
  serve: (request: IncomingMessage, response: ServerResponse) => Promise<void>,
): Promise<Listening> {
  const server = createServer((request, response) => {
    void serve(request, response).catch(() => request.socket.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`,
    close: () =>
      new Promise((resolve) => {
        agent.destroy();
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

export function textOf(message: IncomingMessage): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = "";
    message
      .setEncoding("utf8")
      .on("data", (chunk: string) => (text += chunk))
      .on("end", () => resolve(text))
      .on("error", reject);
  });
}
