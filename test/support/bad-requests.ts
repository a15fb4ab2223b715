// Every way in which a request can be wrong, endpoint by endpoint: one table for the app with stand-ins behind it
// and for the running service. Each request is a good one with one fault, and names the codes which that may earn.
import { ENDPOINTS, MAX_BODY_BYTES, type Endpoint } from "../../shared/api/endpoints.ts";
import type { ErrorCode } from "../../shared/api/errors.ts";
import { changedAt, placesIn, WRONG_VALUES } from "./requests.ts";

type Body = Readonly<Record<string, unknown>>;
type Headers = Readonly<Record<string, string>>;

export interface BadRequest {
  /** Endpoint and fault, for whoever reads a failure. */
  readonly what: string;
  readonly method: string;
  readonly path: string;
  /** The credential among them. */
  readonly headers: Headers;
  readonly body: string | Uint8Array<ArrayBuffer> | undefined;
  readonly codes: readonly ErrorCode[];
}

/** What the faults are put into. */
export interface GoodRequests {
  readonly swaps: boolean;
  readonly bridges: boolean;
  readonly apiKey: string;
  /** Session tokens of the same developer. */
  readonly sessions: Readonly<Record<"both" | "reader" | "writer" | "expired", string>>;
  /** A body that the endpoint takes, or would take but for what lies behind its border. */
  bodyOf(row: Row): Body;
}

export interface Row {
  readonly name: string;
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly access: Endpoint["access"];
  readonly offCode: ErrorCode | undefined;
  readonly hasBody: boolean;
}

/** Well formed, and nobody's. */
export const NO_TICKET = "0190a0a0-0000-7000-8000-000000000000";

export const ROWS: readonly Row[] = Object.entries<Endpoint>(ENDPOINTS).map(([name, endpoint]) => {
  const { method, path, access, offCode, body } = endpoint;
  return { name, method, path, access, offCode, hasBody: body !== undefined };
});

/** Why this instance answers every request of an endpoint with a refusal, or undefined. */
export function offCodeOf(
  { offCode }: Row,
  { swaps, bridges }: Pick<GoodRequests, "swaps" | "bridges">,
): ErrorCode | undefined {
  const isOn = offCode === "SWAPS_DISABLED" ? swaps : offCode === "FEATURE_DISABLED" && bridges;
  return isOn ? undefined : offCode;
}

export const pathOf = ({ path, name }: Row): string =>
  path.replace("{ticket_id}", NO_TICKET) + (GOOD_QUERY[name] ?? "");

/** What an endpoint needs in its query. */
const GOOD_QUERY: Readonly<Record<string, string>> = {
  balance: "?address=0x00000000000000000000000000000000000000aa",
  bridgeStatus: `?id=${NO_TICKET}`,
  historyChunks: `?from=0&limit=1&last=0x${"ab".repeat(32)}`,
};

interface Fault {
  readonly what: string;
  readonly method?: string;
  readonly path?: string;
  /** In the place of the good credential. */
  readonly credential?: Headers;
  readonly headers?: Headers;
  /** In the place of the good body. */
  readonly body?: string | Uint8Array<ArrayBuffer>;
  readonly codes: readonly ErrorCode[];
  /** Noticed before the service looks whether the endpoint is switched off. */
  readonly isEarly?: true;
}

export type Kind = (row: Row, good: GoodRequests) => readonly BadRequest[];

/** The good request itself. */
export function goodRequest(row: Row, good: GoodRequests): BadRequest {
  return requestOf(row, good, { what: "nothing wrong", codes: [] });
}

/** For a caller who never sends all of it: what is off is refused at its head, all else when the time is up. */
export function unfinished(row: Row, good: GoodRequests): BadRequest {
  return requestOf(row, good, {
    what: "slow",
    codes: ["INVALID_REQUEST"],
    // Of a request without body the middle is in its head, where nobody is known yet.
    ...(row.hasBody ? {} : { isEarly: true }),
  });
}

