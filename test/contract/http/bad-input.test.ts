// Bad input, endpoint by endpoint: every row of the table is sent every way in which a request can be wrong.
// On an instance without swaps and on one with them. Each answer names its own reason and is in the
// document: the edge holds it against that.
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import fc from "fast-check";
import { mintSessionToken } from "../../../proxy/auth/session-tokens.ts";
import { ENDPOINTS, MAX_BODY_BYTES, type Endpoint } from "../../../shared/api/endpoints.ts";
import { document } from "../../support/documented.ts";
import { changedAt, placesIn, validValue, WRONG_VALUES } from "../../support/requests.ts";
import { CHAIN_ID, type Answer, type CallOptions, type Edge } from "./edge.ts";
import { startReadingEdge } from "./reading-edge.ts";

/** Wider than the row's type: an endpoint that takes no credential says `none`. */
const accessOf = ({ access }: Endpoint): string => access;
const table = Object.entries<Endpoint>(ENDPOINTS);
const posts = table.filter(([, { method }]) => method === "POST");
const TICKET = "0190a0a0-0000-7000-8000-000000000000";
/**
 * Of the texts below those that are wrong in fields of any text: a name that somebody chose may well read like a
 * number, and what an identity provider or the operator wrote is compared and not read.
 */
const FREE_TEXTS: Readonly<Record<string, readonly string[]>> = {
  sub: ["\u0000"],
  app_id: [],
  access_token: [],
};
/** Where no credential is taken, one would be the fault that is answered. */
const bare = (endpoint: Endpoint): CallOptions =>
  accessOf(endpoint) === "none" ? { credential: false } : {};
const at = ({ path }: Endpoint): string => path.replace("{ticket_id}", TICKET);

/** A body of the right form; whether it means anything is decided behind the border. */
function goodBody({ path }: Endpoint): Record<string, unknown> {
  const schema = document.paths[path]?.["post"]?.requestBody?.content["application/json"]?.schema;
  assert.ok(schema !== undefined, path);
  const bodies = fc.sample(validValue(schema), { seed: 7, numRuns: 20 }) as Record<string, unknown>[];
  // Of those that name their kind, one that no instance has switched off.
  const body = bodies.find(({ kind }) => kind !== "private-swap");
  assert.ok(body !== undefined, path);
  return body;
}

