// Every part of the OpenAPI document says what it is: operations, parameters, headers, answers, named schemas, their
// fields, and every value of an enumeration. What a reader would have to guess fails here.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import { ERROR_CODES } from "../../../shared/api/errors.ts";
import { BRIDGE_REASONS, BRIDGE_STATES } from "../../../shared/api/bridge-status.ts";
import { ticketState } from "../../../shared/api/transactions.ts";
import { PROJECT_ROOT } from "../../support/tree.ts";
import { document } from "../../support/documented.ts";

type Node = Readonly<Record<string, unknown>>;

/** Schemas of a form alone: what such a field is for, the field itself has to say. */
const FORMS = new Set(["Address", "Amount", "Bytes32", "FieldElement", "Signal", "Timestamp", "UnixSeconds"]);
/** One word says nothing: "status", "Answer". */
const isText = (text: unknown): boolean => typeof text === "string" && text.trim().length > 1;

/** Where in a document a description is missing. */
function undescribed(of: Node): string[] {
  const missing: string[] = [];
  const members = (node: unknown): [string, Node][] => Object.entries((node ?? {}) as Record<string, Node>);
  const nameOf = (node: Node): string => String(node["$ref"]).split("/").at(-1) ?? "";
  const need = (node: Node, at: string): void => {
    const isReferred = "$ref" in node && !FORMS.has(nameOf(node));
    if (!isText(node["description"]) && !isReferred) missing.push(at);
  };
  const schema = (node: Node, at: string): void => {
    const values =
      "enum" in node ? (node["enum"] as string[]) : "const" in node ? [String(node["const"])] : [];
    const told = (node["x-enumDescriptions"] ?? {}) as Record<string, unknown>;
    for (const value of values) if (!isText(told[value])) missing.push(`${at}=${value}`);
    for (const value of Object.keys(told)) if (!values.includes(value)) missing.push(`${at}: no ${value}`);
    for (const [name, field] of members(node["properties"])) {
      need(field, `${at}.${name}`);
      schema(field, `${at}.${name}`);
    }
    for (const word of ["items", "additionalProperties"])
      if (typeof node[word] === "object") schema(node[word] as Node, `${at}[]`);
    for (const word of ["anyOf", "oneOf", "allOf", "prefixItems"])
      ((node[word] ?? []) as Node[]).forEach((part, i) => schema(part, `${at}|${String(i)}`));
  };
  const answer = (node: Node, at: string): void => {
    if ("$ref" in node) return;
    need(node, at);
    for (const [name, header] of members(node["headers"]))
      if (!("$ref" in header)) need(header, `${at} ${name}`);
    for (const [type, content] of members(node["content"])) {
      // The codes of a status are values of Problem's code, which says what each means.
      if (type !== "application/problem+json") schema(content["schema"] as Node, `${at} ${type}`);
    }
  };
  for (const [path, operations] of members(of["paths"])) {
    for (const [method, operation] of members(operations)) {
      const at = `${method} ${path}`;
      need(operation, at);
      for (const parameter of (operation as { parameters?: (Node & { name: string })[] }).parameters ?? []) {
        need(parameter, `${at} ${parameter.name}`);
        schema(parameter["schema"] as Node, `${at} ${parameter.name}`);
      }
      const { requestBody } = operation as { requestBody?: Node };
      if (requestBody !== undefined) answer(requestBody, `${at} body`);
      for (const [status, one] of members(operation["responses"])) answer(one, `${at} ${status}`);
    }
  }
  const components = of["components"] as Node;
  for (const [name, one] of members(components["schemas"])) {
    need(one, name);
    schema(one, name);
  }
  for (const [name, one] of members(components["responses"])) answer(one, name);
  for (const [name, one] of members(components["headers"])) need(one, name);
  for (const [name, one] of members(components["securitySchemes"])) need(one, name);
  for (const tag of of["tags"] as (Node & { name: string })[]) need(tag, `tag ${tag.name}`);
  return missing;
}

