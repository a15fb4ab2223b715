/** Identity-provider apps in LMDB: one small table. Read at every exchange, so a removal is felt at once. */
import type { App, AppStore } from "../apps.ts";
import { THOUGH_FULL, type Database } from "./database.ts";

export function openAppStore(database: Database): AppStore {
  const apps = database.table<App, string>("identity-apps");

  return {
    // A caller chose this id; LMDB refuses keys that are too long, and no app has such a one.
    app: async (id) => (id.length > 64 ? undefined : apps.get(id)),
    apps: async () => [...apps.getRange()].map(({ value }) => value),
    addApp: (app) =>
      database.transaction(() => {
        if (apps.get(app.id) !== undefined) return false;
        void apps.put(app.id, app);
        return true;
      }),
    removeApp: (id) =>
      database.transaction(() => {
        if (apps.get(id) === undefined) return false;
        void apps.remove(id);
        return true;
      }, THOUGH_FULL),
  };
}
