/** One request to the dashboard's API, by the table that the server mounts. The session is the cookie's, which this page cannot read. */
import {
  CSRF_HEADER,
  CSRF_VALUE,
  DASHBOARD,
  type AnswerOf,
  type BodyOf,
  type DashboardEndpoint,
  type DashboardEndpointName,
  type QueryOf,
} from "../../contract/endpoints.ts";
import { dashboardProblem } from "../../contract/errors.ts";
import { Refused, Unreachable } from "./faults.ts";

/** `id`: for the `{id}` of the path. The rest is only what the endpoint takes. */
export type Given<Name extends DashboardEndpointName> = (BodyOf<Name> extends undefined
  ? { body?: never }
  : { body: BodyOf<Name> }) &
  (QueryOf<Name> extends undefined ? { query?: never } : { query?: QueryOf<Name> }) & { id?: string };

/** Longer than the server's own bound for a request. */
const PATIENCE_MS = 30_000;

/** Throws Refused or Unreachable. */
export async function request<Name extends DashboardEndpointName>(
  name: Name,
  given: Given<Name>,
  signal?: AbortSignal,
): Promise<AnswerOf<Name>> {
  const endpoint: DashboardEndpoint = DASHBOARD[name];
  const patience = AbortSignal.timeout(PATIENCE_MS);
  let answer: Response;
  let json: unknown;
  try {
    answer = await fetch(pathOf(endpoint, given), {
      method: endpoint.method,
      headers: headersOf(endpoint),
      signal: signal === undefined ? patience : AbortSignal.any([signal, patience]),
      // A redirect would be to something that is no part of this API.
      redirect: "error",
      cache: "no-store",
      ...(endpoint.method === "POST" ? { body: JSON.stringify(given.body) } : {}),
    });
    json = await answer.json();
  } catch (cause) {
    signal?.throwIfAborted();
    throw new Unreachable({ cause });
  }
  if (!answer.ok) throw refusalOf(json);
  const parsed = endpoint.answer.safeParse(json);
  if (!parsed.success) throw new Unreachable({ cause: parsed.error });
  // The row's own schema said so; an index into a union of rows loses which.
  return parsed.data as AnswerOf<Name>;
}

/** A gateway's own page, where the service itself is away, is no answer. */
function refusalOf(json: unknown): Refused | Unreachable {
  const problem = dashboardProblem.safeParse(json);
  return problem.success ? new Refused(problem.data) : new Unreachable({ cause: problem.error });
}

function pathOf(
  { path }: DashboardEndpoint,
  { id, query }: { readonly id?: string; readonly query?: unknown },
): string {
  const at = path.replace("{id}", encodeURIComponent(id ?? ""));
  const search = new URLSearchParams(
    Object.entries(query ?? {}).flatMap(([name, value]) =>
      value === undefined || value === "" ? [] : [[name, String(value)]],
    ),
  ).toString();
  return search === "" ? at : `${at}?${search}`;
}

function headersOf({ method }: DashboardEndpoint): Record<string, string> {
  return {
    Accept: "application/json",
    ...(method === "POST" ? { "Content-Type": "application/json", [CSRF_HEADER]: CSRF_VALUE } : {}),
  };
}
