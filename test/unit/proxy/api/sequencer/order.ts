import assert from "node:assert/strict";
import type { TicketRecord } from "../../../../../proxy/base/store/tickets.ts";

/** These, given in the order in which they were accepted, were executed in it: so say their leaves. */
export function assertInOrder(executed: readonly TicketRecord[]): void {
  const leaves = executed.map(({ status }) =>
    status.state === "confirmed" || status.state === "finalized"
      ? status.outcome.leafIndexes[0]!
      : assert.fail(`${status.state} is not executed`),
  );
  assert.ok(leaves.length > 1);
  assert.ok(
    leaves.every((leaf, i) => i === 0 || leaf > leaves[i - 1]!),
    `in order of acceptance: ${leaves.join(", ")}`,
  );
}
