/**
 * What the operator's machines ask: figures and two probes, on the loopback address alone and never on the API's
 * port. It asks for no credential, so whoever has an account on this machine may read it; it holds no secret and
 * says nothing of any caller.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { headerValues } from "./header-values.ts";
import { startHttpServer, type HttpServer } from "./server.ts";

const LOOPBACK = "127.0.0.1";
/** A page in the operator's browser may have its own name resolve to this address; it cannot have it be one of these. */
const OUR_NAMES = /^(localhost|127\.0\.0\.1|\[::1\])(:[0-9]{1,5})?$/i;

export interface OperationsParts {
  readonly port: number;
  readonly metrics: { text(): Promise<string>; readonly contentType: string };
  /** Shown as it is; ready as `isServing` says. */
  readonly health: () => Promise<Fitness>;
  readonly onFault: (error: unknown) => void;
}

export interface Fitness {
  readonly status: string;
  readonly checks?: Readonly<Record<string, { readonly state: string }>> | undefined;
}

/** What is degraded goes on, and is not to be taken out of service for it: with one of two enclaves payments do. */
export function isServing({ status, checks }: Fitness): boolean {
  if (status === "ok") return true;
  return checks !== undefined && Object.values(checks).every(({ state }) => state !== "down");
}

interface Answer {
  readonly status: number;
  readonly type: string;
  readonly body: string;
}

export function startOperations({ port, metrics, health, onFault }: OperationsParts): Promise<HttpServer> {
  const answers: Readonly<Record<string, () => Promise<Answer> | Answer>> = {
    "/metrics": oneAtATime(async () => ({
      status: 200,
      type: metrics.contentType,
      body: await metrics.text(),
    })),
    // Whoever reads this has been answered by the event loop, and that is all it says.
    "/live": () => json(200, { status: "ok" }),
    "/ready": oneAtATime(async () => {
      const found = await health();
      return json(isServing(found) ? 200 : 503, found);
    }),
  };

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = "", url = "" } = request;
    response.setHeader("Cache-Control", "no-store").setHeader("X-Content-Type-Options", "nosniff");
    if (!headerValues(request, "host").every((name) => OUR_NAMES.test(name))) {
      response.writeHead(421).end();
      return;
    }
    const give = Object.hasOwn(answers, url) ? answers[url] : undefined;
    if (give === undefined) {
      response.writeHead(404).end();
      return;
    }
    if (method !== "GET" && method !== "HEAD") {
      response.writeHead(405, { Allow: "GET, HEAD" }).end();
      return;
    }
    try {
      const { status, type, body } = await give();
      response.writeHead(status, { "Content-Type": type, "Content-Length": Buffer.byteLength(body) });
      response.end(method === "HEAD" ? undefined : body);
    } catch (error) {
      onFault(error);
      response.writeHead(500).end();
    }
  }

  return startHttpServer((request, response) => void answer(request, response), LOOPBACK, port);
}

const json = (status: number, value: unknown): Answer => ({
  status,
  type: "application/json",
  body: JSON.stringify(value),
});

/** Who asks meanwhile gets the same answer: a probe writes into the store and asks the chain. */
function oneAtATime<T>(ask: () => Promise<T>): () => Promise<T> {
  let pending: Promise<T> | undefined;
  return () => (pending ??= ask().finally(() => (pending = undefined)));
}
