// Requests drawn from the OpenAPI document: as it asks for, with one thing wrong, and rubbish. What a client
// generator makes of the document, and what a hostile one makes of it.
import fc, { type Arbitrary } from "fast-check";
import { document, resolve, type Json, type Operation, type Parameter } from "./documented.ts";

export type Caller = "key" | "reader" | "writer" | "stranger" | "nobody";

export interface FuzzedRequest {
  readonly operation: string;
  readonly method: string;
  /** With the query. */
  readonly path: string;
  readonly caller: Caller;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array<ArrayBuffer> | undefined;
}

export const OPERATIONS = Object.entries(document.paths).flatMap(([path, operations]) =>
  Object.entries(operations).map(([method, operation]) => ({
    path,
    method: method.toUpperCase(),
    operation,
  })),
);

/** Made once for each schema: to read a pattern takes longer than to draw a thousand texts of it. */
const made = new WeakMap<Json, Arbitrary<unknown>>();

/** JSON values as a schema of the document describes them. */
export function validValue(schema: Json): Arbitrary<unknown> {
  const known = made.get(schema);
  if (known !== undefined) return known;
  const values = valuesOf(schema);
  made.set(schema, values);
  return values;
}

function valuesOf(schema: Json): Arbitrary<unknown> {
  if (typeof schema["$ref"] === "string") return validValue(resolve<Json>({ $ref: schema["$ref"] }));
  if ("const" in schema) return fc.constant(schema["const"]);
  if (Array.isArray(schema["enum"])) return fc.constantFrom(...(schema["enum"] as unknown[]));
  for (const word of ["oneOf", "anyOf"]) {
    if (Array.isArray(schema[word])) return fc.oneof(...(schema[word] as Json[]).map(validValue));
  }
  switch (schema["type"]) {
    case "object":
      return validObject(schema);
    case "array":
      return validArray(schema);
    case "integer":
    case "number":
      return fc.integer({
        min: numberOf(schema["minimum"], 0),
        max: Math.min(numberOf(schema["maximum"], 2 ** 31), 2 ** 31),
      });
    case "boolean":
      return fc.boolean();
    case "string":
      return validText(schema);
    default:
      return fc.jsonValue({ maxDepth: 2 });
  }
}

function validObject(schema: Json): Arbitrary<unknown> {
  const properties = (schema["properties"] ?? {}) as Readonly<Record<string, Json>>;
  const values = Object.fromEntries(
    Object.entries(properties).map(([name, inner]) => [name, validValue(inner)]),
  );
  return fc.record(values, { requiredKeys: (schema["required"] ?? []) as string[] });
}

function validArray(schema: Json): Arbitrary<unknown> {
  const fixed = schema["prefixItems"];
  if (Array.isArray(fixed)) return fc.tuple(...(fixed as Json[]).map(validValue));
  const minLength = numberOf(schema["minItems"], 0);
  const maxLength = Math.min(numberOf(schema["maxItems"], minLength + 4), minLength + 8);
  return fc.array(validValue((schema["items"] ?? {}) as Json), { minLength, maxLength });
}

function validText(schema: Json): Arbitrary<unknown> {
  if (schema["format"] === "uuid") return fc.uuid({ version: 7 });
  const pattern = schema["pattern"];
  // Property escapes and negated classes are for names that people choose; any plain name is one.
  if (typeof pattern === "string" && !pattern.includes("\\p")) {
    const maxLength = numberOf(schema["maxLength"], 400);
    return (
      fc
        .stringMatching(new RegExp(pattern), { maxLength })
        // Of one case only, an address has no checksum that could be wrong.
        .map((text) => (text.startsWith("0x") ? text.toLowerCase() : text))
    );
  }
  const minLength = numberOf(schema["minLength"], 0);
  return fc.string({ minLength, maxLength: Math.min(numberOf(schema["maxLength"], 40), 40) });
}

const numberOf = (value: unknown, otherwise: number): number =>
  typeof value === "number" ? value : otherwise;

/** Of every type and at every edge; what a field was not made for. */
export const WRONG_VALUES: readonly unknown[] = [
  null,
  true,
  -1,
  -0,
  0.5,
  1e21,
  Number.MAX_SAFE_INTEGER + 1,
  1.7e308,
  "",
  " 1",
  "-1",
  "+1",
  "01",
  "1e3",
  "1.0",
  "NaN",
  "0x",
  "0x00",
  "\u0000",
  "a\u0000b",
  "\ud800",
  "9".repeat(400),
  "__proto__",
  "🙂".repeat(300),
  [],
  [[]],
  {},
  { toString: 1, valueOf: null },
  JSON.parse('{"__proto__":{"admin":true}}'),
];

/** Every place of a value, as the way there. */
export function placesIn(value: unknown, way: readonly string[] = []): string[][] {
  if (typeof value !== "object" || value === null) return [[...way]];
  return [[...way], ...Object.entries(value).flatMap(([key, inner]) => placesIn(inner, [...way, key]))];
}

/** A copy with another value at a place; undefined takes the field out. */
export function changedAt(value: unknown, way: readonly string[], other: unknown): unknown {
  const [key, ...rest] = way;
  if (key === undefined) return other;
  if (Array.isArray(value)) {
    return value.map((inner, index) =>
      String(index) === key ? changedAt(inner, rest, other) : (inner as unknown),
    );
  }
  const entries = Object.entries(value as object)
    .map(
      ([name, inner]) => [name, name === key ? changedAt(inner, rest, other) : (inner as unknown)] as const,
    )
    .filter(([name, inner]) => name !== key || inner !== undefined);
  return Object.fromEntries(entries);
}