function requestOf(row: Row, good: GoodRequests, fault: Fault): BadRequest {
  const off = offCodeOf(row, good);
  const { method = row.method, path = pathOf(row) } = fault;
  const mayHaveBody = method !== "GET" && method !== "HEAD";
  const text = row.hasBody ? JSON.stringify(good.bodyOf(row)) : undefined;
  const body = mayHaveBody ? (fault.body ?? text) : undefined;
  const credential: Headers = row.access === "none" ? {} : { "X-API-Key": good.apiKey };
  return {
    what: `${row.method} ${row.path}: ${fault.what}`,
    method,
    path,
    headers: {
      ...(fault.credential ?? credential),
      ...(body === undefined ? {} : { "Content-Type": "application/json" }),
      ...fault.headers,
    },
    body,
    codes: off === undefined || fault.isEarly === true ? fault.codes : [off],
  };
}

const kind =
  (faults: (row: Row, good: GoodRequests) => readonly Fault[]): Kind =>
  (row, good) =>
    faults(row, good).map((fault) => requestOf(row, good, fault));
/** Of endpoints with a body. */
const bodyKind = (faults: (body: Body, row: Row) => readonly Fault[]): Kind =>
  kind((row, good) => (row.hasBody ? faults(good.bodyOf(row), row) : []));

const invalid = (what: string, body: string | Uint8Array<ArrayBuffer>): Fault => ({
  ...{ what, body },
  codes: ["INVALID_REQUEST"],
});
const early = (what: string, credential: Headers, code: ErrorCode): Fault => ({
  ...{ what, credential },
  codes: [code],
  isEarly: true,
});
const bearer = (token: string): Headers => ({ Authorization: `Bearer ${token}` });

