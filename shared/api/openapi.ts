/**
 * The OpenAPI 3.1 document, made from ENDPOINTS and the schemas: nothing about the interface is written a
 * second time. Schemas with an `id` become components. It holds no secret.
 */
import * as z from "zod";
import { BRIDGE_ENDPOINTS } from "./bridges.ts";
import { EVENT_ID, EVENTS } from "./data.ts";
import { API_VERSION, ENDPOINTS, MAX_BODY_BYTES, type Endpoint } from "./endpoints.ts";
import { ERROR_CODES, ERRORS, problem, type ErrorCode, type Problem } from "./errors.ts";
import type { Example } from "./example.ts";
import { EXAMPLES } from "./examples.ts";

type Json = Readonly<Record<string, unknown>>;

const JSON_TYPE = "application/json";
const PROBLEM_TYPE = "application/problem+json";
const STREAM_TYPE = "text/event-stream";

/** Every request can meet these, whatever its endpoint. */
const COMMON: readonly ErrorCode[] = [
  "INVALID_REQUEST",
  "UNSUPPORTED_VERSION",
  "MISSING_CREDENTIAL",
  "INVALID_CREDENTIAL",
  "SESSION_EXPIRED",
  "FORBIDDEN",
  "METHOD_NOT_ALLOWED",
  "RATE_LIMITED",
  "INTERNAL",
  // A credential is looked up there.
  "STORE_UNAVAILABLE",
];
/** Said of a credential, so not where none is taken. */
const OF_CREDENTIALS: readonly ErrorCode[] = ["MISSING_CREDENTIAL", "SESSION_EXPIRED"];
const WITH_BODY: readonly ErrorCode[] = ["BODY_TOO_LARGE", "UNSUPPORTED_MEDIA_TYPE"];

/** `always` ones are on every answer; the others where the operation says so. */
const HEADERS = {
  "X-Request-Id": { always: true, text: "Id of this request; quote it when you ask us" },
  "API-Version": { always: true, text: "Version of the interface" },
  "Cache-Control": { always: true, text: "no-store unless the operation says otherwise" },
  Vary: { always: true, text: "Origin, and what else the answer depends on" },
  RateLimit: {
    always: false,
    text: "How the caller stands (IETF draft-ietf-httpapi-ratelimit-headers); absent while the caller is not known",
  },
  "RateLimit-Policy": { always: false, text: "The limits that apply to the caller; absent likewise" },
  "Retry-After": { always: false, text: "Seconds to wait" },
  "WWW-Authenticate": { always: false, text: "How to authenticate (RFC 9110, section 11.6.1)" },
  Allow: { always: false, text: "The path's methods" },
  Location: { always: false, text: "Where the ticket is" },
  "Preference-Applied": { always: false, text: "The wait that was granted (RFC 7240)" },
  ETag: { always: false, text: "Strong; names the bytes of this answer" },
} as const;
type HeaderName = keyof typeof HEADERS;

/** An operation of a feature that no instance runs yet is in the document as well, and says so. */
const OPERATIONS: readonly (readonly [string, Endpoint])[] = [
  ...Object.entries<Endpoint>(ENDPOINTS),
  ...Object.entries<Endpoint>(BRIDGE_ENDPOINTS),
];

const DESCRIPTION = `Every request carries one credential: an API key (servers only, never a browser) or a session token.

Refusals are problem documents (RFC 9457) with a machine-readable \`code\`. A path that is not listed answers 404 \`NOT_FOUND\`, a listed one with another method 405 \`METHOD_NOT_ALLOWED\`; GET comes with HEAD, except for the event stream, and every path answers OPTIONS with 204 and \`Allow\`.

Amounts are decimal integer strings in the token's smallest units. A JSON object must not have a name twice, and a body nests at most 32 levels. Answers may gain fields under one \`API-Version\`; requests may not hold unknown ones.`;

const IDEMPOTENCY_KEY =
  "Same key and body: same answer, for 24 h. A corrected body needs a key of its own. A refusal that is `retryable` is not kept: its key is free, also for another body";

let made: Json | undefined;

