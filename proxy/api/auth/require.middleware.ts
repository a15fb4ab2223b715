/** What an endpoint asks of its caller before the body is read, and what an instance may have switched off. */
import type { Middleware } from "koa";
import type { Access, Endpoint } from "../../../shared/api/endpoints.ts";
import { ApiError, type FieldError } from "../../base/http/errors.ts";
import { refuseSwitchedOff } from "../../base/http/routes.ts";
import type { Principal, RequestState } from "../../base/http/state.ts";

/** What an instance may have switched off. */
export interface Switches {
  readonly swaps: boolean;
  readonly bridges: boolean;
}

const isOn = ({ swaps, bridges }: Switches, code: NonNullable<Endpoint["offCode"]>): boolean =>
  code === "SWAPS_DISABLED" ? swaps : bridges;

export function requireAccess(endpoint: Endpoint, switches: Switches): Middleware<RequestState> {
  return (ctx, next) => {
    if (endpoint.offCode !== undefined && !isOn(switches, endpoint.offCode))
      refuseSwitchedOff(endpoint.offCode);
    if (endpoint.access !== "none") requirePermission(ctx.state.principal, endpoint.access);
    // Routes parse the queries they have; where there is none, a stray parameter is an unknown field too.
    if (endpoint.query === undefined && ctx.querystring !== "") throw unknownQuery(Object.keys(ctx.query));
    ctx.state.endpoint = endpoint;
    return next();
  };
}

/** For `/relay`, which names its kind in the body: a swap where swaps are off. Its shape is not looked at. */
export function refuseSwaps({ swaps }: Switches): Middleware<RequestState> {
  return (ctx, next) => {
    if (swaps) return next();
    const { json } = ctx.state;
    if (typeof json === "object" && json !== null && "kind" in json && json.kind === "private-swap") {
      refuseSwitchedOff("SWAPS_DISABLED");
    }
    return next();
  };
}

function requirePermission(principal: Principal, access: Exclude<Access, "none">): void {
  if (principal.kind === "api-key") return;
  if (access === "api-key") throw new ApiError("FORBIDDEN", "An API key is needed here");
  if (!principal.perms.includes(access))
    throw new ApiError("FORBIDDEN", `The session lacks the permission ${access}`);
}

function unknownQuery(names: readonly string[]): ApiError {
  const fields = names.slice(0, 8).map((name): FieldError => ({
    path: name.replaceAll(/[^A-Za-z0-9_-]/g, "?").slice(0, 64),
    message: "unknown field",
  }));
  return new ApiError("INVALID_REQUEST", "This endpoint takes no query parameters", { fields });
}