for (const swaps of [false, true]) {
  describe(`bad input, endpoint by endpoint, swaps ${swaps ? "on" : "off"}`, function () {
    this.timeout(120_000);
    let edge: Edge;
    before(async () => {
      edge = await startReadingEdge({ swaps });
    });
    after(() => edge.stop());

    const isOff = ({ offCode }: Endpoint): boolean => offCode !== undefined && !swaps;
    const send = (endpoint: Endpoint, options: CallOptions): Promise<Answer> =>
      edge.call(endpoint.method, at(endpoint), {
        ...bare(endpoint),
        ...(endpoint.method === "POST" && !("raw" in options) && !("json" in options) ? { json: {} } : {}),
        ...options,
      });
    async function refused(endpoint: Endpoint, options: CallOptions, ...codes: string[]): Promise<Answer> {
      const answer = await send(endpoint, options);
      const expected = isOff(endpoint) ? ["SWAPS_DISABLED"] : codes;
      assert.ok(expected.includes(String(answer.body.code)), `${endpoint.path}: ${String(answer.body.code)}`);
      assert.ok(answer.status < 500);
      return answer;
    }

    for (const [name, endpoint] of table.filter(([, row]) => accessOf(row) !== "none")) {
      it(`${name}: no credential, a wrong kind, an expired one, one without the permission`, async () => {
        const exp = Math.floor(edge.now() / 1000) - 1;
        const claims = { developerId: "test", sub: "u", exp, epoch: 1, userEpoch: 0 };
        const expired = mintSessionToken(edge.keyRing, CHAIN_ID, { ...claims, perms: ["read", "write"] });
        const code = async (options: CallOptions): Promise<string> =>
          (await send(endpoint, options)).body.code;
        assert.equal(await code({ credential: false }), "MISSING_CREDENTIAL");
        assert.equal(await code({ session: edge.key }), "INVALID_CREDENTIAL");
        assert.equal(
          await code({ credential: false, headers: { "X-API-Key": expired } }),
          "INVALID_CREDENTIAL",
        );
        assert.equal(await code({ session: expired }), "SESSION_EXPIRED");
        const lacking = endpoint.access === "read" ? "write" : "read";
        const session = await edge.session({ perms: [lacking] });
        await refused(endpoint, { session }, "FORBIDDEN");
      });
    }

    it("an endpoint that takes no credential refuses every one, before it looks at it", async () => {
      const open = table.filter(([, row]) => accessOf(row) === "none");
      assert.ok(open.length > 0);
      const session = await edge.session();
      for (const [, endpoint] of open) {
        const json = goodBody(endpoint);
        for (const options of [{}, { session }, { session: "sst_x" }]) {
          const { body } = await edge.call(endpoint.method, at(endpoint), { json, ...options });
          assert.equal(body.code, "INVALID_REQUEST", endpoint.path);
        }
        // Without one, the same body is refused for what it says and not for its form.
        assert.notEqual((await send(endpoint, { json })).body.code, "INVALID_REQUEST");
      }
    });

    it("any endpoint: a wrong method is 405 with Allow, whatever else is wrong", async () => {
      for (const [, endpoint] of table) {
        for (const method of ["PUT", "PATCH", "DELETE", endpoint.method === "GET" ? "POST" : "GET"]) {
          const answer = await edge.call(method, at(endpoint), {
            ...bare(endpoint),
            ...(method === "GET" ? {} : { raw: "{" }),
          });
          assert.deepEqual([answer.status, answer.body.code], [405, "METHOD_NOT_ALLOWED"], endpoint.path);
          assert.ok(answer.headers.get("allow")?.includes(endpoint.method));
        }
      }
    });

    it("any endpoint: a query that it does not know is INVALID_REQUEST", async () => {
      for (const [, endpoint] of table) {
        const body = endpoint.method === "POST" ? { json: goodBody(endpoint) } : {};
        const options = { ...bare(endpoint), ...body };
        const answer = await edge.call(endpoint.method, `${at(endpoint)}?surplus=1`, options);
        assert.equal(answer.body.code, isOff(endpoint) ? "SWAPS_DISABLED" : "INVALID_REQUEST", endpoint.path);
      }
    });

    const bodies: [string, CallOptions, string][] = [
      [
        "another media type",
        { raw: "{}", headers: { "Content-Type": "text/plain" } },
        "UNSUPPORTED_MEDIA_TYPE",
      ],
      ["an oversized body", { raw: `"${"a".repeat(MAX_BODY_BYTES)}"` }, "BODY_TOO_LARGE"],
      ["deep nesting", { raw: "[".repeat(33) + "]".repeat(33) }, "INVALID_REQUEST"],
      [
        "deep nesting in a field",
        { raw: `{"proof":${'{"a":'.repeat(5_000)}1${"}".repeat(5_001)}` },
        "INVALID_REQUEST",
      ],
      ["a name twice", { raw: '{"kind":"spend","kind":"spend9"}' }, "INVALID_REQUEST"],
      ["a name twice in two spellings", { raw: '{"sub":1,"s\\u0075b":2}' }, "INVALID_REQUEST"],
      ["bytes that are no UTF-8", { raw: Uint8Array.of(0x7b, 0x22, 0xff, 0x22, 0x7d) }, "INVALID_REQUEST"],
      ["a null byte", { raw: "{}\u0000" }, "INVALID_REQUEST"],
      ["no JSON", { raw: "{'a':1}" }, "INVALID_REQUEST"],
      ["no object", { raw: "[]" }, "INVALID_REQUEST"],
      ["null", { raw: "null" }, "INVALID_REQUEST"],
      ["nothing", { raw: "" }, "UNSUPPORTED_MEDIA_TYPE"],
    ];
    for (const [what, options, code] of bodies) {
      it(`any endpoint with a body: ${what} is ${code}`, async () => {
        for (const [, endpoint] of posts) {
          const empty = options.raw === "" ? [code, "INVALID_REQUEST"] : [code];
          await refused(endpoint, options, ...empty);
        }
      });
    }

    for (const [name, endpoint] of posts) {
      it(`${name}: a missing, surplus or mistyped field is INVALID_REQUEST, at every place of the body`, async () => {
        const good = goodBody(endpoint);
        for (const field of Object.keys(good)) {
          const answer = await send(endpoint, { json: changedAt(good, [field], undefined) });
          // Fields that may be absent are in the document; none of ours has more than these.
          const mayMiss =
            ["authorization", "perms", "ttl_secs"].includes(field) && answer.body.code !== "INVALID_REQUEST";
          if (!mayMiss)
            assert.equal(answer.body.code, isOff(endpoint) ? "SWAPS_DISABLED" : "INVALID_REQUEST", field);
        }
        await refused(endpoint, { json: { ...good, surplus: 1 } }, "INVALID_REQUEST");
        await refused(
          endpoint,
          { raw: JSON.stringify(good).replace("{", '{"__proto__":{"a":1},') },
          "INVALID_REQUEST",
        );
        for (const way of placesIn(good)) {
          const texts = FREE_TEXTS[way.join()] ?? ["\u0000", "1e3"];
          for (const wrong of [null, true, -1, 0.5, 1e21, { a: 1 }, ...texts]) {
            await refused(endpoint, { json: changedAt(good, way, wrong) }, "INVALID_REQUEST");
          }
        }
      });
    }

    it("numbers as strings and the reverse are INVALID_REQUEST", async () => {
      for (const [, endpoint] of posts) {
        const good = goodBody(endpoint);
        for (const way of placesIn(good)) {
          const value = way.reduce<unknown>((inner, key) => (inner as Record<string, unknown>)[key], good);
          if (typeof value === "number") {
            await refused(endpoint, { json: changedAt(good, way, String(value)) }, "INVALID_REQUEST");
          } else if (typeof value === "string" && /^[0-9]{1,9}$/.test(value)) {
            await refused(endpoint, { json: changedAt(good, way, Number(value)) }, "INVALID_REQUEST");
          }
        }
      }
    });

    it("queries and paths of every wrong form are INVALID_REQUEST or nowhere", async () => {
      const texts = WRONG_VALUES.filter((value) => typeof value === "string");
      for (const text of [
        "",
        "-1",
        "1e3",
        "0x1",
        "9".repeat(59),
        "\u0000",
        "__proto__",
        "a,b",
        ...texts.map(String),
      ]) {
        const spelt = encodeURIComponent(text.replaceAll(/\p{Cs}/gu, "?"));
        for (const path of [
          `/merkle/tree?level=${spelt}`,
          `/merkle/tree?from=${spelt}`,
          `/merkle/tree?limit=${spelt}`,
          `/balance/usdc?address=${spelt}`,
          `/info?nonce=${spelt}`,
          `/events/stream?nothing=${spelt}`,
          `/sequence/ticket/${spelt}`,
        ]) {
          const { status, body } = await edge.call("GET", path);
          assert.ok(
            ["INVALID_REQUEST", "NOT_FOUND"].includes(String(body.code)),
            `${path}: ${String(status)}`,
          );
        }
      }
    });

    it("a caller who leaves in the middle of a body, or says too little, is let go and harms nobody", async () => {
      for (const start of ["", "POST /relay HTTP/1.1\r\nHos", "POST /relay HTTP/1.1\r\nHost: x\r\n"]) {
        const socket = connect(edge.port, "127.0.0.1");
        await once(socket, "connect");
        socket.write(start);
        socket.destroy();
      }
      const socket = connect(edge.port, "127.0.0.1");
      socket.write(
        `POST /relay HTTP/1.1\r\nHost: x\r\nX-API-Key: ${edge.key}\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{`,
      );
      await once(socket, "connect");
      socket.destroy();
      assert.equal((await edge.call("GET", "/whoami")).status, 200);
    });

    it("and no fault of ours was behind any of it", () => {
      const faults = edge
        .log()
        .split("\n")
        .filter((line) => /"level":(50|60|"error"|"fatal")/.test(line));
      assert.deepEqual(faults.slice(0, 3), []);
    });
  });
}
