// The embedded store, against what every store promises: a folder of its own for each test.
import { embeddedStores } from "../../../proxy/store/instance.ts";
import type { Database } from "../../../proxy/store/lmdb/database.ts";
import { temporaryDatabase } from "../../support/fees.ts";
import { storeSuites } from "../../support/stores/both.ts";

describe("stores in LMDB", () => {
  let database: Database | undefined;
  afterEach(() => database?.close());
  storeSuites(async () => {
    database = temporaryDatabase();
    const one = embeddedStores(database);
    // One store of tickets: its news is of its own process.
    return { one, other: { ...embeddedStores(database), tickets: one.tickets } };
  });
});
