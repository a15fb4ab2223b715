import assert from "node:assert/strict";
import { Feed } from "../../../../../shared/client/service/feed.ts";
import { Turns } from "../../../../../shared/client/base/turns.ts";
import type { StreamEvent } from "../../../../../shared/api/data.ts";

/** So long as a note takes on a slow phone; on the clock, since that is what the pause looks at. */
function work(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

describe("long work on the page's thread", () => {
  it("lets everybody else have a turn once a piece is long, and not before", async () => {
    const turns = new Turns();
    let hadTurn = false;
    setImmediate(() => (hadTurn = true));
    await turns.pause();
    assert.equal(hadTurn, false);
    work(15);
    await turns.pause();
    assert.equal(hadTurn, true);
  });

  it("is how a wallet reads its stream: a page's own work is done before a hundred events are", async () => {
    const synced: StreamEvent = { kind: "synced", id: undefined, data: { block_number: 1, leaf_count: 0 } };
    const root: StreamEvent = {
      kind: "root",
      id: "1-00000000-0.0",
      data: { root: "0x0", leaf_count: 0, block_number: 1 },
    };
    let applied = 0;
    const source = {
      // As they come out of one chunk of the network: without a turn between them.
      async *events() {
        for (let index = 0; index < 100; index++) yield root;
        yield synced;
      },
    };
    const feed = new Feed(
      source,
      { lastEventId: undefined },
      {
        prepare: () => Promise.resolve(),
        apply: () => {
          applied++;
          work(1);
          return Promise.resolve();
        },
      },
    );
    let appliedAtTurn: number | undefined;
    setImmediate(() => (appliedAtTurn = applied));
    await feed.until(() => feed.synced);
    assert.equal(applied, 101);
    assert.ok(appliedAtTurn !== undefined && appliedAtTurn < 100, `after ${appliedAtTurn}`);
  });
});
