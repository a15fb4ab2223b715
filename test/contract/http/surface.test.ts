// The whole surface: the specification's endpoint list against the table, the routes and the OpenAPI document.
import assert from "node:assert/strict";
import type { Handler, Handlers } from "../../../proxy/base/http/routes.ts";
import { ENDPOINTS, type Endpoint, type EndpointName } from "../../../shared/api/endpoints.ts";
import { ERRORS } from "../../../shared/api/errors.ts";
import { startEdge, type Edge } from "../../support/edge.ts";

/** Section 4 ("Endpoints") of the HTTP interface specification, its tables' methods and paths, word for word. */
const SPECIFICATION = [
  "GET /health",
  "GET /info",
  "GET /whoami",
  "POST /session",
  "POST /session/exchange",
  "POST /sequence/deposit-shield",
  "POST /sequence/spend",
  "POST /sequence/spend9",
  "POST /sequence/private-swap",
  "GET /sequence/ticket/:ticket_id",
  "POST /attest/deposit-shield",
  "POST /attest/spend",
  "POST /attest/spend9",
  "POST /attest/private-swap",
  "POST /relay",
  "POST /swap/quote",
  "POST /bridge/perpvenue/in-address",
  "POST /bridge/perpvenue/out-address",
  "POST /bridge/altchain/deposit-address",
  "GET /bridge/status",
  "GET /merkle/root",
  "GET /merkle/tree",
  "GET /events/stream",
  "GET /balance/usdc",
];

/** The routes beyond the specification. */
const EXTRA = ["GET /openapi.json", "GET /history", "GET /history/chunks"];

const table = Object.values<Endpoint>(ENDPOINTS);
const colons = (path: string): string => path.replaceAll(/\{([a-z_]+)\}/g, ":$1");

