// A browser asks before it sends a header that is not harmless, and drops the whole request when the answer does not
// name it. So whatever the client library sends must be on the real app's list, found by letting it send everything.
import assert from "node:assert/strict";
import { ENDPOINTS, type Endpoint } from "../../../shared/api/endpoints.ts";
import { createClient, type Client } from "../../../shared/client/index.ts";
import { startEdge, type Edge } from "../../support/edge.ts";

const ORIGIN = "https://shop.example";

/** Needs no preflight (Fetch standard, "CORS-safelisted request-header"); JSON as Content-Type is not among it. */
const SAFE: ReadonlySet<string> = new Set(["accept", "accept-language", "content-language"]);

/** What fetch-event-source and EventSource polyfills add to a stream, and what HTTP.md lets any client send. */
const OTHERS = [
  ...["Accept", "Cache-Control", "Pragma", "Last-Event-ID"],
  ...[
    "Authorization",
    "Content-Type",
    "Idempotency-Key",
    "API-Version",
    "Prefer",
    "If-None-Match",
    "If-Match",
  ],
  "X-Request-Id",
];

interface Sent {
  readonly method: string;
  readonly path: string;
  readonly headers: readonly string[];
}

/** One call of each method. What is sent matters here, not what it means. */
const CALLS: Readonly<Record<Exclude<keyof Client, "baseUrl">, (client: Client) => Promise<unknown>>> = {
  health: (client) => client.health(),
  info: (client) => client.info({ nonce: "00".repeat(16) }),
  whoami: (client) => client.whoami(),
  createSession: (client) => client.createSession({ sub: "u", perms: ["read"], ttl_secs: 60 }),
  exchangeSession: (client) => client.exchangeSession({ app_id: "app_x", access_token: "x" }),
  sequenceDeposit: (client) => client.sequenceDeposit({} as never),
  sequenceSpend: (client) => client.sequenceSpend({} as never),
  sequenceSpend9: (client) => client.sequenceSpend9({} as never),
  sequenceSwap: (client) => client.sequenceSwap({} as never),
  ticket: (client) => client.ticket("t"),
  attestDeposit: (client) => client.attestDeposit({} as never),
  attestSpend: (client) => client.attestSpend({} as never),
  attestSpend9: (client) => client.attestSpend9({} as never),
  attestSwap: (client) => client.attestSwap({} as never),
  relay: (client) => client.relay({} as never),
  quoteSwap: (client) => client.quoteSwap({} as never),
  bridgeIn: (client) => client.bridgeIn({} as never),
  bridgeOut: (client) => client.bridgeOut({} as never),
  bridgeDeposit: (client) => client.bridgeDeposit({} as never),
  bridgeStatus: (client) => client.bridgeStatus({ id: "b" }),
  merkleRoot: (client) => client.merkleRoot(),
  merkleTree: (client) => client.merkleTree({ level: 0 }),
  treeLevel: (client) => client.treeLevel({ level: 0, leafCount: 1 }).next(),
  history: (client) => client.history(),
  historyChunks: (client) => client.historyChunks({ from: 0, limit: 1, last: "0x", maxBytes: 1 }),
  balance: (client) => client.balance(`0x${"00".repeat(20)}`),
  openapi: (client) => client.openapi(),
  events: (client) => client.events({ from: "1", types: ["leaf"] }).next(),
};

describe("preflights", () => {
  let edge: Edge;
  before(async () => {
    edge = await startEdge({ origins: [ORIGIN] });
  });
  after(() => edge.stop());

  async function sentByClient(): Promise<Sent[]> {
    const sent: Sent[] = [];
    const refuse: typeof fetch = (input, init) => {
      const { pathname } = new URL(input as string);
      sent.push({
        method: init?.method ?? "GET",
        path: pathname,
        headers: [...new Headers(init?.headers).keys()].filter((name) => !SAFE.has(name)),
      });
      return Promise.reject(new TypeError("nothing leaves this test"));
    };
    const client = createClient({
      ...{ baseUrl: edge.url, fetch: refuse, tries: 1 },
      credential: { sessionProvider: async () => "sst_test" },
    });
    for (const call of Object.values(CALLS)) await assert.rejects(call(client));
    return sent;
  }

  async function allowed(method: string, path: string, names: readonly string[]): Promise<Set<string>> {
    const answer = await edge.call("OPTIONS", path, {
      credential: false,
      headers: {
        Origin: ORIGIN,
        "Access-Control-Request-Method": method,
        "Access-Control-Request-Headers": names.join(","),
      },
    });
    assert.equal(answer.status, 204, path);
    const methods = (answer.headers.get("access-control-allow-methods") ?? "").split(/, */);
    assert.ok(methods.includes(method), `${method} ${path}`);
    const list = answer.headers.get("access-control-allow-headers") ?? "";
    return new Set(list.toLowerCase().split(/, */));
  }

  it("allow every header that the client library sends, on every endpoint", async () => {
    const sent = await sentByClient();
    for (const { method, path, headers } of sent) {
      const list = await allowed(method, path, headers);
      for (const name of headers) assert.ok(list.has(name), `${name}, sent to ${method} ${path}`);
    }
    const asked = sent.map(({ method, path }) => `${method} ${path}`);
    for (const { method, path } of Object.values<Endpoint>(ENDPOINTS)) {
      const filled = path.replace("{ticket_id}", "t");
      assert.ok(asked.includes(`${method} ${filled}`), `the client never asks ${method} ${path}`);
    }
  });

  it("are not needed for the client's event stream: nothing that it sends asks for one", async () => {
    const stream = (await sentByClient()).find(({ path }) => path === ENDPOINTS.events.path);
    assert.deepEqual(stream?.headers, []);
  });

  it("allow what other clients and polyfills of event streams reasonably send, and never an API key", async () => {
    const list = await allowed("GET", "/events/stream", OTHERS);
    for (const name of OTHERS) assert.ok(list.has(name.toLowerCase()) || SAFE.has(name.toLowerCase()), name);
    assert.ok(!list.has("x-api-key"));
  });
});
