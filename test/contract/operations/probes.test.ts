// The operator's port beside a real edge: figures move by exactly what was done, probes say what /health says, and
// none of it is on the API's port or open to a page in a browser.
import assert from "node:assert/strict";
import { once } from "node:events";
import { createConnection } from "node:net";
import { networkInterfaces } from "node:os";
import { startOperations } from "../../../proxy/base/http/operations.ts";
import type { HttpServer } from "../../../proxy/base/http/server.ts";
import type { Handler } from "../../../proxy/base/http/routes.ts";
import { createMetrics, type Metrics } from "../../../proxy/base/observe/metrics.ts";
import type { Finding } from "../../../proxy/api/status/status.service.ts";
import { readExposition, type Exposition } from "../../support/exposition.ts";
import { until } from "../../support/until.ts";
import { startEdge, type Edge } from "../../support/edge.ts";

describe("the operator's port", () => {
  let edge: Edge;
  let metrics: Metrics;
  let server: HttpServer;
  let url: string;
  let sequencer: Finding;
  let faults: unknown[];
  let health: () => Promise<{ readonly status: string }>;

  beforeEach(async () => {
    sequencer = { state: "ok", ageMs: 0 };
    faults = [];
    metrics = createMetrics();
    edge = await startEdge({ metrics, checks: { sequencer: () => sequencer } });
    health = async () => {
      const answer = await edge.call("GET", "/health");
      return answer.body as { status: string };
    };
    server = await startOperations({
      port: 0,
      metrics,
      health: () => health(),
      onFault: (error) => faults.push(error),
    });
    url = `http://127.0.0.1:${String(server.port)}`;
  });
  afterEach(async () => {
    await server.stop(0);
    await edge.stop();
  });

  async function scrape(): Promise<Exposition> {
    const answer = await fetch(`${url}/metrics`);
    assert.equal(answer.status, 200);
    assert.match(answer.headers.get("content-type") ?? "", /^text\/plain; version=0\.0\.4/);
    return readExposition(await answer.text());
  }
  /** A request is counted when its connection has taken the answer, which its caller may see first. */
  const settled = (count: number): Promise<Exposition> =>
    until("the requests to be counted", async () => {
      const found = await scrape();
      const total = found.samples
        .filter(({ name }) => name === "cloister_http_requests_total")
        .reduce((sum, { value }) => sum + value, 0);
      assert.ok(total <= count, "more were counted than sent");
      return total === count ? found : false;
    });

  it("counts each request once, by endpoint and status, and each refusal by its code", async () => {
    const developer = await edge.newDeveloper({ name: "Small", limits: { keyPerMinute: 2 } });
    const before = await settled(0);
    assert.equal(
      before.value("cloister_http_refusals_total", { code: "RATE_LIMITED", policy: "key-minute" }),
      0,
    );

    const statuses: number[] = [];
    const ask = async (...args: Parameters<Edge["call"]>): Promise<void> => {
      statuses.push((await edge.call(...args)).status);
    };
    const small = { credential: false, headers: { "X-API-Key": developer.key } } as const;
    for (let i = 0; i < 3; i++) await ask("GET", "/whoami", small);
    await ask("GET", "/whoami", { credential: false });
    await ask("GET", "/sequence/ticket/0198c0de-0000-7000-8000-000000000001");
    await ask("HEAD", "/health");
    await ask("GET", "/ck_0123456789abcdef_secret/nothing");
    await ask("DELETE", "/health");
    assert.deepEqual(statuses, [200, 200, 429, 401, 503, 200, 404, 405]);

    const after = await settled(statuses.length);
    const count = (endpoint: string, status: number): number =>
      after.value("cloister_http_requests_total", { endpoint, status: String(status) });
    assert.equal(count("GET /whoami", 200), 2);
    assert.equal(count("GET /sequence/ticket/{ticket_id}", 503), 1);
    assert.equal(count("GET /health", 200), 1);
    // Put off, or refused, before an endpoint was looked for.
    assert.deepEqual(
      [429, 401, 404, 405].map((status) => count("none", status)),
      [1, 1, 1, 1],
    );
    const refusals = (code: string, policy = "none"): number =>
      after.value("cloister_http_refusals_total", { code, policy });
    assert.equal(refusals("RATE_LIMITED", "key-minute"), 1);
    assert.deepEqual(
      ["MISSING_CREDENTIAL", "CHAIN_UNAVAILABLE", "NOT_FOUND", "METHOD_NOT_ALLOWED", "INTERNAL"].map((code) =>
        refusals(code),
      ),
      [1, 1, 1, 1, 0],
    );
  });

  it("says nothing of who asked, for what, and with which credential", async () => {
    const session = await edge.session({ sub: "alice@example.org" });
    await edge.call("GET", "/whoami", { session });
    await edge.call("GET", `/sequence/ticket/0198c0de-0000-7000-8000-000000000002?session=${session}`, {
      credential: false,
    });
    const text = await (await fetch(`${url}/metrics`)).text();
    // By length: the secret may have an underscore in itself.
    const secretOfKey = edge.key.slice("ck_0123456789abcdef_".length);
    for (const secret of [session, edge.key, secretOfKey, "alice", "0198c0de"])
      assert.ok(!text.includes(secret), secret);
    // As words: a figure's name may end in the same letters.
    assert.doesNotMatch(text, /\b(sst|ck)_/);
  });

  it("knows how many streams are open", async () => {
    metrics.observe(() => ({
      queue: undefined,
      hasLease: true,
      openConnections: 0,
      openStreams: edge.limits.openStreams(),
      blockedBy: undefined,
      lastTurnAt: undefined,
      callsInFlight: undefined,
      indexedBlock: undefined,
      syncedAt: undefined,
      hasIndexFault: false,
      gasWalletBalance: undefined,
      brakes: undefined,
      disk: undefined,
      bridges: undefined,
      disagreements: 0,
      warnings: 0,
    }));
    const user = {
      kind: "session",
      developerId: "d",
      developerName: "D",
      sub: "u",
      perms: [],
      exp: 0,
    } as const;
    const first = await edge.limits.openStream(user);
    const second = await edge.limits.openStream({ ...user, sub: "v" });
    assert.equal((await scrape()).value("cloister_open_streams"), 2);
    first();
    first();
    assert.equal((await scrape()).value("cloister_open_streams"), 1);
    second();
    assert.equal((await scrape()).value("cloister_open_streams"), 0);
  });

  it("is live while the loop answers, and ready as long as /health is well", async () => {
    const state = async (path: string): Promise<readonly [number, unknown]> => {
      const answer = await fetch(url + path);
      assert.equal(answer.headers.get("cache-control"), "no-store");
      const body = (await answer.json()) as { status: string };
      return [answer.status, body.status];
    };
    assert.deepEqual(await state("/live"), [200, "ok"]);
    assert.deepEqual(await state("/ready"), [200, "ok"]);
    sequencer = { state: "degraded", ageMs: 1, detail: "blocked by gas" };
    assert.deepEqual(await state("/ready"), [200, "degraded"]);
    sequencer = { ...sequencer, state: "down" };
    assert.deepEqual(await state("/ready"), [503, "degraded"]);
    assert.deepEqual(await state("/live"), [200, "ok"]);
    health = () => Promise.reject(new Error("postgres://user:secret@host"));
    const failed = await fetch(`${url}/ready`);
    assert.deepEqual([failed.status, await failed.text(), faults.length], [500, "", 1]);
    assert.deepEqual(await state("/live"), [200, "ok"]);
  });

  it("asks for the health once for all probes that wait", async () => {
    let asked = 0;
    let answer: (found: { status: string }) => void = () => undefined;
    health = () => {
      asked += 1;
      return new Promise((resolve) => (answer = resolve));
    };
    const probes = Array.from({ length: 20 }, () => fetch(`${url}/ready`));
    await until("a probe to arrive", () => asked > 0);
    // Sent behind them and answered: by now the others wait, too, or come when there is an answer.
    assert.equal((await fetch(`${url}/live`)).status, 200);
    assert.equal(asked, 1);
    health = () => Promise.resolve({ status: "ok" });
    answer({ status: "ok" });
    for (const probe of probes) assert.equal((await probe).status, 200);
  });

  it("serves its three paths and nothing else, to GET and HEAD", async () => {
    for (const path of ["/", "/health", "/metrics/", "/metrics?x=1", "/constructor", "/info"])
      assert.equal((await fetch(url + path)).status, 404, path);
    assert.equal((await fetch(`${url}/metrics`, { method: "POST", body: "x" })).status, 405);
    const head = await fetch(`${url}/metrics`, { method: "HEAD" });
    assert.deepEqual([head.status, await head.text()], [200, ""]);
    assert.equal(head.headers.get("access-control-allow-origin"), null);
  });

  it("answers to the names of this machine only, so no page can have its own name lead here", async () => {
    const statusFor = async (host: string): Promise<string | undefined> => {
      const socket = createConnection(server.port, "127.0.0.1");
      let text = "";
      socket.on("data", (chunk: Buffer) => (text += chunk.toString("latin1")));
      socket.write(`GET /live HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
      await once(socket, "close");
      return /^HTTP\/1\.1 ([0-9]{3})/.exec(text)?.[1];
    };
    for (const host of ["127.0.0.1", "localhost:9464", "[::1]:1"])
      assert.equal(await statusFor(host), "200", host);
    for (const host of [
      "evil.example",
      "localhost.evil.example",
      "127.0.0.1.evil.example:80",
      "10.0.0.1",
      "x@localhost",
    ])
      assert.equal(await statusFor(host), "421", host);
  });

  it("listens on the loopback address alone", async () => {
    const elsewhere = Object.values(networkInterfaces())
      .flatMap((list) => list ?? [])
      .filter(({ internal, family }) => !internal && family === "IPv4");
    for (const { address } of [...elsewhere, { address: "127.0.0.2" }]) {
      const socket = createConnection(server.port, address);
      const [error] = (await once(socket, "error")) as [NodeJS.ErrnoException];
      assert.equal(error.code, "ECONNREFUSED", address);
    }
  });

  it("is not on the API's port", async () => {
    for (const path of ["/metrics", "/live", "/ready"])
      assert.equal((await edge.call("GET", path)).status, 404, path);
  });

  it("counts a caller who leaves in the middle once, with no status", async () => {
    let isThere = false;
    const relay: Handler = () => {
      isThere = true;
      return new Promise<void>(() => undefined);
    };
    const other = createMetrics();
    const slow = await startEdge({ metrics: other, handlers: { relay } });
    try {
      const socket = createConnection(slow.port, "127.0.0.1");
      const head = [
        "POST /relay HTTP/1.1",
        "Host: a",
        `X-API-Key: ${slow.key}`,
        "Content-Type: application/json",
      ];
      socket.write([...head, "Content-Length: 2", "", "{}"].join("\r\n"));
      await until("the request to be under way", () => isThere);
      socket.destroy();
      const counted = await until("it to be counted", async () => {
        const { samples } = readExposition(await other.text());
        const found = samples.filter(({ name }) => name === "cloister_http_requests_total");
        return found.length > 0 ? found : false;
      });
      assert.deepEqual(
        counted.map(({ labels, value }) => [labels, value]),
        [[{ endpoint: "POST /relay", status: "none" }, 1]],
      );
    } finally {
      await slow.stop();
    }
  });
});
