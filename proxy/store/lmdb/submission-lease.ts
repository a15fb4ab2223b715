/**
 * The lease of submission in LMDB, which belongs to one process: whoever opens it last has the lease at once, and a
 * second process on the same folder can then no longer write what the first does not know of.
 */
import { LeaseLost, type Fence, type SubmissionLease } from "../tickets.ts";
import { THOUGH_FULL, type Database } from "./database.ts";

interface StoredLease {
  readonly holder: string;
  readonly fence: Fence;
  readonly report?: string;
}

const TABLE = "tickets";
const KEY = ["lease"];

export function openSubmissionLease(database: Database): SubmissionLease {
  const table = database.table<StoredLease, string[]>(TABLE);
  let hasTaken = false;
  return {
    isShared: false,
    // Nothing is ever on its way here, so no fence is raised for it.
    async take(holder) {
      const found = table.get(KEY);
      if (found?.holder === holder) return found.fence;
      if (hasTaken) return undefined;
      const fence = await database.transaction(() => {
        const next = (table.get(KEY)?.fence ?? 0) + 1;
        table.putSync(KEY, { holder, fence: next });
        return next;
      }, THOUGH_FULL);
      hasTaken = true;
      return fence;
    },
    giveBack: () => Promise.resolve(),
    report: async () => table.get(KEY)?.report ?? "",
  };
}

/** Inside a transaction, before it writes. */
export function requireFence(database: Database, fence: Fence): void {
  if (database.table<StoredLease, string[]>(TABLE).get(KEY)?.fence !== fence) throw new LeaseLost();
}

/** Inside a transaction, after `requireFence`. */
export function putReport(database: Database, report: string): void {
  const table = database.table<StoredLease, string[]>(TABLE);
  const lease = table.get(KEY);
  if (lease !== undefined) table.putSync(KEY, { ...lease, report });
}