describe("the HTTP surface", () => {
  let edge: Edge;
  let document: any; // eslint-disable-line @typescript-eslint/no-explicit-any -- walked as JSON
  before(async () => {
    edge = await startEdge();
    document = (await edge.call("GET", "/openapi.json")).body;
  });
  after(() => edge.stop());

  it("is the specification's list, plus the document and the history in chunks", () => {
    const built = table.map(({ method, path }) => `${method} ${colons(path)}`);
    assert.deepEqual(built.sort(), [...SPECIFICATION, ...EXTRA].sort());
  });

  it("answers every path of the specification: none is 404 or 405, none a fault of ours", async () => {
    for (const row of [...SPECIFICATION, ...EXTRA]) {
      const [method = "", path = ""] = row.split(" ");
      const at = path.replace(":ticket_id", "0190a0a0-0000-7000-8000-000000000000");
      const { status, body } = await edge.call(method, at, method === "POST" ? { json: {} } : {});
      assert.ok(
        ![404, 405, 500].includes(status),
        `${row}: ${String(status)} ${JSON.stringify(body).slice(0, 200)}`,
      );
    }
  });

  it("says off for the kind of /relay that is off, whatever else is in the body", async () => {
    const relay = async (kind: string): Promise<string> =>
      (await edge.call("POST", "/relay", { json: { kind } })).body.code;
    assert.equal(await relay("private-swap"), "SWAPS_DISABLED");
    assert.equal(await relay("spend9"), "CHAIN_UNAVAILABLE");
    assert.equal(await relay("constructor"), "CHAIN_UNAVAILABLE");
  });

  it("refuses bridges where they are off, before anybody looks at the body, and says so in /info", async () => {
    for (const { method, path, offCode } of table.filter(
      ({ offCode: code }) => code === "FEATURE_DISABLED",
    )) {
      assert.match(path, /^\/bridge\//);
      for (const options of method === "GET" ? [{}] : [{ json: {} }, { raw: "{" }]) {
        const { status, body } = await edge.call(method, path, options);
        assert.deepEqual([status, body.code], [403, offCode], path);
      }
      assert.equal((await edge.call(method, path, { credential: false })).body.code, "MISSING_CREDENTIAL");
    }
    const { features, bridges } = (await edge.call("GET", "/info")).body;
    assert.deepEqual([features.bridges, bridges], [false, null]);
  });

  describe("private swaps", () => {
    const SWAPPED = ["/sequence/private-swap", "/attest/private-swap", "/swap/quote"];
    let on: Edge;
    before(async () => {
      on = await startEdge({ swaps: true });
    });
    after(() => on.stop());

    it("are refused where they are off, before anybody looks at the body", async () => {
      for (const path of SWAPPED) {
        for (const options of [{ json: {} }, { raw: "{" }, { session: await edge.session() }]) {
          const { status, body } = await edge.call("POST", path, options);
          assert.deepEqual([status, body.code], [403, "SWAPS_DISABLED"], path);
        }
        const { headers } = await edge.call("GET", path);
        assert.equal(headers.get("allow"), "POST, OPTIONS");
      }
      assert.equal((await edge.call("GET", "/info")).body.features.swaps, false);
    });

    it("reach their routes where they are on", async () => {
      for (const path of [...SWAPPED, "/relay"]) {
        const { body } = await on.call("POST", path, { json: { kind: "private-swap" } });
        assert.equal(body.code, "CHAIN_UNAVAILABLE", path);
      }
      const { features } = (await on.call("GET", "/info")).body;
      assert.deepEqual(features, { swaps: true, bridges: false, spend9: true });
    });
  });

  it("has no table of handlers with a gap or a name of its own: the compiler refuses it", () => {
    type Refuses<Wanted, Given> = Given extends Wanted ? false : true;
    const gap: Refuses<Handlers<"info" | "whoami">, Pick<Handlers, "info">> = true;
    const unknown: Refuses<EndpointName, "debug"> = true;
    const exact: Refuses<Handlers, Record<EndpointName, Handler>> = false;
    assert.deepEqual([gap, unknown, exact], [true, true, false]);
  });

  describe("OpenAPI document", () => {
    it("is 3.1 and holds exactly what is served", () => {
      assert.equal(document.openapi, "3.1.0");
      const listed = Object.entries<object>(document.paths).flatMap(([path, operations]) =>
        Object.keys(operations).map((method) => `${method.toUpperCase()} ${path}`),
      );
      const documented = table.map(({ method, path }) => `${method} ${path}`);
      assert.deepEqual(listed.sort(), documented.sort());
    });

    it("has no reference that leads nowhere, and no leftover of its making", () => {
      let references = 0;
      const walk = (node: unknown): void => {
        if (typeof node !== "object" || node === null) return;
        for (const [key, value] of Object.entries(node)) {
          assert.notEqual(key, "$defs");
          assert.notEqual(key, "~standard");
          if (key === "$ref") {
            references++;
            assert.match(String(value), /^#\//);
            const target = String(value)
              .slice(2)
              .split("/")
              .reduce((at, part) => at?.[part], document);
            assert.notEqual(target, undefined, String(value));
          }
          walk(value);
        }
      };
      walk(document);
      assert.ok(references > 100);
    });

    it("gives every operation an id, security, parameters for its path, a body schema and its codes", () => {
      const ids = new Set<string>();
      for (const endpoint of table) {
        const operation = document.paths[endpoint.path][endpoint.method.toLowerCase()];
        ids.add(operation.operationId);
        const schemes = operation.security.flatMap((one: object) => Object.keys(one));
        // An endpoint that takes no credential says so by an empty list.
        assert.equal(schemes.includes("apiKey"), endpoint.access !== "none");
        assert.equal(schemes.includes("session"), !["none", "api-key"].includes(endpoint.access));
        for (const [, name] of endpoint.path.matchAll(/\{([a-z_]+)\}/g)) {
          assert.ok(
            operation.parameters.some(
              (p: { name: string; in: string }) => p.name === name && p.in === "path",
            ),
          );
        }
        assert.equal(operation.requestBody !== undefined, endpoint.method === "POST");
        for (const status of Object.keys(endpoint.responses))
          assert.ok(operation.responses[status], endpoint.path);
        for (const code of [
          ...endpoint.codes,
          ...(endpoint.offCode === undefined ? [] : [endpoint.offCode]),
        ]) {
          assert.ok(operation.responses[ERRORS[code].status], `${endpoint.path} ${code}`);
        }
      }
      assert.equal(ids.size, table.length);
    });

    it("every table row with a body or a query has a schema", () => {
      for (const { method, path, body, responses, packedType } of table) {
        assert.equal(body !== undefined, method === "POST", path);
        assert.ok(Object.keys(responses).length > 0 || packedType !== undefined);
      }
    });
  });
});
