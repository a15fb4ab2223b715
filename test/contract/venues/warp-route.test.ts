// Hyperlane as a way in and out: an address on a second chain, its money through the real route into a note, and back.
import assert from "node:assert/strict";
import { Contract, parseEther } from "ethers";
import { FORWARDERS_ABI } from "../../../shared/contracts/abi.ts";
import { newSeed, SpendingKey } from "../../../shared/notes/keys.ts";
import type { BridgeAddress } from "../../../shared/api/bridges.ts";
import { FAR_ID, MINIMUM, POSTAGE, REFUND, WarpStage } from "./warp-stage.ts";

const AMOUNT = 7_000_000n;
const SERVICE_FEE = 50_000n;
const [HOUR, DAY] = [3_600, 86_400];
const person = (): SpendingKey => SpendingKey.fromSeed(newSeed());
const sourceOf = ({ source }: BridgeAddress): string => source?.address ?? assert.fail("no source address");

describe("venues: Hyperlane's warp route as a bridge", function () {
  let stage: WarpStage;
  before(async function () {
    this.timeout(900_000);
    stage = await WarpStage.start();
  });
  after(() => (stage as WarpStage | undefined)?.stop());
  beforeEach(() => void (stage.sent.length = 0));
  afterEach(() => stage.stopRelaying());

  it("money at a source address is sent for the route's price, waits for the validator, and becomes a note", async () => {
    const { home, far } = stage;
    const user = person();
    const made = await stage.deposit(user);
    const [source, before] = [sourceOf(made), await stage.postageAt(far)];
    await stage.pay(far, source, AMOUNT);
    await stage.mined("the money to leave", async () => (await stage.balance(far, source)) === 0n);
    assert.equal((await stage.postageAt(far)) - before, POSTAGE);
    const sent = await stage.mined("the status", async () => {
      const status = await stage.status(made);
      return status.state === "bridging" && status;
    });
    assert.deepEqual([sent.received, sent.credited], [String(AMOUNT), "0"]);
    // Nobody has signed yet, so nothing can be here.
    assert.equal(await stage.balance(home, made.address), 0n);
    await stage.restart();
    await stage.relay();
    const [value] = await stage.mined("the note", async () => {
      const values = await stage.valuesOf(user);
      return values.length > 0 && values;
    });
    assert.equal(value, AMOUNT - SERVICE_FEE);
    assert.deepEqual(await stage.valuesOf(stage.service), [SERVICE_FEE]);
    assert.deepEqual(stage.sent, ["sweep of 1"], "whoever relays delivers; the proxy only sweeps");
    const done = await stage.mined("the end", async () => {
      const status = await stage.status(made);
      return status.state === "completed" && status;
    });
    assert.deepEqual([done.received, done.credited, done.refunded], [String(AMOUNT), String(value), "0"]);
    const whats = done.transactions.map(({ chain_id, what }) => [chain_id, what]);
    const homeId = stage.on.anvil.chainId;
    assert.deepEqual(
      whats,
      [
        [FAR_ID, "deposit"],
        [FAR_ID, "burn"],
        [homeId, "delivery"],
        [homeId, "sweep"],
      ],
      JSON.stringify(done.transactions),
    );
  });

  it("a withdrawal goes out by the route and reaches its recipient, paid for in the pool's chain's coins", async () => {
    const { home, far } = stage;
    await stage.relay();
    const recipient = `0x${"77".repeat(20)}`;
    const made = await stage.withdrawal(person(), recipient);
    const before = await stage.postageAt(home);
    await stage.pay(home, made.address, AMOUNT);
    await stage.mined("the money there", async () => (await stage.balance(far, recipient)) === AMOUNT);
    assert.equal((await stage.postageAt(home)) - before, POSTAGE);
    assert.deepEqual(stage.sent, ["flush"]);
    await stage.mined("the end", async () => (await stage.status(made)).state === "completed");
  });

  it("anybody may send it on, and not for less than the route's price", async () => {
    const { home, far } = stage;
    const key = person();
    const made = await stage.deposit(key);
    const source = made.source ?? assert.fail("no source address");
    const terms = {
      ...{ recipient: source.recipient, refund: source.refund_address },
      lanes: source.lanes.map((lane) => [
        ...[lane.chain_id, lane.protocol, lane.token, lane.messenger, lane.domain],
        ...[lane.minimum, lane.fee_ceiling],
      ]),
    };
    // A price that the proxy does not pay, so that it leaves the step to the stranger.
    const steep = parseEther("0.5");
    await stage.price(far, steep);
    await stage.pay(far, source.address, AMOUNT);
    const stranger = await far.provider.getSigner(4);
    const forwarders = new Contract(stage.factory.address, FORWARDERS_ABI, stranger);
    const forward = forwarders.getFunction("forward");
    await assert.rejects(forward.staticCall(terms, 0, 0, 0, { value: steep - 1n }));
    await assert.rejects(forward.staticCall(terms, 0, 1, 0, { value: steep }), "no fee in the token");
    await (await forward.send(terms, 0, 0, 0, { value: steep })).wait();
    await stage.price(far, POSTAGE);
    assert.equal(await stage.balance(far, source.address), 0n);
    await stage.relay();
    const [value] = await stage.mined("the note", async () => {
      const values = await stage.valuesOf(key);
      return values.length > 0 && values;
    });
    assert.equal(value, AMOUNT - SERVICE_FEE);
    assert.equal(await stage.balance(home, made.address), 0n);
  });

  it("a price above the bound is not paid; what waits goes on when it has come down", async () => {
    const { far } = stage;
    const key = person();
    const made = await stage.deposit(key);
    await stage.price(far, parseEther("0.011"));
    const before = await stage.postageAt(far);
    await stage.pay(far, sourceOf(made), MINIMUM);
    await stage.mined("the status", async () => (await stage.status(made)).received === String(MINIMUM));
    for (let i = 0; i < 8; i++) await stage.mine();
    assert.equal(await stage.balance(far, sourceOf(made)), MINIMUM);
    assert.equal(await stage.postageAt(far), before);
    await stage.price(far, POSTAGE);
    await stage.relay();
    await stage.mined("the note", async () => (await stage.valuesOf(key)).length > 0);
  });

  it("a route that takes nothing any more: after the time-out the money is back at the refund address", async () => {
    const { home, far } = stage;
    const [before, made] = [await stage.balance(far, REFUND), await stage.deposit(person())];
    await stage.cut(far, home);
    await stage.pay(far, sourceOf(made), AMOUNT);
    await stage.mined("the status", async () => (await stage.status(made)).received === String(AMOUNT));
    await stage.pass(far, HOUR + 60);
    await stage.mined("the clock", async () => (await stage.status(made)).refundable_at !== null);
    assert.equal(await stage.balance(far, sourceOf(made)), AMOUNT, "not a second early");
    await stage.pass(far, DAY + 60);
    await stage.mined("the refund", async () => (await stage.balance(far, REFUND)) - before === AMOUNT);
    await stage.mined("the end", async () => (await stage.status(made)).state === "refunded");
    await stage.mend(far, home);
  });

  it("a withdrawal that the route does not take comes back into its note, and holds up nobody else's", async () => {
    const { home, far } = stage;
    const user = person();
    const made = await stage.withdrawal(user, `0x${"78".repeat(20)}`);
    await stage.cut(home, far);
    await stage.pay(home, made.address, AMOUNT);
    await stage.mined("the status", async () => (await stage.status(made)).received === String(AMOUNT));
    await stage.pass(home, HOUR + 60);
    await stage.mined("the clock to be started", async () => stage.sent.includes("touch (out)"));
    await stage.pass(home, DAY + 60);
    const [value] = await stage.mined("the note", async () => {
      const values = await stage.valuesOf(user);
      return values.length > 0 && values;
    });
    assert.equal(value, AMOUNT);
    await stage.mend(home, far);
  });
});