export function openApiDocument(): Json {
  made ??= makeDocument();
  return made;
}

function makeDocument(): Json {
  const schemas = new Schemas();
  const refusals = new Refusals();
  const paths: Record<string, Record<string, Json>> = {};
  for (const [name, endpoint] of OPERATIONS) {
    const operations = (paths[endpoint.path] ??= {});
    operations[endpoint.method.toLowerCase()] = operation(name, endpoint, schemas, refusals);
  }
  // Stream events are no answer of any operation by themselves; here they are found by name.
  for (const [kind, schema] of Object.entries<z.ZodType>(EVENTS)) {
    schemas.put(eventName(kind), schemas.of(schema, "output"));
  }
  schemas.of(problem, "output");
  return {
    openapi: "3.1.0",
    jsonSchemaDialect: "https://json-schema.org/draft/2020-12/schema",
    info: {
      title: "Cloister",
      version: API_VERSION,
      summary: "Private payments against a shared pool on an EVM chain",
      description: DESCRIPTION,
      license: { name: "GPL-3.0-or-later", identifier: "GPL-3.0-or-later" },
    },
    servers: [{ url: "/", description: "The instance that served this document" }],
    tags: TAGS.map(([name, description]) => ({ name, description })),
    paths,
    components: {
      schemas: schemas.all(),
      headers: Object.fromEntries(
        Object.entries(HEADERS).map(([name, { always, text }]) => [name, header(text, always)]),
      ),
      examples: Object.fromEntries(
        ERROR_CODES.map((code) => [code, { summary: ERRORS[code].title, value: exampleProblem(code) }]),
      ),
      responses: {
        NotFound: problemResponse(["NOT_FOUND"], undefined),
        MethodNotAllowed: problemResponse(["METHOD_NOT_ALLOWED"], undefined),
        ...refusals.all(),
      },
      securitySchemes: {
        apiKey: {
          type: "apiKey",
          in: "header",
          name: "X-API-Key",
          description: "For servers only, never a browser",
        },
        session: { type: "http", scheme: "bearer", bearerFormat: "sst_…", description: "Session token" },
        streamSession: {
          type: "apiKey",
          in: "query",
          name: "session",
          description: "Session token, event streams only",
        },
      },
    },
  };
}

/** By the first part of a path. */
const TAGS: readonly (readonly [string, string, ...string[]])[] = [
  ["Service", "What this instance is, and who you are to it", "health", "info", "whoami", "openapi.json"],
  ["Sessions", "Short-lived tokens for one user", "session"],
  [
    "Transactions",
    "Proofs made on the user's device are verified, attested and carried",
    "sequence",
    "attest",
    "relay",
  ],
  ["Swaps", "Quotes for private swaps", "swap"],
  ["Bridges", "To and from other venues", "bridge"],
  ["Data", "What a client needs to find its notes and to prove", "merkle", "events", "balance"],
];

function tagOf(path: string): string {
  const first = path.split("/")[1] ?? "";
  const tag = TAGS.find(([, , ...parts]) => parts.includes(first));
  if (tag === undefined) throw new Error(`${path} belongs to no tag`);
  return tag[0];
}

function operation(name: string, endpoint: Endpoint, schemas: Schemas, refusals: Refusals): Json {
  const examples = EXAMPLES[name] ?? [];
  const parameters = [
    ...parametersOf(endpoint.params, "path", schemas, examples),
    ...parametersOf(endpoint.query, "query", schemas, examples).filter(({ name }) => name !== "session"),
    ...requestHeaders(endpoint),
  ];
  const bodies = examples.filter(({ body }) => body !== undefined);
  return {
    operationId: name,
    tags: [tagOf(endpoint.path)],
    summary: endpoint.summary,
    description: accessText(endpoint),
    security: securityOf(endpoint),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(endpoint.body === undefined
      ? {}
      : {
          requestBody: {
            required: true,
            description: `At most ${String(MAX_BODY_BYTES)} bytes`,
            content: {
              [JSON_TYPE]: {
                schema: schemas.of(endpoint.body, "input"),
                ...named(bodies, ({ body }) => body),
              },
            },
          },
        }),
    responses: responsesOf(endpoint, schemas, refusals, examples),
  };
}

