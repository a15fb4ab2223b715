// The form of requests: paths, methods, media types, bodies, versions. Row by row, each with its code.
import assert from "node:assert/strict";
import { connect } from "node:net";
import { once } from "node:events";
import { API_VERSION, ENDPOINTS, MAX_BODY_BYTES, type Endpoint } from "../../../shared/api/endpoints.ts";
import { startEdge, type Edge } from "../../support/edge.ts";
import { startReadingEdge } from "./reading-edge.ts";

describe("the form of requests", () => {
  let edge: Edge;
  before(async () => {
    // With all there is, so that no path is off.
    edge = await startEdge({ swaps: true });
  });
  after(() => edge.stop());

  const good = { sub: "user-1", perms: ["read", "write"], ttl_secs: 900 };

  const badSessions: [string, unknown, string][] = [
    ["no object", [], ""],
    ["null", null, ""],
    ["a missing field", { sub: "u", perms: ["read"] }, "ttl_secs"],
    ["an unknown field", { ...good, admin: true }, "admin"],
    ["an empty sub", { ...good, sub: "" }, "sub"],
    ["a sub of 257 characters", { ...good, sub: "a".repeat(257) }, "sub"],
    ["a control character in sub", { ...good, sub: "a\nb" }, "sub"],
    ["a sub that is a number", { ...good, sub: 7 }, "sub"],
    ["no permission", { ...good, perms: [] }, "perms"],
    ["an unknown permission", { ...good, perms: ["admin"] }, "perms[0]"],
    ["a permission twice", { ...good, perms: ["read", "read"] }, "perms"],
    ["a ttl of 59", { ...good, ttl_secs: 59 }, "ttl_secs"],
    ["a ttl of 3601", { ...good, ttl_secs: 3601 }, "ttl_secs"],
    ["a ttl with a fraction", { ...good, ttl_secs: 900.5 }, "ttl_secs"],
    ["a ttl as text", { ...good, ttl_secs: "900" }, "ttl_secs"],
  ];
  for (const [what, json, path] of badSessions) {
    it(`POST /session refuses ${what} and names the field`, async () => {
      const { status, body } = await edge.call("POST", "/session", { json });
      assert.equal(status, 400, JSON.stringify(body));
      assert.equal(body.code, "INVALID_REQUEST");
      assert.ok(
        body.errors.some((error: { path: string }) => error.path === path),
        JSON.stringify(body.errors),
      );
    });
  }

  it("a hidden __proto__ field is an unknown field too", async () => {
    const raw = '{"sub":"u","perms":["read"],"ttl_secs":900,"__proto__":{"admin":true}}';
    const { status, body } = await edge.call("POST", "/session", { raw });
    assert.equal(status, 400, JSON.stringify(body));
    assert.equal(body.errors[0].path, "__proto__");
  });

  for (const ttl_secs of [60, 3600]) {
    it(`POST /session takes a ttl of ${ttl_secs} and answers 201 with token, exp, sub and perms`, async () => {
      const { status, body, headers } = await edge.call("POST", "/session", { json: { ...good, ttl_secs } });
      assert.equal(status, 201);
      assert.deepEqual(Object.keys(body).sort(), ["exp", "perms", "sub", "token"]);
      assert.match(body.token, /^sst_/);
      assert.ok(Math.abs(body.exp - (edge.now() / 1000 + ttl_secs)) < 5);
      assert.equal(headers.get("cache-control"), "no-store");
      assert.equal((await edge.call("GET", "/whoami", { session: body.token })).body.session.exp, body.exp);
    });
  }

  it("a session cannot mint sessions", async () => {
    const session = await edge.session();
    const { status, body } = await edge.call("POST", "/session", { session, json: good });
    assert.equal(status, 403);
    assert.equal(body.code, "FORBIDDEN");
  });

  it("read and write open exactly their endpoints", async () => {
    // What is off says so before it asks who may.
    const whole = await startReadingEdge({ features: { swaps: true, bridges: true } });
    try {
      const reader = await whole.session({ perms: ["read"] });
      const writer = await whole.session({ perms: ["write"] });
      for (const { method, path, access } of Object.values<Endpoint>(ENDPOINTS)) {
        if (access === "api-key" || access === "none") continue;
        const at = path.replace("{ticket_id}", "0190a0a0-0000-7000-8000-000000000000");
        const json = method === "POST" ? {} : undefined;
        const asReader = await whole.call(method, at, { session: reader, json });
        const asWriter = await whole.call(method, at, { session: writer, json });
        assert.equal(asReader.body.code === "FORBIDDEN", access === "write", `reader ${method} ${path}`);
        assert.equal(asWriter.body.code === "FORBIDDEN", access === "read", `writer ${method} ${path}`);
      }
    } finally {
      await whole.stop();
    }
  });

  const bodies: [string, Parameters<Edge["call"]>[2], number, string][] = [
    ["no body", {}, 415, "UNSUPPORTED_MEDIA_TYPE"],
    ["an empty body", { raw: "", headers: { "Content-Type": "application/json" } }, 400, "INVALID_REQUEST"],
    ["cut JSON", { raw: '{"sub":' }, 400, "INVALID_REQUEST"],
    ["two JSON values", { raw: "{}{}" }, 400, "INVALID_REQUEST"],
    ["NaN", { raw: '{"ttl_secs":NaN}' }, 400, "INVALID_REQUEST"],
    ["a byte order mark", { raw: "\ufeff{}" }, 400, "INVALID_REQUEST"],
    ["bytes that are no UTF-8", { raw: Uint8Array.of(0x22, 0xff, 0x22) }, 400, "INVALID_REQUEST"],
    ["an overlong UTF-8 form", { raw: Uint8Array.of(0x22, 0xc0, 0xaf, 0x22) }, 400, "INVALID_REQUEST"],
    [
      "another media type",
      { raw: "{}", headers: { "Content-Type": "text/plain" } },
      415,
      "UNSUPPORTED_MEDIA_TYPE",
    ],
    [
      "a form",
      { raw: "a=b", headers: { "Content-Type": "application/x-www-form-urlencoded" } },
      415,
      "UNSUPPORTED_MEDIA_TYPE",
    ],
    [
      "a type that only begins like JSON",
      { raw: "{}", headers: { "Content-Type": "application/jsonp" } },
      415,
      "UNSUPPORTED_MEDIA_TYPE",
    ],
    [
      "another charset",
      { raw: "{}", headers: { "Content-Type": "application/json; charset=utf-16" } },
      415,
      "UNSUPPORTED_MEDIA_TYPE",
    ],
    [
      "an encoded body",
      { raw: "{}", headers: { "Content-Encoding": "gzip" } },
      415,
      "UNSUPPORTED_MEDIA_TYPE",
    ],
    ["one byte too many", { raw: `"${"a".repeat(MAX_BODY_BYTES - 1)}"` }, 413, "BODY_TOO_LARGE"],
  ];
  for (const [what, options, status, code] of bodies) {
    it(`a body with ${what} is ${status} ${code}`, async () => {
      const answer = await edge.call("POST", "/session", options);
      assert.equal(answer.body.code, code);
      assert.equal(answer.status, status);
    });
  }

  it("a body nested a hundred thousand deep is refused like any other, with an idempotency key too", async () => {
    const raw = "[".repeat(100_000) + "]".repeat(100_000);
    for (const path of ["/session", "/relay"]) {
      const { status, body } = await edge.call("POST", path, { raw, headers: { "Idempotency-Key": "deep" } });
      assert.deepEqual([status, body.code], [400, "INVALID_REQUEST"], path);
    }
  });

  it("a body of exactly the cap is read", async () => {
    const { body } = await edge.call("POST", "/session", { raw: `"${"a".repeat(MAX_BODY_BYTES - 2)}"` });
    assert.equal(body.code, "INVALID_REQUEST");
  });

  it("takes a charset of UTF-8 in any case", async () => {
    const headers = { "Content-Type": 'application/json; charset="UTF-8"' };
    assert.equal((await edge.call("POST", "/session", { json: good, headers })).status, 201);
  });

  it("refuses a body whose type is said twice, though one of them is right", async () => {
    const body = JSON.stringify(good);
    const twice = "Content-Type: application/json\r\nContent-Type: text/plain";
    const socket = connect(edge.port, "127.0.0.1");
    socket.write(
      `POST /session HTTP/1.1\r\nHost: x\r\nX-API-Key: ${edge.key}\r\n${twice}\r\nContent-Length: ${String(body.length)}\r\n\r\n${body}`,
    );
    const [data] = (await once(socket, "data")) as [Buffer];
    assert.match(data.toString(), /^HTTP\/1\.1 415 /);
    socket.destroy();
  });

  it("a chunked body beyond the cap is 413 as soon as it is too long, without waiting for its end", async () => {
    const socket = connect(edge.port, "127.0.0.1");
    socket.write(
      `POST /session HTTP/1.1\r\nHost: x\r\nX-API-Key: ${edge.key}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`,
    );
    const chunk = "a".repeat(65_536);
    for (let i = 0; i < 5; i++) socket.write(`10000\r\n${chunk}\r\n`);
    const [data] = (await once(socket, "data")) as [Buffer];
    assert.match(data.toString("latin1"), /^HTTP\/1\.1 413 [^]*connection: close/i);
    socket.destroy();
  });

  const paths: [string, string, number, string, string?][] = [
    ["GET", "/nothing", 404, "NOT_FOUND"],
    ["GET", "/health/", 404, "NOT_FOUND"],
    ["GET", "/HEALTH", 404, "NOT_FOUND"],
    ["GET", "//health", 404, "NOT_FOUND"],
    ["GET", "/sequence/ticket/", 404, "NOT_FOUND"],
    ["POST", "/health", 405, "METHOD_NOT_ALLOWED", "GET, HEAD, OPTIONS"],
    ["DELETE", "/session", 405, "METHOD_NOT_ALLOWED", "POST, OPTIONS"],
    ["PUT", "/sequence/spend", 405, "METHOD_NOT_ALLOWED", "POST, OPTIONS"],
    ["PATCH", "/sequence/ticket/x", 405, "METHOD_NOT_ALLOWED", "GET, HEAD, OPTIONS"],
    ["POST", "/events/stream", 405, "METHOD_NOT_ALLOWED", "GET, OPTIONS"],
  ];
  for (const [method, path, status, code, allow] of paths) {
    it(`${method} ${path} is ${status} ${code}`, async () => {
      const answer = await edge.call(method, path);
      assert.equal(answer.body.code, code);
      assert.equal(answer.status, status);
      if (allow !== undefined) assert.equal(answer.headers.get("allow"), allow);
    });
  }

  it("HEAD answers as GET without a body, but opens no stream", async () => {
    const head = await edge.call("HEAD", "/whoami");
    assert.equal(head.status, 200);
    assert.equal(head.body, "");
    assert.equal((await edge.call("HEAD", "/events/stream")).status, 405);
  });

  it("OPTIONS with a credential names the methods", async () => {
    const answer = await edge.call("OPTIONS", "/sequence/spend");
    assert.equal(answer.status, 204);
    assert.equal(answer.headers.get("allow"), "POST, OPTIONS");
  });

  it("refuses query parameters where there are none, naming them and not their value", async () => {
    const answer = await edge.call("GET", "/whoami?verbose=secret-value");
    assert.equal(answer.status, 400);
    assert.equal(answer.body.errors[0].path, "verbose");
    assert.doesNotMatch(JSON.stringify(answer.body), /secret-value/);
  });

  const queries: [string, string][] = [
    ["/info?nonce=zz", "nonce"],
    ["/info?nonce=aabb", "nonce"],
    [`/info?nonce=${"ab".repeat(65)}`, "nonce"],
    [`/info?nonce=${"ab".repeat(16)}&nonce=${"ab".repeat(16)}`, "nonce"],
    ["/info?x=1", "x"],
    ["/balance/usdc", "address"],
    ["/balance/usdc?address=0x12", "address"],
    ["/balance/usdc?address=0x5FbDB2315678afecb367f032d93F642f64180aA3", "address"],
  ];
  for (const [path, field] of queries) {
    it(`GET ${path.slice(0, 60)} is INVALID_REQUEST on ${field}`, async () => {
      const { status, body } = await edge.call("GET", path);
      assert.equal(status, 400);
      assert.equal(body.code, "INVALID_REQUEST");
      assert.equal(body.errors[0].path, field);
    });
  }

  it("a version it does not speak is UNSUPPORTED_VERSION, its own is fine", async () => {
    const other = await edge.call("GET", "/whoami", { headers: { "API-Version": "2020-01-01" } });
    assert.equal(other.status, 400);
    assert.equal(other.body.code, "UNSUPPORTED_VERSION");
    assert.equal(
      (await edge.call("GET", "/whoami", { headers: { "API-Version": API_VERSION } })).status,
      200,
    );
  });

  it("takes a sane X-Request-Id and makes its own for anything else", async () => {
    const id = async (given: string): Promise<string | null> =>
      (await edge.call("GET", "/whoami", { headers: { "X-Request-Id": given } })).headers.get("x-request-id");
    assert.equal(await id("abc-123"), "abc-123");
    assert.notEqual(await id("a b"), "a b");
    assert.notEqual(await id("x".repeat(65)), "x".repeat(65));
    assert.notEqual(await id(edge.key.slice(0, 50)), edge.key.slice(0, 50));
  });

  it("answers bytes that are no HTTP with a problem document", async () => {
    const socket = connect(edge.port, "127.0.0.1");
    socket.write("not http at all\r\n\r\n");
    const [data] = (await once(socket, "data")) as [Buffer];
    assert.match(
      data.toString("latin1"),
      /^HTTP\/1\.1 400 [^]*application\/problem\+json[^]*INVALID_REQUEST/,
    );
    socket.destroy();
  });

  it("a fault of ours is one fixed answer, with the cause in the log under its request id", async () => {
    const faulty = await startEdge({
      handlers: {
        merkleRoot: () => {
          throw new Error("upstream said: password is hunter2");
        },
      },
    });
    try {
      const answer = await faulty.call("GET", "/merkle/root");
      assert.equal(answer.status, 500);
      assert.equal(answer.body.code, "INTERNAL");
      assert.doesNotMatch(JSON.stringify(answer.body), /hunter2|upstream|stack/);
      const line = faulty
        .log()
        .split("\n")
        .find((text) => text.includes("hunter2"));
      assert.ok(line?.includes(answer.body.request_id));
    } finally {
      await faulty.stop();
    }
  });
});
