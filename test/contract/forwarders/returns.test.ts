// Money of an out-address that did not leave comes back as a note; other tokens too, or to the recipient. See returns.tree.
import assert from "node:assert/strict";
import { Contract } from "ethers";
import { loadArtifact } from "../../../scripts/build/contracts.ts";
import {
  paddedAddress,
  outAddress,
  FINALITY,
  type OutTerms,
} from "../../../shared/protocol/host/forwarders.ts";
import { ZERO_ADDRESS } from "../../../shared/protocol/brands.ts";
import { asBytes32 } from "../../../shared/protocol/host/text.ts";
import { toHex } from "../../../shared/protocol/bytes.ts";
import { freshAddress, mustAddress } from "../pool/world.ts";
import { DAY, MINIMUM, named, someone, Stage } from "./stage.ts";

describe("forwarders: returns", function () {
  let stage: Stage;
  let restore: () => Promise<void>;
  before(async () => {
    stage = await Stage.open({ moreAssets: ["TestUSDC"] });
  });
  beforeEach(async () => {
    restore = await stage.world.remember();
  });
  afterEach(() => restore());
  after(() => stage.stop());

  const assertReturned = async (terms: OutTerms, amount: bigint): Promise<void> => {
    const events = await stage.home.callAs(await stage.home.account(5), "returnOut", terms);
    const [credited] = named(events, "Credited");
    const { npk, ephemeralKey, ciphertext } = terms.refund;
    assert.deepEqual(
      ["npk", "value", "ephemeralKey", "ciphertext"].map((key) => credited!.args[key] as unknown),
      [npk, amount, toHex(ephemeralKey), toHex(ciphertext)],
    );
    assert.deepEqual([...named(events, "Returned")[0]!.args].slice(2), [credited!.args["leafIndex"], amount]);
    assert.deepEqual(await stage.home.since(outAddress(terms)), [0n, 0n]);
  };

  it("a day after a touch, whole, by anyone; not before", async () => {
    const [terms] = await stage.paidOut(5n * MINIMUM);
    assert.equal((await stage.home.fault("returnOut", terms)).error, "TooEarly");
    await stage.home.call("touchOut", terms);
    assert.equal((await stage.home.fault("returnOut", terms)).error, "TooEarly");
    await stage.home.pass(DAY);
    await assertReturned(terms, 5n * MINIMUM);
    assert.equal((await stage.home.fault("returnOut", terms)).error, "NothingHeld");
  });

  it("below the minimum too; dust does not age what comes later", async () => {
    const [terms, vault] = await stage.paidOut(3n);
    await stage.home.call("touchOut", terms);
    await stage.home.pass(DAY);
    await stage.home.mint(vault, MINIMUM);
    assert.equal((await stage.home.fault("returnOut", terms)).error, "TooEarly");
    await stage.home.call("flush", terms, 0n, FINALITY.safe);
    await stage.home.mint(vault, 3n);
    await stage.home.call("touchOut", terms);
    await stage.home.pass(DAY);
    await assertReturned(terms, 3n);
  });

  it("when the exit is no exit", async () => {
    const [terms] = await stage.paidOut(MINIMUM, {}, { messenger: freshAddress() });
    assert.equal((await stage.home.fault("flush", terms, 0n, FINALITY.safe)).error, "TransferRefused");
    await stage.home.call("touchOut", terms);
    await stage.home.pass(DAY);
    await assertReturned(terms, MINIMUM);
  });

  it("a note that is none stays where it is, and still can be flushed", async () => {
    const refund = someone({ ciphertext: new Uint8Array(54) });
    const [terms] = await stage.paidOut(MINIMUM, { refund });
    await stage.home.call("touchOut", terms);
    await stage.home.pass(DAY);
    assert.equal((await stage.home.fault("returnOut", terms)).error, "NoteInvalid");
    await stage.home.call("flush", terms, 0n, FINALITY.safe);
  });

  describe("other tokens", () => {
    it("that the pool lists become a note of the refund's owner at once", async () => {
      const asset = stage.world.moreAssets[0]!;
      const token = new Contract(asset, (await loadArtifact("TestUSDC")).abi, stage.home.owner);
      const terms = stage.outTerms();
      await stage.home.mint(outAddress(terms), 9n, token);
      const [credited] = named(await stage.home.call("returnOtherOut", terms, asset), "Credited");
      assert.deepEqual(
        [credited!.args["npk"], credited!.args["value"], mustAddress(String(credited!.args["asset"]))],
        [terms.refund.npk, 9n, asset],
      );
      assert.equal((await stage.home.fault("returnOtherOut", terms, terms.asset)).error, "OwnAsset");
    });

    it("that it does not list go to the recipient, when that is an account here", async () => {
      const token = await stage.home.deploy("TestToken", "Other", "OTH", 18);
      const to = freshAddress();
      const terms = stage.outTerms({}, { recipient: paddedAddress(to) });
      await stage.home.mint(outAddress(terms), 9n, token);
      await stage.home.call("returnOtherOut", terms, token.target);
      assert.equal(await stage.home.balance(to, token), 9n);
    });

    it("have no way where the recipient is a contract elsewhere, or no address", async () => {
      const token = await stage.home.deploy("TestToken", "Other", "OTH", 18);
      const exits: readonly Partial<OutTerms["exit"]>[] = [
        { hook: new Uint8Array(56) },
        { caller: paddedAddress(freshAddress()) },
        { recipient: asBytes32(`0x01${"00".repeat(31)}`)! },
        { recipient: paddedAddress(ZERO_ADDRESS) },
      ];
      for (const exit of exits) {
        const terms = stage.outTerms({}, exit);
        await stage.home.mint(outAddress(terms), 9n, token);
        assert.equal((await stage.home.fault("returnOtherOut", terms, token.target)).error, "NoWayBack");
      }
    });
  });
});