/** Nothing at all for what JSON has no text for. */
const textOfJson = (value: unknown): string => (value === undefined ? "" : JSON.stringify(value));

function oneThingWrong(value: unknown): Arbitrary<string> {
  const change = fc
    .constantFrom(...placesIn(value))
    .chain((way) =>
      fc.constantFrom(...WRONG_VALUES, undefined).map((other) => textOfJson(changedAt(value, way, other))),
    );
  const text = JSON.stringify(value);
  return fc.oneof(
    { weight: 6, arbitrary: change },
    { weight: 1, arbitrary: fc.constant(text.replace("{", '{"x":1,"x":2,')) },
    { weight: 1, arbitrary: fc.constant(text.replace("{", '{"surplus":null,')) },
    { weight: 1, arbitrary: fc.constant(text.replace(/[0-9]+/, "1e999")) },
    { weight: 1, arbitrary: fc.nat(text.length).map((at) => text.slice(0, at)) },
    { weight: 1, arbitrary: fc.nat(200).map((depth) => "[".repeat(depth) + text + "]".repeat(depth)) },
  );
}

function bodyOf(operation: Operation): Arbitrary<FuzzedRequest["body"]> {
  const schema = operation.requestBody?.content["application/json"]?.schema;
  const rubbish = fc.oneof(
    fc.json(),
    fc.string(),
    fc.uint8Array({ maxLength: 300 }).map((bytes) => Uint8Array.from(bytes)),
  );
  if (schema === undefined) return fc.constant(undefined);
  const valid = validValue(schema);
  return fc.oneof(
    { weight: 3, arbitrary: valid.map((value) => JSON.stringify(value)) },
    { weight: 5, arbitrary: valid.chain(oneThingWrong) },
    { weight: 2, arbitrary: rubbish },
  );
}

function textOf({ schema }: Parameter): Arbitrary<string> {
  return fc.oneof(
    { weight: 4, arbitrary: validValue(schema).map(String) },
    { weight: 1, arbitrary: fc.string({ maxLength: 80 }) },
    { weight: 1, arbitrary: fc.constantFrom(...WRONG_VALUES.filter((value) => typeof value === "string")) },
  );
}

/** What a header can hold at all; the client would refuse to send the rest. */
const headerText = (text: string): string => text.replaceAll(/[^\x20-\x7e]/g, "").trim();
/** A URL cannot spell half of a pair. */
const wellFormed = (text: string): string => encodeURIComponent(text.replaceAll(/\p{Cs}/gu, "?"));

function pathOf(template: string, operation: Operation): Arbitrary<string> {
  const parameters = operation.parameters ?? [];
  const inQuery = parameters.filter((parameter) => parameter.in === "query");
  const inPath = parameters.filter((parameter) => parameter.in === "path");
  const query = fc.record(
    {
      ...Object.fromEntries(inQuery.map((parameter) => [parameter.name, textOf(parameter)])),
      ...(inQuery.length > 0 ? { surplus: fc.string() } : {}),
    },
    { requiredKeys: [] },
  );
  const ways = fc.record(Object.fromEntries(inPath.map((parameter) => [parameter.name, textOf(parameter)])));
  return fc.tuple(ways, query).map(([way, asked]) => {
    const path = template.replaceAll(
      /\{([a-z_]+)\}/g,
      (_, name: string) => wellFormed(way[name] ?? "") || "-",
    );
    const pairs = Object.entries(asked).map(([name, text]) => `${name}=${wellFormed(text)}`);
    return pairs.length === 0 ? path : `${path}?${pairs.join("&")}`;
  });
}

/** Mostly one who may ask: nobody, where no credential is taken. */
const callerOf = ({ security }: Operation): Arbitrary<Caller> =>
  fc.oneof(
    { weight: 12, arbitrary: fc.constant<Caller>(security.length === 0 ? "nobody" : "key") },
    { weight: 2, arbitrary: fc.constantFrom<Caller>("reader", "writer") },
    { weight: 1, arbitrary: fc.constantFrom<Caller>("stranger", "nobody") },
  );
const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"];

function requestOf({
  path: template,
  method,
  operation,
}: (typeof OPERATIONS)[number]): Arbitrary<FuzzedRequest> {
  const own = (operation.parameters ?? []).filter((parameter) => parameter.in === "header");
  const headers = fc.record(
    {
      ...Object.fromEntries(own.map((parameter) => [parameter.name, textOf(parameter).map(headerText)])),
      Accept: fc.constantFrom("*/*", "application/json", "application/octet-stream", "text/html"),
    },
    { requiredKeys: [] },
  );
  const type = fc.oneof(
    { weight: 15, arbitrary: fc.constant("application/json") },
    { weight: 1, arbitrary: fc.constantFrom("text/plain", "application/json; charset=utf-16", "") },
  );
  return fc.record({
    operation: fc.constant(operation.operationId),
    method: fc.oneof(
      { weight: 15, arbitrary: fc.constant(method) },
      { weight: 1, arbitrary: fc.constantFrom(...METHODS) },
    ),
    path: pathOf(template, operation),
    caller: callerOf(operation),
    body: bodyOf(operation),
    headers: fc.tuple(headers, type).map(([some, contentType]) => {
      const { "API-Version": version, ...others } = some as Readonly<Record<string, string>>;
      // Otherwise nearly every drawn request would end at its version.
      const isOurs = version !== undefined && /^\d{4}-/.test(version);
      return { ...others, ...(isOurs ? { "API-Version": version } : {}), "Content-Type": contentType };
    }),
  });
}

export const anyRequest: Arbitrary<FuzzedRequest> = fc.oneof(...OPERATIONS.map(requestOf));
