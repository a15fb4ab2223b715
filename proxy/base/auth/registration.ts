/**
 * What an operator does to developers: add them, change their limits and origins, end their sessions, shut them out.
 * `by` is who asked for it, for the audit log.
 */
import { randomBytes } from "node:crypto";
import { noted, type Author } from "../store/audit.ts";
import type { Developer, DeveloperLimits, KeyStore } from "../store/keys.ts";

export interface NewDeveloper {
  readonly name: string;
  /** Chosen at random when absent. */
  readonly id?: string;
  readonly limits?: DeveloperLimits;
  readonly origins?: readonly string[];
}

/** No space and no slash: ids stand in window keys and on command lines. */
const ID = /^[a-z0-9][a-z0-9_-]{1,62}$/;

/** Throws on an id that is taken or malformed, and on what is no origin. */
export async function addDeveloper(store: KeyStore, wanted: NewDeveloper, by?: Author): Promise<Developer> {
  const { name, id = `dev_${randomBytes(6).toString("hex")}`, limits = {}, origins = [] } = wanted;
  if (!ID.test(id)) throw new Error("a developer's id is 2 to 63 lower-case letters, digits, - and _");
  if (name.trim() === "" || name.length > 100) throw new Error("a developer's name has 1 to 100 characters");
  const createdAt = new Date().toISOString();
  const developer: Developer = {
    id,
    name,
    createdAt,
    sessionEpoch: 1,
    limits,
    origins: checkOrigins(origins),
  };
  if (!(await store.addDeveloper(developer, by))) throw new Error(`there is a developer ${id} already`);
  return developer;
}

export async function changeLimits(
  store: KeyStore,
  id: string,
  limits: DeveloperLimits,
  by?: Author,
): Promise<Developer> {
  const change = (now: Developer): Developer => ({ ...now, limits: { ...now.limits, ...limits } });
  return must(id, await store.updateDeveloper(id, change, noted("developer.limits", by)));
}

/** Replaces the list. */
export async function changeOrigins(
  store: KeyStore,
  id: string,
  origins: readonly string[],
  by?: Author,
): Promise<Developer> {
  const checked = checkOrigins(origins);
  const change = (now: Developer): Developer => ({ ...now, origins: checked });
  return must(id, await store.updateDeveloper(id, change, noted("developer.origins", by)));
}

/** Every session of the developer is refused from now on, on every proxy within 5 s. */
export async function revokeSessions(store: KeyStore, id: string, by?: Author): Promise<Developer> {
  const change = (now: Developer): Developer => ({ ...now, sessionEpoch: now.sessionEpoch + 1 });
  return must(id, await store.updateDeveloper(id, change, noted("developer.revoke-sessions", by)));
}

/** Only this user's sessions; the developer need not know whether there are any. */
export async function revokeUserSessions(
  store: KeyStore,
  id: string,
  sub: string,
  by?: Author,
): Promise<void> {
  must(id, await store.developer(id));
  await store.raiseUserEpoch(id, sub, by);
}

/**
 * No key and no session of the developer is taken from now on, on every proxy within FELT_MS. What was accepted is
 * carried to its end: its users' notes are theirs. The epoch is raised, so that no session outlives an enabling.
 */
export async function disableDeveloper(
  store: KeyStore,
  id: string,
  at: string,
  by?: Author,
): Promise<Developer> {
  const change = (now: Developer): Developer =>
    now.disabledAt === undefined ? { ...now, disabledAt: at, sessionEpoch: now.sessionEpoch + 1 } : now;
  return must(id, await store.updateDeveloper(id, change, noted("developer.disable", by)));
}

/** Keys that were not revoked are good again; users need new sessions. */
export async function enableDeveloper(store: KeyStore, id: string, by?: Author): Promise<Developer> {
  const change = ({ disabledAt: _ended, ...now }: Developer): Developer => now;
  return must(id, await store.updateDeveloper(id, change, noted("developer.enable", by)));
}

function must(id: string, developer: Developer | undefined): Developer {
  if (developer === undefined) throw new Error(`there is no developer ${id}`);
  return developer;
}

/** Exactly as a browser sends it, or it would never match: scheme, host, port, nothing behind. */
function checkOrigins(origins: readonly string[]): readonly string[] {
  for (const origin of origins) {
    if (!URL.canParse(origin) || new URL(origin).origin !== origin || !/^https?:/.test(origin)) {
      throw new Error("an origin looks like https://app.example, without a path");
    }
  }
  return [...new Set(origins)];
}