/** By the name of what is wrong. */
export const KINDS: Readonly<Record<string, Kind>> = {
  "no credential": kind((row, { sessions }) =>
    row.access === "none"
      ? []
      : [
          early("no credential", {}, "MISSING_CREDENTIAL"),
          early("an empty scheme", { Authorization: "" }, "INVALID_CREDENTIAL"),
          // A query counts on the stream alone.
          ...(row.path === "/events/stream"
            ? []
            : [
                {
                  ...early("a session in the query", {}, "MISSING_CREDENTIAL"),
                  path: `${row.path.replace("{ticket_id}", NO_TICKET)}?session=${sessions.both}`,
                },
              ]),
        ],
  ),

  "a credential of a wrong kind, forged, or where none is taken": kind(
    ({ access, path }, { apiKey, sessions }) => {
      if (access === "none") {
        const credentials = [{ "X-API-Key": apiKey }, bearer(sessions.both), bearer("sst_x"), bearer("")];
        return credentials.map((credential) => early("a credential", credential, "INVALID_REQUEST"));
      }
      const wrong: [string, Headers][] = [
        ["a key as a session", bearer(apiKey)],
        ["a session as a key", { "X-API-Key": sessions.both }],
        ["another scheme", { Authorization: `Basic ${btoa(`${apiKey}:`)}` }],
        ["a forged session", bearer(forged(sessions.both))],
        ["a forged key", { "X-API-Key": forged(apiKey) }],
      ];
      return [
        ...wrong.map(([what, credential]) => early(what, credential, "INVALID_CREDENTIAL")),
        early("two credentials", { "X-API-Key": apiKey, ...bearer(sessions.both) }, "INVALID_REQUEST"),
        ...(path === "/events/stream"
          ? [{ ...early("a key in the query", {}, "INVALID_CREDENTIAL"), path: `${path}?session=${apiKey}` }]
          : []),
      ];
    },
  ),

  "an expired session": kind(({ access }, { sessions }) =>
    access === "none" ? [] : [early("an expired session", bearer(sessions.expired), "SESSION_EXPIRED")],
  ),

  "a wrong permission": kind(({ access }, { sessions }) => {
    if (access === "none") return [];
    const lacking = { "api-key": sessions.both, read: sessions.writer, write: sessions.reader }[access];
    return [{ what: "a wrong permission", credential: bearer(lacking), codes: ["FORBIDDEN"] }];
  }),

  "a wrong method": kind((row) => {
    const others = ["PUT", "PATCH", "DELETE", row.method === "GET" ? "POST" : "GET"];
    return others.map((method) => ({
      ...{ what: method, method, isEarly: true },
      codes: ["METHOD_NOT_ALLOWED"],
      // Nor is it looked at what else is wrong.
      ...(method === "PUT" ? { body: "{" } : {}),
    }));
  }),

  "another version": kind(() =>
    ["2020-01-01", "1", "latest"].map((version) => ({
      ...{ what: `API-Version ${version}`, headers: { "API-Version": version }, isEarly: true },
      codes: ["UNSUPPORTED_VERSION"],
    })),
  ),

  "another media type": bodyKind(() =>
    [
      { "Content-Type": "text/plain" },
      { "Content-Type": "application/x-www-form-urlencoded" },
      { "Content-Type": "application/jsonp" },
      { "Content-Type": "application/json; charset=utf-16" },
      { "Content-Encoding": "gzip" },
    ].map((headers) => ({
      ...{ what: JSON.stringify(headers), headers },
      codes: ["UNSUPPORTED_MEDIA_TYPE"],
    })),
  ),

  "a missing field": bodyKind((good, row) =>
    triedIn(good)
      .filter((way) => way.length > 0 && !isOptional(row, way) && isFieldOf(good, way))
      .map((way) => invalid(`without ${way.join(".")}`, JSON.stringify(changedAt(good, way, undefined)))),
  ),

  "too few or too many elements": bodyKind((good) =>
    triedIn(good).flatMap((way) => {
      const value = valueAt(good, way);
      if (!Array.isArray(value)) return [];
      const elements = value as unknown[];
      const isFixed = way[0] === "proof" || way.at(-1) === "ciphertexts";
      const others = [
        Array.from({ length: 40 }, () => elements[0]),
        ...(isFixed ? [elements.slice(1), [...elements, elements[0]]] : []),
        // No fee may be owed, so an empty list of openings has the documented form.
        ...(way.at(-1) === "fees" ? [] : [[]]),
      ];
      return others.map((other) =>
        invalid(`${String(other.length)} of ${way.join(".")}`, text(good, way, other)),
      );
    }),
  ),

  "an extra field": bodyKind((good) =>
    objectsIn(good).flatMap((way) =>
      ["surplus", "__proto__", "constructor"].map((name) =>
        invalid([...way, name].join("."), textWith(good, way, `"${name}":{}`)),
      ),
    ),
  ),

  "a mistyped field": bodyKind((good) =>
    triedIn(good).flatMap((way) =>
      [null, true, { a: 1 }, ...(Array.isArray(valueAt(good, way)) ? ["[]"] : [[]])].map((wrong) =>
        invalid(`${JSON.stringify(wrong)} for ${way.join(".")}`, text(good, way, wrong)),
      ),
    ),
  ),

  "a text that says something else": bodyKind((good) =>
    triedIn(good).flatMap((way) => {
      const value = valueAt(good, way);
      if (typeof value !== "string") return [];
      const wrong = FREE_TEXTS[way.join()] ?? [
        "",
        "\u0000",
        "NaN",
        "__proto__",
        "🙂",
        ` ${value}`,
        `${value} `,
      ];
      return wrong.map((other) =>
        invalid(`${JSON.stringify(other)} for ${way.join(".")}`, text(good, way, other)),
      );
    }),
  ),

  "a number as a string, or a string as a number": bodyKind((good) =>
    triedIn(good).flatMap((way) => {
      const value = valueAt(good, way);
      if (typeof value === "number")
        return [invalid(`${way.join(".")} as text`, text(good, way, String(value)))];
      // As the digits stand, however many: JSON has no largest number.
      return isDecimal(value) ? [invalid(`${way.join(".")} as a number`, raw(good, way, value))] : [];
    }),
  ),

  "a negative, huge, broken or exponential number": bodyKind((good) =>
    triedIn(good).flatMap((way) => {
      const value = valueAt(good, way);
      const name = way.join(".");
      if (typeof value === "number") {
        // Minus nothing is nothing.
        const negative = value === 0 ? [] : [`-${String(value)}`];
        const wrong = [
          "-1",
          ...negative,
          "0.5",
          "1e21",
          "1e999",
          "-1e-7",
          "9007199254740993",
          "9".repeat(400),
        ];
        return wrong.map((digits) => invalid(`${digits} for ${name}`, raw(good, way, digits)));
      }
      if (!isDecimal(value)) return [];
      const wrong = [
        "-1",
        `-${value}`,
        `+${value}`,
        `0${value}`,
        `${value}.0`,
        `${value}e0`,
        "1e3",
        `0x${value}`,
      ];
      const huge = [
        "9".repeat(78),
        "9".repeat(400),
        ...(AMOUNTS.includes(way.at(-1) ?? "") ? [TOO_MUCH] : []),
      ];
      return [...wrong, ...huge].map((digits) =>
        invalid(`${digits.slice(0, 90)} for ${name}`, text(good, way, digits)),
      );
    }),
  ),

  "hex of a wrong length or spelling": bodyKind((good) =>
    triedIn(good).flatMap((way) => {
      const value = valueAt(good, way);
      if (typeof value !== "string" || !/^0x[0-9a-fA-F]+$/.test(value)) return [];
      const wrong = [
        value.slice(0, -1),
        value.slice(0, -2),
        `${value}00`,
        value.slice(2),
        `0X${value.slice(2)}`,
      ];
      // A smart account may sign in any length; whether this depositor is one, the chain says and not the form.
      const isForm = (other: string): boolean =>
        way.at(-1) !== "authorization" || !/^0x([0-9a-fA-F]{2})+$/u.test(other);
      return [...wrong, `${value.slice(0, -1)}g`, "0x"]
        .filter(isForm)
        .map((other) => invalid(`${other.slice(0, 90)} for ${way.join(".")}`, text(good, way, other)));
    }),
  ),

  "an oversized body": bodyKind((good) =>
    // Good but for its length; and long in a field.
    [
      JSON.stringify(good).padEnd(MAX_BODY_BYTES + 1),
      JSON.stringify({ ...good, surplus: "a".repeat(2 * MAX_BODY_BYTES) }),
    ].map((body) => ({ what: `${String(body.length)} bytes`, body, codes: ["BODY_TOO_LARGE"] })),
  ),

  "deep nesting": bodyKind((good) => [
    ...[1, 33, 100_000].map((depth) =>
      invalid(`inside ${String(depth)}`, "[".repeat(depth) + JSON.stringify(good) + "]".repeat(depth)),
    ),
    ...Object.keys(good).flatMap((name) =>
      [33, 20_000].map((depth) =>
        invalid(
          `${String(depth)} deep in ${name}`,
          raw(good, [name], '{"a":'.repeat(depth) + "1" + "}".repeat(depth)),
        ),
      ),
    ),
  ]),

  "a name twice": bodyKind((good) =>
    objectsIn(good).flatMap((way) => {
      const [[name, value] = ["", undefined]] = Object.entries(valueAt(good, way) as Body);
      // The same value both times: nothing is wrong but that.
      const spelt = `\\u${name.charCodeAt(0).toString(16).padStart(4, "0")}${name.slice(1)}`;
      return [name, spelt].map((again) =>
        invalid(
          `${[...way, again].join(".")} again`,
          textWith(good, way, `"${again}":${JSON.stringify(value)}`),
        ),
      );
    }),
  ),

  "bytes that are no UTF-8": bodyKind((good) => {
    const bytes = new TextEncoder().encode(JSON.stringify(good));
    // Behind the first quote of the first text that is a value: where a name of a user would stand.
    const first = triedIn(good).find((way) => typeof valueAt(good, way) === "string") ?? [];
    const before = new TextEncoder().encode(raw(good, first, MARK).split(MARK)[0] ?? "").length + 1;
    const inserted = [[0xff], [0xc0, 0xaf], [0xed, 0xa0, 0x80], [0xf5, 0x80, 0x80, 0x80], [0xe2, 0x82]];
    return [
      ...inserted.map((wrong) =>
        invalid(
          `bytes ${wrong.join(" ")}`,
          Uint8Array.of(...bytes.slice(0, before), ...wrong, ...bytes.slice(before)),
        ),
      ),
      invalid("a byte order mark", Uint8Array.of(0xef, 0xbb, 0xbf, ...bytes)),
      invalid("UTF-16", Uint8Array.from(Buffer.from(JSON.stringify(good), "utf16le"))),
    ];
  }),

  "what is no JSON object": bodyKind((good) => {
    const whole = JSON.stringify(good);
    const cut = [1, 2, 3].map((part) => whole.slice(0, Math.floor((whole.length * part) / 4)));
    const wrong = [
      ...cut,
      whole + whole,
      `${whole}\u0000`,
      `${whole},`,
      `/**/${whole}`,
      `${whole.slice(0, -1)},}`,
    ];
    const others = ["", " ", "null", "[]", "7", '"{}"', "{'a':1}", "NaN", "{}"];
    return [...wrong, ...others, whole.replaceAll('"', "'")].map((body) => ({
      ...{ what: body.slice(0, 40), body },
      // An empty one says no type.
      codes: body === "" ? ["UNSUPPORTED_MEDIA_TYPE", "INVALID_REQUEST"] : ["INVALID_REQUEST"],
    }));
  }),

  "a query that it does not know, twice what it knows, or wrong": kind((row) => {
    const [bare = ""] = pathOf(row).split("?");
    const asked = GOOD_QUERY[row.name];
    const unknown = [
      "surplus=1",
      "__proto__=1",
      "constructor",
      "%ff=1",
      "a[b][c]=1",
      "=",
      `${"q".repeat(2_000)}=1`,
    ];
    const wrong = Object.entries(BAD_QUERIES[row.name] ?? {}).flatMap(([name, texts]) => [
      ...texts.map((value) => `${name}=${wellFormed(value)}`),
      ...(name === ANY_ID
        ? []
        : [...NO_TEXTS.map(wellFormed), "%ff", "%c0%af"].map((value) => `${name}=${value}`)),
      `${name}[]=1`,
    ]);
    const known = TWICE[row.name];
    return [
      ...unknown.map((query) => `${bare}${asked === undefined ? "?" : `${asked}&`}${query}`),
      ...wrong.map((query) => `${bare}?${query}`),
      ...(known === undefined ? [] : [`${bare}?${known}&${known}`]),
      ...(asked === undefined ? [] : [bare]),
    ].map((path) => ({ what: path.slice(0, 120), path, codes: ["INVALID_REQUEST"] }));
  }),

  "a path of a wrong form": kind((row, good) => {
    if (!row.path.includes("{")) {
      // Another path, so it wants a credential.
      const credential = { "X-API-Key": good.apiKey };
      return ["/", "/x", "//", "%2f", "%00", "%ff", "%"].map((end) => ({
        ...{ what: end, path: `${row.path}${end}`, isEarly: true, credential },
        codes: ["NOT_FOUND", "INVALID_REQUEST"],
      }));
    }
    const ids = [
      "x",
      "..",
      "%2e%2e%2f",
      "%ff",
      "%",
      "%00",
      NO_TICKET.slice(1),
      `${NO_TICKET}0`,
      "9".repeat(5_000),
    ];
    return [...ids, ...NO_TEXTS.map(wellFormed)].map((id) => ({
      ...{ what: id.slice(0, 60), path: row.path.replace(/\{[a-z_]+\}/, id) },
      codes: ["INVALID_REQUEST", "NOT_FOUND"],
    }));
  }),

  "a malformed or oversized header": kind((row, { apiKey }) => [
    // Node gives up before anybody is known.
    {
      ...{ what: "32 kB of headers", headers: { "X-Long": "a".repeat(32_768) } },
      codes: ["INVALID_REQUEST"],
      isEarly: true,
    },
    ...(/^\/(sequence\/[a-z0-9-]+|relay|bridge\/[a-z-]+\/[a-z-]+)$/.test(row.path) && row.method === "POST"
      ? ["k".repeat(256), "\u00e9", apiKey.repeat(9)].map((key): Fault => ({
          ...{ what: `Idempotency-Key ${key.slice(0, 9)}`, headers: { "Idempotency-Key": key } },
          codes: ["INVALID_REQUEST"],
        }))
      : []),
  ]),
};

