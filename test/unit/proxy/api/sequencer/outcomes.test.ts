// How a swap that was never executed ends: by the time of a final block, with the market's own reason.
import assert from "node:assert/strict";
import { createMetrics } from "../../../../../proxy/base/observe/metrics.ts";
import type { ChainDataStore } from "../../../../../proxy/base/store/chain-data.ts";
import type {
  TicketChange,
  TicketError,
  TicketRecord,
  TicketStatus,
} from "../../../../../proxy/base/store/tickets.ts";
import { Outcomes } from "../../../../../proxy/api/sequencer/outcomes.ts";
import { Queue } from "../../../../../proxy/api/sequencer/queue.ts";
import type { TermParts } from "../../../../../proxy/api/sequencer/term.ts";
import { TICKET_ERRORS } from "../../../../../proxy/api/sequencer/refusals.ts";
import type { Bytes32 } from "../../../../../shared/protocol/brands.ts";
import { toHex, word } from "../../../../../shared/protocol/bytes.ts";
import { SILENT } from "../../../../support/money.ts";
import { Scene } from "./scene.ts";

const DEADLINE = 2_000_000_000;
const HASH = toHex(word(5n)) as Bytes32;

const TIP = { number: 9, hash: HASH, timestamp: 0 };

/** The state after a final block of this time. */
async function settled(
  status: TicketStatus,
  finalTime: number,
  index: Partial<ChainDataStore> = {},
): Promise<TicketStatus> {
  const ticket: TicketRecord = { ...new Scene().accept("private-swap"), status };
  let now = status;
  const queue = await Queue.read({
    async *open() {
      yield [ticket];
    },
    follow: () => () => undefined,
  });
  const writes = {
    change: async (changes: readonly TicketChange[]) => {
      for (const change of changes) now = change.status;
    },
  };
  const data = {
    blockAtOrBelow: () => ({ number: 9, hash: HASH, timestamp: finalTime }),
    execution: () => undefined,
    eventsAfter: () => [],
    lastEventUpTo: () => undefined,
    spender: () => undefined,
    reorganisedOut: () => [],
    ...index,
  } as unknown as ChainDataStore;
  const store = { byStatement: async () => undefined };
  const metrics = createMetrics();
  const parts = { data, queue, store, writes, logger: SILENT, metrics, now: () => 0 };
  await new Outcomes(parts as unknown as TermParts).settleAll(TIP, 9);
  return now;
}

const waiting = (error?: TicketError): TicketStatus[] => [
  { state: "queued", ...(error === undefined ? {} : { error }) },
  { state: "submitted", txHash: HASH, ...(error === undefined ? {} : { error }) },
];

describe("sequencer/outcomes: swaps", () => {
  it("waits as long as a block could still execute it", async () => {
    for (const status of waiting(TICKET_ERRORS.slippageExceeded)) {
      assert.deepEqual(await settled(status, DEADLINE), status);
    }
  });

  it("ends after its deadline with what held it, expired if it was never sent, failed if it was", async () => {
    for (const error of [TICKET_ERRORS.slippageExceeded, TICKET_ERRORS.routeUnavailable]) {
      const [queued, submitted] = waiting(error);
      assert.deepEqual(await settled(queued!, DEADLINE + 1), { state: "expired", error });
      assert.deepEqual(await settled(submitted!, DEADLINE + 1), { state: "failed", error });
    }
  });

  it("ends with DEADLINE_PASSED where nothing of the market held it", async () => {
    const error = TICKET_ERRORS.deadlinePassed;
    const [queued, submitted] = waiting();
    assert.deepEqual(await settled(queued!, DEADLINE + 1), { state: "expired", error });
    assert.deepEqual(await settled(submitted!, DEADLINE + 1), { state: "failed", error });
  });

  it("fails before, when another statement finally spent one of its notes", async () => {
    const spender = () => ({ statement: HASH, block: 9 });
    for (const status of waiting(TICKET_ERRORS.slippageExceeded)) {
      const error = TICKET_ERRORS.nullifierSpent;
      assert.deepEqual(await settled(status, 0, { spender }), { state: "failed", error });
    }
  });

  it("is final with its four leaves, whatever held it before", async () => {
    const outcome = { txHash: HASH, block: 9, leafIndexes: [3, 4, 5, 6] };
    for (const status of waiting(TICKET_ERRORS.slippageExceeded)) {
      const now = await settled(status, 0, { execution: () => outcome });
      assert.deepEqual(now, { state: "finalized", outcome });
    }
  });
});
