/** A developer's browser origins, and whether a page of one would be let in, by the proxy's own rule. */
import type { OriginTest } from "./contract/developer.ts";
import { letsIn, originsOfAll } from "../base/auth/browser-origins.ts";
import { noted, type Author } from "../base/store/audit.ts";
import type { Developer, KeyStore } from "../base/store/keys.ts";
import { DashboardError, wrongField } from "./errors.ts";

const MOST_ORIGINS = 100;

export function createOrigins(store: Pick<KeyStore, "developers" | "developer" | "updateDeveloper">) {
  async function change(
    developerId: string,
    work: (now: readonly string[]) => readonly string[],
    by: Author,
  ): Promise<readonly string[]> {
    const next = await store.updateDeveloper(
      developerId,
      (now): Developer => ({ ...now, origins: work(now.origins) }),
      noted("developer.origins", by),
    );
    if (next === undefined) throw new DashboardError("NOT_FOUND");
    return next.origins;
  }

  return {
    add: (developerId: string, origin: string, by: Author) =>
      change(
        developerId,
        (now) => {
          if (now.includes(origin)) return now;
          if (now.length >= MOST_ORIGINS) throw new DashboardError("TOO_MANY");
          return [...now, origin];
        },
        by,
      ),
    async remove(developerId: string, origin: string, by: Author): Promise<readonly string[]> {
      const outcome = { wasThere: false };
      const without = (now: readonly string[]): readonly string[] => {
        outcome.wasThere = now.includes(origin);
        return now.filter((one) => one !== origin);
      };
      const left = await change(developerId, without, by);
      if (!outcome.wasThere) throw wrongField("origin", "this origin is not registered");
      return left;
    },

    /** `typed` is whatever somebody copied from an address bar. */
    async test(developerId: string, typed: string): Promise<OriginTest> {
      const sent = originOf(typed);
      const all = await store.developers();
      const developer = all.find(({ id }) => id === developerId);
      if (developer === undefined) throw new DashboardError("NOT_FOUND");
      const no = (reason: OriginTest["reason"], detail: string): OriginTest => ({
        ...{ is_let_in: false, reason, detail, browser_sends: sent ?? null },
      });
      if (sent === undefined)
        return no("malformed", "This is no address of a page: it looks like https://app.example");
      if (sent === "null")
        return no(
          "no-origin",
          "A page from a file or a sandbox sends the origin null, which cannot be registered",
        );
      if (letsIn(developer, sent)) {
        const isExact = sent === typed;
        return {
          is_let_in: true,
          reason: isExact ? "registered" : "registered-without-path",
          detail: isExact
            ? "Registered: its preflight and its requests with sessions of yours pass"
            : `A page at this address sends ${sent}, which is registered`,
          browser_sends: sent,
        };
      }
      // A preflight has no credential, so it is answered for the origins of all.
      if (originsOfAll(all).has(sent))
        return no(
          "others-only",
          "The preflight passes, for somebody registered this origin; requests with your sessions are refused (FORBIDDEN)",
        );
      return no("not-registered", "Not registered: the browser is refused at the preflight (FORBIDDEN)");
    },
  };
}

/** What a browser sends from a page at this address. */
function originOf(typed: string): string | undefined {
  const text = /^[a-z][a-z0-9+.-]*:/i.test(typed) && !/^[^/]*:\d/.test(typed) ? typed : `https://${typed}`;
  if (!URL.canParse(text)) return undefined;
  const { origin, protocol, hostname } = new URL(text);
  if (protocol === "file:" || protocol === "data:") return "null";
  return /^https?:$/.test(protocol) && hostname !== "" ? origin : undefined;
}