/**
 * In fields of any text a number is as good as a word, and what an identity provider or the operator wrote is
 * compared and not read.
 */
const FREE_TEXTS: Readonly<Record<string, readonly string[]>> = {
  sub: ["", "\u0000", "a\nb", "a".repeat(257), "app_shop:alice"],
  app_id: [""],
  access_token: [""],
};

const AMOUNTS = ["value", "shares_in", "min_amount_out"];
/** One unit more than a note can hold. */
const TOO_MUCH = String(1n << 128n);

const NO_NUMBERS = [
  "",
  "-1",
  "+1",
  "01",
  "1e3",
  "1.0",
  "0x1",
  " 1",
  "NaN",
  "9".repeat(16),
  "9".repeat(59),
  "a,b",
];
const BAD_QUERIES: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  merkleTree: {
    level: [...NO_NUMBERS, "17"],
    from: NO_NUMBERS,
    limit: [...NO_NUMBERS, "0", "65537"],
  },
  historyChunks: {
    from: NO_NUMBERS,
    limit: [...NO_NUMBERS, "0", "17"],
    last: ["", "0x", "0", `0x${"a".repeat(63)}`, `0x${"a".repeat(65)}`, `0x${"g".repeat(64)}`],
  },
  balance: {
    address: [
      "",
      "0x",
      "0x12",
      "0",
      `0x${"g".repeat(40)}`,
      `0x${"a".repeat(41)}`,
      "0x5FbDB2315678afecb367f032d93F642f64180aA3",
    ],
  },
  bridgeStatus: {
    id: ["", "1", NO_TICKET.slice(1), `${NO_TICKET}0`, "0190a0a0-0000-0000-8000-000000000000"],
    address: ["", "0x", "0x12", `0x${"g".repeat(40)}`, "0".repeat(40), "1".repeat(45), "l".repeat(40)],
  },
  info: { nonce: ["", "0x", "zz", "a".repeat(33), "ab".repeat(15), "ab".repeat(65), "-1"] },
  events: { types: ["", "nothing", "leaf,", "leaf,nothing", "LEAF"], from: ["9".repeat(65)] },
};
const TWICE: Readonly<Record<string, string>> = {
  merkleTree: "limit=1",
  historyChunks: "from=0",
  balance: "address=0x00000000000000000000000000000000000000aa",
  bridgeStatus: `id=${NO_TICKET}`,
  info: `nonce=${"ab".repeat(16)}`,
  events: "types=leaf",
};
/** Where a stream is resumed: any text that may have been an id. */
const ANY_ID = "from";
/** Texts that no other parameter takes. */
const NO_TEXTS = WRONG_VALUES.filter(
  (value) => typeof value === "string" && value.length > 0 && !/^[0-9]/.test(value),
).map(String);
/** A URL cannot spell half of a pair. */
const wellFormed = (value: string): string => encodeURIComponent(value.replaceAll(/\p{Cs}/gu, "?"));

