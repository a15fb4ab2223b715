import assert from "node:assert/strict";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { createClient, type Client } from "../../../shared/client/index.ts";
import { API_KEY, TestService } from "./service.ts";

const code = (expected: string) => (error: unknown) => (error as { code?: string }).code === expected;

describe("client retries", () => {
  let service: TestService;
  let client: Client;
  let waits: number[];
  beforeEach(async () => {
    service = new TestService();
    waits = [];
    client = createClient({
      baseUrl: await service.listen(),
      credential: { apiKey: API_KEY },
      tries: 3,
      wait: async (ms) => void waits.push(ms),
    });
  });
  afterEach(() => service.close());
  const fail = (times: number, fault: "hang-up" | "RATE_LIMITED" | "QUEUE_FULL" | "PROOF_INVALID"): void => {
    let left = times;
    service.faults.push(() => (left-- > 0 ? fault : undefined));
  };

  it("a GET comes through a lost connection and a service that is unreachable", async () => {
    fail(2, "hang-up");
    assert.equal((await client.health()).status, "ok");
    assert.equal(service.requests.length, 3);
    service.faults.length = 0;
    fail(1, "QUEUE_FULL");
    assert.equal((await client.whoami()).kind, "api_key");
  });

  it("honours Retry-After", async () => {
    fail(1, "RATE_LIMITED");
    await client.health();
    assert.deepEqual(waits, [7000]);
  });

  it("gives up after its tries, and says what it was", async () => {
    fail(9, "hang-up");
    await assert.rejects(client.health(), code("NETWORK"));
    assert.equal(service.requests.length, 3);
    service.faults.length = 0;
    fail(9, "RATE_LIMITED");
    await assert.rejects(client.health(), code("RATE_LIMITED"));
  });

  it("never repeats a refusal, nor a POST without an Idempotency-Key", async () => {
    fail(1, "PROOF_INVALID");
    await assert.rejects(client.health(), code("PROOF_INVALID"));
    assert.equal(service.requests.length, 1);
    fail(1, "hang-up");
    await assert.rejects(client.createSession({ sub: "u", perms: ["read"], ttl_secs: 60 }), code("NETWORK"));
    assert.equal(service.requests.length, 2);
  });

  describe("against a server that is not the service", () => {
    const serve = async (
      answer: (response: ServerResponse) => void,
      use: (foreign: Client) => Promise<void>,
    ): Promise<void> => {
      const server = createServer((_, response) => answer(response));
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
      const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
      try {
        await use(createClient({ baseUrl, credential: { apiKey: API_KEY }, tries: 1 }));
      } finally {
        server.closeAllConnections();
        await new Promise((resolve) => server.close(resolve));
      }
    };
    const refuses = (answer: (response: ServerResponse) => void, expected: string): Promise<void> =>
      serve(answer, (foreign) => assert.rejects(foreign.health(), code(expected)));

    it("refuses pages, wrong shapes, and problems whose status and code disagree", async () => {
      await refuses(
        (response) => response.writeHead(502).end("<html>bad gateway</html>"),
        "UNEXPECTED_ANSWER",
      );
      await refuses((response) => response.writeHead(200).end('{"status":"fine"}'), "UNEXPECTED_ANSWER");
      await refuses((response) => response.writeHead(200).end('{"status":'), "UNEXPECTED_ANSWER");
      const lie = {
        type: "x",
        title: "x",
        status: 401,
        detail: "x",
        code: "SESSION_EXPIRED",
        retryable: true,
        request_id: "x",
      };
      await refuses((response) => response.writeHead(500).end(JSON.stringify(lie)), "UNEXPECTED_ANSWER");
    });

    it("follows no redirect: it would carry the credential elsewhere", async () => {
      await refuses(
        (response) => response.writeHead(302, { Location: "http://127.0.0.1:1/" }).end(),
        "NETWORK",
      );
    });
  });
});
