/** Stands in front of a node, and shows its answers as a test bends them. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

export interface AskedNode {
  readonly method: string;
  readonly params: readonly unknown[];
}
export type Bend = (question: AskedNode, result: unknown) => unknown;

export interface BentNode {
  readonly url: string;
  close(): Promise<void>;
}

export async function startBentNode(target: string, bend: Bend): Promise<BentNode> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      void (async () => {
        const body = Buffer.concat(chunks).toString();
        const headers = { "content-type": "application/json" };
        const answered = await fetch(target, { method: "POST", headers, body });
        const reply = (await answered.json()) as { result?: unknown };
        if (reply.result !== undefined) reply.result = bend(JSON.parse(body) as AskedNode, reply.result);
        response.writeHead(200, headers).end(JSON.stringify(reply));
      })().catch(() => response.destroy());
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
