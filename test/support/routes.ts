/** Routes at an edge, for a caller with an API key. */
import type { FeatureEndpoint } from "../../proxy/api/app.ts";
import type { Handlers } from "../../proxy/base/http/routes.ts";
import { startEdge } from "./edge.ts";

export interface Served {
  readonly port: number;
  readonly key: string;
  get(path: string, request?: Asked): Promise<Response>;
  /** `code` of a refusal. */
  codeOf(path: string, headers?: Record<string, string>): Promise<string | undefined>;
  close(): Promise<void>;
}

interface Asked extends RequestInit {
  readonly headers?: Record<string, string>;
}

export async function serveRoutes(handlers: Partial<Handlers<FeatureEndpoint>>): Promise<Served> {
  const { url, port, key, stop } = await startEdge({ handlers });
  // As it was written: without an encoding on the way.
  const own = { "X-API-Key": key, "Accept-Encoding": "identity" };
  const get: Served["get"] = (path, { headers, ...request } = {}) =>
    fetch(url + path, { ...request, headers: { ...own, ...headers } });
  return {
    ...{ port, key, get },
    async codeOf(path, headers = {}) {
      return ((await (await get(path, { headers })).json()) as { code?: string }).code;
    },
    close: stop,
  };
}
