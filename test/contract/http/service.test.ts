// /health, /info, /whoami, compression and the access log, each answer held against its own schema.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { request } from "node:http";
import { API_VERSION } from "../../../shared/api/endpoints.ts";
import { whoami } from "../../../shared/api/credentials.ts";
import { health, info } from "../../../shared/api/service.ts";
import { parseVerificationKey, verificationKeyHash } from "../../../shared/protocol/verification-key.ts";
import { startEdge, type Answer, type Edge } from "../../support/edge.ts";

describe("service endpoints", () => {
  let edge: Edge;
  before(async () => {
    edge = await startEdge();
  });
  after(() => edge.stop());

  it("GET /health is 200 and short when all is well", async () => {
    const { status, body } = await edge.call("GET", "/health");
    assert.equal(status, 200);
    assert.deepEqual(body, { status: "ok" });
  });

  it("GET /health is 200 with every check when one is degraded: what goes on is not to be taken out of service", async () => {
    const slow = await startEdge({
      checks: { enclave: () => ({ state: "degraded", ageMs: 0, detail: "1 of 2 serve, 1 needed" }) },
    });
    try {
      const { status, body } = await slow.call("GET", "/health");
      assert.deepEqual([status, body.status, body.checks.enclave.state], [200, "degraded", "degraded"]);
    } finally {
      await slow.stop();
    }
  });

  it("GET /health is 503 with every check when one is down, and hides what a failing check said", async () => {
    const sick = await startEdge({
      checks: {
        enclave: () => ({ state: "degraded", ageMs: 12.4, detail: "1 of 2 answer" }),
        chain: async () => {
          throw new Error("connect ECONNREFUSED secret-host");
        },
      },
    });
    try {
      const { status, body } = await sick.call("GET", "/health");
      assert.equal(status, 503);
      health.parse(body);
      assert.deepEqual(body.checks.enclave, { state: "degraded", age_ms: 12, detail: "1 of 2 answer" });
      assert.equal(body.checks.chain.state, "down");
      assert.equal(body.checks.store.state, "ok");
      assert.doesNotMatch(JSON.stringify(body), /secret-host/);
    } finally {
      await sick.stop();
    }
  });

  it("GET /info names chain, pool and features, and hashes that anyone can recompute", async () => {
    const { status, body } = await edge.call("GET", "/info");
    assert.equal(status, 200);
    info.parse(body);
    assert.equal(body.api_version, API_VERSION);
    assert.equal(body.pool, "0x5FbDB2315678afecb367f032d93F642f64180aa3");
    assert.deepEqual(body.features, { swaps: false, bridges: false, spend9: true });
    assert.deepEqual(
      body.circuits.map(({ kind }: { kind: string }) => kind),
      ["deposit-shield", "spend", "spend9", "private-swap"],
    );
    const root = new URL("../../../shared/", import.meta.url);
    const key = JSON.parse(
      await readFile(new URL("protocol/verification-keys/spend.json", root), "utf8"),
    ) as unknown;
    assert.equal(body.circuits[1].verification_key_hash, verificationKeyHash(parseVerificationKey(key)));
    assert.equal(body.circuits[1].public_signals[0], "context");
  });

  it("GET /whoami tells a key and a session apart", async () => {
    const key = (await edge.call("GET", "/whoami")).body;
    whoami.parse(key);
    assert.deepEqual(key.developer, { id: "test", name: "Test" });
    assert.equal(key.session, undefined);
    const session = (
      await edge.call("GET", "/whoami", { session: await edge.session({ sub: "ü 1", perms: ["read"] }) })
    ).body;
    whoami.parse(session);
    assert.equal(session.kind, "session");
    assert.equal(session.session.sub, "ü 1");
    assert.deepEqual(session.session.perms, ["read"]);
    assert.equal(session.limits[0].policy, "session-minute");
  });

  it("compresses JSON of some size when asked, gives it an ETag of its own, and never a token's answer", async () => {
    const nodes = Array.from({ length: 200 }, (_, i) => createHash("sha256").update(String(i)).digest("hex"));
    const big = await startEdge({
      handlers: {
        merkleTree: (ctx) => {
          ctx.status = 200;
          ctx.set("ETag", '"abc"');
          if (ctx.fresh) ctx.status = 304;
          else ctx.body = { nodes };
        },
      },
    });
    const raw = (
      path: string,
      headers: Record<string, string>,
    ): Promise<{ status: number; headers: Record<string, unknown> }> =>
      new Promise((resolve, reject) => {
        request(`${big.url}${path}`, { headers: { "X-API-Key": big.key, ...headers } }, (response) => {
          response
            .resume()
            .on("end", () => resolve({ status: response.statusCode ?? 0, headers: response.headers }));
        })
          .on("error", reject)
          .end();
      });
    try {
      assert.deepEqual((await big.call("GET", "/merkle/tree")).body, { nodes });
      const packed = await raw("/merkle/tree", { "Accept-Encoding": "gzip" });
      assert.equal(packed.headers["content-encoding"], "gzip");
      assert.equal(packed.headers["etag"], '"abc-gzip"');
      assert.match(String(packed.headers["vary"]), /Accept-Encoding/);
      const plain = await raw("/merkle/tree", {});
      assert.equal(plain.headers["content-encoding"], undefined);
      assert.equal(plain.headers["etag"], '"abc"');
      const known = await raw("/merkle/tree", { "Accept-Encoding": "gzip", "If-None-Match": '"abc-gzip"' });
      assert.equal(known.status, 304);
      assert.equal(known.headers["etag"], '"abc-gzip"');
    } finally {
      await big.stop();
    }
  });

  it("the access log names each request and holds no credential, query, body or header", async () => {
    const session = await edge.session({ sub: "user-in-body" });
    await edge.call("GET", `/events/stream?session=${session}&from=query-text`, { credential: false });
    await edge.call("GET", `/${session}`);
    await edge.call("GET", `/${edge.key}`);
    await edge.call("GET", "/whoami", { session, headers: { "X-Request-Id": "log-test" } });
    await edge.call("POST", "/session", { raw: '{"sub":"cut-body' });
    await edge.call("GET", "/whoami", { credential: false, headers: { "X-API-Key": edge.key.slice(0, -1) } });
    const log = edge.log();
    const secrets = [session, session.slice(4, 60), session.slice(-43), edge.key, edge.key.slice(20, 60)];
    for (const secret of [...secrets, "user-in-body", "query-text", "cut-body", "?session", "Bearer"]) {
      assert.ok(!log.includes(secret), `the log holds ${secret}`);
    }
    const lines = log
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    const line = lines.find(({ request_id }) => request_id === "log-test");
    assert.equal(line?.["method"], "GET");
    assert.equal(line["path"], "/whoami");
    assert.equal(line["status"], 200);
    assert.equal(line["developer"], "test");
    assert.equal(typeof line["ms"], "number");
    assert.ok(lines.some(({ path }) => path === "/events/stream"));
  });

  it("sends what keeps a browser from misusing an answer, on errors too", async () => {
    for (const path of ["/whoami", "/nothing"]) {
      const { headers } = await edge.call("GET", path);
      assert.equal(headers.get("x-content-type-options"), "nosniff");
      assert.equal(headers.get("referrer-policy"), "no-referrer");
      assert.match(headers.get("content-security-policy") ?? "", /default-src 'none'/);
      assert.equal(headers.get("x-powered-by"), null);
    }
  });

  it("/openapi.json has an ETag, and is not sent again to who names it", async () => {
    const first = await edge.call("GET", "/openapi.json");
    const etag = first.headers.get("etag") ?? "";
    assert.equal(first.status, 200);
    assert.match(etag, /^"[\w-]+"$/);
    const ask = (headers: Record<string, string>): Promise<Answer> =>
      edge.call("GET", "/openapi.json", { headers });
    const again = await ask({ "If-None-Match": `"other", ${etag}` });
    assert.deepEqual([again.status, again.body, again.headers.get("etag")], [304, "", etag]);
    assert.equal((await ask({ "If-None-Match": '"other"' })).status, 200);
    assert.equal((await ask({ "If-Match": `"other", ${etag}` })).status, 200);
    assert.equal((await ask({ "If-Match": "*" })).status, 200);
    for (const stale of ['"other"', `W/${etag}`]) {
      const refused = await ask({ "If-Match": stale });
      assert.deepEqual(
        [refused.status, Object(refused.body).code, refused.headers.get("etag")],
        [412, "PRECONDITION_FAILED", null],
      );
    }
    const head = await edge.call("HEAD", "/openapi.json");
    assert.deepEqual([head.status, head.body], [200, ""]);
  });
});
