// The OpenAPI document itself: what it says of each operation beyond bodies, and that tools can read it.
import assert from "node:assert/strict";
import { Validator } from "@seriousme/openapi-schema-validator";
import { Ajv2020 } from "ajv/dist/2020.js";
import formats from "ajv-formats";
import { EVENTS } from "../../../shared/api/data.ts";
import { ENDPOINTS, type Endpoint } from "../../../shared/api/endpoints.ts";
import { ERRORS, problem } from "../../../shared/api/errors.ts";
import { document, resolve, type Json, type Operation } from "../../support/documented.ts";

const table = Object.values<Endpoint>(ENDPOINTS);

function operationOf({ path, method }: Pick<Endpoint, "path" | "method">): Operation {
  const operation = document.paths[path]?.[method.toLowerCase()];
  assert.ok(operation !== undefined, path);
  return operation;
}
const namesOf = (operation: Operation): string[] => (operation.parameters ?? []).map(({ name }) => name);
const isPromised = (operation: Operation, status: number, header: string): boolean => {
  const found = resolve(operation.responses[String(status)]!).headers?.[header];
  return found !== undefined && resolve(found).required === true;
};

describe("the OpenAPI document", () => {
  it("has each code of each endpoint under its status, with an example that is a problem document", () => {
    for (const endpoint of table) {
      const operation = operationOf(endpoint);
      for (const code of [...endpoint.codes, ...(endpoint.offCode === undefined ? [] : [endpoint.offCode])]) {
        const { status } = ERRORS[code];
        const content = resolve(operation.responses[String(status)]!).content?.["application/problem+json"];
        assert.match(JSON.stringify(content?.schema), new RegExp(`"${code}"`), `${endpoint.path} ${code}`);
        const example = problem.parse(resolve(content!.examples![code]!).value);
        assert.deepEqual([example.code, example.status], [code, status]);
      }
    }
  });

  it("has a step for each refusal that a step gives", () => {
    for (const { path, steps, codes, body } of table) {
      assert.equal(steps[0], "access", path);
      assert.equal(steps.includes("proofs"), codes.includes("PROOF_INVALID"), path);
      assert.equal(steps.includes("body"), body !== undefined, path);
      assert.equal(steps.includes("swaps"), codes.includes("SWAPS_DISABLED"), path);
      assert.equal(steps.includes("once"), codes.includes("IDEMPOTENCY_MISMATCH"), path);
    }
  });

  it("names the headers that a request may carry", () => {
    for (const endpoint of table) {
      const names = namesOf(operationOf(endpoint));
      assert.ok(names.includes("API-Version"), endpoint.path);
      assert.equal(names.includes("Idempotency-Key"), endpoint.codes.includes("IDEMPOTENCY_MISMATCH"));
      assert.equal(names.includes("Prefer"), 202 in endpoint.responses);
      assert.equal(names.includes("If-None-Match"), endpoint.hasEtag === true);
      assert.equal(names.includes("If-Match"), endpoint.hasEtag === true);
      assert.ok(!names.includes("session"), "that one is a credential");
    }
    const stream = namesOf(operationOf(ENDPOINTS.events));
    assert.ok(["from", "types", "Last-Event-ID"].every((name) => stream.includes(name)));
  });

  it("promises the headers of an answer", () => {
    for (const endpoint of table) {
      const operation = operationOf(endpoint);
      assert.ok(isPromised(operation, 429, "Retry-After"), endpoint.path);
      for (const [status, answer] of Object.entries(operation.responses)) {
        const { headers = {} } = resolve(answer);
        for (const name of ["X-Request-Id", "API-Version", "Vary", "RateLimit", "RateLimit-Policy"])
          assert.ok(name in headers, `${endpoint.path} ${status} ${name}`);
      }
      if (202 in endpoint.responses) {
        assert.ok(isPromised(operation, 202, "Location"));
        assert.ok(resolve(operation.responses["202"]!).headers?.["Preference-Applied"] !== undefined);
      }
    }
    const tree = operationOf(ENDPOINTS.merkleTree);
    assert.ok(isPromised(tree, 200, "ETag") && isPromised(tree, 304, "ETag"));
    assert.equal(resolve(tree.responses["304"]!).content, undefined);
    const types = Object.keys(resolve(tree.responses["200"]!).content ?? {});
    assert.deepEqual(types, ["application/json", "application/octet-stream"]);
    const chunks = operationOf(ENDPOINTS.historyChunks);
    assert.ok(isPromised(chunks, 200, "ETag") && isPromised(chunks, 304, "ETag"));
    assert.deepEqual(Object.keys(resolve(chunks.responses["200"]!).content ?? {}), [
      "application/octet-stream",
    ]);
  });

  it("says of every operation that the store, which knows the credentials, may be unreachable", () => {
    for (const endpoint of table) {
      const operation = operationOf(endpoint);
      const content = resolve(operation.responses["503"]!).content?.["application/problem+json"];
      assert.match(JSON.stringify(content?.schema), /"STORE_UNAVAILABLE"/, endpoint.path);
      // Whose credential could not be looked up was not counted.
      assert.equal(isPromised(operation, 503, "RateLimit"), false, endpoint.path);
    }
    const degraded = resolve(operationOf(ENDPOINTS.health).responses["503"]!);
    assert.deepEqual(Object.keys(degraded.content ?? {}), ["application/json", "application/problem+json"]);
  });

  it("gives every event of the stream its schema", () => {
    const { content } = resolve(operationOf(ENDPOINTS.events).responses["200"]!);
    const events = content?.["text/event-stream"]?.["x-events"] ?? {};
    assert.deepEqual(Object.keys(events), Object.keys(EVENTS));
    for (const [kind, reference] of Object.entries(events)) {
      assert.equal(resolve<Json>(resolve<Json>(reference))["type"], "object", kind);
    }
  });

  it("is what OpenAPI 3.1's own schema asks for", async () => {
    assert.deepEqual(await new Validator().validate({ ...structuredClone(document) }), { valid: true });
    const bent = JSON.parse(JSON.stringify(document)) as { info: { title?: string } };
    delete bent.info.title;
    assert.equal((await new Validator().validate(bent)).valid, false, "the check can fail");
  });

  it("has only schemas that compile as JSON Schema 2020-12", () => {
    const ajv = formats.default(new Ajv2020({ strict: true, strictTypes: false, allowUnionTypes: true }));
    ajv.addVocabulary(["components", "x-enumDescriptions"]);
    const base = "https://service.example/document";
    ajv.addSchema({ $id: base, components: { schemas: document.components.schemas } });
    let compiled = 0;
    const compile = (schema: unknown): void => {
      const text = JSON.stringify(schema).replaceAll('"$ref":"#/', `"$ref":"${base}#/`);
      assert.equal(typeof ajv.compile(JSON.parse(text) as object), "function");
      compiled++;
    };
    const walk = (node: unknown): void => {
      if (typeof node !== "object" || node === null) return;
      for (const [key, value] of Object.entries(node)) {
        if (key === "schema") compile(value);
        else if (key === "schemas") Object.values(value as object).forEach(compile);
        else walk(value);
      }
    };
    walk(document);
    assert.ok(compiled > 100, String(compiled));
  });
});
