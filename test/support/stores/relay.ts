// What relay and proxies leave each other, as every store must keep it: one from the relay's side, the other from a proxy's.
import assert from "node:assert/strict";
import { unseenStatus } from "../../../proxy/base/bridge/unseen-status.ts";
import type { InstanceStores } from "../../../proxy/base/store/instance.ts";
import { LeaseLost } from "../../../proxy/base/store/lease.ts";
import type { Offer } from "../../../proxy/base/store/relay.ts";
import { bridgeDraft, madeAddress } from "../bridges.ts";
import { until } from "../until.ts";

const offer = (id: string, asOf = 5): Offer => ({
  ...{ id, asOf, to: madeAddress(1), data: "0x1234", gasLimit: 2n ** 70n, label: "sweep of 1" },
});
const status = (n: number, received = "0") => ({ ...unseenStatus(bridgeDraft(n, {})), received });

export function relayStoreSuite(stores: () => [InstanceStores, InstanceStores]): void {
  let relays: InstanceStores;
  let proxys: InstanceStores;
  beforeEach(() => {
    [relays, proxys] = stores();
  });
  const acting = async (holder = "relay") => {
    const fence = await relays.relayLease.take(holder, 60_000);
    assert.ok(fence !== undefined);
    return relays.relay.underLease(fence);
  };

  it("an offer, what became of it, and how the relay stands: the newest of each, and nothing at first", async () => {
    assert.equal(await proxys.relay.offer(), undefined);
    assert.equal(await proxys.relay.standing(), undefined);
    const writes = await acting();
    await writes.offer(offer("1.1"));
    await writes.offer(offer("1.2", 6));
    assert.deepEqual(await proxys.relay.offer(), offer("1.2", 6));
    const standing = { heads: { home: 7 }, unreachable: ["attester"], at: 9 };
    await writes.stand(standing);
    assert.deepEqual(await proxys.relay.standing(), standing);
    const fence = await proxys.lease.take("proxy", 60_000);
    await proxys.relay.settle(fence!, { id: "1.2", what: "refused", at: 8 });
    assert.deepEqual(await relays.relay.outcome(), { id: "1.2", what: "refused", at: 8 });
    await writes.offer(undefined);
    assert.equal(await proxys.relay.offer(), undefined);
  });

  it("tells statuses to who follows, in whichever process, and forgets one", async () => {
    const told: string[] = [];
    let offered = 0;
    const stop = proxys.relay.follow({
      told: (ids) => told.push(...ids),
      offered: () => (offered += 1),
      missed: () => undefined,
    });
    // Who follows and then reads misses nothing from there on.
    await proxys.relay.offer();
    const writes = await acting();
    await writes.tell([status(1), status(2, "7")]);
    await until("both", () => told.length === 2);
    assert.deepEqual(told, [status(1).bridge_id, status(2).bridge_id]);
    const asked = [status(2).bridge_id, "unknown", status(1).bridge_id];
    assert.deepEqual(await proxys.relay.told(asked), [status(2, "7"), undefined, status(1)]);
    assert.equal(offered, 0);
    await writes.offer(offer("1.1"));
    await until("the offer", () => offered === 1);
    await writes.forget(status(1).bridge_id);
    assert.deepEqual(await proxys.relay.told([status(1).bridge_id]), [undefined]);
    stop();
  });

  it("a signed burn is there until it is answered, and its answer after that; a newer one is answered anew", async () => {
    const asked: string[] = [];
    const stop = relays.relay.follow({ signed: (ids) => asked.push(...ids), missed: () => undefined });
    await relays.relay.unanswered();
    await proxys.relay.sign("a", "AAAA");
    await until("it", () => asked.includes("a"));
    assert.deepEqual([...(await relays.relay.unanswered())], [["a", "AAAA"]]);
    const writes = await acting();
    await writes.answer("a", "AAAA", "sent");
    assert.deepEqual(await proxys.relay.signed("a"), { transaction: "AAAA", outcome: "sent" });
    assert.equal((await relays.relay.unanswered()).size, 0);
    await proxys.relay.sign("a", "BBBB");
    assert.deepEqual([...(await relays.relay.unanswered())], [["a", "BBBB"]]);
    stop();
  });

  it("who has lost the lease changes nothing any more, neither as relay nor as who submits", async () => {
    const old = await acting("first");
    await old.offer(offer("1.1"));
    await relays.relayLease.giveBack("first");
    const fence = await proxys.relayLease.take("second", 60_000);
    assert.ok(fence !== undefined);
    for (const late of [
      () => old.offer(offer("1.2")),
      () => old.offer(undefined),
      () => old.tell([status(1)]),
      () => old.forget(status(1).bridge_id),
      () => old.stand({ heads: {}, unreachable: [], at: 1 }),
      () => old.answer("a", "AAAA", "sent"),
      () => relays.relay.settle(99, { id: "1.1", what: "sent", at: 1 }),
    ])
      await assert.rejects(late, LeaseLost);
    assert.deepEqual(await proxys.relay.offer(), offer("1.1"));
    assert.deepEqual(await proxys.relay.told([status(1).bridge_id]), [undefined]);
    await proxys.relay.underLease(fence).offer(offer("2.1"));
    assert.deepEqual(await relays.relay.offer(), offer("2.1"));
  });
}
