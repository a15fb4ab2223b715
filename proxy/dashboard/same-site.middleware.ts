/**
 * Whether a request comes from the dashboard's own page. The cookie is SameSite=Strict already; this stands beside it,
 * against another page of the same site (another port of localhost is one), old browsers, and names that rebind.
 */
import type { Middleware } from "koa";
import { CSRF_HEADER, CSRF_VALUE } from "./contract/endpoints.ts";
import { headerValues } from "../base/http/header-values.ts";
import { DashboardError } from "./errors.ts";
import type { DashboardState } from "./state.ts";

export function sameSite(origin: string): Middleware<DashboardState> {
  const host = new URL(origin).host;
  return (ctx, next) => {
    const sent = (name: string): string | undefined => {
      const values = headerValues(ctx.req, name);
      if (values.length > 1) throw new DashboardError("CROSS_SITE");
      return values[0];
    };
    // A page under another name that resolves to this address is another origin, and its requests say so.
    if (sent("host") !== host) throw new DashboardError("CROSS_SITE");
    const [from, site] = [sent("origin"), sent("sec-fetch-site")];
    if (from !== undefined && from !== origin) throw new DashboardError("CROSS_SITE");
    // A person who types the address of the API comes with `none`; the page's own requests with `same-origin`.
    if (site !== undefined && site !== "same-origin" && !(ctx.method === "GET" && site === "none"))
      throw new DashboardError("CROSS_SITE");
    if (ctx.method !== "GET" && ctx.method !== "HEAD") {
      // Browsers send Origin with every POST; a form cannot set our header, and a script of another origin may not.
      if (from === undefined) throw new DashboardError("CROSS_SITE");
      if (sent(CSRF_HEADER.toLowerCase()) !== CSRF_VALUE) throw new DashboardError("CROSS_SITE");
    }
    return next();
  };
}
