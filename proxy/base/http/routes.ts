/**
 * The table of handlers, one for each endpoint by its name, and how it is mounted. A request is matched once: what an
 * endpoint asks of its caller stands in front of its handler, on the same route.
 */
import Router, { type RouterMiddleware } from "@koa/router";
import type { Middleware } from "koa";
import compose from "koa-compose";
import { ENDPOINTS, type Endpoint, type EndpointName } from "../../../shared/api/endpoints.ts";
import { ApiError } from "./errors.ts";
import type { RequestState } from "./state.ts";

export type Handler = RouterMiddleware<RequestState>;
/** One for each of these endpoints and none besides: the compiler refuses a table with a gap or a surplus. */
export type Handlers<Name extends EndpointName = EndpointName> = Readonly<Record<Name, Handler>>;

const SERVED = Object.entries(ENDPOINTS) as [EndpointName, Endpoint][];

/** Another case or a trailing slash is another path. */
const EXACT = { sensitive: true, strict: true };

/**
 * `steps` stand before the handler of each endpoint, in this order. The router tries one expression after the other and puts
 * the steps together anew for each request, so it has the paths with a variable; the others are texts, and looked up.
 */
export function mountRoutes(
  handlers: Handlers,
  steps: (endpoint: Endpoint) => readonly Middleware<RequestState>[],
): Middleware<RequestState> {
  const fixed = new Map<string, Partial<Record<string, Handler>>>();
  const router = new Router<RequestState>(EXACT);
  for (const [name, endpoint] of SERVED) {
    const { method, path } = endpoint;
    const whole = compose([...refusedHead(endpoint), ...steps(endpoint), handlers[name]]);
    if (!path.includes("{")) fixed.set(path, { ...fixed.get(path), [method]: whole });
    else if (method === "POST") router.post(routePath(path), whole);
    else router.get(routePath(path), whole);
  }
  const variable = router.routes();
  // As the router has it: HEAD is asked of what answers GET.
  const serve: Handler = (ctx, next): unknown =>
    (fixed.get(ctx.path)?.[ctx.method === "HEAD" ? "GET" : ctx.method] ?? variable)(ctx, next);
  return serve as Middleware<RequestState>;
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

/** HEAD is taken for GET; a stream would be opened and never read. */
function refusedHead(endpoint: Endpoint): Handler[] {
  if (!isStream(endpoint)) return [];
  const refuse = otherMethods(methodsAt(endpoint.path));
  return [(ctx, next): unknown => (ctx.method === "HEAD" ? refuse(ctx, next) : next())];
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
