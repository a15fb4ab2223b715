/** The dashboard's HTTP surface on one page: what every request passes, and where it goes: to the API or to the page. */
import Koa, { type Middleware, type ParameterizedContext } from "koa";
import type { Logger } from "../base/logging.ts";
import type { HandlersOf } from "./call.ts";
import { headers, log, refusals } from "./edge.middleware.ts";
import { DashboardError } from "./errors.ts";
import { mountDashboard } from "./mount.routes.ts";
import { page, type PageFiles } from "./page.middleware.ts";
import { sameSite } from "./same-site.middleware.ts";
import type { Sessions } from "./sessions.ts";
import type { Count } from "./standings.ts";
import type { DashboardState } from "./state.ts";

export interface DashboardAppParts {
  readonly origin: string;
  readonly handlers: HandlersOf;
  readonly sessions: Sessions;
  readonly countChange: Count;
  readonly files: PageFiles;
  readonly pepper: Uint8Array;
  readonly addressOf: (ctx: ParameterizedContext) => string;
  readonly logger: Logger;
  readonly now: () => number;
}

export function createDashboardApp(parts: DashboardAppParts): Koa<DashboardState> {
  const { origin, files, logger } = parts;
  const app = new Koa<DashboardState>();
  app.on("error", (error: unknown) => logger.debug({ err: error }, "an answer broke off"));
  app.use(headers(origin));
  app.use(log(logger));
  app.use(refusals(logger));
  app.use(ofApi([sameSite(origin), mountDashboard(parts), nothingHere]));
  app.use(page(files));
  return app;
}

/** Runs these for paths of the API alone, and nothing behind them. */
function ofApi(steps: readonly Middleware<DashboardState>[]): Middleware<DashboardState> {
  return (ctx, next) => {
    if (ctx.path !== "/api" && !ctx.path.startsWith("/api/")) return next();
    const run = (place: number): Promise<unknown> =>
      Promise.resolve(steps[place]?.(ctx, () => run(place + 1)));
    return run(0);
  };
}

const nothingHere: Middleware<DashboardState> = () => {
  throw new DashboardError("NOT_FOUND");
};
