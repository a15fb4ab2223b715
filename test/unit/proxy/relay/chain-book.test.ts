import assert from "node:assert/strict";
import { COIN } from "../../../../proxy/relay/chains/events.ts";
import { Contract } from "ethers";
import type { BridgeWay } from "../../../../proxy/base/store/bridge-records.ts";
import { loadArtifact } from "../../../../scripts/build/contracts.ts";
import { ZERO_BYTES32 } from "../../../../shared/protocol/brands.ts";
import { mustFromHex, toHex, word } from "../../../../shared/protocol/bytes.ts";
import { FINALITY, paddedAddress, type InTerms } from "../../../../shared/protocol/host/forwarders.ts";
import { attest, deliver, messageOf } from "../../../contract/forwarders/attesting.ts";
import { MINIMUM } from "../../../contract/forwarders/stage.ts";
import type { AttesterClient } from "../../../../proxy/relay/chains/attester-client.ts";
import type { Bend } from "../../../support/bent-node.ts";
import { factsText, WatchedBridge } from "../../../support/watched-bridge.ts";

const AMOUNT = 5_000_000n;

describe("relay on real chains", function () {
  let on: WatchedBridge;
  before(async () => {
    on = await WatchedBridge.start();
  });
  after(() => on.stop());

  const home = () => on.stage.home;
  const second = () => on.second.place;
  const mine = (place = home()): Promise<unknown> => place.provider.send("evm_mine", []);
  const sweep = (terms: InTerms) => home().call("sweep", [{ terms, fees: [] }], []);
  const forward = async (source: unknown) =>
    second().receiptOf(second().owner, "forward", source, 0n, 0n, FINALITY.safe);

  /** What a book says that knows nothing but the chains as they are now. */
  async function assertRebuilt(
    book: ReturnType<WatchedBridge["book"]>,
    records: Parameters<typeof book.watch>[0][],
  ) {
    await book.sync();
    const again = on.book();
    for (const record of records) again.watch(record);
    await again.sync();
    for (const record of records) assert.equal(factsText(again, record), factsText(book, record));
  }

  it("sees a deposit in the next pass, several to one address, dust and the sweep, and says the same after a restart", async () => {
    const book = on.book();
    const { record, terms } = await on.madeIn();
    book.watch(record);
    await book.sync();
    assert.equal(book.progressOf(record).state, "awaiting_funds");
    assert.deepEqual(book.active(), []);
    const told: string[] = [];
    book.onChange((id) => told.push(id));

    // Anybody can move nothing to anybody.
    await home().mint(record.address, 0n);
    await book.sync();
    assert.deepEqual(told, []);
    await home().mint(record.address, 7n);
    await book.sync();
    assert.deepEqual(told, [record.id]);
    assert.equal(book.progressOf(record).state, "detected");
    assert.deepEqual(book.active(), [record.id]);
    await mine();
    await book.sync();
    assert.equal(book.progressOf(record).state, "below_minimum");

    await home().mint(record.address, AMOUNT);
    await home().mint(record.address, AMOUNT);
    await book.sync();
    const facts = book.factsOf(record.id)!;
    assert.deepEqual(
      facts.home.arrivals.map(({ amount }) => amount),
      [7n, AMOUNT, AMOUNT],
    );
    assert.equal(facts.home.balance, 2n * AMOUNT + 7n);
    assert.equal(facts.home.finalBalance, AMOUNT + 7n);

    await sweep(terms);
    await mine();
    await book.sync();
    const after = book.factsOf(record.id)!.home;
    assert.equal(after.balance, 0n);
    assert.deepEqual(
      after.leavings.map(({ what, amount }) => [what, amount]),
      [["sweep", 2n * AMOUNT + 7n]],
    );
    assert.equal(book.progressOf(record).state, "completed");
    assert.deepEqual(book.active(), []);
    await assertRebuilt(book, [record]);
  });

  it("follows money from the second chain: burn, delivery, sweep, each by what its chain says", async () => {
    const book = on.book();
    const { record, terms, source } = await on.madeIn();
    book.watch(record);
    await second().mint(
      book.recordOf(record.id)!.way.kind === "from-evm" ? sourceOf(record) : record.address,
      AMOUNT,
    );
    await mine(second());
    await book.sync();
    assert.equal(book.progressOf(record).state, "bridging");
    assert.equal(book.factsOf(record.id)!.before[0]!.finalBalance, AMOUNT);

    const receipt = await forward(source);
    await book.sync();
    const [burn] = book.factsOf(record.id)!.before[0]!.burns;
    assert.equal(burn!.amount, AMOUNT);
    assert.equal(burn!.delivery, undefined);
    assert.equal(burn!.to, "home");
    assert.equal(book.factsOf(record.id)!.before[0]!.leavings[0]!.burn, burn!.id);
    assert.deepEqual(book.active(), [record.id]);

    await deliver(home(), attest(messageOf(receipt)));
    await mine();
    await book.sync();
    const facts = book.factsOf(record.id)!;
    assert.equal(facts.before[0]!.burns[0]!.delivery!.amount, AMOUNT);
    assert.equal(facts.home.arrivals[0]!.brought, burn!.id);
    assert.equal(book.progressOf(record).state, "shielding");
    await sweep(terms);
    await mine();
    await book.sync();
    const progress = book.progressOf(record);
    assert.equal(progress.state, "completed");
    assert.equal(progress.deposits.length, 1);
    assert.deepEqual(
      progress.deposits[0]!.transactions.map(({ what }) => what),
      ["deposit", "burn", "delivery", "sweep"],
    );
    await assertRebuilt(book, [record]);
  });

  it("takes an out-address' delivery for its burn, and a return of the money for what it is", async () => {
    const book = on.book();
    const { record, terms } = await on.madeOut();
    book.watch(record);
    await home().mint(record.address, AMOUNT);
    await mine();
    await book.sync();
    const receipt = await home().receiptOf(home().owner, "flush", terms, 0n, FINALITY.safe);
    await book.sync();
    assert.equal(book.progressOf(record).state, "bridging");
    await deliver(second(), attest(messageOf(receipt)));
    await book.sync();
    assert.equal(book.factsOf(record.id)!.home.burns[0]!.delivery!.amount, AMOUNT);
    assert.equal(book.progressOf(record).state, "completed");

    await home().mint(record.address, MINIMUM);
    await home().call("touchOut", terms);
    await book.sync();
    assert.equal(book.factsOf(record.id)!.home.clock?.hasMinimum, true);
    await home().pass(86_401);
    await home().call("returnOut", terms);
    await mine();
    await book.sync();
    assert.equal(
      book.factsOf(record.id)!.home.leavings.find(({ what }) => what === "return")!.amount,
      MINIMUM,
    );
    assert.equal(book.factsOf(record.id)!.home.clock, undefined);
    assert.deepEqual(
      book.progressOf(record).deposits.map(({ state }) => state),
      ["completed", "refunded"],
    );
    await assertRebuilt(book, [record]);
  });

  it("says where money lies that was sent to a right address on the wrong chain, until it went back; of grains nothing", async () => {
    const book = on.book();
    const { record, source } = await on.madeIn();
    book.watch(record);
    await book.sync();
    const [from, reason] = [sourceOf(record), () => book.progressOf(record).reason];
    await second().mint(record.address, MINIMUM - 1n);
    await home().mint(from, AMOUNT);
    await book.sync();
    assert.equal(book.progressOf(record).state, "awaiting_funds");
    assert.equal(reason()?.code, "MONEY_MISPLACED");
    const lies = `${String(AMOUNT)} units of the token ${home().token.toLowerCase()} lie at ${from.toLowerCase()} on home`;
    assert.ok(reason()!.detail.startsWith(lies), reason()!.detail);
    assert.match(book.progressOf(record).withoutHelp, /recover/);
    assert.deepEqual(book.active(), []);
    await assertRebuilt(book, [record]);
    await home().receiptOf(home().owner, "refundOtherSource", source, home().token);
    await book.sync();
    assert.equal(reason(), undefined);
    await second().mint(record.address, 1n);
    await book.sync();
    assert.match(reason()!.detail, /on second; they are/);
  });

  it("says where coins lie that were sent in the place of a token, which no event tells, until they went back", async () => {
    const book = on.book();
    const { record, terms } = await on.madeIn();
    book.watch(record);
    await book.sync();
    const reason = () => book.progressOf(record).reason;
    const pay = async (value: bigint) =>
      (await home().owner.sendTransaction({ to: record.address, value })).wait();
    await pay(COINS - 1n);
    for (let i = 0; i < 2; i++, await mine()) await book.sync();
    assert.equal(reason(), undefined, "a stranger's grain");
    await pay(1n);
    await within(3, book, () => reason() !== undefined);
    assert.equal(reason()!.code, "MONEY_MISPLACED");
    assert.match(
      reason()!.detail,
      new RegExp(`^${String(COINS)} units of the chain's coin lie at ${record.address}`, "i"),
    );
    assert.match(reason()!.detail, /--token/);
    await home().receiptOf(home().owner, "refundOther", terms, COIN);
    await within(3, book, () => reason() === undefined);
  });

  it("does not believe a message that anybody sends, a delivery that minted nothing here, nor a token that is not heard", async () => {
    const book = on.book();
    const { record, source } = await on.madeIn();
    book.watch(record);
    const address = sourceOf(record);
    await second().mint(address, AMOUNT, await second().deploy("TestUSDC"));
    const other = await on.madeIn();
    await second().mint(sourceOf(other.record), AMOUNT);
    const real = messageOf(await forward(other.source));
    // The body of a burn of ours, word for word, but said by a stranger.
    const body = Uint8Array.from(real.slice(148));
    body.set(mustFromHex(paddedAddress(address)), 100);
    body.set(mustFromHex(source.recipient), 36);
    const { abi } = await loadArtifact("MessageTransmitterV2");
    const transmitter = new Contract(second().cctp.transmitter, abi, second().owner);
    const to = paddedAddress(home().cctp.messenger);
    await (await transmitter.getFunction("sendMessage")(3, to, ZERO_BYTES32, 2_000, body)).wait();
    await mine(second());
    await book.sync();
    assert.deepEqual(book.active(), []);
    assert.equal(book.progressOf(record).state, "awaiting_funds");
    assert.deepEqual(book.factsOf(record.id)!.incoming, []);
    // A stranger's burn that mints to us is money all the same, and is told of as what it is.
    book.watch(other.record);
    await deliver(home(), attest(real));
    await mine();
    await book.sync();
    assert.equal(book.factsOf(other.record.id)!.home.balance, AMOUNT);
  });

  for (const depth of [1, 2, 3]) {
    it(`takes back what a reorganisation of ${String(depth)} blocks takes back, at each step`, async () => {
      const book = on.book();
      const { record, terms, source } = await on.madeIn();
      book.watch(record);
      await book.sync();
      let burnt: Awaited<ReturnType<typeof forward>>;
      const steps = [
        [second(), () => second().mint(sourceOf(record), AMOUNT)],
        [second(), async () => void (burnt = await forward(source))],
        [home(), () => deliver(home(), attest(messageOf(burnt)))],
        [home(), () => sweep(terms)],
      ] as const;
      for (const [place, step] of steps) {
        const before = factsText(book, record);
        await step();
        for (let i = 1; i < depth; i++) await mine(place);
        await book.sync();
        assert.notEqual(factsText(book, record), before);
        await place.provider.send("anvil_reorg", [depth, []]);
        await mine(place);
        await assertRebuilt(book, [record]);
        assert.deepEqual(amountsOf(factsText(book, record)), amountsOf(before));
        await step();
        await mine(place);
        await assertRebuilt(book, [record]);
      }
      assert.equal(book.progressOf(record).state, "completed");
    });
  }

  it("is whole again after a chain that was rolled back or is far ahead", async () => {
    const book = on.book();
    const { record } = await on.madeIn();
    book.watch(record);
    await book.sync();
    await home().mint(record.address, AMOUNT);
    await book.sync();
    assert.equal(book.factsOf(record.id)!.home.balance, AMOUNT);
    await home().provider.send("anvil_rollback", [1]);
    await book.sync();
    assert.equal(book.factsOf(record.id)!.home.balance, 0n);
    await home().mint(record.address, AMOUNT);
    await home().provider.send("anvil_mine", ["0x12c"]);
    await home().mint(record.address, AMOUNT);
    await assertRebuilt(book, [record]);
    assert.equal(book.factsOf(record.id)!.home.arrivals.length, 2);
  });

  it("finds money that came before anybody here knew the address", async () => {
    const book = on.book();
    const first = await on.madeIn();
    book.watch(first.record);
    await book.sync();
    const late = await on.madeIn();
    await home().mint(late.record.address, AMOUNT);
    await mine();
    await book.sync();
    book.watch({ ...late.record, since: {} });
    assert.equal(book.isComplete(late.record.id), false);
    await book.sync();
    assert.equal(book.isComplete(late.record.id), true);
    assert.equal(book.factsOf(late.record.id)!.home.balance, AMOUNT);
    book.unwatch(late.record.id);
    assert.equal(book.factsOf(late.record.id), undefined);
    assert.deepEqual(book.active(), []);
  });

  it("finds money after a restart that came in a block below the one in which its address was made", async () => {
    const book = on.book(undefined, 4);
    for (let i = 0; i < 4; i++) await mine();
    await book.sync();
    const { record } = await on.madeIn();
    const made = { ...record, since: { ...book.heads() } };
    await home().provider.send("anvil_rollback", [3]);
    await home().mint(record.address, AMOUNT);
    // The newest block is looked at whatever is asked of it.
    await mine();
    const again = on.book(undefined, 4);
    again.watch(made);
    await again.sync();
    assert.equal(again.factsOf(record.id)!.home.balance, AMOUNT);
  });

  /** Passes with a block before each, until it is so. */
  async function within(blocks: number, book: ReturnType<WatchedBridge["book"]>, isSo: () => boolean) {
    for (let i = 0; i < blocks && !isSo(); i++) {
      await mine();
      await mine(second());
      await book.sync();
    }
    assert.equal(isSo(), true);
  }

  it("asks again for a block that a node has shown without what was said in it, on either chain", async () => {
    const nodes = {
      home: await on.bent(home(), leavingOut(await home().provider.getBlockNumber(), 1)),
      second: await on.bent(second(), leavingOut(await second().provider.getBlockNumber(), 1)),
    };
    const book = on.book(undefined, 2, nodes);
    const { record, terms } = await on.madeOut();
    book.watch(record);
    await book.sync();
    const facts = () => book.factsOf(record.id)!.home;
    await home().mint(record.address, AMOUNT);
    await book.sync();
    assert.equal(facts().balance, 0n);
    await within(4, book, () => facts().balance === AMOUNT);
    const receipt = await home().receiptOf(home().owner, "flush", terms, 0n, FINALITY.safe);
    await book.sync();
    await within(4, book, () => facts().burns.length === 1);
    await deliver(second(), attest(messageOf(receipt)));
    await book.sync();
    assert.equal(book.progressOf(record).state, "bridging");
    await within(4, book, () => book.progressOf(record).state === "completed");
    await assertRebuilt(book, [record]);
  });

  for (const [how, times, blocks] of [
    ["twice", 2, 16],
    ["by a replica that stays behind for 60 blocks", 6, 140],
  ] as const)
    it(`sees a burn, which shows in no balance, also where it was left out ${how}: of its block, and of a range`, async () => {
      const { record, terms } = await on.madeOut();
      const node = await on.bent(home(), leavingOut(await home().provider.getBlockNumber(), times));
      const early = on.book(undefined, 2, { home: node });
      early.watch(record);
      await early.sync();
      await home().mint(record.address, AMOUNT);
      await home().receiptOf(home().owner, "flush", terms, 0n, FINALITY.safe);
      await early.sync();
      const seen = (book: typeof early): (number | undefined)[] => {
        const home = book.factsOf(record.id)?.home;
        return [home?.arrivals.length, home?.burns.length];
      };
      assert.deepEqual(seen(early), [0, 0]);
      await within(blocks, early, () => seen(early).join() === "1,1");
      await assertRebuilt(early, [record]);
      await home().provider.send("anvil_mine", ["0x20"]);
      const late = on.book(undefined, 2, { home: await on.bent(home(), leavingOut(0, times)) });
      late.watch({ ...record, since: {} });
      await late.sync();
      assert.deepEqual(seen(late), [0, 0]);
      await within(blocks, late, () => seen(late).join() === "1,1");
      await assertRebuilt(late, [record]);
    });

  it("finds money that a node leaves out again and again, by what the address holds", async () => {
    const node = await on.bent(home(), leavingOut(await home().provider.getBlockNumber(), 8));
    const book = on.book(undefined, 2, { home: node });
    const [{ record }, other] = [await on.madeIn(), await on.madeIn()];
    book.watch(record);
    book.watch(other.record);
    await book.sync();
    await home().mint(record.address, AMOUNT);
    await book.sync();
    assert.deepEqual(book.active(), []);
    await within(30, book, () => book.factsOf(record.id)!.home.balance === AMOUNT);
    assert.equal(book.isComplete(record.id), true);
    await assertRebuilt(book, [record, other.record]);
  });

  it("follows a chain whose node does not tell what addresses hold", async () => {
    const node = await on.bent(home(), ({ method }, result) => (method === "eth_call" ? "0x" : result));
    const book = on.book(undefined, 2, { home: node });
    const { record } = await on.madeIn();
    book.watch(record);
    await home().mint(record.address, AMOUNT);
    await within(4, book, () => book.factsOf(record.id)?.home.balance === AMOUNT);
    assert.equal(book.isComplete(record.id), true);
  });

  it("judges a fast attestation by the number that contracts see, where that is not the node's", async () => {
    let seen = 5;
    const node = await on.bent(home(), ({ method, params }, result) => {
      const isDeployless = method === "eth_call" && !("to" in Object(params[0]));
      return isDeployless ? `${toHex(word(BigInt(seen)))}${String(result).slice(66)}` : result;
    });
    await home().provider.send("anvil_mine", ["0x20"]);
    const { record, source } = await on.madeIn();
    await second().mint(sourceOf(record), AMOUNT);
    const sent = messageOf(await forward(source));
    const again: string[] = [];
    const client: AttesterClient = {
      messagesOf: async () => [{ ...attest(sent, FAST), status: "complete" }],
      reattest: async (nonce) => again.push(nonce) > 0,
      fees: async () => undefined,
    };
    const book = on.book(client, 2, { home: node });
    book.watch(record);
    await book.sync();
    const status = () => book.attestationOf(book.factsOf(record.id)!.before[0]!.burns[0]!)?.status;
    assert.deepEqual([status(), again], ["complete", []]);
    seen = Number(FAST.expirationBlock) - 1;
    await within(4, book, () => status() === "expired");
  });

  it("asks five questions in two blocks, with ten addresses and with ten thousand", async () => {
    const calls = async (count: number): Promise<number> => {
      const book = on.book();
      const { record } = await on.madeIn();
      for (let i = 0; i < count; i++) book.watch(another(record, i));
      await book.sync();
      // A range is read again after 62 blocks for the fifth time, and after 126 for the sixth.
      for (let i = 0; i < 66; i++) {
        await mine();
        await book.sync();
      }
      const before = on.counts["home"]!;
      for (let i = 0; i < 10; i++) {
        await home().mint(another(record, i).address, AMOUNT);
        await book.sync();
        assert.equal(book.factsOf(another(record, i).id)!.home.balance, AMOUNT);
      }
      return on.counts["home"]! - before;
    };
    const ten = await calls(10);
    assert.equal(ten, 25);
    assert.equal(await calls(10_000), ten);
  });

  it("asks for no more with new addresses in every block, however long that goes on", async () => {
    const book = on.book();
    const { record } = await on.madeIn();
    let made = 0;
    const asked = async (blocks: number): Promise<number> => {
      const before = on.counts["home"]!;
      for (let i = 0; i < blocks; i++) {
        const since = Math.max(0, (await on.heads()).home - 20);
        book.watch({ ...another(record, made++), since: { home: since, second: 0 } });
        await mine();
        await book.sync();
      }
      return on.counts["home"]! - before;
    };
    const early = await asked(20);
    await asked(80);
    assert.ok((await asked(20)) <= early);
    // And soon of next to nothing any more.
    const quiet = async (blocks: number): Promise<number> => {
      const before = on.counts["home"]!;
      for (let i = 0; i < blocks; i++) {
        await mine();
        await book.sync();
      }
      return on.counts["home"]! - before;
    };
    await quiet(60);
    assert.ok((await quiet(20)) <= 60);
  });
});

