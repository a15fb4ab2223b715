// Section 5.5 of the HTTP specification, against a real server: a client with a session-token provider
// never sends an API key, asks the provider when a token is needed and on expiry, and retries once.
import assert from "node:assert/strict";
import { ApiProblem, createClient, type Client } from "../../../shared/client/index.ts";
import { API_KEY, TestService } from "./service.ts";

const code = (expected: string) => (error: unknown) => (error as { code?: string }).code === expected;

describe("client credentials", () => {
  let service: TestService;
  let baseUrl: string;
  let asked: number;
  beforeEach(async () => {
    service = new TestService();
    baseUrl = await service.listen();
    asked = 0;
  });
  afterEach(() => service.close());

  /** Each token the provider gives is good until the test expires it. */
  const provider = async (): Promise<string> => {
    asked += 1;
    const token = `sst_${asked}`;
    service.goodTokens.add(token);
    return token;
  };
  const expire = (token: string): void => {
    service.goodTokens.delete(token);
    service.expiredTokens.add(token);
  };
  const session = (sessionProvider = provider): Client =>
    createClient({ baseUrl, credential: { sessionProvider } });
  const sent = (): (string | undefined)[] => service.requests.map(({ headers }) => headers.authorization);

  it("sends an API key in its header and nothing else", async () => {
    await createClient({ baseUrl, credential: { apiKey: API_KEY } }).health();
    assert.equal(service.requests[0]?.headers["x-api-key"], API_KEY);
    assert.equal(service.requests[0].headers.authorization, undefined);
  });

  it("asks the provider at the first request, not before, and keeps the token", async () => {
    const client = session();
    assert.equal(asked, 0);
    await client.health();
    await client.whoami();
    assert.equal(asked, 1);
    assert.deepEqual(sent(), ["Bearer sst_1", "Bearer sst_1"]);
    assert.ok(service.requests.every(({ headers }) => headers["x-api-key"] === undefined));
  });

  it("on SESSION_EXPIRED asks again and retries the failed request once", async () => {
    const client = session();
    await client.health();
    expire("sst_1");
    await client.whoami();
    assert.equal(asked, 2);
    assert.deepEqual(sent(), ["Bearer sst_1", "Bearer sst_1", "Bearer sst_2"]);
  });

  it("does not retry a second time, and asks again for the next request", async () => {
    const client = session(async () => {
      const token = await provider();
      if (asked <= 2) expire(token);
      return token;
    });
    await assert.rejects(client.health(), code("SESSION_EXPIRED"));
    assert.equal(asked, 2);
    assert.equal(service.requests.length, 2);
    await client.health();
    assert.equal(asked, 3);
  });

  it("requests that fail together ask the provider once", async () => {
    const client = session();
    await Promise.all([client.health(), client.whoami(), client.health()]);
    assert.equal(asked, 1);
    expire("sst_1");
    await Promise.all([client.health(), client.whoami(), client.health(), client.whoami()]);
    assert.equal(asked, 2);
  });

  it("does not renew a token that was never good", async () => {
    const client = session(async () => `sst_forged${(asked += 1)}`);
    await assert.rejects(client.health(), code("INVALID_CREDENTIAL"));
    assert.equal(asked, 1);
  });

  it("a failing provider is its own error, and is asked again by the next request", async () => {
    let broken = true;
    const client = session(async () => {
      if (broken) throw new Error("the developer's server said: secret text");
      return provider();
    });
    await assert.rejects(
      client.health(),
      (error: Error) => code("SESSION_PROVIDER_FAILED")(error) && !error.message.includes("secret"),
    );
    broken = false;
    await client.health();
    const odd = session(async () => "not a token");
    await assert.rejects(odd.health(), code("SESSION_PROVIDER_FAILED"));
    const sessionProvider = (): Promise<string> => new Promise(() => undefined);
    const mute = createClient({ baseUrl, credential: { sessionProvider }, providerMs: 20 });
    await assert.rejects(mute.health(), code("SESSION_PROVIDER_FAILED"), "one that never answers");
  });

  it("renews the session for a POST too: a refused one did nothing yet", async () => {
    const client = session();
    await client.health();
    expire("sst_1");
    const body = { sub: "u", perms: ["read" as const], ttl_secs: 60 };
    await assert.rejects(client.createSession(body), code("NOT_FOUND"));
    assert.equal(service.requests.filter(({ url }) => url === "/session").length, 2);
  });

  it("streams carry the session in the query, and an API key in the header", async () => {
    for (const client of [session(), createClient({ baseUrl, credential: { apiKey: API_KEY } })]) {
      const leaving = new AbortController();
      for await (const event of client.events({ signal: leaving.signal })) {
        assert.equal(event.kind, "ready");
        break;
      }
      leaving.abort();
    }
    const [first, second] = service.requests;
    assert.equal(first?.url, "/events/stream?session=sst_1");
    assert.equal(first.headers.authorization, undefined);
    assert.equal(second?.url, "/events/stream");
    assert.equal(second.headers["x-api-key"], API_KEY);
  });

  it("an aborted request ends at once and leaves the shared question to the provider alone", async () => {
    let answer: (token: string) => void = () => undefined;
    const client = session(() => new Promise((resolve) => (answer = resolve)));
    const leaving = new AbortController();
    const one = client.health({ signal: leaving.signal });
    const two = client.health();
    leaving.abort(new Error("left"));
    await assert.rejects(one, /left/);
    service.goodTokens.add("sst_late");
    answer("sst_late");
    assert.equal((await two).status, "ok");
  });

  it("errors carry code, status, retryable, request id and Retry-After", async () => {
    const client = createClient({ baseUrl, credential: { apiKey: "ck_wrong" } });
    await assert.rejects(client.health(), (error) => {
      assert.ok(error instanceof ApiProblem);
      assert.equal(error.code, "INVALID_CREDENTIAL");
      assert.equal(error.status, 401);
      assert.equal(error.retryable, false);
      assert.equal(error.requestId, "r-1");
      assert.ok(!error.message.includes("ck_wrong"));
      return true;
    });
  });
});
