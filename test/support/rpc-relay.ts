/**
 * Stands between a proxy and its node, and lets a test act at one exact question: before the node hears it, or when
 * the node has answered and the proxy does not know yet.
 */
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";

export type Moment = "before" | "after";

export interface RpcRelay {
  readonly url: string;
  /** Calls back once, at the next question of this method; neither it nor its answer is passed on. */
  next(method: string, moment: Moment, act: () => void): void;
  close(): Promise<void>;
}

export async function startRpcRelay(target: string): Promise<RpcRelay> {
  let trap: { readonly method: string; readonly moment: Moment; readonly act: () => void } | undefined;
  const isCaught = (method: string, moment: Moment): boolean => {
    if (trap?.method !== method || trap.moment !== moment) return false;
    const { act } = trap;
    trap = undefined;
    act();
    return true;
  };

  const server = createServer((request, response) => {
    void (async () => {
      const body = await textOf(request);
      const { method } = JSON.parse(body) as { method: string };
      if (isCaught(method, "before")) return void request.socket.destroy();
      const answer = await fetch(target, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body,
      });
      const text = await answer.text();
      if (isCaught(method, "after")) return void request.socket.destroy();
      response.writeHead(answer.status, { "content-type": "application/json" }).end(text);
    })().catch(() => request.socket.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`,
    next(method, moment, act) {
      trap = { method, moment, act };
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("utf8");
}