const isStream = ({ responses }: Endpoint): boolean => Object.values(responses).includes(null);
const isOff = ({ codes }: Endpoint): boolean => codes.includes("FEATURE_DISABLED");

function securityOf(endpoint: Endpoint): Json[] {
  const { access } = endpoint;
  if (access === "none") return [];
  return [
    { apiKey: [] },
    ...(access === "api-key" ? [] : [{ session: [] }]),
    ...(isStream(endpoint) ? [{ streamSession: [] }] : []),
  ];
}

function accessText(endpoint: Endpoint): string {
  const { access } = endpoint;
  const text =
    access === "none"
      ? "Takes no credential; what proves the caller is in the body. A request that carries one is refused."
      : access === "api-key"
        ? "Needs an API key."
        : `Needs an API key, or a session with the permission \`${access}\`.`;
  return isOff(endpoint) ? `${text} No instance runs this yet: 403 \`FEATURE_DISABLED\`.` : text;
}

function responsesOf(
  endpoint: Endpoint,
  schemas: Schemas,
  refusals: Refusals,
  examples: readonly Example[],
): Record<string, Json> {
  const problems = problemsOf(endpoint);
  const answers: Record<string, Json> = {};
  for (const [status, schema] of Object.entries(endpoint.responses)) {
    const answer = success(endpoint, status, schema, schemas, examples);
    const refused = problems[status];
    // A success schema may live under an error status (/health); both are said.
    answers[status] =
      refused === undefined
        ? answer
        : {
            description: `${String(answer["description"])}. ${String(refused["description"])}`,
            // Who is refused may not be known, or counted, yet: no more is promised than there.
            headers: { ...(answer["headers"] as Json), ...(refused["headers"] as Json) },
            content: { ...(answer["content"] as Json), ...(refused["content"] as Json) },
          };
  }
  if (endpoint.hasEtag === true) {
    answers["304"] = {
      description: "If-None-Match names what the caller would get again",
      headers: headersOf(endpoint, ["ETag"], true),
    };
  }
  const shared = Object.entries(problems).map(([status, answer]) => [status, refusals.refer(status, answer)]);
  return { ...(Object.fromEntries(shared) as Record<string, Json>), ...answers };
}

function success(
  endpoint: Endpoint,
  status: string,
  schema: z.ZodType | null,
  schemas: Schemas,
  examples: readonly Example[],
): Json {
  const mine = examples.filter(({ response }) => String(response.status) === status);
  const examplesOf = (type: string): Json =>
    named(
      mine.filter(({ response }) => response.type === type),
      ({ response }) => response.body,
    );
  const content =
    schema === null
      ? {
          [STREAM_TYPE]: {
            schema: {
              type: "string",
              description:
                "WHATWG HTML, section 9.2. The event line names the kind, the data line is JSON of the schema of that name in x-events, the id line is what Last-Event-ID takes",
            },
            "x-events": Object.fromEntries(
              Object.keys(EVENTS).map((kind) => [kind, { $ref: `#/components/schemas/${eventName(kind)}` }]),
            ),
            ...examplesOf(STREAM_TYPE),
          },
        }
      : { [JSON_TYPE]: { schema: schemas.of(schema, "output"), ...examplesOf(JSON_TYPE) } };
  const packed =
    endpoint.packedType === undefined
      ? {}
      : { [endpoint.packedType]: { schema: { description: "The nodes, 32 bytes each, big-endian" } } };
  const isAccepted = "202" in endpoint.responses;
  const extra: HeaderName[] = [
    ...(endpoint.hasEtag === true ? (["ETag"] as const) : []),
    ...(isAccepted ? (["Location"] as const) : []),
  ];
  const headers = headersOf(endpoint, extra, true);
  if (isAccepted) headers["Preference-Applied"] = headerRef("Preference-Applied");
  return { description: TEXTS[status] ?? "Answer", headers, content: { ...content, ...packed } };
}

const TEXTS: Readonly<Record<string, string>> = {
  "200": "Done",
  "201": "Made",
  "202": "Accepted; the ticket is durable",
  "503": "Degraded; the checks say what",
};

