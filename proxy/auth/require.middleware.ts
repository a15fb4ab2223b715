/**
 * The guard: which row of ENDPOINTS a request is, and whether its caller may have it. Every path that is
 * not in the table ends here, so a route that somebody forgot to guard cannot be reached.
 */
import type { Middleware } from "koa";
import { BRIDGE_ENDPOINTS } from "../../shared/api/bridges.ts";
import { ENDPOINTS, type Access, type Endpoint } from "../../shared/api/endpoints.ts";
import type { ErrorCode } from "../../shared/api/errors.ts";
import { ApiError, type FieldError } from "../http/errors.ts";
import type { Principal, RequestState } from "../http/state.ts";

/** Paths of the specification that nothing serves yet. They exist, so they are not 404. */
export const OFF: readonly {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly code: ErrorCode;
}[] = Object.values(BRIDGE_ENDPOINTS).map(({ method, path, codes: [code] }) => ({ method, path, code }));

/** What an instance may have switched off. */
export interface Switches {
  readonly swaps: boolean;
}

interface Place {
  readonly rows: readonly Row[];
  /** Methods that are answered here. */
  readonly allowed: readonly string[];
}

interface Row {
  readonly template: string;
  readonly method: "GET" | "POST";
  readonly matches: (path: string) => boolean;
  readonly endpoint?: Endpoint;
  readonly off?: ErrorCode;
  readonly offCode?: Endpoint["offCode"];
}

const rows: readonly Row[] = [
  ...Object.values<Endpoint>(ENDPOINTS).map((endpoint) => ({
    template: endpoint.path,
    method: endpoint.method,
    matches: matcher(endpoint.path),
    endpoint,
    offCode: endpoint.offCode,
  })),
  ...OFF.map(({ method, path, code }) => ({ template: path, method, matches: matcher(path), off: code })),
];

/** What is at each path of the table that has no parameter; every other path is looked for. */
const fixed = new Map(
  rows
    .filter(({ template }) => !template.includes("{"))
    .map(({ template }) => [template, placeOf(template)] as const),
);

function placeOf(path: string): Place {
  const here = rows.filter((row) => row.matches(path));
  return { rows: here, allowed: methodsOf(here) };
}

export function guard({ swaps }: Switches): Middleware<RequestState> {
  return (ctx, next) => {
    const { rows: here, allowed } = fixed.get(ctx.path) ?? placeOf(ctx.path);
    if (here.length === 0) throw new ApiError("NOT_FOUND", "There is nothing at this path");
    if (ctx.method === "OPTIONS") {
      ctx.set("Allow", allowed.join(", "));
      ctx.status = 204;
      return undefined;
    }
    const row = here.find(({ method }) => method === (ctx.method === "HEAD" ? "GET" : ctx.method));
    if (row === undefined || !allowed.includes(ctx.method)) {
      ctx.set("Allow", allowed.join(", "));
      throw new ApiError("METHOD_NOT_ALLOWED", `This path answers ${allowed.join(", ")}`);
    }
    if (row.offCode !== undefined && !swaps) throw off(row.offCode);
    if (row.off !== undefined) throw off(row.off);
    const { endpoint } = row;
    if (endpoint === undefined) throw new Error("a row is an endpoint or off");
    if (endpoint.access !== "none") requireAccess(ctx.state.principal, endpoint.access);
    // Routes parse the queries they have; where there is none, a stray parameter is an unknown field too.
    if (endpoint.query === undefined && ctx.querystring !== "") throw unknownQuery(Object.keys(ctx.query));
    ctx.state.endpoint = endpoint;
    return next();
  };
}

/** After the body is read, since `/relay` names its kind there: what is switched off. Its shape is not looked at. */
export function guardKind({ swaps }: Switches): Middleware<RequestState> {
  return (ctx, next) => {
    const { endpoint, json } = ctx.state;
    if (
      endpoint.path === ENDPOINTS.relay.path &&
      typeof json === "object" &&
      json !== null &&
      "kind" in json &&
      json.kind === "private-swap" &&
      !swaps
    ) {
      throw off("SWAPS_DISABLED");
    }
    return next();
  };
}

function requireAccess(principal: Principal, access: Exclude<Access, "none">): void {
  if (principal.kind === "api-key") return;
  if (access === "api-key") throw new ApiError("FORBIDDEN", "An API key is needed here");
  if (!principal.perms.includes(access))
    throw new ApiError("FORBIDDEN", `The session lacks the permission ${access}`);
}

/** HEAD comes with GET, except for a stream: it would be opened and never read. */
function methodsOf(here: readonly Row[]): string[] {
  const methods = here.flatMap(({ method, endpoint }): string[] => {
    const isStream = endpoint !== undefined && Object.values(endpoint.responses).includes(null);
    return method === "GET" && !isStream ? ["GET", "HEAD"] : [method];
  });
  return [...methods, "OPTIONS"];
}

function off(code: ErrorCode): ApiError {
  return new ApiError(code, "This instance does not run the feature; see `features` in GET /info");
}

function unknownQuery(names: readonly string[]): ApiError {
  const fields = names.slice(0, 8).map((name): FieldError => ({
    path: name.replaceAll(/[^A-Za-z0-9_-]/g, "?").slice(0, 64),
    message: "unknown field",
  }));
  return new ApiError("INVALID_REQUEST", "This endpoint takes no query parameters", { fields });
}

/** Exact: another case or a trailing slash is another path. */
function matcher(template: string): (path: string) => boolean {
  if (!template.includes("{")) return (path) => path === template;
  const pattern = new RegExp(`^${template.replaceAll(/\{[a-z_]+\}/g, "[^/]+")}$`);
  return (path) => pattern.test(path);
}
