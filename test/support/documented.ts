// Holds every answer of our service against the OpenAPI document that it serves: the status is one of the
// operation's, so is the media type, the promised headers are there, and the body has the schema's fields and
// no other. The document tells clients that answers may gain fields; here a field that nobody wrote down is a
// fault.
import assert from "node:assert/strict";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import formats from "ajv-formats";
import { ERRORS, type ErrorCode } from "../../shared/api/errors.ts";
import { openApiDocument } from "../../shared/api/openapi.ts";
import { SseParser } from "../../shared/client/service/sse.ts";

export type Json = Readonly<Record<string, unknown>>;

interface HeaderObject {
  readonly required?: boolean;
}
interface ExampleObject {
  readonly summary?: string;
  readonly value: unknown;
}
export interface MediaType {
  readonly schema: Json;
  readonly examples?: Readonly<Record<string, ExampleObject | Reference>>;
  readonly "x-events"?: Readonly<Record<string, Reference>>;
}
interface ResponseObject {
  readonly description: string;
  readonly headers?: Readonly<Record<string, HeaderObject | Reference>>;
  readonly content?: Readonly<Record<string, MediaType>>;
}
interface Reference {
  readonly $ref: string;
}
export interface Parameter {
  readonly name: string;
  readonly in: "path" | "query" | "header";
  readonly required: boolean;
  readonly schema: Json;
}
export interface Operation {
  readonly operationId: string;
  readonly security: readonly Json[];
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content: Readonly<Record<string, MediaType>> };
  readonly responses: Readonly<Record<string, ResponseObject | Reference>>;
}
/** Of an OpenAPI document what our own has. */
export interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Json>> };
}

export interface Seen {
  readonly method: string;
  /** With or without origin and query. */
  readonly url: string;
  readonly status: number;
  readonly headers: Headers;
  /** Undefined where it was not read (a stream). */
  readonly body: Uint8Array | undefined;
}

const STREAM_TYPE = "text/event-stream";
const PROBLEM_TYPE = "application/problem+json";
/** What a request can receive that matches no row: nobody looked at its path, or there is nothing. */
const ELSEWHERE: readonly ErrorCode[] = [
  "INVALID_REQUEST",
  "UNSUPPORTED_VERSION",
  "MISSING_CREDENTIAL",
  "INVALID_CREDENTIAL",
  "SESSION_EXPIRED",
  "FORBIDDEN",
  "NOT_FOUND",
  "METHOD_NOT_ALLOWED",
  "RATE_LIMITED",
];
/** Words of a fault that are worth reading. */
const MAX_WORDS = 8;

export const document = openApiDocument() as unknown as OpenApi;
const BASE = "https://service.example/openapi.json";
const ajv = formats.default(
  new Ajv2020({ strict: true, strictTypes: false, allErrors: true, allowUnionTypes: true }),
);
// Words of OpenAPI that say nothing about a value.
ajv.addVocabulary([
  "example",
  "x-enumDescriptions",
  "openapi",
  "info",
  "paths",
  "components",
  "jsonSchemaDialect",
  "servers",
  "tags",
]);
ajv.addSchema({ $id: BASE, ...(closed({ components: { schemas: document.components.schemas } }) as object) });
const templates = Object.keys(document.paths).map((template) => ({
  template,
  pattern: new RegExp(`^${template.replaceAll(".", "\\.").replaceAll(/\{[a-z_]+\}/g, "[^/]+")}$`),
}));
const compiled = new Map<string, ValidateFunction>();

export function assertDocumented(seen: Seen): void {
  const fault = undocumented(seen);
  if (fault === undefined) return;
  const { pathname } = new URL(seen.url, BASE);
  assert.fail(`${seen.method} ${pathname} answered ${String(seen.status)}: ${fault}`);
}

/** Why an answer is not in the document, or undefined. Never repeats the answer, which may hold a credential. */
export function undocumented(seen: Seen): string | undefined {
  const { method, status, headers } = seen;
  const { pathname } = new URL(seen.url, BASE);
  if (method === "OPTIONS" && status === 204) {
    return headers.has("allow") || headers.has("access-control-allow-methods") ? undefined : "no Allow";
  }
  const template = templates.find(({ pattern }) => pattern.test(pathname))?.template ?? "";
  const operation = document.paths[template]?.[method === "HEAD" ? "get" : method.toLowerCase()];
  if (operation === undefined) return elsewhere(seen);
  const answer = operation.responses[String(status)];
  if (answer === undefined) return "the status is not documented";
  const response = resolve<ResponseObject>(answer);
  const missing = Object.entries(response.headers ?? {})
    .filter(([name, header]) => resolve<HeaderObject>(header).required === true && !headers.has(name))
    .map(([name]) => name);
  if (missing.length > 0) return `headers are missing: ${missing.join(", ")}`;
  if (response.content === undefined || method === "HEAD") {
    return seen.body === undefined || seen.body.length === 0 ? undefined : "there is a body";
  }
  const type = mediaType(headers);
  const content = response.content[type];
  if (content === undefined) return `the media type ${type} is not documented`;
  return faultOf(`${template} ${method} ${String(status)} ${type}`, content.schema, type, seen.body);
}

/** Why a body alone is not what the document says of this answer, for what comes from no service of ours. */
export function bodyFault(method: string, url: string, status: number, value: unknown): string | undefined {
  const { pathname } = new URL(url, BASE);
  const template = templates.find(({ pattern }) => pattern.test(pathname))?.template ?? "";
  const answer = document.paths[template]?.[method.toLowerCase()]?.responses[String(status)];
  const content = answer === undefined ? undefined : resolve<ResponseObject>(answer).content;
  const schema = content?.[status < 300 ? "application/json" : PROBLEM_TYPE]?.schema;
  if (schema === undefined) return "the status is not documented";
  return schemaFault(`${template} ${method} ${String(status)} body`, schema, value);
}

