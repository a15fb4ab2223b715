// What is offered to whoever submits: once a block, the same call under the same id, and what became of it goes back to the line.
import assert from "node:assert/strict";
import type { Errand, Errands } from "../../../../proxy/base/chain/errands.ts";
import { createLogger } from "../../../../proxy/base/logging.ts";
import { embeddedStores, type InstanceStores } from "../../../../proxy/base/store/instance.ts";
import type { Fence } from "../../../../proxy/base/store/lease.ts";
import type { Database } from "../../../../proxy/base/store/lmdb/database.ts";
import { Offering } from "../../../../proxy/relay/offering.ts";
import { madeAddress } from "../../../support/bridges.ts";
import { temporaryDatabase } from "../../../support/fees.ts";

/** Gives the first that is wanted, and remembers what it was told. */
class Line implements Errands {
  wanted: string[] = [];
  readonly told: string[] = [];
  isBroken = false;

  next(): Promise<Errand | undefined> {
    if (this.isBroken) return Promise.reject(new Error("a venue is away"));
    const [data] = this.wanted;
    if (data === undefined) return Promise.resolve(undefined);
    return Promise.resolve({ to: madeAddress(1), data, gasLimit: 9n, label: data });
  }
  sent({ label }: Errand): void {
    this.told.push(`sent ${label}`);
  }
  refused({ label }: Errand, { number }: { readonly number: number }): void {
    this.told.push(`refused ${label} at ${String(number)}`);
  }
}

describe("relay/offering", () => {
  let database: Database;
  let stores: InstanceStores;
  let line: Line;
  let fence: Fence | undefined;
  let tip: { readonly number: number } | undefined;
  let offering: Offering;
  beforeEach(async () => {
    database = temporaryDatabase();
    stores = embeddedStores(database);
    line = new Line();
    fence = await stores.relayLease.take("one", 60_000);
    tip = { number: 1 };
    offering = new Offering({
      ...{ line, store: stores.relay, fence: () => fence, tip: () => tip },
      logger: createLogger("silent"),
    });
  });
  afterEach(() => database.close());
  const looks = async (): Promise<void> => {
    offering.wake();
    await offering.idle();
  };
  const offered = async (): Promise<string> => {
    const found = await stores.relay.offer();
    return found === undefined ? "nothing" : `${found.id} ${found.data} of ${String(found.asOf)}`;
  };
  async function settle(what: "sent" | "refused", at: number): Promise<void> {
    const held = await stores.lease.take("proxy", 60_000);
    const id = (await stores.relay.offer())?.id ?? "";
    await stores.relay.settle(held!, { id, what, at });
  }

  it("one call at a time, renewed with each block, gone when nothing is needed", async () => {
    line.wanted = ["0x01", "0x02"];
    await looks();
    assert.equal(await offered(), "1.1 0x01 of 1");
    tip = { number: 2 };
    await looks();
    assert.equal(await offered(), "1.1 0x01 of 2", "the same call: who refused it need not try it again");
    line.wanted = ["0x02"];
    await looks();
    assert.equal(await offered(), "1.2 0x02 of 2");
    line.wanted = [];
    await looks();
    assert.equal(await offered(), "nothing");
  });

  it("what became of it goes back to the line, once", async () => {
    line.wanted = ["0x01"];
    await looks();
    await settle("refused", 7);
    line.wanted = ["0x02"];
    await looks();
    await looks();
    assert.deepEqual(line.told, ["refused 0x01 at 7"]);
    assert.equal(await offered(), "1.2 0x02 of 1");
    await settle("sent", 8);
    await looks();
    assert.deepEqual(line.told, ["refused 0x01 at 7", "sent 0x02"]);
    assert.equal(await offered(), "1.3 0x02 of 1", "the chain does not show it yet: it is another offer");
  });

  it("without the lease, or without a block, nothing is written; a new lease begins anew", async () => {
    line.wanted = ["0x01"];
    fence = undefined;
    await looks();
    assert.equal(await offered(), "nothing");
    [fence, tip] = [1, undefined];
    await looks();
    assert.equal(await offered(), "nothing");
    tip = { number: 1 };
    await looks();
    assert.equal(await offered(), "1.1 0x01 of 1");
    // Another took it, and this one has not noticed.
    const other = embeddedStores(database);
    const taken = await other.relayLease.take("two", 60_000);
    tip = { number: 2 };
    await looks();
    assert.equal(await offered(), "1.1 0x01 of 1");
    await other.relay.underLease(taken!).offer(undefined);
    assert.equal(await offered(), "nothing");
  });

  it("a line that fails is asked again, and what was offered stays until then", async () => {
    line.wanted = ["0x01"];
    await looks();
    line.isBroken = true;
    tip = { number: 2 };
    await looks();
    assert.equal(await offered(), "1.1 0x01 of 1");
    line.isBroken = false;
    await looks();
    assert.equal(await offered(), "1.1 0x01 of 2");
  });
});
