/** Identity-provider apps: one small table, read at every exchange, so a removal is felt at once. */
import { z } from "zod";
import { permission } from "../../../shared/api/credentials.ts";
import { ALGORITHMS, type App, type AppStore } from "../apps.ts";
import type { Engine } from "../engine.ts";
import { jsonForm, Records } from "./records.ts";

const form = jsonForm<App>(
  z
    .strictObject({
      id: z.string(),
      developerId: z.string(),
      createdAt: z.string(),
      issuer: z.string(),
      audience: z.string(),
      jwksUrl: z.string(),
      jwksHost: z.string(),
      algorithms: z.array(z.enum(ALGORITHMS)),
      accessClaim: z.strictObject({ name: z.string(), value: z.string() }).optional(),
      subClaim: z.string(),
      perms: z.array(permission),
      maxTtlSecs: z.int(),
    })
    .transform(({ accessClaim, ...app }) => ({ ...app, accessClaim })),
);
const LONGEST_ID = 64;

export function openAppStore(engine: Engine): AppStore {
  const apps = new Records(engine, "identity-apps", form);

  return {
    // A caller chose this id; LMDB refuses keys that are too long, and no app has such a one.
    app: async (id) => (id.length > LONGEST_ID ? undefined : apps.get(id)),
    apps: () => apps.all(),
    async addApp(app) {
      let isNew = false;
      await apps.change(app.id, (now) => {
        isNew = now === undefined;
        return now ?? app;
      });
      return isNew;
    },
    async removeApp(id) {
      let wasThere = false;
      const remove = (now: App | undefined): undefined => {
        wasThere = now !== undefined;
      };
      await apps.change(id, remove, { thoughFull: true });
      return wasThere;
    },
  };
}