/** Less is a stranger's grain. */
const COINS = 10n ** 15n;
const FAST = { nonce: 7n, finality: 1_000, expirationBlock: 20n };

/** Shows no log of a later block in its first `times` answers that would have some of it. */
function leavingOut(after: number, times: number): Bend {
  const hidden = new Map<string, number>();
  return ({ method }, result) => {
    if (method !== "eth_getLogs") return result;
    const logs = result as readonly { readonly blockNumber: string; readonly blockHash: string }[];
    const blocks = logs.flatMap((one) => (Number(one.blockNumber) > after ? [one.blockHash] : []));
    const out = new Set(blocks.filter((hash) => (hidden.get(hash) ?? 0) < times));
    for (const hash of out) hidden.set(hash, (hidden.get(hash) ?? 0) + 1);
    return logs.filter(({ blockHash }) => !out.has(blockHash));
  };
}

function sourceOf({ way }: { readonly way: BridgeWay }) {
  if (way.kind !== "from-evm" || way.source === undefined) throw new TypeError("no source");
  return way.source.address;
}

/** Amounts alone: blocks and confirmations are others after a reorganisation. */
const amountsOf = (text: string): readonly string[] => text.match(/"[0-9]+n"/g) ?? [];

type Made = Awaited<ReturnType<WatchedBridge["madeIn"]>>["record"];
/** Another request at another address; its terms do not matter here. */
function another(record: Made, n: number): Made {
  const tail = (n + 1).toString(16).padStart(12, "0");
  return {
    ...record,
    id: `${record.id.slice(0, 19)}f${record.id.slice(20, 24)}${tail}`,
    address: `${record.address.slice(0, 30)}${tail}` as Made["address"],
  };
}
