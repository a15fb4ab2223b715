/** Identity-provider apps in the durable Redis: one small table, read at every exchange, so a removal is felt at once. */
import { z } from "zod";
import { permission } from "../../../shared/api/credentials.ts";
import { ALGORITHMS, type App, type AppStore } from "../apps.ts";
import type { DurableRedis } from "./durable.ts";
import { openRecords, type RecordForm } from "./records.ts";

const shape = z.strictObject({
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
});
const form: RecordForm<App> = {
  read: (json) => {
    const { accessClaim, ...app } = shape.parse(json);
    return { ...app, accessClaim };
  },
  write: (app) => app,
};

export function openRedisAppStore(redis: DurableRedis): AppStore {
  const apps = openRecords(redis, "identity-apps", form);

  return {
    app: (id) => apps.get(id),
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
      await apps.change(id, (now) => {
        wasThere = now !== undefined;
        return undefined;
      });
      return wasThere;
    },
  };
}
