// Fees for tests that are about something else: over a real store in a folder that goes with the process.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Fees, type FeeParts } from "../../proxy/api/fees/fee-rules.ts";
import { openDatabase, type Database } from "../../proxy/base/store/lmdb/database.ts";
import { embeddedStores } from "../../proxy/base/store/instance.ts";

const folders: string[] = [];
process.once("exit", () => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

export function temporaryDatabase(): Database {
  const folder = mkdtempSync(join(tmpdir(), "cloister-fees-"));
  folders.push(folder);
  return openDatabase(folder);
}

/** By default nothing is asked, and no price is known. Nothing is promised before `refresh`. */
export function testFees(parts: Pick<FeeParts, "assets"> & Partial<FeeParts>): Fees {
  return new Fees({
    serviceFee: undefined,
    feeSchedule: [],
    minimums: [],
    prices: { priceOf: () => undefined },
    store: parts.store ?? embeddedStores(temporaryDatabase()).feeRules,
    now: Date.now,
    ...parts,
  });
}

/** For statements whose fee notes nobody looks at. */
export const keepsNothing = { keep: (): Promise<void> => Promise.resolve() };
