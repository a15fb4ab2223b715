/**
 * The OpenAPI 3.1 document, made from ENDPOINTS and the schemas: nothing about the interface is written a
 * second time. Schemas with an `id` become components. It holds no secret.
 */
import type * as z from "./zod.ts";
import { EVENT_ID, EVENTS } from "./data.ts";
import { API_VERSION, ENDPOINTS, MAX_BODY_BYTES, type Endpoint, type EndpointName } from "./endpoints.ts";
import { problem } from "./errors.ts";
import { EXAMPLES, type Example } from "./examples.ts";
import {
  answersOf,
  eventName,
  headerComponents,
  JSON_TYPE,
  named,
  problemExamples,
  problemResponse,
} from "./openapi/answers.ts";
import { Components, type Json } from "./openapi/components.ts";
import { ACCESS } from "./openapi/guide/access.ts";
import { PAYMENTS } from "./openapi/guide/payments.ts";
import { SURROUNDINGS } from "./openapi/guide/surroundings.ts";
import { OPERATION_TEXTS } from "./openapi/operations.ts";

/** An operation that this instance has switched off is in the document as well: one document for all instances. */
const OPERATIONS = Object.entries<Endpoint>(ENDPOINTS) as [EndpointName, Endpoint][];

const DESCRIPTION = `Every request carries one credential: an API key (servers only, never a browser) or a session token.

Refusals are problem documents (RFC 9457) with a machine-readable \`code\`. A path that is not listed answers 404 \`NOT_FOUND\`, a listed one with another method 405 \`METHOD_NOT_ALLOWED\`; GET comes with HEAD, except for the event stream, and every path answers OPTIONS with 204 and \`Allow\`.

Amounts are decimal integer strings in the token's smallest units. A JSON object must not have a name twice, and a body nests at most 32 levels. Answers may gain fields under one \`API-Version\`; requests may not hold unknown ones.

${ACCESS}
${PAYMENTS}
${SURROUNDINGS}`;

const IDEMPOTENCY_KEY =
  "Same key and body: same answer, for 24 h. A corrected body needs a key of its own. A refusal that is `retryable` is not kept: its key is free, also for another body";

let made: Json | undefined;

export function openApiDocument(): Json {
  made ??= makeDocument();
  return made;
}

function makeDocument(): Json {
  const components = new Components();
  const paths: Record<string, Record<string, Json>> = {};
  for (const [name, endpoint] of OPERATIONS) {
    const operations = (paths[endpoint.path] ??= {});
    operations[endpoint.method.toLowerCase()] = operation(name, endpoint, components);
  }
  // Stream events are no answer of any operation by themselves; here they are found by name.
  for (const [kind, schema] of Object.entries<z.ZodType>(EVENTS)) {
    components.putSchema(eventName(kind), components.schema(schema, "output"));
  }
  components.schema(problem, "output");
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
    externalDocs: {
      description: "The protocol byte by byte: shared/protocol/SPEC.md, which the reference page serves",
      url: "SPEC.md",
    },
    servers: [{ url: "/", description: "The instance that served this document" }],
    tags: TAGS.map(([name, description]) => ({ name, description })),
    paths,
    components: {
      schemas: components.schemas(),
      headers: headerComponents(),
      examples: problemExamples(),
      responses: {
        NotFound: problemResponse(404, ["NOT_FOUND"]),
        MethodNotAllowed: problemResponse(405, ["METHOD_NOT_ALLOWED"]),
        ...components.refusals(),
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
  ["Data", "What a client needs to find its notes and to prove", "merkle", "history", "events", "balance"],
];

function tagOf(path: string): string {
  const first = path.split("/")[1] ?? "";
  const tag = TAGS.find(([, , ...parts]) => parts.includes(first));
  if (tag === undefined) throw new Error(`${path} belongs to no tag`);
  return tag[0];
}

function operation(name: EndpointName, endpoint: Endpoint, components: Components): Json {
  const examples = EXAMPLES[name] ?? [];
  const parameters = [
    ...parametersOf(endpoint.params, "path", components, examples),
    ...parametersOf(endpoint.query, "query", components, examples).filter(({ name }) => name !== "session"),
    ...requestHeaders(endpoint),
  ];
  return {
    operationId: name,
    tags: [tagOf(endpoint.path)],
    summary: endpoint.summary,
    description: `${OPERATION_TEXTS[name]}\n\n${accessText(endpoint)}`,
    security: securityOf(endpoint),
    parameters,
    ...(endpoint.body === undefined ? {} : { requestBody: requestBody(endpoint.body, components, examples) }),
    responses: answersOf(endpoint, components, examples),
  };
}

function requestBody(schema: z.ZodType, components: Components, examples: readonly Example[]): Json {
  const bodies = examples.filter(({ body }) => body !== undefined);
  return {
    required: true,
    description: `At most ${String(MAX_BODY_BYTES)} bytes`,
    content: {
      [JSON_TYPE]: { schema: components.schema(schema, "input"), ...named(bodies, ({ body }) => body) },
    },
  };
}

const isStream = ({ responses }: Endpoint): boolean => Object.values(responses).includes(null);

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
  return endpoint.offCode === undefined
    ? text
    : `${text} An instance may not run this (\`features\` in GET /info): 403 \`${endpoint.offCode}\`.`;
}

type Parameter = Json & { readonly name: string };

function parametersOf(
  schema: z.ZodType | undefined,
  where: "path" | "query",
  components: Components,
  examples: readonly Example[],
): Parameter[] {
  if (schema === undefined) return [];
  const { properties = {}, required = [] } = components.schema(schema, "input") as {
    properties?: Readonly<Record<string, Json>>;
    required?: readonly string[];
  };
  return Object.entries(properties).map(([name, property]) => ({
    name,
    in: where,
    description: components.descriptionOf(property),
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
    optional("API-Version", "The version the client was written for", {
      enum: [API_VERSION],
      "x-enumDescriptions": { [API_VERSION]: "The version of this document" },
    }),
    optional("X-Request-Id", "Taken as the request's id when it is a sane token", { maxLength: 64 }),
    ...(endpoint.steps.includes("once")
      ? [optional("Idempotency-Key", IDEMPOTENCY_KEY, { minLength: 1, maxLength: 255 })]
      : []),
    ...("202" in endpoint.responses
      ? [optional("Prefer", "`wait=N`, N ≤ 30: 200 when executed within N seconds, else 202 (RFC 7240)")]
      : []),
    ...(endpoint.hasEtag === true
      ? [
          optional("If-None-Match", "ETag of what the caller has"),
          optional("If-Match", "Refused when the answer has another ETag"),
        ]
      : []),
    ...(isStream(endpoint)
      ? [optional("Last-Event-ID", "Resume after this event; wins over `from`", { pattern: EVENT_ID.source })]
      : []),
  ];
}