/** One answer a status, naming the codes it can carry, each with an example. */
function problemsOf(endpoint: Endpoint): Record<string, Json> {
  const takesCredential = endpoint.access !== "none";
  const codes = new Set<ErrorCode>([
    ...COMMON.filter((code) => takesCredential || !OF_CREDENTIALS.includes(code)),
    ...(endpoint.body === undefined ? [] : WITH_BODY),
    ...endpoint.codes,
    ...(endpoint.offCode === undefined ? [] : [endpoint.offCode]),
  ]);
  const statuses = [...new Set([...codes].map((code) => ERRORS[code].status))].sort((a, b) => a - b);
  return Object.fromEntries(
    statuses.map((status) => [
      String(status),
      problemResponse(
        [...codes].filter((code) => ERRORS[code].status === status),
        endpoint,
      ),
    ]),
  );
}

/** Headers that a status promises. Others may come with it; 503 and 422 have Retry-After where waiting helps. */
const PROMISED: Readonly<Partial<Record<number, readonly HeaderName[]>>> = {
  401: ["WWW-Authenticate"],
  405: ["Allow"],
  429: ["Retry-After"],
};
const MAY_WAIT: readonly number[] = [409, 422, 503];

/** Without an endpoint: for paths and methods that are in no table. */
function problemResponse(codes: readonly ErrorCode[], endpoint: Endpoint | undefined): Json {
  const [first] = codes;
  if (first === undefined) throw new Error("a refusal has a code");
  const { status } = ERRORS[first];
  const headers = headersOf(endpoint, PROMISED[status] ?? [], false);
  if (MAY_WAIT.includes(status)) headers["Retry-After"] = headerRef("Retry-After");
  return {
    description: codes.map((code) => `${code}: ${ERRORS[code].title}`).join("; "),
    headers,
    content: {
      [PROBLEM_TYPE]: {
        schema: {
          allOf: [{ $ref: "#/components/schemas/Problem" }, { properties: { code: { enum: [...codes] } } }],
        },
        examples: Object.fromEntries(codes.map((code) => [code, { $ref: `#/components/examples/${code}` }])),
      },
    },
  };
}

function exampleProblem(code: ErrorCode): Problem {
  const { status, retryable, title } = ERRORS[code];
  return {
    type: `urn:cloister:error:${code}`,
    title,
    status,
    detail: code === "INVALID_REQUEST" ? "The body does not have the documented form: sub: too short" : title,
    code,
    retryable,
    request_id: "0f6a3b1c-7a51-4c7e-9a44-6d2f6a1f8b7e",
    ...(code === "INVALID_REQUEST" ? { errors: [{ path: "sub", message: "too short" }] } : {}),
    ...(code === "RATE_LIMITED" ? { policy: "key-minute" } : {}),
  };
}

type Parameter = Json & { readonly name: string };

function parametersOf(
  schema: z.ZodType | undefined,
  where: "path" | "query",
  schemas: Schemas,
  examples: readonly Example[],
): Parameter[] {
  if (schema === undefined) return [];
  const { properties = {}, required = [] } = schemas.of(schema, "input") as {
    properties?: Readonly<Record<string, Json>>;
    required?: readonly string[];
  };
  return Object.entries(properties).map(([name, property]) => ({
    name,
    in: where,
    required: where === "path" || required.includes(name),
    schema: property,
    ...named(
      examples.filter((example) => example[where]?.[name] !== undefined),
      (example) => example[where]?.[name],
    ),
  }));
}

