// What a stream brings while the wallet's state goes back: nothing of before reaches the state of afterwards.
import assert from "node:assert/strict";
import type { StreamEvent } from "../../../../../shared/api/data.ts";
import { Feed } from "../../../../../shared/client/service/feed.ts";

const root = (leafCount: number): StreamEvent => ({
  kind: "root",
  id: `${String(leafCount)}-00000000-0.0`,
  data: { root: "0x0", leaf_count: leafCount, block_number: 1 },
});
const SYNCED: StreamEvent = { kind: "synced", id: undefined, data: { block_number: 1, leaf_count: 0 } };

describe("client/feed", () => {
  it("does not apply an event whose preparation outlasted its connection", async () => {
    let release = (): void => undefined;
    const isHeld = new Promise<void>((resolve) => (release = resolve));
    let connections = 0;
    const source = {
      async *events() {
        connections++;
        yield root(connections);
        yield SYNCED;
      },
    };
    const applied: StreamEvent[] = [];
    const feed = new Feed(
      source,
      { lastEventId: undefined },
      {
        // The first connection's event alone is held.
        prepare: (event) =>
          event.kind === "root" && event.data.leaf_count === 1 ? isHeld : Promise.resolve(),
        apply: (event) => Promise.resolve(void applied.push(event)),
      },
    );
    const synced = feed.until(() => feed.synced);
    await new Promise((resolve) => setImmediate(resolve));
    feed.restart();
    release();
    await synced;
    assert.deepEqual(applied, [root(2), SYNCED]);
  });
});
