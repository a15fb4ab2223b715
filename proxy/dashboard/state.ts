/** Koa's `ctx.state` in the dashboard: what the middleware has established about a request. */
import type { DashboardEndpoint } from "./contract/endpoints.ts";
import type { RequestState } from "../base/http/state.ts";
import type { SignedIn } from "./call.ts";

export interface DashboardState extends Pick<RequestState, "requestId" | "json"> {
  endpoint: DashboardEndpoint;
  /** Undefined where nobody is signed in. */
  signedIn: SignedIn | undefined;
}
