/** A request as screens make it: an ended session or a missing passkey check is mended over the screen. */
import { DASHBOARD, type AnswerOf, type DashboardEndpointName } from "../../contract/endpoints.ts";
import { passDoor, type Need } from "./door.ts";
import { Refused } from "./faults.ts";
import { request, type Given } from "./request.ts";

/** The session may end and the check be missing within one request; more is a service that asks for ever. */
const MOST_MENDED = 2;

/** Throws Refused, Unreachable or Cancelled. */
export async function ask<Name extends DashboardEndpointName>(
  name: Name,
  given: Given<Name>,
  signal?: AbortSignal,
): Promise<AnswerOf<Name>> {
  for (let mended = 0; ; mended += 1) {
    try {
      return await request(name, given, signal);
    } catch (error) {
      const need = needOf(name, error);
      if (need === undefined || mended === MOST_MENDED) throw error;
      await passDoor(need);
      signal?.throwIfAborted();
    }
  }
}

function needOf(name: DashboardEndpointName, error: unknown): Need | undefined {
  if (!(error instanceof Refused) || DASHBOARD[name].access === "none") return undefined;
  const { code } = error.problem;
  if (code === "FRESH_NEEDED") return "fresh";
  return code === "SESSION_ENDED" || code === "NOT_SIGNED_IN" ? "session" : undefined;
}
