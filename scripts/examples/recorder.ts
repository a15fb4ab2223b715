/**
 * Asks a running service and keeps what was asked and answered, without its credentials. Development only:
 * what it keeps becomes public.
 */
import type { Example } from "../../shared/api/examples.ts";
import { ENDPOINTS, type EndpointName } from "../../shared/api/endpoints.ts";

export interface Asked extends Omit<Example, "response"> {
  readonly endpoint: EndpointName;
}

export interface Target {
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly session: string;
}

/** The last event of what a stream says about the past. */
const CAUGHT_UP = "event: synced";

/** The body must be here: an example that names another one's is put together before. */
export function requestOf(
  target: Target,
  { endpoint, credential, query, path, headers, body }: Asked,
): { readonly url: string; readonly init: RequestInit } {
  const { method, path: template } = ENDPOINTS[endpoint];
  const way = template.replaceAll(/\{([a-z_]+)\}/g, (_, name: string) =>
    encodeURIComponent(path?.[name] ?? ""),
  );
  const search = query === undefined ? "" : `?${new URLSearchParams(query).toString()}`;
  const credentials = {
    "api-key": { "X-API-Key": target.apiKey },
    session: { Authorization: `Bearer ${target.session}` },
    none: {},
  }[credential];
  return {
    url: `${target.baseUrl}${way}${search}`,
    init: {
      method,
      headers: {
        ...credentials,
        ...(body === undefined ? {} : { "Content-Type": "application/json" }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    },
  };
}

/** A stream is read until it has told the past, then left. */
export async function answerOf(response: Response): Promise<Example["response"]> {
  const { status } = response;
  const type = response.headers.get("content-type")?.split(";")[0]?.trim() ?? "";
  if (type === "text/event-stream") return { status, type, body: await past(response) };
  return { status, type, body: (await response.json()) as unknown };
}

async function past(response: Response): Promise<string> {
  if (response.body === null) throw new Error("the stream has no body");
  let text = "";
  for await (const bytes of response.body.pipeThrough(new TextDecoderStream())) {
    text += bytes;
    const at = text.indexOf(CAUGHT_UP);
    const end = at === -1 ? -1 : text.indexOf("\n\n", at);
    if (end !== -1) return text.slice(0, end + 2);
  }
  throw new Error("the stream ended before it had told the past");
}

export class Recorder {
  readonly #kept = new Map<EndpointName, Example[]>();
  readonly #targets: Readonly<Record<Example["network"], Target>>;

  constructor(targets: Readonly<Record<Example["network"], Target>>) {
    this.#targets = targets;
  }

  /** Throws when the answer is not of the expected status. What `keep` makes of asked and answered is kept. */
  async ask<T = unknown>(
    asked: Asked,
    expected: number,
    keep: (example: Example) => Example = (example) => example,
  ): Promise<T> {
    const { endpoint, ...rest } = asked;
    const { url, init } = requestOf(this.#targets[asked.network], asked);
    const response = await answerOf(await fetch(url, init));
    if (response.status !== expected)
      throw new Error(`${endpoint}: ${String(response.status)} ${JSON.stringify(response.body)}`);
    const before = this.#kept.get(endpoint) ?? [];
    this.#kept.set(endpoint, [...before, keep({ ...rest, response })]);
    return response.body as T;
  }

  /** In the order of the table of endpoints. */
  kept(): Readonly<Partial<Record<EndpointName, readonly Example[]>>> {
    const names = Object.keys(ENDPOINTS) as EndpointName[];
    return Object.fromEntries(
      names.flatMap((name) => {
        const examples = this.#kept.get(name);
        return examples === undefined ? [] : [[name, examples]];
      }),
    );
  }
}