function isOptional({ name }: Row, way: readonly string[]): boolean {
  const field = way.join(".");
  if (field === "proof.curve") return true;
  if (name === "bridgeFromVenue") return field === "asset";
  if (name === "attestDeposit") return field === "authorization";
  return name === "sessionExchange" && ["perms", "ttl_secs"].includes(field);
}

/** Of an object; what an array holds is another matter. */
const isFieldOf = (body: unknown, way: readonly string[]): boolean =>
  !Array.isArray(valueAt(body, way.slice(0, -1)));

export function valueAt(body: unknown, way: readonly string[]): unknown {
  return way.reduce<unknown>((inner, key) => (inner as Readonly<Record<string, unknown>>)[key], body);
}

const isDecimal = (value: unknown): value is string => typeof value === "string" && /^[0-9]+$/.test(value);

/** Every place of a body; of a list the first element and the last, since all are of one shape. */
function triedIn(body: Body): string[][] {
  return placesIn(body).filter((way) =>
    way.every((key, depth) => {
      const list = valueAt(body, way.slice(0, depth));
      return !Array.isArray(list) || key === "0" || key === String(list.length - 1);
    }),
  );
}

const objectsIn = (body: Body): string[][] =>
  triedIn(body).filter((way) => {
    const value = valueAt(body, way);
    return typeof value === "object" && value !== null && !Array.isArray(value);
  });

