import assert from "node:assert/strict";
import {
  dropped,
  isWaiting,
  refused,
  sent,
  settle,
  reorganisedOut,
  withError,
  type Findings,
} from "../../../../../proxy/api/sequencer/transitions.ts";
import { isOver } from "../../../../../proxy/base/store/ticket-states.ts";
import { TICKET_ERRORS } from "../../../../../proxy/api/sequencer/refusals.ts";
import type { Outcome, TicketStatus } from "../../../../../proxy/base/store/tickets.ts";
import type { Bytes32 } from "../../../../../shared/protocol/brands.ts";

const HASH = `0x${"ab".repeat(32)}` as Bytes32;
const OUTCOME: Outcome = { txHash: HASH, block: 10, leafIndexes: [4, 5] };
const error = TICKET_ERRORS.insufficientFunds;
const STATES: Record<TicketStatus["state"], TicketStatus> = {
  queued: { state: "queued" },
  submitted: { state: "submitted", carrier: 3, txHash: HASH },
  confirmed: { state: "confirmed", outcome: OUTCOME },
  finalized: { state: "finalized", outcome: OUTCOME },
  failed: { state: "failed", error },
  expired: { state: "expired", error },
};
const OPEN = ["queued", "submitted", "confirmed"] as const;
const OVER = ["finalized", "failed", "expired"] as const;

function found(changes: Partial<Findings> = {}): Findings {
  return {
    execution: undefined,
    finalBlock: 5,
    finalTime: 1_000,
    lastSecond: 2_000n,
    expiry: TICKET_ERRORS.deadlinePassed,
    takenBy: undefined,
    ...changes,
  };
}

describe("sequencer/transitions: every state against every finding", () => {
  it("is open again when it was final and its execution is gone or stands elsewhere, and only then", () => {
    const submitted = { state: "submitted", txHash: HASH };
    assert.deepEqual(reorganisedOut(STATES.finalized, undefined), submitted);
    assert.deepEqual(reorganisedOut(STATES.finalized, { ...OUTCOME, block: 11 }), submitted);
    assert.equal(reorganisedOut(STATES.finalized, OUTCOME), undefined);
    for (const state of [...OPEN, "failed", "expired"] as const)
      assert.equal(reorganisedOut(STATES[state], undefined), undefined);
  });

  for (const state of OVER) {
    it(`${state} is terminal, whatever is found`, () => {
      const taken = { block: 1, error: TICKET_ERRORS.nullifierSpent };
      for (const findings of [
        found(),
        found({ execution: OUTCOME }),
        found({ takenBy: taken }),
        found({ finalTime: 3_000 }),
      ]) {
        assert.equal(settle(STATES[state], findings), STATES[state]);
      }
      assert.equal(sent(STATES[state], 1, HASH), undefined);
      assert.equal(refused(STATES[state], error), undefined);
      assert.equal(dropped(STATES[state]), undefined);
      assert.equal(withError(STATES[state], error), STATES[state]);
    });
  }

  for (const state of OPEN) {
    it(`${state} becomes confirmed when executed, and finalized in a final block`, () => {
      assert.deepEqual(settle(STATES[state], found({ execution: OUTCOME })), {
        state: "confirmed",
        outcome: OUTCOME,
      });
      assert.deepEqual(settle(STATES[state], found({ execution: OUTCOME, finalBlock: 10 })), {
        state: "finalized",
        outcome: OUTCOME,
      });
    });

    it(`${state} is executed even when its deadline has passed since, or its note shows as taken`, () => {
      const taken = { block: 1, error: TICKET_ERRORS.nullifierSpent };
      const findings = found({ execution: OUTCOME, finalTime: 9_999, takenBy: taken });
      assert.equal(settle(STATES[state], findings).state, "confirmed");
    });
  }

  it("nothing found changes nothing", () => {
    assert.equal(settle(STATES.queued, found()), STATES.queued);
    assert.equal(settle(STATES.submitted, found()), STATES.submitted);
  });

  it("confirmed that is reorganised out is submitted again, without a carrier", () => {
    assert.deepEqual(settle(STATES.confirmed, found()), { state: "submitted", txHash: HASH });
  });

  it("confirmed that moved to another block follows it", () => {
    const moved = { ...OUTCOME, block: 11 };
    assert.deepEqual(settle(STATES.confirmed, found({ execution: moved })), {
      state: "confirmed",
      outcome: moved,
    });
    assert.equal(settle(STATES.confirmed, found({ execution: OUTCOME })), STATES.confirmed);
  });

  it("the deadline's own second is still good; the one after ends queued as expired and submitted as failed", () => {
    assert.equal(settle(STATES.queued, found({ finalTime: 2_000 })), STATES.queued);
    assert.deepEqual(settle(STATES.queued, found({ finalTime: 2_001 })), {
      state: "expired",
      error: TICKET_ERRORS.deadlinePassed,
    });
    assert.deepEqual(settle(STATES.submitted, found({ finalTime: 2_001 })), {
      state: "failed",
      error: TICKET_ERRORS.deadlinePassed,
    });
  });

  it("expired keeps the reason for which it waited", () => {
    assert.deepEqual(settle({ state: "queued", error }, found({ finalTime: 2_001 })), {
      state: "expired",
      error,
    });
  });

  it("a taken note is a provisional reason until it is final, then the end", () => {
    const takenBy = { block: 6, error: TICKET_ERRORS.nullifierSpent };
    for (const state of ["queued", "submitted"] as const) {
      assert.deepEqual(settle(STATES[state], found({ takenBy })), {
        ...STATES[state],
        error: TICKET_ERRORS.nullifierSpent,
      });
      assert.deepEqual(settle(STATES[state], found({ takenBy, finalBlock: 6 })), {
        state: "failed",
        error: TICKET_ERRORS.nullifierSpent,
      });
    }
  });

  it("sending takes the reason away; a refusal and a lost nonce make it wait again", () => {
    const onItsWay = sent({ state: "queued", error }, 7, HASH);
    assert.deepEqual(onItsWay, { state: "submitted", carrier: 7, txHash: HASH });
    assert.deepEqual(refused(STATES.submitted, error), { state: "submitted", txHash: HASH, error });
    assert.deepEqual(refused(STATES.submitted, undefined), { state: "submitted", txHash: HASH });
    assert.deepEqual(dropped(STATES.submitted), { state: "queued" });
    assert.equal(refused(STATES.queued, error), undefined);
    assert.equal(dropped(STATES.queued), undefined);
    assert.equal(sent(STATES.confirmed, 1, HASH), undefined);
  });

  it("the same reason twice is no change", () => {
    const held: TicketStatus = { state: "queued", error };
    assert.equal(withError(held, { ...error }), held);
    assert.deepEqual(withError(held, undefined), { state: "queued" });
  });

  it("knows who waits and who is over", () => {
    assert.deepEqual(Object.values(STATES).filter(isWaiting), [STATES.queued]);
    assert.ok(isWaiting({ state: "submitted", txHash: HASH }));
    assert.deepEqual(
      Object.values(STATES).filter(isOver),
      OVER.map((state) => STATES[state]),
    );
  });
});
