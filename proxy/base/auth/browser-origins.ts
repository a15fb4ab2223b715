/** Which pages of other origins may use the API: said of a request by the proxy, and of a wish by the dashboard, by one rule. */
import type { Developer } from "../store/keys.ts";

type WithOrigins = Pick<Developer, "origins">;

/** What a preflight is told, which carries no credential: any developer's. */
export const originsOfAll = (all: readonly WithOrigins[]): ReadonlySet<string> =>
  new Set(all.flatMap(({ origins }) => origins));

/** Whether a request with this developer's credential may come from this origin. */
export const letsIn = ({ origins }: WithOrigins, origin: string): boolean => origins.includes(origin);
