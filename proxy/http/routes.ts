/**
 * The table of handlers, one for each endpoint by its name, and how it is mounted. The router's match is the only
 * one: what an endpoint asks of its caller stands in front of its handler, on the same route.
 */
import Router, { type RouterMiddleware } from "@koa/router";
import type { Middleware } from "koa";
import { ENDPOINTS, type Endpoint, type EndpointName } from "../../shared/api/endpoints.ts";
import { ApiError } from "./errors.ts";
import type { RequestState } from "./state.ts";

export type Handler = RouterMiddleware<RequestState>;
/** One for each of these endpoints and none besides: the compiler refuses a table with a gap or a surplus. */
export type Handlers<Name extends EndpointName = EndpointName> = Readonly<Record<Name, Handler>>;

const SERVED = Object.entries(ENDPOINTS) as [EndpointName, Endpoint][];

/** Another case or a trailing slash is another path. */
const EXACT = { sensitive: true, strict: true };

/** `steps` stand before the handler of each endpoint, in this order. */
export function mountRoutes(
  handlers: Handlers,
  steps: (endpoint: Endpoint) => readonly Middleware<RequestState>[],
): Middleware<RequestState> {
  const router = new Router<RequestState>(EXACT);
  for (const [name, endpoint] of SERVED) mount(router, endpoint, [...steps(endpoint), handlers[name]]);
  return router.routes() as Middleware<RequestState>;
}

/** Behind the routes, so that a path is reached here only with a method that none of them has. */
export function mountOtherMethods(): Middleware<RequestState> {
  const router = new Router<RequestState>(EXACT);
  for (const path of new Set(SERVED.map(([, { path }]) => path))) {
    router.all(routePath(path), otherMethods(methodsAt(path)));
  }
  return router.routes() as Middleware<RequestState>;
}

/** Behind both: every path that is in no table ends here. */
export const nothingHere: Middleware<RequestState> = () => {
  throw new ApiError("NOT_FOUND", "There is nothing at this path");
};

export function refuseSwitchedOff(code: NonNullable<Endpoint["offCode"]>): never {
  throw new ApiError(code, "This instance does not run the feature; see `features` in GET /info");
}

function mount(router: Router<RequestState>, endpoint: Endpoint, steps: readonly Handler[]): void {
  const path = routePath(endpoint.path);
  if (endpoint.method === "POST") router.post(path, ...steps);
  else if (!isStream(endpoint)) router.get(path, ...steps);
  else {
    // The router takes HEAD for GET; a stream would be opened and never read.
    const refuse = otherMethods(methodsAt(endpoint.path));
    router.get(path, (ctx, next): unknown => (ctx.method === "HEAD" ? refuse(ctx, next) : next()), ...steps);
  }
}

function otherMethods(allowed: readonly string[]): Handler {
  return (ctx) => {
    ctx.set("Allow", allowed.join(", "));
    if (ctx.method !== "OPTIONS") {
      throw new ApiError("METHOD_NOT_ALLOWED", `This path answers ${allowed.join(", ")}`);
    }
    ctx.status = 204;
  };
}

function methodsAt(path: string): string[] {
  const here = SERVED.map(([, endpoint]) => endpoint).filter((one) => one.path === path);
  const methods = here.flatMap((one) =>
    one.method === "GET" && !isStream(one) ? ["GET", "HEAD"] : [one.method],
  );
  return [...methods, "OPTIONS"];
}

function isStream({ responses }: Endpoint): boolean {
  return Object.values(responses).includes(null);
}

/** The table says `{ticket_id}`, the router `:ticket_id`. */
export function routePath(template: string): string {
  return template.replaceAll(/\{([a-z_]+)\}/g, ":$1");
}
