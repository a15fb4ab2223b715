/**
 * P30. A relay touches no payment. The attacker is the relay: he writes what he likes into the records that are his, at any
 * rate, dies, freezes, and comes back with a lease that is another's. What he wants is a call of the gas wallet that is not
 * the bridges', the same call twice, or a payment that waits.
 */
import assert from "node:assert/strict";
import { createRelayErrands } from "../../proxy/api/sequencer/relay-errands.ts";
import { embeddedStores } from "../../proxy/base/store/instance.ts";
import { LeaseLost } from "../../proxy/base/store/lease.ts";
import { openDatabase } from "../../proxy/base/store/lmdb/database.ts";
import type { Offer, RelayWrites } from "../../proxy/base/store/relay.ts";
import { Interface } from "ethers";
import { asAddress } from "../../shared/protocol/host/text.ts";
import { deployForwarders } from "../../scripts/deploy/forwarders.ts";
import { Money, SILENT } from "../support/money.ts";
import { madeAddress } from "../support/bridges.ts";
import { until } from "../support/until.ts";

const TOKEN = new Interface(["function transfer(address to, uint256 amount)"]);
const RECEIVE = new Interface(["function receiveMessage(bytes message, bytes attestation)"]);
const TRANSMITTER = madeAddress(0x302);
const MOST_GAS = 16_000_000n;

describe("P30 a relay touches no payment", function () {
  let on: Money;
  let forwarders: Offer["to"];
  let relay: RelayWrites;
  let made = 0;
  const sent: string[] = [];
  const refused: string[] = [];

  before(async () => {
    on = await Money.start();
    await on.seed();
    await on.mine(3);
    forwarders = (await deployForwarders(on.owner)).address;
    const errands = createRelayErrands({
      store: {
        offer: () => on.stores.relay.offer(),
        settle: (fence, outcome) => on.stores.relay.settle(fence, outcome),
      },
      ...{ forwarders, transmitter: TRANSMITTER, fence: () => on.sequencer.fence(), logger: SILENT },
    });
    on.errands = {
      ...errands,
      sent(errand) {
        sent.push(errand.label);
        errands.sent(errand);
      },
      refused(errand, tip) {
        refused.push(errand.label);
        errands.refused(errand, tip);
      },
    };
    await on.restart();
    await on.run();
    const fence = await on.stores.relayLease.take("relay", 3_600_000);
    relay = on.stores.relay.underLease(fence!);
  });
  after(() => on.stop());
  beforeEach(() => {
    sent.length = refused.length = 0;
  });

  const head = (): Promise<number> => on.provider.getBlockNumber();
  /** A call that the chain takes: nothing stands there, so it does nothing. */
  async function harmless(change: Partial<Offer> = {}): Promise<Offer> {
    const data = RECEIVE.encodeFunctionData("receiveMessage", ["0x", "0x"]);
    made += 1;
    const [id, asOf] = [`1.${String(made)}`, await head()];
    return { ...{ id, asOf, to: TRANSMITTER, data, gasLimit: 100_000n, label: id }, ...change };
  }
  /** What a payment takes, whatever the relay does meanwhile. */
  async function pays(): Promise<void> {
    await on.reaches(await on.accept(await on.deposit()), "confirmed");
  }
  const taken = async (offer: Offer): Promise<void> => {
    await relay.offer(offer);
    on.sequencer.wake();
    await until("the offer to be sent", () => sent.includes(offer.label));
    await on.mine();
  };

  it("its own calls are sent, so that sending none means something", async () => {
    await taken(await harmless());
    await pays();
  });

  it("a call of another contract, or another function, or more gas than a call of the bridges needs, is not sent", async () => {
    const [thief, usdc] = [madeAddress(0xbad), on.usdcAddress];
    const steal = TOKEN.encodeFunctionData("transfer", [thief, 1n]);
    for (const wrong of [
      { to: usdc, data: steal },
      { to: on.home.pool, data: "0x" },
      { to: asAddress(on.owner.address)!, data: "0x" },
      { to: TRANSMITTER, data: steal },
      { to: TRANSMITTER, data: "0x" },
      { gasLimit: MOST_GAS + 1n },
    ]) {
      await relay.offer(await harmless(wrong));
      await pays();
    }
    assert.deepEqual([sent, refused], [[], []]);
  });

  it("an offer that was planned before our last call was mined, or that has grown old, is not sent", async () => {
    const first = await harmless();
    await taken(first);
    await until("it to be mined", async () => (await head()) > first.asOf);
    await relay.offer(await harmless({ asOf: first.asOf }));
    await pays();
    assert.deepEqual(sent, [first.label]);
    const old = await harmless();
    await on.mine(40);
    await relay.offer(old);
    await pays();
    assert.deepEqual(sent, [first.label]);
    await taken(await harmless());
  });

  it("one that would fail is tried once a block, is not paid for, and holds up nobody", async () => {
    // The forwarders know no such function.
    const offer = await harmless({ to: forwarders, data: "0xdeadbeef" });
    await relay.offer(offer);
    on.sequencer.wake();
    await until("it to be refused", () => refused.length > 0);
    await until("it to be told so", async () => (await on.stores.relay.outcome())?.id === offer.id);
    const block = await head();
    for (let again = 0; again < 20; again++) on.sequencer.wake();
    await pays();
    assert.ok(refused.length <= 1 + (await head()) - block, `${String(refused.length)} tries`);
    assert.deepEqual(sent, []);
  });

  it("offers without end: each payment is confirmed meanwhile, and no call is sent twice", async () => {
    const end = new AbortController();
    let written = 0;
    const flood = (async () => {
      while (!end.signal.aborted) {
        await relay.offer(await harmless());
        written += 1;
      }
    })();
    // As many as it takes, so that neither a fast payment nor a slow disk makes it no flood.
    for (let payment = 0; payment < 5 || written <= 50; payment++) await pays();
    end.abort();
    await flood;
    assert.equal(new Set(sent).size, sent.length);
    await relay.offer(undefined);
  });

  it("a relay that comes back after another one took over writes nothing, and what it left is judged by its age", async () => {
    const left = await harmless();
    await relay.offer(left);
    // Whoever opens the lease of a data folder last has it.
    const database = openDatabase(on.folder);
    try {
      const { relayLease } = embeddedStores(database);
      assert.ok((await relayLease.take("another", 3_600_000)) !== undefined);
      await assert.rejects(async () => relay.offer(await harmless()), LeaseLost);
      assert.deepEqual((await on.stores.relay.offer())?.id, left.id);
    } finally {
      await database.close();
    }
    await pays();
  });
});
