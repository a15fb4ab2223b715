/**
 * The other blockchain as a process: litesvm's runtime with the real token program behind the JSON-RPC of that chain's
 * nodes, so that its unmodified client library talks to it. Development only: its keys are public.
 */
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { z } from "zod";
import { parseAltchainAddress } from "../../../../shared/altchain/token.ts";
import { openChain } from "./chain.ts";
import { developmentCalls } from "./development.ts";
import { genesis } from "./genesis.ts";
import { issuing } from "./issuing.ts";
import { toJson, type Json } from "./json.ts";
import type { Methods, Surroundings } from "./method.ts";
import { accountMethods } from "./methods-accounts.ts";
import { blockMethods } from "./methods-blocks.ts";
import { transactionMethods } from "./methods-transactions.ts";
import { RpcError } from "./rpc-errors.ts";

export interface AltchainOptions {
  /** State is kept here and taken up again. */
  readonly folder: string;
  /** Default: a free one. */
  readonly port?: number;
  /** Milliseconds of a slot; 0: slots pass by the development call only. Default: 400, as on the real chain. */
  readonly slotMs?: number;
  readonly now?: () => number;
}

export interface Altchain {
  readonly url: string;
  readonly mint: string;
  close(): Promise<void>;
}

const MAX_BODY_BYTES = 256 * 1024;
const SLOT_MS = 400;
const METHODS: Methods = { ...accountMethods, ...blockMethods, ...transactionMethods };

const request = z.looseObject({
  jsonrpc: z.literal("2.0"),
  id: z.union([z.string(), z.number(), z.null()]).default(null),
  method: z.string(),
  params: z.array(z.unknown()).default([]),
});

export async function startAltchain(options: AltchainOptions): Promise<Altchain> {
  const { folder, port = 0, slotMs = SLOT_MS, now = Date.now } = options;
  const begun = await genesis();
  const chain = openChain(folder, begun, now);
  const issue = issuing(chain, begun);
  const development = developmentCalls(chain, issue);
  const around: Surroundings = {
    chain,
    ledger: chain.ledger,
    airdrop: (to, coins) => issue.airdrop(parseAltchainAddress(to), coins),
  };

  async function respond(incoming: IncomingMessage): Promise<{ status: number; body: Json }> {
    const { method, url = "" } = incoming;
    if (method !== "POST") return { status: 405, body: { error: "POST only" } };
    const untrusted = parse(await bodyOf(incoming));
    const call = development[url];
    if (call !== undefined) return { status: 200, body: await call(untrusted) };
    if (url !== "/") return { status: 404, body: { error: "no such path" } };
    if (!Array.isArray(untrusted)) return { status: 200, body: await answer(around, untrusted) };
    return { status: 200, body: await Promise.all(untrusted.map((one) => answer(around, one))) };
  }

  const server = createServer((incoming, response) => {
    respond(incoming)
      .catch((error: unknown) => ({
        status: error instanceof z.ZodError || error instanceof RangeError ? 400 : 500,
        body: { error: error instanceof Error ? error.message : "fault" },
      }))
      .then(({ status, body }) => {
        response.writeHead(status, { "content-type": "application/json" });
        response.end(toJson(body));
      })
      .catch(() => response.destroy());
  });
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  const slots = slotMs > 0 ? setInterval(() => chain.advance(), slotMs) : undefined;
  return {
    url: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`,
    mint: begun.mint,
    close: () => {
      clearInterval(slots);
      return closed(server);
    },
  };
}

async function answer(around: Surroundings, untrusted: unknown): Promise<Json> {
  const parsed = request.safeParse(untrusted);
  if (!parsed.success) return failed(null, new RpcError(-32600, "Invalid request"));
  const { id, method, params } = parsed.data;
  const call = Object.hasOwn(METHODS, method) ? METHODS[method] : undefined;
  if (call === undefined) return failed(id, new RpcError(-32601, "Method not found"));
  try {
    return { jsonrpc: "2.0", result: await call(around, params), id };
  } catch (error) {
    return failed(id, error instanceof RpcError ? error : new RpcError(-32603, "Internal error"));
  }
}

function failed(id: string | number | null, { code, message, data }: RpcError): Json {
  return { jsonrpc: "2.0", error: { code, message, ...(data === undefined ? {} : { data }) }, id };
}

async function bodyOf(incoming: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > MAX_BODY_BYTES) throw new RangeError("the request is too large");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new RangeError("the body is no JSON");
  }
}

function closed(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
