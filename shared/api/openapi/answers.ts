/** What each status of an operation answers in the document: headers, bodies and their examples. */
import type * as z from "../zod.ts";
import { EVENTS } from "../data.ts";
import type { Endpoint } from "../endpoints.ts";
import { ERROR_CODES, ERRORS, type ErrorCode, type Problem } from "../errors.ts";
import type { Example } from "../examples.ts";
import { refer, type Components, type Json } from "./components.ts";

export const JSON_TYPE = "application/json";
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

/** On every answer. */
const ALWAYS = {
  "X-Request-Id": "Id of this request; quote it when you ask us",
  "API-Version": "Version of the interface",
  "Cache-Control": "no-store unless the operation says otherwise",
  Vary: "Origin, and what else the answer depends on",
} as const;
/** Where the operation says so. */
const SOMETIMES = {
  RateLimit:
    "How the caller stands (IETF draft-ietf-httpapi-ratelimit-headers); absent while the caller is not known",
  "RateLimit-Policy": "The limits that apply to the caller; absent likewise",
  "Retry-After": "Seconds to wait",
  "WWW-Authenticate": "How to authenticate (RFC 9110, section 11.6.1)",
  Allow: "The path's methods",
  Location: "Where the ticket is",
  "Preference-Applied": "The wait that was granted (RFC 7240)",
  ETag: "Strong; names the bytes of this answer",
} as const;
const HEADERS = { ...ALWAYS, ...SOMETIMES };
type HeaderName = keyof typeof HEADERS;

export const eventName = (kind: string): string => `Event_${kind}`;

/** Answers by status. */
export function answersOf(
  endpoint: Endpoint,
  components: Components,
  examples: readonly Example[],
): Record<string, Json> {
  const problems = problemsOf(endpoint);
  const answers: Record<string, Json> = {};
  for (const [status, refused] of Object.entries(problems))
    answers[status] = components.refusal(status, refused);
  const bodies: Readonly<Record<string, z.ZodType | null | undefined>> =
    Object.keys(endpoint.responses).length === 0 ? { "200": undefined } : endpoint.responses;
  for (const [status, schema] of Object.entries(bodies)) {
    const answer = success(endpoint, status, schema, components, examples);
    const refused = problems[status];
    // A success schema may live under an error status (/health); both are said.
    answers[status] =
      refused === undefined
        ? answer
        : {
            description: `${answer.description}. ${refused.description}`,
            // Who is refused may not be known, or counted, yet: no more is promised than there.
            headers: { ...answer.headers, ...refused.headers },
            content: { ...answer.content, ...refused.content },
          };
  }
  if (endpoint.hasEtag === true) {
    answers["304"] = {
      description: "If-None-Match names what the caller would get again",
      headers: headersOf(true, ["ETag"]),
    };
  }
  return answers;
}

interface Answer extends Json {
  readonly description: string;
  readonly headers: Json;
  readonly content: Json;
}

const TEXTS: Readonly<Record<string, string>> = {
  "200": "Done",
  "201": "Made",
  "202": "Accepted; the ticket is durable",
  "503": "Degraded; the checks say what",
};

const EXECUTED = "Executed within the time that `Prefer` asked for";

const STREAM = {
  schema: {
    type: "string",
    description:
      "WHATWG HTML, section 9.2. The event line names the kind, the data line is JSON of the schema of that name in x-events, the id line is what Last-Event-ID takes",
  },
  "x-events": Object.fromEntries(
    Object.keys(EVENTS).map((kind) => [kind, refer("schemas", eventName(kind))]),
  ),
};

