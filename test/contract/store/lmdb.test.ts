// The embedded store, against what every store promises: a folder of its own for each test.
import { embeddedStores } from "../../../proxy/base/store/instance.ts";
import type { Database } from "../../../proxy/base/store/lmdb/database.ts";
import { LmdbEngine } from "../../../proxy/base/store/lmdb/engine.ts";
import { temporaryDatabase } from "../../support/fees.ts";
import { storeSuites } from "../../support/stores/both.ts";
import { engineSuite, type Engines } from "../../support/stores/engine.ts";

describe("stores in LMDB", () => {
  let database: Database | undefined;
  afterEach(() => database?.close());
  storeSuites(async () => {
    database = temporaryDatabase();
    const [one, next] = [embeddedStores(database), embeddedStores(database)];
    // What it has claimed is of its own process.
    const other = { ...next, idempotency: one.idempotency };
    return { one, other, lapse: async () => next };
  });

  describe("engine", () => {
    let engines: Engines;
    beforeEach(() => {
      database = temporaryDatabase();
      const [one, other] = [new LmdbEngine(database), new LmdbEngine(database)];
      engines = { one, other, following: other };
    });
    engineSuite(() => engines);
  });
});
