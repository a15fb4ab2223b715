/**
 * Identity-provider apps: whose access tokens are exchanged for sessions, and on which terms. One small table, read at
 * every exchange, so a removal is felt at once.
 */
import { z } from "zod";
import { permission } from "../../../shared/api/credentials.ts";
import { audited, noted, type Author, type Facts, type Note } from "./audit.ts";
import type { Carried, Engine } from "./engine.ts";
import { jsonForm, Records, type RecordOf } from "./records.ts";

/** All that an app's tokens may be signed with. Asymmetric only: a shared secret would let us forge, and others with us. */
export const ALGORITHMS = ["RS256", "PS256", "ES256", "EdDSA"] as const;
export type Algorithm = (typeof ALGORITHMS)[number];

const shape = z
  .strictObject({
    id: z.string(),
    /** Whose users the app's users are: limits, fees and tickets are this developer's. */
    developerId: z.string(),
    /** RFC 3339. */
    createdAt: z.string(),
    /** `iss`, compared character by character. */
    issuer: z.string(),
    /** `aud`, or one of several. */
    audience: z.string(),
    jwksUrl: z.string(),
    /** Host and port that the operator approved; `jwksUrl` must be there at every fetch. */
    jwksHost: z.string(),
    algorithms: z.array(z.enum(ALGORITHMS)),
    /**
     * For providers that do not write `typ: at+jwt` (RFC 9068): the claim that only their access tokens have, with
     * its value or one of its space-separated or listed values.
     */
    accessClaim: z.strictObject({ name: z.string(), value: z.string() }).optional(),
    /** The claim that names the user. */
    subClaim: z.string(),
    perms: z.array(permission),
    maxTtlSecs: z.int(),
  })
  .transform(({ accessClaim, ...app }) => ({ ...app, accessClaim }));
export type App = RecordOf<typeof shape>;
const LONGEST_ID = 64;

export type AppStore = ReturnType<typeof openAppStore>;

export function openAppStore(engine: Engine) {
  const apps = new Records(engine, "identity-apps", jsonForm<App>(shape));

  return {
    // A caller chose this id; LMDB refuses keys that are too long, and no app has such a one.
    app: async (id: string) => (id.length > LONGEST_ID ? undefined : apps.get(id)),
    apps: () => apps.all(),
    /** False when the id is taken. */
    addApp: (app: App, by?: Author) => apps.add(app.id, app, { carry: ofApp(noted("app.add", by)) }),
    /** False when there is none. */
    async removeApp(id: string, by?: Author): Promise<boolean> {
      let wasThere = false;
      const remove = (now: App | undefined): undefined => {
        wasThere = now !== undefined;
      };
      await apps.change(id, remove, { thoughFull: true, carry: ofApp(noted("app.remove", by)) });
      return wasThere;
    },
  };
}

const ofApp =
  (note: Note) =>
  (before: App | undefined, after: App | undefined): Carried => {
    const shown = (one: App | undefined): Facts | undefined => {
      if (one === undefined) return undefined;
      const { id: _id, developerId: _developerId, createdAt: _createdAt, ...terms } = one;
      return terms;
    };
    const { id = "", developerId = "" } = after ?? before ?? {};
    return audited(note, {
      ...{ target: { kind: "app", id }, developerId, before: shown(before), after: shown(after) },
    });
  };
