/** Who is signed in, as far as this page knows. */
import type { Me } from "../../contract/account.ts";
import { Cell } from "./cell.ts";
import { Cancelled, Refused, Unreachable } from "./faults.ts";
import { request } from "./request.ts";

export type Standing =
  | { readonly kind: "asking" }
  | { readonly kind: "out" }
  | { readonly kind: "in"; readonly me: Me }
  /** Nobody answers. */
  | { readonly kind: "unknown"; readonly error: Error };

export const session = new Cell<Standing>({ kind: "asking" });

export async function askWhoIsIn(): Promise<void> {
  try {
    session.set({ kind: "in", me: await request("me", {}) });
  } catch (error) {
    const isOut = error instanceof Refused && error.problem.status === 401;
    if (isOut) session.set({ kind: "out" });
    else if (error instanceof Refused || error instanceof Unreachable)
      session.set({ kind: "unknown", error });
    else throw error;
  }
}

/**
 * After signing in. Screens and requests of one account are never another's: with another person the page starts anew,
 * and what waited for the first is not sent. Throws Cancelled then.
 */
export function enter(me: Me): void {
  const before = session.value;
  if (before.kind === "in" && before.me.account.id !== me.account.id) {
    location.assign("/");
    throw new Cancelled();
  }
  session.set({ kind: "in", me });
}

/** Somebody may have signed in anew in another tab: the cookie is of the whole browser. */
export async function lookWhoIsIn(): Promise<void> {
  const before = session.value;
  if (before.kind !== "in") return;
  const now = await request("me", {}).catch(() => undefined);
  if (now !== undefined && now.account.id !== before.me.account.id) location.assign("/");
}

export function leave(): void {
  session.set({ kind: "out" });
}
