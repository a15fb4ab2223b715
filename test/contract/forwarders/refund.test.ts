// Money that nobody moved goes back: when, how much, by whom; what dust cannot do; other tokens. See refund.tree.
import assert from "node:assert/strict";
import type { JsonRpcSigner } from "ethers";
import { inAddress, type InTerms } from "../../../shared/protocol/host/forwarders.ts";
import { ZERO_ADDRESS, type Address } from "../../../shared/protocol/brands.ts";
import { mustAddress } from "../pool/world.ts";
import { DAY, MINIMUM, named, Stage } from "./stage.ts";

describe("forwarders: refund", function () {
  let stage: Stage;
  let stranger: JsonRpcSigner;
  let restore: () => Promise<void>;
  before(async () => {
    stage = await Stage.open();
    stranger = await stage.home.account(5);
  });
  beforeEach(async () => {
    restore = await stage.world.remember();
  });
  afterEach(() => restore());
  after(() => stage.stop());

  const refund = (terms: InTerms) => stage.home.callAs(stranger, "refund", terms);
  const refusal = async (terms: InTerms): Promise<string> =>
    (await stage.home.faultAs(stranger, "refund", terms)).error;

  describe("with the minimum there", () => {
    it("goes back whole, a day after a touch and not a second before, by anyone", async () => {
      const [terms, vault] = await stage.paidIn(5n * MINIMUM);
      const [touched] = await stage.home.callAs(stranger, "touch", terms);
      assert.deepEqual([...touched!.args].slice(2), [5n * MINIMUM, true]);
      const [at] = await stage.home.since(vault);
      await stage.home.provider.send("evm_setNextBlockTimestamp", [Number(at) + DAY - 1]);
      const early = await stage.home.faultAs(stranger, "refund", terms);
      assert.deepEqual(early, { error: "TooEarly", args: [at + BigInt(DAY)] });
      await stage.home.provider.send("evm_setNextBlockTimestamp", [Number(at) + DAY]);
      const [refunded] = await refund(terms);
      assert.equal(refunded!.name, "Refunded");
      assert.deepEqual(
        [await stage.home.balance(vault), await stage.home.balance(terms.refund)],
        [0n, 5n * MINIMUM],
      );
      assert.deepEqual(await stage.home.since(vault), [0n, 0n], "the clock is stopped");
    });

    it("needs a touch: time alone is none", async () => {
      const [terms] = await stage.paidIn(MINIMUM);
      await stage.home.pass(10 * DAY);
      assert.equal(await refusal(terms), "TooEarly");
    });

    it("a second touch does not restart the clock", async () => {
      const [terms, vault] = await stage.paidIn(MINIMUM);
      await stage.home.call("touch", terms);
      const first = await stage.home.since(vault);
      await stage.home.pass(DAY / 2);
      assert.deepEqual(await stage.home.callAs(stranger, "touch", terms), []);
      assert.deepEqual(await stage.home.since(vault), first);
    });

    it("the refund address has to wait like everybody", async () => {
      const owner = await stage.home.account(6);
      const [terms] = await stage.paidIn(MINIMUM, { refund: mustAddress(owner.address) });
      assert.equal((await stage.home.faultAs(owner, "refund", terms)).error, "TooEarly");
    });

    it("touch deploys nothing, refund what it needs", async () => {
      const [terms, vault] = await stage.paidIn(MINIMUM);
      await stage.home.call("touch", terms);
      assert.equal(await stage.home.provider.getCode(vault), "0x");
      await stage.home.pass(DAY);
      await refund(terms);
      assert.equal((await stage.home.provider.getCode(vault)).length, 2 + 2 * 45);
    });
  });

  describe("dust", () => {
    it("does not age what comes later", async () => {
      const [terms, vault] = await stage.paidIn(1n);
      await stage.home.callAs(stranger, "touch", terms);
      assert.equal((await stage.home.since(vault))[1], 1n);
      await stage.home.pass(2 * DAY);
      await stage.home.mint(vault, MINIMUM);
      assert.equal(await refusal(terms), "TooEarly");
      await stage.home.callAs(stranger, "touch", terms);
      assert.equal((await stage.home.since(vault))[1], MINIMUM + 1n, "now the clock runs for all of it");
      assert.equal(await refusal(terms), "TooEarly");
      assert.equal(named(await stage.home.call("sweep", [{ terms, fees: [] }], []), "Swept").length, 1);
    });

    it("goes back a day after a touch", async () => {
      const [terms] = await stage.paidIn(MINIMUM - 1n);
      await stage.home.call("touch", terms);
      assert.equal(await refusal(terms), "TooEarly");
      await stage.home.pass(DAY);
      await refund(terms);
      assert.equal(await stage.home.balance(terms.refund), MINIMUM - 1n);
    });

    it("goes back at once when the refund address asks, and only then", async () => {
      const owner = await stage.home.account(6);
      const [terms] = await stage.paidIn(5n, { refund: mustAddress(owner.address) });
      assert.equal(await refusal(terms), "TooEarly");
      await stage.home.callAs(owner, "refund", terms);
      assert.equal(await stage.home.balance(terms.refund), 5n);
    });
  });

  it("nothing there: nothing to touch or refund", async () => {
    const terms = stage.inTerms();
    assert.equal((await stage.home.fault("touch", terms)).error, "NothingHeld");
    assert.equal(await refusal(terms), "NothingHeld");
  });

  it("somebody else's terms reach another address", async () => {
    const [terms] = await stage.paidIn(MINIMUM);
    await stage.home.call("touch", terms);
    await stage.home.pass(DAY);
    assert.equal(await refusal({ ...terms, refund: mustAddress(stranger.address) }), "NothingHeld");
  });

  describe("other tokens", () => {
    it("go back at once, by anyone", async () => {
      const [terms, vault] = await stage.paidIn(MINIMUM);
      const token = await stage.home.deploy("TestToken", "Other", "OTH", 18);
      await stage.home.mint(vault, 77n, token);
      await stage.home.callAs(stranger, "refundOther", terms, token.target);
      assert.equal(await stage.home.balance(terms.refund, token), 77n);
      assert.equal(await stage.home.balance(vault), MINIMUM);
      const again = await stage.home.faultAs(stranger, "refundOther", terms, token.target);
      assert.equal(again.error, "NothingHeld");
    });

    it("the asset is none of them", async () => {
      const [terms] = await stage.paidIn(MINIMUM);
      const fault = await stage.home.faultAs(stranger, "refundOther", terms, terms.asset);
      assert.equal(fault.error, "OwnAsset");
    });

    it("coins go back like one", async () => {
      const terms = stage.inTerms();
      const vault: Address = inAddress(terms, stage.home.factory);
      await (await stranger.sendTransaction({ to: vault, value: 12_345n })).wait();
      await stage.home.callAs(stranger, "refundOther", terms, ZERO_ADDRESS);
      assert.equal(await stage.home.provider.getBalance(terms.refund), 12_345n);
      await (await stranger.sendTransaction({ to: vault, value: 5n })).wait();
      await stage.home.callAs(stranger, "refundOther", terms, ZERO_ADDRESS);
      assert.equal(await stage.home.provider.getBalance(terms.refund), 12_350n);
    });

    it("that are no tokens are refused", async () => {
      const [terms] = await stage.paidIn(MINIMUM);
      for (const token of [stage.pool, stage.home.factory.address, mustAddress(stranger.address)]) {
        const fault = await stage.home.faultAs(stranger, "refundOther", terms, token);
        assert.equal(fault.error, "TransferRefused");
      }
    });
  });
});
