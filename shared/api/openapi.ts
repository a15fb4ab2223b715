/**
 * The OpenAPI 3.1 document, made from ENDPOINTS and the schemas: nothing about the interface is written a
 * second time. Schemas with an `id` become components.
 */
import { z } from "zod";
import { API_VERSION, ENDPOINTS, MAX_BODY_BYTES, type Endpoint } from "./endpoints.ts";
import { EVENTS } from "./data.ts";
import { ERRORS, problem, type ErrorCode } from "./errors.ts";

type Json = Readonly<Record<string, unknown>>;

const PROBLEM_TYPE = "application/problem+json";

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
];
/** What only a request with a credential of ours can hear. */
const OF_OURS: ReadonlySet<ErrorCode> = new Set(["MISSING_CREDENTIAL", "SESSION_EXPIRED"]);
const WITH_BODY: readonly ErrorCode[] = ["BODY_TOO_LARGE", "UNSUPPORTED_MEDIA_TYPE"];

const RESPONSE_HEADERS = {
  "X-Request-Id": header("Id of this request; quote it when you ask us"),
  "API-Version": header("Version of the interface"),
  RateLimit: header("How the caller stands (IETF draft-ietf-httpapi-ratelimit-headers)"),
  "RateLimit-Policy": header("The limits that apply to the caller"),
};

let made: Json | undefined;

export function openApiDocument(): Json {
  made ??= makeDocument();
  return made;
}

function makeDocument(): Json {
  const schemas = new Schemas();
  const paths: Record<string, Record<string, Json>> = {};
  for (const [name, endpoint] of Object.entries<Endpoint>(ENDPOINTS)) {
    const operations = (paths[endpoint.path] ??= {});
    operations[endpoint.method.toLowerCase()] = operation(name, endpoint, schemas);
  }
  // Stream events are no answer of any operation; here they are found by name.
  for (const [kind, schema] of Object.entries<z.ZodType>(EVENTS)) {
    schemas.put(`Event_${kind}`, schemas.of(schema, "output"));
  }
  schemas.of(problem, "output");
  return {
    openapi: "3.1.0",
    jsonSchemaDialect: "https://json-schema.org/draft/2020-12/schema",
    info: {
      title: "Cloister",
      version: API_VERSION,
      summary: "Private payments against a shared pool on an EVM chain",
      license: { name: "GPL-3.0-or-later", identifier: "GPL-3.0-or-later" },
    },
    servers: [{ url: "/", description: "The instance that served this document" }],
    paths,
    components: {
      schemas: schemas.all(),
      headers: RESPONSE_HEADERS,
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

function operation(name: string, endpoint: Endpoint, schemas: Schemas): Json {
  const isStream = Object.values(endpoint.responses).includes(null);
  const parameters = [
    ...parametersOf(endpoint.params, "path", schemas),
    ...parametersOf(endpoint.query, "query", schemas).filter((parameter) => parameter["name"] !== "session"),
    ...headersOf(endpoint),
  ];
  return {
    operationId: name,
    summary: endpoint.summary,
    description: accessText(endpoint),
    security:
      endpoint.access === "none"
        ? []
        : [
            { apiKey: [] },
            ...(endpoint.access === "api-key" ? [] : [{ session: [] }]),
            ...(isStream ? [{ streamSession: [] }] : []),
          ],
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(endpoint.body === undefined
      ? {}
      : {
          requestBody: {
            required: true,
            description: `At most ${String(MAX_BODY_BYTES)} bytes`,
            content: { "application/json": { schema: schemas.of(endpoint.body, "input") } },
          },
        }),
    responses: { ...successes(endpoint, schemas), ...problems(endpoint) },
  };
}

function accessText({ access }: Endpoint): string {
  if (access === "none") return "Takes no credential; a request that carries one is refused.";
  return access === "api-key"
    ? "Needs an API key."
    : `Needs an API key, or a session with the permission \`${access}\`.`;
}

function successes(endpoint: Endpoint, schemas: Schemas): Record<string, Json> {
  const answers: Record<string, Json> = {};
  for (const [status, schema] of Object.entries(endpoint.responses)) {
    const content =
      schema === null
        ? {
            "text/event-stream": {
              schema: { type: "string", description: "Events as in the schemas Event_*" },
            },
          }
        : { "application/json": { schema: schemas.of(schema, "output") } };
    answers[status] = { description: TEXTS[status] ?? "Answer", headers: headerRefs(), content };
  }
  return answers;
}

const TEXTS: Readonly<Record<string, string>> = {
  "200": "Done",
  "201": "Made",
  "202": "Accepted; the ticket is durable",
  "503": "Degraded; the checks say what",
};

/** One answer a status, naming the codes it can carry. */
function problems(endpoint: Endpoint): Record<string, Json> {
  const codes = [
    ...COMMON.filter((code) => endpoint.access !== "none" || !OF_OURS.has(code)),
    ...(endpoint.body === undefined ? [] : WITH_BODY),
    ...endpoint.codes,
    ...(endpoint.offCode === undefined ? [] : [endpoint.offCode]),
  ];
  const byStatus = new Map<number, Set<ErrorCode>>();
  for (const code of codes) {
    const { status } = ERRORS[code];
    byStatus.set(status, (byStatus.get(status) ?? new Set()).add(code));
  }
  const answers: Record<string, Json> = {};
  for (const [status, set] of [...byStatus].sort(([a], [b]) => a - b)) {
    // A success schema may live under an error status (/health); it keeps its place.
    if (status in endpoint.responses) continue;
    const mayWait = status === 429 || status === 503 || set.has("ROUTE_UNAVAILABLE");
    const narrowed = { properties: { code: { enum: [...set] } } };
    answers[String(status)] = {
      description: [...set].map((code) => `${code}: ${ERRORS[code].title}`).join("; "),
      headers: {
        ...headerRefs(),
        ...(mayWait ? { "Retry-After": header("Seconds to wait") } : {}),
      },
      content: {
        [PROBLEM_TYPE]: { schema: { allOf: [{ $ref: "#/components/schemas/Problem" }, narrowed] } },
      },
    };
  }
  return answers;
}

function parametersOf(schema: z.ZodType | undefined, where: "path" | "query", schemas: Schemas): Json[] {
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
  }));
}

function headersOf(endpoint: Endpoint): Json[] {
  const optional = (name: string, description: string): Json => ({
    name,
    in: "header",
    required: false,
    description,
    schema: { type: "string" },
  });
  return [
    optional("API-Version", "The version the client was written for"),
    ...(endpoint.codes.includes("IDEMPOTENCY_MISMATCH")
      ? [
          optional("Idempotency-Key", "Same key and body: same answer, for 24 h; at most 255 characters"),
          optional("Prefer", "`wait=N`, N ≤ 30: answer 200 when confirmed within N seconds (RFC 7240)"),
        ]
      : []),
  ];
}

function header(description: string): Json {
  return { description, schema: { type: "string" } };
}

function headerRefs(): Json {
  return Object.fromEntries(
    Object.keys(RESPONSE_HEADERS).map((name) => [name, { $ref: `#/components/headers/${name}` }]),
  );
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
