/**
 * A service that speaks the real interface about the real chain, and bends any answer as a test tells it to. It
 * stands for a proxy that an attacker runs: the client library has nobody else to talk to.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { WhoAmI } from "../../shared/api/credentials.ts";
import type { StreamEvent } from "../../shared/api/data.ts";
import { ERRORS, type ErrorCode } from "../../shared/api/errors.ts";
import type { Info } from "../../shared/api/service.ts";
import { DEVELOPMENT_KEYS } from "../../shared/client/node/development.ts";
import { readManifest } from "../../shared/client/node/index.ts";
import { toHex, word } from "../../shared/protocol/bytes.ts";
import { KIND_NAMES } from "../../shared/protocol/statements.ts";
import { signalNames } from "../../shared/protocol/host/statements.ts";
import type { Battlefield } from "../support/adversary.ts";

export interface Lies {
  info?: (truth: Info) => Info;
  whoami?: (truth: WhoAmI) => WhoAmI;
  ready?: (truth: Extract<StreamEvent, { kind: "ready" }>["data"]) => unknown;
  events?: (truth: readonly StreamEvent[]) => readonly StreamEvent[];
}

export const PREFIX = "cloadv";
export const FLAT_FEE = "50000";

export class LyingService {
  lies: Lies = {};
  /** Every payment that a client sent, as it came. */
  readonly payments: unknown[] = [];
  /** The answer to every payment. */
  answer: ErrorCode = "PROOF_INVALID";
  /** Runs before a payment is answered. */
  beforeAnswer: () => Promise<void> = () => Promise.resolve();
  readonly baseUrl: string;
  readonly #server: Server;

  private constructor(server: Server, baseUrl: string) {
    this.#server = server;
    this.baseUrl = baseUrl;
  }

  /** `sink` is the service's own shielded address. */
  static async start(field: Battlefield, sink: string): Promise<LyingService> {
    const server = createServer((request, response) => {
      service.#serve(field, sink, request, response).catch(() => response.destroy());
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const address = server.address();
    const port = typeof address === "object" && address !== null ? address.port : 0;
    const service = new LyingService(server, `http://127.0.0.1:${port}`);
    return service;
  }

  stop(): Promise<void> {
    this.#server.closeAllConnections();
    return new Promise((resolve) => this.#server.close(() => resolve()));
  }

  async #serve(
    field: Battlefield,
    sink: string,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    const body: Buffer[] = [];
    for await (const chunk of request) body.push(chunk as Buffer);
    const path = new URL(request.url ?? "/", this.baseUrl).pathname;
    if (request.method === "POST") {
      this.payments.push(JSON.parse(Buffer.concat(body).toString()));
      await this.beforeAnswer();
      problem(response, this.answer);
      return;
    }
    const same = <T>(truth: T): T => truth;
    switch (path) {
      case "/info":
        json(response, 200, (this.lies.info ?? same)(await trueInfo(field, sink)));
        break;
      case "/whoami":
        json(response, 200, (this.lies.whoami ?? same)(trueRules(field, sink)));
        break;
      case "/events/stream":
        await this.#stream(field, response);
        break;
      default:
        problem(response, "NOT_FOUND");
    }
  }

  async #stream(field: Battlefield, response: ServerResponse): Promise<void> {
    const truth = await field.events();
    const place = {
      block_number: await field.provider.getBlockNumber(),
      leaf_count: truth.filter(({ kind }) => kind === "leaf").length,
    };
    const ready = { chain_id: Number(field.home.chainId), pool: field.home.pool, ...place };
    response.writeHead(200, { "Content-Type": "text/event-stream" });
    send(response, "ready", this.lies.ready?.(ready) ?? ready);
    for (const event of this.lies.events?.(truth) ?? truth) send(response, event.kind, event.data);
    send(response, "synced", place);
  }
}

function trueRules(field: Battlefield, sink: string): WhoAmI {
  const service = { flat: FLAT_FEE, bps: 0, sink, enforced: true };
  return {
    kind: "api_key",
    developer: { id: "d", name: "d" },
    limits: [],
    fees: (["deposit", "transfer", "withdraw"] as const).map((operation) => ({
      asset: field.usdcAddress,
      operation,
      service,
      developer: null,
      valid_until: "2100-01-01T00:00:00Z",
    })),
  };
}

async function trueInfo(field: Battlefield, sink: string): Promise<Info> {
  const { circuits } = await readManifest(DEVELOPMENT_KEYS);
  return {
    ...{
      api_version: "test",
      network: "test",
      deployment_block: 0,
      address_prefix: PREFIX,
      confirmations: 1,
      threshold: 1,
      bridges: null,
    },
    ...{ chain_id: Number(field.home.chainId), pool: field.home.pool },
    assets: [{ address: field.usdcAddress, symbol: "USDC", decimals: 6 }],
    features: { swaps: false, bridges: false, spend9: false },
    fees: { service_address: sink, schedule: [] },
    circuits: KIND_NAMES.map((kind) => ({
      kind,
      public_signals: signalNames(kind),
      verification_key_hash: toHex(word(1n)),
      artefacts: { zkey_sha256: circuits[kind]!.zkey.sha256, wasm_sha256: circuits[kind]!.wasm.sha256 },
    })),
    enclaves: [],
    limits: { body_bytes: 262_144, minimums: [] },
  };
}

function send(response: ServerResponse, kind: string, data: unknown): void {
  response.write(`event: ${kind}\ndata: ${JSON.stringify(data)}\n\n`);
}

function json(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "Content-Type": "application/json" }).end(JSON.stringify(body));
}

function problem(response: ServerResponse, code: ErrorCode): void {
  const { status, retryable, title } = ERRORS[code];
  const body = { type: "about:blank", title, status, detail: title, code, retryable, request_id: "r" };
  response.writeHead(status, { "Content-Type": "application/problem+json" }).end(JSON.stringify(body));
}
