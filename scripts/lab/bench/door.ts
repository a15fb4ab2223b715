// A door before a node or venue that counts what is asked through it, so that a proxy's questions are counted where
// they leave it and not by its own account. It may take its time, as a node does that is far away.

import { Agent, createServer, request, type IncomingMessage } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { setTimeout as delay } from "node:timers/promises";

export interface Door {
  readonly url: string;
  /** Requests since it was opened. */
  asked(): number;
  stop(): void;
}

/** Each question takes so many milliseconds longer. */
export async function openDoor(to: string, longerMs = 0): Promise<Door> {
  const target = new URL(to);
  const agent = new Agent({ keepAlive: true });
  let asked = 0;
  const server = createServer((incoming, outgoing) => {
    asked += 1;
    const { method, headers, url } = incoming;
    const { hostname, port } = target;
    const onward = request(
      { agent, hostname, port, method, headers, path: url },
      (answer: IncomingMessage) => {
        void delay(longerMs).then(() => {
          outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
          answer.pipe(outgoing);
        });
      },
    );
    // Whoever asks sees a connection that ends, as from a node that goes away.
    onward.on("error", () => outgoing.destroy());
    outgoing.on("close", () => onward.destroy());
    incoming.pipe(onward);
  });
  server.keepAliveTimeout = 60_000;
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`,
    asked: () => asked,
    stop() {
      server.close();
      server.closeAllConnections();
      agent.destroy();
    },
  };
}