function requestHeaders(endpoint: Endpoint): Parameter[] {
  const optional = (name: string, description: string, rule: Json = {}): Parameter => ({
    name,
    in: "header",
    required: false,
    description,
    schema: { type: "string", ...rule },
  });
  return [
    optional("API-Version", "The version the client was written for", { enum: [API_VERSION] }),
    optional("X-Request-Id", "Taken as the request's id when it is a sane token", { maxLength: 64 }),
    ...(endpoint.codes.includes("IDEMPOTENCY_MISMATCH")
      ? [optional("Idempotency-Key", IDEMPOTENCY_KEY, { minLength: 1, maxLength: 255 })]
      : []),
    ...("202" in endpoint.responses
      ? [optional("Prefer", "`wait=N`, N ≤ 30: 200 when executed within N seconds, else 202 (RFC 7240)")]
      : []),
    ...(endpoint.hasEtag === true ? [optional("If-None-Match", "ETag of what the caller has")] : []),
    ...(isStream(endpoint)
      ? [optional("Last-Event-ID", "Resume after this event; wins over `from`", { pattern: EVENT_ID.source })]
      : []),
  ];
}

function named(examples: readonly Example[], value: (example: Example) => unknown): Json {
  if (examples.length === 0) return {};
  return {
    examples: Object.fromEntries(
      examples.map((example) => [example.name, { summary: example.summary, value: value(example) }]),
    ),
  };
}

function header(description: string, required: boolean): Json {
  return { description, ...(required ? { required } : {}), schema: { type: "string" } };
}

const headerRef = (name: HeaderName): Json => ({ $ref: `#/components/headers/${name}` });

function headersOf(
  endpoint: Endpoint | undefined,
  promised: readonly HeaderName[],
  isSuccess: boolean,
): Record<string, Json> {
  const names = Object.keys(HEADERS) as HeaderName[];
  const headers = Object.fromEntries(
    names.filter((name) => HEADERS[name].always).map((name) => [name, headerRef(name)]),
  );
  // Who succeeds with a credential was counted; who is refused may have been refused before.
  const isCounted = isSuccess && endpoint !== undefined && endpoint.access !== "none";
  for (const name of ["RateLimit", "RateLimit-Policy"] as const)
    headers[name] = isCounted ? header(HEADERS[name].text, true) : headerRef(name);
  for (const name of promised) headers[name] = header(HEADERS[name].text, true);
  return headers;
}

const eventName = (kind: string): string => `Event_${kind}`;

/** Many operations refuse alike: each such answer is written once and referred to. */
class Refusals {
  readonly #names = new Map<string, string>();
  readonly #answers = new Map<string, Json>();

  refer(status: string, answer: Json): Json {
    const text = JSON.stringify(answer);
    let name = this.#names.get(text);
    if (name === undefined) {
      const alike = [...this.#answers.keys()].filter((known) => known.startsWith(`Refused${status}`)).length;
      name = `Refused${status}${alike === 0 ? "" : `_${String(alike + 1)}`}`;
      this.#names.set(text, name);
      this.#answers.set(name, answer);
    }
    return { $ref: `#/components/responses/${name}` };
  }

  all(): Json {
    return Object.fromEntries(this.#answers);
  }
}

/** Collects what the schemas name by `id`, so that each is written once and referred to. */
class Schemas {
  readonly #named = new Map<string, Json>();

  /** The schema itself, or a reference when it has a name. */
  of(schema: z.ZodType, io: "input" | "output"): Json {
    const {
      $schema: _dialect,
      $defs = {},
      ...root
    } = z.toJSONSchema(schema, {
      io,
      override: ({ jsonSchema }) => {
        // Answers may gain fields under one date; requests may not hold an unknown one.
        if (io === "output" && jsonSchema.additionalProperties === false)
          delete jsonSchema.additionalProperties;
        delete jsonSchema["id"];
      },
    });
    for (const [name, definition] of Object.entries($defs)) this.put(name, inComponents(definition));
    return inComponents(root);
  }

  put(name: string, definition: Json): void {
    const known = this.#named.get(name);
    if (known !== undefined && JSON.stringify(known) !== JSON.stringify(definition)) {
      throw new Error(`two different schemas are called ${name}`);
    }
    this.#named.set(name, definition);
  }

  all(): Json {
    return Object.fromEntries([...this.#named].sort(([a], [b]) => (a < b ? -1 : 1)));
  }
}

/** A document of its own keeps definitions in `$defs`; OpenAPI keeps them in its components. */
function inComponents(schema: object): Json {
  return JSON.parse(JSON.stringify(schema).replaceAll('"#/$defs/', '"#/components/schemas/')) as Json;
}