describe("the OpenAPI document's descriptions", () => {
  it("are there for every operation, parameter, header, answer, field and value", () => {
    assert.deepEqual(undescribed(document as unknown as Node), []);
  });

  it("are missed wherever one is taken away", () => {
    const places: [path: (string | number)[], reported: string][] = [
      [["components", "schemas", "Ticket", "properties", "confirmations"], "Ticket.confirmations"],
      [["components", "schemas", "Ticket"], "Ticket"],
      [
        ["components", "schemas", "Problem", "properties", "errors", "items", "properties", "path"],
        "Problem.errors[].path",
      ],
      [["components", "headers", "Retry-After"], "Retry-After"],
      [["components", "responses", "NotFound"], "NotFound"],
      [["components", "securitySchemes", "session"], "session"],
      [["paths", "/info", "get"], "get /info"],
      [["paths", "/info", "get", "parameters", 0], "get /info nonce"],
      [["paths", "/info", "get", "responses", "200"], "get /info 200"],
      [["paths", "/session", "post", "requestBody"], "post /session body"],
    ];
    for (const [path, reported] of places) {
      const bent = structuredClone(document) as unknown as Node;
      const node = path.reduce<unknown>((at, part) => (at as Record<string, unknown>)[part], bent);
      delete (node as { description?: string }).description;
      assert.deepEqual(undescribed(bent), [reported]);
    }
    // A field that refers to a form without saying what it is for.
    const bent = structuredClone(document) as unknown as Node;
    const { properties } = (
      bent["components"] as { schemas: Record<string, { properties: Record<string, Node> }> }
    ).schemas["Balance"]!;
    properties["token"] = { $ref: "#/components/schemas/Address" };
    assert.deepEqual(undescribed(bent), ["Balance.token"]);
  });

  it("are missed for a value that an enumeration gains, and noticed for one that it lost", () => {
    const bent = structuredClone(document) as unknown as {
      components: { schemas: { BridgeState: { enum: string[] } } };
    };
    const { enum: values } = bent.components.schemas.BridgeState;
    values.push("vanished");
    assert.deepEqual(undescribed(bent as unknown as Node), ["BridgeState=vanished"]);
    values.splice(0, values.length, ...values.filter((value) => value !== "vanished" && value !== "failed"));
    assert.deepEqual(undescribed(bent as unknown as Node), ["BridgeState: no failed"]);
  });
});

describe("the OpenAPI document's guide", () => {
  const { info } = document as unknown as { info: { description: string } };
  /** What the proxy's own source calls them. */
  const wordsIn = (file: string, pattern: RegExp): string[] => {
    const words = [...readFileSync(path.join(PROJECT_ROOT, file), "utf8").matchAll(pattern)].map(
      ([, word]) => word!,
    );
    assert.ok(words.length > 1, file);
    return words;
  };

  it("says what everybody meets: states, codes, limits, and what holds a ticket", () => {
    for (const word of [...ERROR_CODES, ...BRIDGE_REASONS, ...BRIDGE_STATES, ...ticketState.options])
      assert.ok(info.description.includes(`| **${word}** | `), word);
    const blockers = wordsIn("proxy/api/sequencer/blockage.ts", /^const [A-Z_]+ = (.*);$/gm).join(" ");
    for (const [, word] of blockers.matchAll(/"(\w+)"/g))
      assert.ok(info.description.includes(`| **${word!}** | `), word);
    for (const word of wordsIn(
      "proxy/base/limits/limits.ts",
      /"([a-z]+-(?:minute|day|address|user|developer|credentials|proofs))"/g,
    ))
      assert.ok(info.description.includes(`\`${word}\``), word);
  });

  it("has its sections, in the order in which a newcomer needs them", () => {
    const sections = [...info.description.matchAll(/^# (.*)$/gm)].map(([, title]) => title);
    assert.deepEqual(sections, [
      "Authentication and sessions",
      "Limits and retries",
      "Building a request",
      "Life of a ticket",
      "The event stream",
      "The history in chunks",
      "Errors",
      "Bridges",
    ]);
  });

  it("stays a page that can be read: the whole document is below 700 kB", () => {
    assert.ok(JSON.stringify(document).length < 700_000, String(JSON.stringify(document).length));
  });
});
