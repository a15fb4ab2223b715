// The check that holds answers against the document can itself fail: each planted wrong answer is found.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { assertDocumented, documentedFetch, undocumented, type Seen } from "../../support/documented.ts";
import { startEdge, type Edge } from "../../support/edge.ts";

describe("every answer is held against the OpenAPI document", () => {
  let edge: Edge;
  let good: Seen;
  let refused: Seen;
  before(async () => {
    edge = await startEdge();
    const see = async (path: string, headers: Record<string, string>): Promise<Seen> => {
      const response = await fetch(edge.url + path, { headers });
      const body = new Uint8Array(await response.arrayBuffer());
      return { method: "GET", url: path, status: response.status, headers: response.headers, body };
    };
    good = await see("/whoami", { "X-API-Key": edge.key });
    refused = await see("/whoami", {});
  });
  after(() => edge.stop());

  const changedBody = (seen: Seen, change: (body: Record<string, unknown>) => void): Seen => {
    const body = JSON.parse(new TextDecoder().decode(seen.body)) as Record<string, unknown>;
    change(body);
    return { ...seen, body: new TextEncoder().encode(JSON.stringify(body)) };
  };
  const without = (seen: Seen, name: string): Seen => {
    const headers = new Headers(seen.headers);
    headers.delete(name);
    return { ...seen, headers };
  };
  const typed = (seen: Seen, type: string): Seen => {
    const headers = new Headers(seen.headers);
    headers.set("content-type", type);
    return { ...seen, headers };
  };

  it("finds nothing in what the service answers", () => {
    assertDocumented(good);
    assertDocumented(refused);
  });

  const planted: [string, () => Seen, RegExp][] = [
    ["another status", () => ({ ...good, status: 204 }), /status is not documented/],
    ["a refusal that says another status", () => ({ ...refused, status: 418 }), /status is not documented/],
    ["another media type", () => typed(good, "text/html"), /media type/],
    ["a refusal as plain JSON", () => typed(refused, "application/json"), /media type/],
    ["no request id", () => without(good, "x-request-id"), /x-request-id/i],
    ["no word on limits", () => without(good, "ratelimit"), /RateLimit/],
    ["no WWW-Authenticate", () => without(refused, "www-authenticate"), /WWW-Authenticate/],
    ["a field too many", () => changedBody(good, (body) => (body["admin"] = true)), /admin/],
    [
      "a field too many, deeper",
      () => changedBody(good, (body) => Object.assign(body["developer"] as object, { secret: 1 })),
      /developer.*secret/,
    ],
    ["a field too few", () => changedBody(good, (body) => delete body["kind"]), /kind/],
    ["a field of another type", () => changedBody(good, (body) => (body["fees"] = "none")), /fees/],
    [
      "a code of another endpoint",
      () => changedBody(refused, (body) => (body["code"] = "QUEUE_FULL")),
      /code/,
    ],
    ["a code that does not exist", () => changedBody(refused, (body) => (body["code"] = "OOPS")), /code/],
    ["a body that is cut", () => ({ ...good, body: good.body?.slice(0, -2) }), /no JSON/],
    [
      "no JSON where a refusal has none either",
      () => ({ ...refused, url: "/nothing", body: undefined }),
      /JSON/,
    ],
    [
      "NOT_FOUND on a path that exists",
      () => changedBody({ ...refused, status: 404 }, (body) => (body["code"] = "NOT_FOUND")),
      /status is not documented/,
    ],
  ];
  for (const [what, plant, fault] of planted) {
    it(`notices ${what}`, () => {
      const found = undocumented(plant());
      assert.match(found ?? "nothing was found", fault);
    });
  }

  describe("the events of a stream", () => {
    const ready = { chain_id: 1, pool: `0x${"00".repeat(20)}`, block_number: 1, leaf_count: 0 };
    const GOOD = `retry: 10\n\nevent: ready\ndata: ${JSON.stringify(ready)}\n\n:\n\n`;
    /** What a reader gets, and what was found, of a service that says this. */
    async function read(text: string): Promise<{ got: string; faults: string[] }> {
      const { headers } = good;
      const server = createServer((_request, response) => {
        for (const [name, value] of headers) if (!/^content-/.test(name)) response.setHeader(name, value);
        response.setHeader("Content-Type", "text/event-stream");
        // In pieces, as a network would.
        for (let at = 0; at < text.length; at += 7) response.write(text.slice(at, at + 7));
        response.end();
      });
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
      const url = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
      const faults: string[] = [];
      const note = ({ message }: Error): void => void faults.push(message);
      try {
        const response = await documentedFetch(url, note)(`${url}/events/stream`);
        return { got: await response.text().catch(() => "broken"), faults };
      } finally {
        server.close();
      }
    }

    it("are passed on as they are when they are documented", async () => {
      assert.deepEqual(await read(GOOD), { got: GOOD, faults: [] });
    });

    for (const [what, text, fault] of [
      ["a kind that does not exist", "event: news\ndata: {}\n\n", /news is not documented/],
      ["a field too few", "event: synced\ndata: {}\n\n", /synced: .*block_number/],
      ["a field too many", 'event: session_expired\ndata: {"why":"x"}\n\n', /session_expired: .*why/],
      ["a field of another type", 'event: reorg\ndata: {"from_id":7}\n\n', /reorg: .*from_id/],
      ["data that is no JSON", "event: session_expired\ndata: {\n\n", /no JSON/],
    ] as const) {
      it(`are stopped at ${what}`, async () => {
        const { got, faults } = await read(GOOD + text);
        assert.equal(got, "broken");
        assert.equal(faults.length, 1);
        assert.match(faults[0] ?? "", fault);
      });
    }
  });

  it("does not repeat a body, which may hold a credential", () => {
    const leaky = changedBody(good, (body) => (body["kind"] = "sst_secret"));
    assert.doesNotMatch(undocumented(leaky) ?? "", /sst_secret/);
  });

  it("stands in the way of a fetch, so that no test can look past it", async () => {
    const server = createServer((_request, response) => response.end("fine"));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
    try {
      await assert.rejects(documentedFetch(url)(`${url}/whoami`), /GET \/whoami answered 200/);
      await assert.rejects(
        documentedFetch(url)(new Request(`${url}/nothing?session=secret`)),
        (error: Error) => {
          assert.doesNotMatch(error.message, /secret/);
          return true;
        },
      );
      assert.equal(await (await documentedFetch(edge.url)(`${url}/whoami`)).text(), "fine");
    } finally {
      server.close();
    }
  });
});
