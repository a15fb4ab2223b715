// The examples of the OpenAPI document: each endpoint has them for its body and for each of its successes, they have
// the form that the document promises, and no credential is in them.
import assert from "node:assert/strict";
import { ENDPOINTS, type Endpoint, type EndpointName } from "../../../shared/api/endpoints.ts";
import { EXAMPLES, PLACEHOLDERS, type Example } from "../../../shared/api/examples.ts";
import { document, resolve, schemaFault, type MediaType } from "../../support/documented.ts";

/** The document would be its own example; bytes are none. */
const WITHOUT: readonly EndpointName[] = ["openapi", "historyChunks"];

const table = (Object.entries(ENDPOINTS) as [EndpointName, Endpoint][]).filter(
  ([name]) => !WITHOUT.includes(name),
);
const examplesOf = (name: EndpointName): readonly Example[] => EXAMPLES[name] ?? [];

function contentOf({ path, method }: Endpoint, { response }: Example): MediaType {
  const answers = document.paths[path]?.[method.toLowerCase()]?.responses ?? {};
  const answer = answers[String(response.status)];
  const content = answer && resolve(answer).content?.[response.type];
  assert.ok(content !== undefined, `${path} ${String(response.status)} ${response.type}`);
  return content;
}

describe("examples of the OpenAPI document", () => {
  for (const [name, endpoint] of table) {
    it(`${name}: has one for each success, and they are in the document`, () => {
      const examples = examplesOf(name);
      const statuses = new Set(examples.map(({ response }) => String(response.status)));
      assert.deepEqual([...statuses].sort(), Object.keys(endpoint.responses).sort());
      assert.equal(new Set(examples.map((example) => example.name)).size, examples.length);
      for (const example of examples) {
        const shown = contentOf(endpoint, example).examples?.[example.name];
        assert.ok(shown !== undefined, example.name);
        assert.deepEqual(resolve(shown).value, example.response.body);
      }
    });

    it(`${name}: requests and answers have the documented form`, () => {
      const { path, method, body: schema } = endpoint;
      const operation = document.paths[path]?.[method.toLowerCase()];
      const asked = examplesOf(name);
      assert.equal(
        asked.some(({ body }) => body !== undefined),
        schema !== undefined,
      );
      for (const example of asked) {
        const { body, bodyOf, query, path: way, response } = example;
        if (schema !== undefined) {
          const sent = body ?? asked.find((other) => other.name === bodyOf)?.body;
          schema.parse(sent);
          const content = operation?.requestBody?.content["application/json"];
          assert.equal(schemaFault(`${name} request`, content!.schema, sent), undefined);
        }
        assert.deepEqual(endpoint.query?.safeParse(query ?? {}).error, undefined);
        assert.deepEqual(endpoint.params?.safeParse(way).error, undefined);
        if (response.type !== "application/json") continue;
        const fault = schemaFault(
          `${name} ${String(response.status)} example`,
          contentOf(endpoint, example).schema,
          response.body,
        );
        assert.equal(fault, undefined, `${example.name}: ${String(fault)}`);
      }
    });
  }

  it("there is none of anything else", () => {
    assert.deepEqual(Object.keys(EXAMPLES).sort(), table.map(([name]) => name).sort());
  });

  it("hold placeholders where credentials were", () => {
    const text = JSON.stringify(EXAMPLES);
    assert.doesNotMatch(text, /ck_[0-9a-zA-Z]{12}/);
    assert.doesNotMatch(text, /eyJ[0-9a-zA-Z_-]{8}/, "the start of a JWT");
    const tokens = new Set(text.match(/sst_[^"]*/g));
    assert.deepEqual([...tokens], [PLACEHOLDERS.session]);
    assert.equal(
      text.split(PLACEHOLDERS.accessToken).length - 1,
      1,
      "the exchange's request, and nothing else",
    );
    const headers = new Set(
      table.flatMap(([name]) => examplesOf(name).flatMap((example) => Object.keys(example.headers ?? {}))),
    );
    assert.deepEqual([...headers], ["Prefer"]);
  });
});
