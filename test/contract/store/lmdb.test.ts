// The embedded store, against what every store promises: a folder of its own for each test.
import { openAppStore } from "../../../proxy/store/lmdb/apps.ts";
import type { Database } from "../../../proxy/store/lmdb/database.ts";
import { openFeeNoteStore } from "../../../proxy/store/lmdb/fee-notes.ts";
import { openFeeRuleStore } from "../../../proxy/store/lmdb/fee-rules.ts";
import { openIdempotencyStore } from "../../../proxy/store/lmdb/idempotency.ts";
import { openKeyStore } from "../../../proxy/store/lmdb/keys.ts";
import { openPriceStore } from "../../../proxy/store/lmdb/prices.ts";
import { openSubmissionLease } from "../../../proxy/store/lmdb/submission-lease.ts";
import { openTicketStore } from "../../../proxy/store/lmdb/tickets.ts";
import type { TicketStore } from "../../../proxy/store/tickets.ts";
import { temporaryDatabase } from "../../support/fees.ts";
import { storeSuites, type Stores } from "../../support/stores/both.ts";

function open(database: Database, tickets: TicketStore): Stores {
  return {
    keys: openKeyStore(database),
    apps: openAppStore(database),
    feeRules: openFeeRuleStore(database),
    feeNotes: openFeeNoteStore(database),
    prices: openPriceStore(database),
    idempotency: openIdempotencyStore(database),
    submission: { tickets, lease: openSubmissionLease(database) },
  };
}

describe("stores in LMDB", () => {
  let database: Database | undefined;
  afterEach(() => database?.close());
  storeSuites(async () => {
    database = temporaryDatabase();
    // One: its news is of its own process.
    const tickets = openTicketStore(database);
    return { one: open(database, tickets), other: open(database, tickets) };
  });
});