/** In no body of ours. */
const MARK = "~mark~";

const text = (body: unknown, way: readonly string[], other: unknown): string =>
  JSON.stringify(changedAt(body, way, other));

/** With these characters in the place of a value. */
function raw(body: unknown, way: readonly string[], characters: string): string {
  return text(body, way, MARK).replace(`"${MARK}"`, () => characters);
}

/** With a member more in the object at a place. */
function textWith(body: unknown, way: readonly string[], member: string): string {
  const inner = { ...(valueAt(body, way) as Body), [MARK]: MARK };
  return text(body, way, inner).replace(`"${MARK}":"${MARK}"`, () => member);
}

/** Another character in the secret part; the form stays. */
function forged(credential: string): string {
  const at = credential.length - 9;
  return credential.slice(0, at) + (credential[at] === "A" ? "B" : "A") + credential.slice(at + 1);
}

export interface Heard {
  readonly status: number;
  readonly headers: { get(name: string): string | null };
  readonly body: { readonly code?: string; readonly detail?: string; readonly request_id?: string };
}

/** Sent at once, where nothing else is said. */
const TOGETHER = 16;

/** Sends them all. Which were not answered as they should: each by its own code, as a problem, never as a fault of ours. */
export async function unexpected(
  requests: readonly BadRequest[],
  send: (request: BadRequest) => Promise<Heard>,
  together = TOGETHER,
): Promise<string[]> {
  const faults: string[] = [];
  const waiting = [...requests].reverse();
  const sendSome = async (): Promise<void> => {
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      const fault = await faultOf(next, sendSurely(send)).catch((error: unknown) => describe(error));
      if (fault !== undefined) faults.push(`${next.what}: ${fault}`);
    }
  };
  await Promise.all(Array.from({ length: together }, sendSome));
  return faults.slice(0, MAX_FAULTS);
}

