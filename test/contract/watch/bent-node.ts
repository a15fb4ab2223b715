/** A chain node's JSON-RPC with a liar in between: answers pass unless a test bends them. */
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";

export interface BentNode {
  readonly url: string;
  /** Questions by method, since the last `straighten`. */
  readonly asked: Map<string, number>;
  /** Every later answer to `method` is what `change` makes of the true one; a throw is an error of the node. */
  bend(method: string, change: (result: unknown, params: readonly unknown[]) => unknown): void;
  /** The next questions, whatever they are, are answered with HTTP 503. */
  failNext(times: number): void;
  straighten(): void;
  close(): Promise<void>;
}

/** For `eth_getLogs`: leaves out the logs of that first topic once, where there are any. */
export function leavingOutOnce(topic: string): (logs: unknown, params: readonly unknown[]) => unknown[] {
  let times = 1;
  return (answer) => {
    const logs = answer as { readonly topics: readonly string[] }[];
    const kept = logs.filter(({ topics }) => topics[0] !== topic);
    return kept.length < logs.length && times-- > 0 ? kept : logs;
  };
}

export async function startBentNode(target: string): Promise<BentNode> {
  const asked = new Map<string, number>();
  const changes = new Map<string, (result: unknown, params: readonly unknown[]) => unknown>();
  let failures = 0;

  async function answer(request: IncomingMessage): Promise<string | undefined> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks).toString();
    const { id, method, params } = JSON.parse(body);
    asked.set(method, (asked.get(method) ?? 0) + 1);
    if (failures > 0) {
      failures -= 1;
      return undefined;
    }
    const headers = { "content-type": "application/json" };
    const text = await (await fetch(target, { method: "POST", headers, body })).text();
    const change = changes.get(method);
    const reply = JSON.parse(text);
    if (change === undefined || "error" in reply) return text;
    try {
      return JSON.stringify({ jsonrpc: "2.0", id, result: change(reply.result, params) });
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      return JSON.stringify({ jsonrpc: "2.0", id, error: { code: -32_601, message } });
    }
  }

  const server = createServer((request, response) => {
    void answer(request).then(
      (text) => response.writeHead(text === undefined ? 503 : 200).end(text ?? ""),
      () => response.writeHead(502).end(),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`,
    asked,
    bend: (method, change) => void changes.set(method, change),
    failNext: (times) => {
      failures = times;
    },
    straighten() {
      changes.clear();
      asked.clear();
      failures = 0;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