function success(
  endpoint: Endpoint,
  status: string,
  schema: z.ZodType | null | undefined,
  components: Components,
  examples: readonly Example[],
): Answer {
  const type = schema === null ? STREAM_TYPE : JSON_TYPE;
  const mine = examples.filter(
    ({ response }) => String(response.status) === status && response.type === type,
  );
  const answers = named(mine, ({ response }) => response.body);
  const text: Json =
    schema === undefined
      ? {}
      : {
          [type]: {
            ...(schema === null ? STREAM : { schema: components.schema(schema, "output") }),
            ...answers,
          },
        };
  const packed: Json =
    endpoint.packedType === undefined
      ? {}
      : { [endpoint.packedType]: { schema: { description: endpoint.packedText } } };
  const isAccepted = "202" in endpoint.responses;
  const promised: HeaderName[] = [];
  if (endpoint.hasEtag === true) promised.push("ETag");
  if (isAccepted) promised.push("Location");
  return {
    description: (isAccepted && status === "200" ? EXECUTED : TEXTS[status]) ?? "Answer",
    // Who succeeds with a credential was counted.
    headers: headersOf(endpoint.access !== "none", promised, isAccepted ? ["Preference-Applied"] : []),
    content: { ...text, ...packed },
  };
}

/** One answer a status, naming the codes it can carry, each with an example. */
function problemsOf(endpoint: Endpoint): Record<string, Answer> {
  const takesCredential = endpoint.access !== "none";
  const codes = new Set<ErrorCode>([
    ...COMMON.filter((code) => takesCredential || !OF_CREDENTIALS.includes(code)),
    ...(endpoint.body === undefined ? [] : WITH_BODY),
    ...endpoint.codes,
    ...(endpoint.offCode === undefined ? [] : [endpoint.offCode]),
    ...(endpoint.hasEtag === true ? ["PRECONDITION_FAILED" as const] : []),
  ]);
  const withStatus = (status: number): ErrorCode[] =>
    [...codes].filter((code) => ERRORS[code].status === status);
  return Object.fromEntries(
    [...codes]
      .map((code) => ERRORS[code])
      .map(({ status }) => [status, problemResponse(status, withStatus(status))]),
  );
}

/** Headers that a status promises. Others may come with it; 503 and 422 have Retry-After where waiting helps. */
const PROMISED: Readonly<Partial<Record<number, readonly HeaderName[]>>> = {
  401: ["WWW-Authenticate"],
  405: ["Allow"],
  429: ["Retry-After"],
};
const MAY_WAIT: readonly number[] = [409, 422, 503];

export function problemResponse(status: number, codes: readonly ErrorCode[]): Answer {
  return {
    description: codes.map((code) => `${code}: ${ERRORS[code].title}`).join("; "),
    // Who is refused may have been refused before it was counted.
    headers: headersOf(false, PROMISED[status] ?? [], MAY_WAIT.includes(status) ? ["Retry-After"] : []),
    content: {
      [PROBLEM_TYPE]: {
        schema: { allOf: [refer("schemas", "Problem"), { properties: { code: { enum: codes } } }] },
        examples: Object.fromEntries(codes.map((code) => [code, refer("examples", code)])),
      },
    },
  };
}

export function problemExamples(): Json {
  return Object.fromEntries(
    ERROR_CODES.map((code) => [code, { summary: ERRORS[code].title, value: exampleProblem(code) }]),
  );
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

export function named(examples: readonly Example[], value: (example: Example) => unknown): Json {
  if (examples.length === 0) return {};
  return {
    examples: Object.fromEntries(
      examples.map((example) => [example.name, { summary: example.summary, value: value(example) }]),
    ),
  };
}

const each = (names: readonly string[], describe: (name: HeaderName) => Json): Json =>
  Object.fromEntries(names.map((name) => [name, describe(name as HeaderName)]));
const described = (name: HeaderName): Json => ({ description: HEADERS[name], schema: { type: "string" } });
const required = (name: HeaderName): Json => ({
  description: HEADERS[name],
  required: true,
  schema: { type: "string" },
});
const referred = (name: HeaderName): Json => refer("headers", name);

export function headerComponents(): Json {
  return { ...each(Object.keys(ALWAYS), required), ...each(Object.keys(SOMETIMES), described) };
}

function headersOf(
  isCounted: boolean,
  promised: readonly HeaderName[],
  possible: readonly HeaderName[] = [],
): Json {
  return {
    ...each(Object.keys(ALWAYS), referred),
    ...each(["RateLimit", "RateLimit-Policy"], isCounted ? required : referred),
    ...each(promised, required),
    ...each(possible, referred),
  };
}