/** Worth reading at once. */
const MAX_FAULTS = 20;

async function faultOf(
  request: BadRequest,
  send: (request: BadRequest) => Promise<Heard>,
): Promise<string | undefined> {
  const { status, headers, body } = await send(request);
  const { code } = body;
  if (code === undefined || !(request.codes as readonly string[]).includes(code) || status >= 500)
    return `${String(status)} ${String(code)} instead of ${request.codes.join(" or ")}`;
  if (!(headers.get("content-type") ?? "").startsWith("application/problem+json"))
    return "no problem document";
  if ((body.detail ?? "").length < 10) return "it does not say why";
  if (status === 405 && headers.get("allow") === null) return "no Allow";
  return undefined;
}

/**
 * A connection that was kept may be closed by the service just as it is used (RFC 9112, section 9.3.1), and after a
 * pause of this process all of them are. A service that has fallen over is not there the next time either.
 */
function sendSurely(send: (request: BadRequest) => Promise<Heard>): typeof send {
  return async (request) => {
    for (let left = TRIES; ; left--) {
      try {
        return await send(request);
      } catch (error) {
        if (left === 0 || !isLost(error)) throw error;
        // Time to notice which others are closed.
        // eslint-disable-next-line no-restricted-syntax -- a connection that was closed tells nobody when
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    }
  };
}

const TRIES = 3;

/** What `fetch` throws when the connection ends. */
const isLost = (error: unknown): boolean =>
  error instanceof TypeError &&
  ["ECONNRESET", "UND_ERR_SOCKET"].includes(String((error.cause as { code?: unknown } | undefined)?.code));

const describe = (error: unknown): string =>
  error instanceof Error && error.cause instanceof Error
    ? `${error.message}: ${error.cause.message}`
    : String(error);