/** Why an event of the stream is not what the document says of its kind, or undefined. */
export function eventFault(kind: string, data: string): string | undefined {
  const stream = document.paths["/events/stream"]?.["get"]?.responses["200"];
  assert.ok(stream !== undefined);
  const schema = resolve<ResponseObject>(stream).content?.[STREAM_TYPE]?.["x-events"]?.[kind];
  if (schema === undefined) return `the event ${kind} is not documented`;
  const fault = faultOf(`event ${kind}`, { ...schema }, "application/json", new TextEncoder().encode(data));
  return fault === undefined ? undefined : `${kind}: ${fault}`;
}

/** Why a value is not what a schema of the document says, or undefined. */
export function schemaFault(name: string, schema: Json, value: unknown): string | undefined {
  const body = new TextEncoder().encode(JSON.stringify(value));
  return faultOf(name, schema, "application/json", body);
}

/**
 * `fetch` whose every answer from this origin is held against the document before anybody sees it, each event of a
 * stream included. A client takes a stream that breaks for a connection that broke, and opens another; so what is
 * wrong with an event is thrown where no client catches it, and fails the test that runs.
 */
export function documentedFetch(
  baseUrl: string,
  onEventFault: (fault: Error) => void = throwUncaught,
): typeof fetch {
  const { origin } = new URL(baseUrl);
  return async (input, init) => {
    const response = await fetch(input, init);
    const request = input instanceof Request ? input : undefined;
    const url = input instanceof Request ? input.url : input instanceof URL ? input.href : input;
    if (new URL(url).origin !== origin) return response;
    const isStream = mediaType(response.headers) === STREAM_TYPE;
    assertDocumented({
      method: (init?.method ?? request?.method ?? "GET").toUpperCase(),
      url,
      status: response.status,
      headers: response.headers,
      body: isStream ? undefined : new Uint8Array(await response.clone().arrayBuffer()),
    });
    if (!isStream || response.body === null) return response;
    const { status, headers } = response;
    return new Response(response.body.pipeThrough(documentedEvents(onEventFault)), { status, headers });
  };
}

/** Passes a stream on as it is, and stops at the first event that is not in the document. */
function documentedEvents(onFault: (fault: Error) => void): TransformStream<Uint8Array, Uint8Array> {
  const parser = new SseParser();
  const decoder = new TextDecoder("utf-8", { fatal: true });
  return new TransformStream({
    transform(chunk, controller) {
      for (const { event, data } of parser.push(decoder.decode(chunk, { stream: true }))) {
        const words = eventFault(event, data);
        if (words === undefined) continue;
        const fault = new Error(`an event is not as documented: ${words}`);
        onFault(fault);
        controller.error(fault);
        return;
      }
      controller.enqueue(chunk);
    },
  });
}

/** Of a stand-in: one that answers as the service never does would prove nothing about the client. */
export function requireDocumented(what: string, fault: string | undefined): void {
  if (fault !== undefined) throwUncaught(new Error(`the stand-in is not as documented: ${what}: ${fault}`));
}

/** For faults where whoever asked would take a throw for a connection that broke: fails the test that runs. */
function throwUncaught(fault: Error): void {
  setImmediate(() => {
    throw fault;
  });
}

function faultOf(name: string, schema: Json, type: string, body: Uint8Array | undefined): string | undefined {
  if (!type.endsWith("json")) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body));
  } catch {
    return "the body is no JSON";
  }
  let validate = compiled.get(name);
  if (validate === undefined) {
    validate = ajv.compile(absolute(closed(schema)) as Json);
    compiled.set(name, validate);
  }
  if (validate(value)) return undefined;
  const words = (validate.errors ?? [])
    .slice(0, MAX_WORDS)
    .map(
      ({ instancePath, message, params }) =>
        `${instancePath} ${message ?? ""} ${"additionalProperty" in params ? String(params["additionalProperty"]) : ""}`,
    );
  return `the body is not as documented: ${words.join("; ")}`;
}

function elsewhere({ method, status, headers, body }: Seen): string | undefined {
  if (mediaType(headers) !== PROBLEM_TYPE) return "no problem document";
  if (method !== "HEAD") {
    const fault = faultOf("elsewhere", { $ref: "#/components/schemas/Problem" }, PROBLEM_TYPE, body);
    if (fault !== undefined) return fault;
    const { code } = JSON.parse(new TextDecoder().decode(body)) as { code: ErrorCode };
    if (!ELSEWHERE.includes(code) || ERRORS[code].status !== status) return `${code} belongs elsewhere`;
  }
  return status === 405 && !headers.has("allow") ? "no Allow" : undefined;
}

/** What a reference of the document stands for, or the node itself. */
export function resolve<T extends object>(node: T | Reference): T {
  if (!("$ref" in node)) return node;
  const parts = node.$ref.replace(/^#\//, "").split("/");
  return parts.reduce<unknown>((at, part) => (at as Json)[part], document) as T;
}

const mediaType = (headers: Headers): string =>
  (headers.get("content-type") ?? "").split(";")[0]?.trim() ?? "";

/** A copy in which objects with named fields have no others. */
function closed(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(closed);
  if (typeof node !== "object" || node === null) return node;
  const copy = Object.fromEntries(Object.entries(node).map(([key, value]) => [key, closed(value)]));
  const isOpen = copy["type"] === "object" && "properties" in copy && !("additionalProperties" in copy);
  return isOpen ? { ...copy, additionalProperties: false } : copy;
}

function absolute(schema: unknown): unknown {
  return JSON.parse(JSON.stringify(schema).replaceAll('"$ref":"#/', `"$ref":"${BASE}#/`));
}
