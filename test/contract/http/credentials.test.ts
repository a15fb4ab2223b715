// Credentials: who is refused, with which code, before anything is read or done.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { request } from "node:http";
import { mintSessionToken } from "../../../proxy/base/auth/session-tokens.ts";
import { revokeSessions } from "../../../proxy/base/auth/registration.ts";
import { API_VERSION, ENDPOINTS, type Endpoint } from "../../../shared/api/endpoints.ts";
import { problem } from "../../../shared/api/errors.ts";
import { CHAIN_ID, startEdge, type Answer, type CallOptions, type Edge } from "../../support/edge.ts";

function assertProblem(answer: Answer, status: number, code: string): void {
  assert.equal(answer.body.code, code, JSON.stringify(answer.body));
  assert.equal(answer.status, status);
  assert.match(answer.headers.get("content-type") ?? "", /^application\/problem\+json/);
  const parsed = problem.parse(answer.body);
  assert.equal(parsed.status, status);
  assert.equal(parsed.request_id, answer.headers.get("x-request-id"));
  assert.equal(answer.headers.get("api-version"), API_VERSION);
  assert.equal(answer.headers.get("cache-control"), "no-store");
}

describe("credentials at the HTTP border", () => {
  let edge: Edge;
  before(async () => {
    edge = await startEdge({ origins: ["https://app.example"], limits: { failuresPerMinute: 1_000 } });
  });
  after(() => edge.stop());

  const tampered = (token: string, at: number): string => {
    const other = token.charAt(at) === "A" ? "B" : "A";
    return token.slice(0, at) + other + token.slice(at + 1);
  };

  it("needs one on every endpoint but the exchange, /health and /openapi.json included", async () => {
    for (const { method, path, access } of Object.values<Endpoint>(ENDPOINTS)) {
      if (access === "none") continue;
      const answer = await edge.call(method, path, { credential: false });
      assertProblem(answer, 401, "MISSING_CREDENTIAL");
      assert.match(answer.headers.get("www-authenticate") ?? "", /^Bearer/);
    }
  });

  it("says the same of a path that does not exist, so the surface is not shown to strangers", async () => {
    assertProblem(await edge.call("GET", "/nothing-here", { credential: false }), 401, "MISSING_CREDENTIAL");
  });

  it("accepts an API key and a session token", async () => {
    assert.equal((await edge.call("GET", "/whoami")).body.kind, "api_key");
    const session = await edge.session();
    assert.equal((await edge.call("GET", "/whoami", { session })).body.kind, "session");
    const lower = await edge.call("GET", "/whoami", {
      credential: false,
      headers: { Authorization: `bearer ${session}` },
    });
    assert.equal(lower.status, 200);
  });

  const refusedKeys: [string, (edge: Edge) => Record<string, string>][] = [
    ["an empty key", () => ({ "X-API-Key": "" })],
    ["a key that is no key", () => ({ "X-API-Key": "secret" })],
    ["an unknown key id", () => ({ "X-API-Key": `ck_${"0".repeat(16)}_${"A".repeat(43)}` })],
    [
      "a known id with another secret",
      ({ key }) => ({ "X-API-Key": `${key.slice(0, 20)}${"A".repeat(43)}` }),
    ],
    ["a key with one changed character", ({ key }) => ({ "X-API-Key": tampered(key, 40) })],
    [
      "a key with its last character in another spelling",
      ({ key }) => ({ "X-API-Key": tampered(key, key.length - 1) }),
    ],
    ["a key with something behind it", ({ key }) => ({ "X-API-Key": `${key}A` })],
    ["a key in the place of a token", ({ key }) => ({ Authorization: `Bearer ${key}` })],
    ["another scheme", () => ({ Authorization: "Basic dXNlcjpwYXNz" })],
    ["Bearer without a token", () => ({ Authorization: "Bearer" })],
    ["a token that is no token", () => ({ Authorization: "Bearer sst_" })],
    [
      "a token that is not even text of ours",
      () => ({ Authorization: `Bearer sst_k1.${"A".repeat(50)}.${"A".repeat(43)}` }),
    ],
  ];
  for (const [what, headersOf] of refusedKeys) {
    it(`refuses ${what} as INVALID_CREDENTIAL`, async () => {
      const answer = await edge.call("GET", "/whoami", { credential: false, headers: headersOf(edge) });
      assertProblem(answer, 401, "INVALID_CREDENTIAL");
    });
  }

  it("refuses a token with any one character changed", async () => {
    const session = await edge.session();
    for (let at = 0; at < session.length; at += 7) {
      assertProblem(
        await edge.call("GET", "/whoami", { session: tampered(session, at) }),
        401,
        "INVALID_CREDENTIAL",
      );
    }
    assertProblem(
      await edge.call("GET", "/whoami", { session: tampered(session, session.length - 1) }),
      401,
      "INVALID_CREDENTIAL",
    );
  });

  it("refuses a token that others forged, of another chain or of an unknown key id", async () => {
    const claims = {
      developerId: "test",
      sub: "u",
      perms: ["read" as const],
      exp: Math.floor(edge.now() / 1000) + 600,
      epoch: 1,
      userEpoch: 0,
    };
    const forger = { current: "k1", keys: new Map([["k1", Uint8Array.from(randomBytes(32))]]) };
    const unknown = { current: "k9", keys: new Map([["k9", edge.keyRing.keys.get("k1")!]]) };
    for (const session of [
      mintSessionToken(forger, CHAIN_ID, claims),
      mintSessionToken(unknown, CHAIN_ID, claims),
      mintSessionToken(edge.keyRing, CHAIN_ID + 1, claims),
      mintSessionToken(edge.keyRing, CHAIN_ID, { ...claims, developerId: "nobody" }),
    ]) {
      assertProblem(await edge.call("GET", "/whoami", { session }), 401, "INVALID_CREDENTIAL");
    }
    assert.equal(
      (await edge.call("GET", "/whoami", { session: mintSessionToken(edge.keyRing, CHAIN_ID, claims) }))
        .status,
      200,
    );
  });

  it("calls a genuine token past its exp SESSION_EXPIRED, to the second, and only that", async () => {
    const exp = Math.floor(edge.now() / 1000) - 1;
    const claims = { developerId: "test", sub: "u", perms: ["read" as const], exp, epoch: 1, userEpoch: 0 };
    const answer = await edge.call("GET", "/whoami", {
      session: mintSessionToken(edge.keyRing, CHAIN_ID, claims),
    });
    assertProblem(answer, 401, "SESSION_EXPIRED");
    assert.equal(answer.body.retryable, true);
    const forger = { current: "k1", keys: new Map([["k1", Uint8Array.from(randomBytes(32))]]) };
    const forged = await edge.call("GET", "/whoami", { session: mintSessionToken(forger, CHAIN_ID, claims) });
    assertProblem(forged, 401, "INVALID_CREDENTIAL");
  });

  const two: [string, (edge: Edge, session: string) => CallOptions & { path?: string }][] = [
    [
      "a key and a token",
      ({ key }, session) => ({ headers: { "X-API-Key": key, Authorization: `Bearer ${session}` } }),
    ],
    [
      "a token in header and query of a stream",
      (_e, session) => ({ path: `/events/stream?session=${session}`, session }),
    ],
    ["a key and a stream's query token", (_e, session) => ({ path: `/events/stream?session=${session}` })],
    [
      "two query tokens",
      (_e, s) => ({ path: `/events/stream?session=${s}&session=${s}`, credential: false }),
    ],
  ];
  for (const [what, optionsOf] of two) {
    it(`refuses ${what} on one request as INVALID_REQUEST`, async () => {
      const { path = "/whoami", ...options } = optionsOf(edge, await edge.session());
      assertProblem(await edge.call("GET", path, options), 400, "INVALID_REQUEST");
    });
  }

  it("refuses a header sent twice, which a proxy in between might read as another one than we do", async () => {
    const session = await edge.session();
    for (const [name, value] of [
      ["X-API-Key", edge.key],
      ["Authorization", `Bearer ${session}`],
    ] as const) {
      const answer = await new Promise<string>((resolve, reject) => {
        request(`${edge.url}/whoami`, { headers: [name, value, name, value, "Host", "x"] }, (response) => {
          response.setEncoding("utf8").once("data", resolve);
        })
          .on("error", reject)
          .end();
      });
      assert.equal(JSON.parse(answer).code, "INVALID_REQUEST", name);
    }
  });

  it("takes ?session= on the event stream only", async () => {
    const session = await edge.session();
    assertProblem(
      await edge.call("GET", `/whoami?session=${session}`, { credential: false }),
      401,
      "MISSING_CREDENTIAL",
    );
    assertProblem(await edge.call("GET", `/whoami?session=${session}`), 400, "INVALID_REQUEST");
    // The stand-in route is reached: the credential was good.
    const stream = await edge.call("GET", `/events/stream?session=${session}`, { credential: false });
    assertProblem(stream, 503, "CHAIN_UNAVAILABLE");
  });

  it("ends a revoked key within a second and leaves the developer's other keys alone", async () => {
    const { id, key } = await edge.newDeveloper();
    const headers = { "X-API-Key": key };
    assert.equal((await edge.call("GET", "/whoami", { headers, credential: false })).status, 200);
    const [record] = await edge.store.keys(id);
    assert.equal(await edge.store.revokeKey(record!.id, new Date().toISOString()), true);
    edge.advance(1_000);
    assertProblem(
      await edge.call("GET", "/whoami", { headers, credential: false }),
      401,
      "INVALID_CREDENTIAL",
    );
    assert.equal((await edge.call("GET", "/whoami")).status, 200);
  });

  it("ends a developer's sessions within 5 s of their revocation, and mints new ones", async () => {
    const { id, key } = await edge.newDeveloper();
    const mint = async (): Promise<string> =>
      (
        await edge.call("POST", "/session", {
          credential: false,
          headers: { "X-API-Key": key },
          json: { sub: "u", perms: ["read"], ttl_secs: 60 },
        })
      ).body.token;
    const old = await mint();
    assert.equal((await edge.call("GET", "/whoami", { session: old })).status, 200);
    await revokeSessions(edge.store, id);
    edge.advance(5_000);
    assertProblem(await edge.call("GET", "/whoami", { session: old }), 401, "INVALID_CREDENTIAL");
    assert.equal((await edge.call("GET", "/whoami", { session: await mint() })).status, 200);
  });

  it("keeps a key out of browsers: with Origin or Sec-Fetch-Site it is 403, a registered origin included", async () => {
    for (const headers of [
      { Origin: "https://app.example" },
      { "Sec-Fetch-Site": "same-origin" },
      { Origin: "null" },
    ]) {
      const answer = await edge.call("GET", "/whoami", { headers });
      assertProblem(answer, 403, "FORBIDDEN");
    }
  });

  it("serves a session from its developer's own origins only, and shows errors to them", async () => {
    const session = await edge.session();
    const allowed = await edge.call("GET", "/whoami", {
      session,
      headers: { Origin: "https://app.example" },
    });
    assert.equal(allowed.status, 200);
    assert.equal(allowed.headers.get("access-control-allow-origin"), "https://app.example");
    assert.match(allowed.headers.get("access-control-expose-headers") ?? "", /RateLimit-Policy/);
    assert.match(allowed.headers.get("vary") ?? "", /Origin/);
    // "null" is what a sandboxed frame and a local file say, whosever they are.
    for (const Origin of ["https://evil.example", "null", "https://app.example.evil.example", "*"]) {
      const refused = await edge.call("GET", "/whoami", { session, headers: { Origin } });
      assertProblem(refused, 403, "FORBIDDEN");
      assert.equal(refused.headers.get("access-control-allow-origin"), null);
    }
    const other = await edge.newDeveloper({ name: "Other", origins: ["https://other.example"] });
    assert.ok(other.key);
    edge.advance(5_000);
    // Registered, but by somebody else.
    const crossed = await edge.call("GET", "/whoami", {
      session,
      headers: { Origin: "https://other.example" },
    });
    assertProblem(crossed, 403, "FORBIDDEN");
    const missing = await edge.call("GET", "/whoami", {
      credential: false,
      headers: { Origin: "https://app.example" },
    });
    assertProblem(missing, 401, "MISSING_CREDENTIAL");
    assert.equal(missing.headers.get("access-control-allow-origin"), "https://app.example");
  });

  it("answers a preflight without a credential, for registered origins, and never allows X-API-Key", async () => {
    const ask = (origin: string): Promise<Answer> =>
      edge.call("OPTIONS", "/sequence/spend", {
        credential: false,
        headers: { Origin: origin, "Access-Control-Request-Method": "POST" },
      });
    const good = await ask("https://app.example");
    assert.equal(good.status, 204);
    assert.equal(good.headers.get("access-control-allow-origin"), "https://app.example");
    assert.doesNotMatch(good.headers.get("access-control-allow-headers") ?? "", /api-key/i);
    assertProblem(await ask("https://evil.example"), 403, "FORBIDDEN");
    assertProblem(await ask("null"), 403, "FORBIDDEN");
  });

  it("slows down guessing by address after thirty failures, and never refuses a good credential", async () => {
    const slow = await startEdge();
    try {
      const guess = (): Promise<Answer> =>
        slow.call("GET", "/whoami", { credential: false, headers: { "X-API-Key": "ck_guess" } });
      for (let i = 0; i < 30; i++) assertProblem(await guess(), 401, "INVALID_CREDENTIAL");
      const refused = await guess();
      assertProblem(refused, 429, "RATE_LIMITED");
      assert.equal(refused.body.policy, "failed-credentials");
      assert.ok(Number(refused.headers.get("retry-after")) > 0);
      assert.equal((await slow.call("GET", "/whoami")).status, 200);
      slow.advance(60_001);
      assertProblem(await guess(), 401, "INVALID_CREDENTIAL");
    } finally {
      await slow.stop();
    }
  });

  it("believes X-Forwarded-For only as far as its own hops wrote it", async () => {
    const behind = await startEdge({ limits: { failuresPerMinute: 1 }, trustedHops: 1 });
    try {
      const guess = (forwarded: string): Promise<Answer> =>
        behind.call("GET", "/whoami", {
          credential: false,
          headers: { "X-API-Key": "ck_guess", "X-Forwarded-For": forwarded },
        });
      assertProblem(await guess("203.0.113.7"), 401, "INVALID_CREDENTIAL");
      assertProblem(await guess("198.51.100.1, 203.0.113.7"), 429, "RATE_LIMITED");
      assertProblem(await guess("203.0.113.8"), 401, "INVALID_CREDENTIAL");
    } finally {
      await behind.stop();
    }
  });
});
