// Money that leaves for another chain: a source address over two chains, an out-address, both protocols. See departures.tree.
import assert from "node:assert/strict";
import { Contract } from "ethers";
import { loadArtifact } from "../../../scripts/build/contracts.ts";
import { ZERO_ADDRESS } from "../../../shared/protocol/brands.ts";
import { bytesToUint, toHex } from "../../../shared/protocol/bytes.ts";
import {
  FINALITY,
  inAddress,
  paddedAddress,
  sourceAddress,
  type OutTerms,
} from "../../../shared/protocol/host/forwarders.ts";
import { freshAddress, mustAddress } from "../pool/world.ts";
import { attest, deliver, messageOf, undelivered, type Filling } from "./attesting.ts";
import { CEILING, DAY, faultOf, HOME_DOMAIN, link, MINIMUM, named, Second, Stage } from "./stage.ts";

const AMOUNT = 5_000_000n;

describe("forwarders: departures", function () {
  let stage: Stage;
  let second: Second;
  let restore: readonly (() => Promise<void>)[];
  before(async () => {
    stage = await Stage.openAlone();
    second = await Second.open();
    await link(stage.home, second.place);
  });
  beforeEach(async () => {
    restore = [await stage.world.remember(), await second.place.remember()];
  });
  afterEach(async () => {
    for (const each of restore) await each();
  });
  after(async () => {
    await second.stop();
    await stage.stop();
  });

  describe("a source address", () => {
    const arrive = async (maxFee: bigint, finality: number, filling: Filling) => {
      const terms = stage.inTerms();
      const home = inAddress(terms);
      const [source, vault] = await second.paid(AMOUNT, home);
      const stranger = await second.place.account(5);
      const receipt = await second.place.receiptOf(stranger, "forward", source, 0n, maxFee, finality);
      assert.equal(await second.place.balance(vault), 0n);
      const sent = messageOf(receipt);
      assert.equal(bytesToUint(sent.slice(140, 144)), BigInt(finality));
      assert.equal(bytesToUint(sent.slice(148 + 132, 148 + 164)), maxFee);
      await deliver(stage.home, attest(sent, filling));
      return { terms, home };
    };

    it("the safe way: burnt by a stranger, delivered by a stranger, swept into the note", async () => {
      const { terms, home } = await arrive(0n, FINALITY.safe, {});
      assert.equal(await stage.home.balance(home), AMOUNT);
      const [credited] = named(await stage.home.call("sweep", [{ terms, fees: [] }], []), "Credited");
      assert.deepEqual([credited!.args["npk"], credited!.args["value"]], [terms.receiver.npk, AMOUNT]);
    });

    it("the fast way: the fee that the attester took is missing, and the balance is what is swept", async () => {
      const { terms, home } = await arrive(700n, FINALITY.fast, { finality: 1_000, fee: 650n });
      assert.equal(await stage.home.balance(home), AMOUNT - 650n);
      const [credited] = named(await stage.home.call("sweep", [{ terms, fees: [] }], []), "Credited");
      assert.equal(credited!.args["value"], AMOUNT - 650n);
    });

    it("to an address without code; twice the same message mints once", async () => {
      const home = inAddress(stage.inTerms());
      const [source] = await second.paid(AMOUNT, home);
      const receipt = await second.place.receiptOf(
        second.place.owner,
        "forward",
        source,
        0n,
        0n,
        FINALITY.safe,
      );
      const attested = attest(messageOf(receipt));
      await deliver(stage.home, attested);
      assert.equal(await undelivered(stage.home, attested), "Nonce already used");
      assert.equal(await stage.home.provider.getCode(home), "0x");
      assert.equal(await stage.home.balance(home), AMOUNT);
    });

    it("one address on every lane's chain", async () => {
      const home = inAddress(stage.inTerms());
      const away = second.lane({ chainId: 31_339n });
      const [source, vault] = await second.paid(AMOUNT, home, [away, second.lane()]);
      assert.equal(vault, sourceAddress(source));
      const fault = await second.place.fault("forward", source, 0n, 0n, FINALITY.safe);
      assert.deepEqual(fault, { error: "LaneElsewhere", args: [31_339n] });
      const events = await second.place.call("forward", source, 1n, 0n, FINALITY.safe);
      assert.equal(named(events, "Forwarded")[0]!.args["amount"], AMOUNT);
      assert.equal((await second.place.fault("forward", source, 2n, 0n, FINALITY.safe)).error, "Panic");
    });

    it("again and again", async () => {
      const [source, vault] = await second.paid(AMOUNT, freshAddress());
      for (const amount of [AMOUNT, 2n * AMOUNT]) {
        const events = await second.place.call("forward", source, 0n, 0n, FINALITY.safe);
        assert.equal(named(events, "Forwarded")[0]!.args["amount"], amount);
        await second.place.mint(vault, 2n * AMOUNT);
      }
    });

    it("not below the lane's minimum, not above its ceiling, in no other finality", async () => {
      const place = second.place;
      const [dust] = await second.paid(MINIMUM - 1n, freshAddress());
      assert.deepEqual(await place.fault("forward", dust, 0n, 0n, FINALITY.safe), {
        error: "BelowMinimum",
        args: [MINIMUM - 1n, MINIMUM],
      });
      const [source] = await second.paid(MINIMUM, freshAddress());
      const above = await place.fault("forward", source, 0n, CEILING + 1n, FINALITY.fast);
      assert.equal(above.error, "FeesAboveCeiling");
      for (const finality of [0, 999, 1_001, 1_999, 2_001])
        assert.equal((await place.fault("forward", source, 0n, 0n, finality)).error, "FinalityUnknown");
      await place.call("forward", source, 0n, CEILING, FINALITY.fast);
    });

    it("goes back by the clock, by anyone; a burn stops the clock", async () => {
      const place = second.place;
      const [source, vault] = await second.paid(AMOUNT, freshAddress());
      await place.call("touchSource", source, 0n);
      await place.call("forward", source, 0n, 0n, FINALITY.safe);
      assert.deepEqual(await place.since(vault), [0n, 0n]);
      await place.mint(vault, AMOUNT);
      assert.equal((await place.fault("refundSource", source, 0n)).error, "TooEarly");
      await place.call("touchSource", source, 0n);
      await place.pass(DAY);
      await place.call("refundSource", source, 0n);
      assert.equal(await place.balance(source.refund), AMOUNT);
    });

    it("has a clock for each token of its lanes", async () => {
      const place = second.place;
      const token = await place.deploy("TestToken", "Other", "OTH", 6);
      const other = second.lane({ token: mustAddress(token.target as string) });
      const [source, vault] = await second.paid(AMOUNT, freshAddress(), [second.lane(), other]);
      await place.call("touchSource", source, 0n);
      await place.pass(DAY);
      await place.mint(vault, AMOUNT, token);
      assert.equal((await place.fault("refundSource", source, 1n)).error, "TooEarly");
      assert.equal((await place.fault("refundOtherSource", source, token.target)).error, "OwnAsset");
      await place.call("refundSource", source, 0n);
    });

    it("of two lanes of one token, each with its own minimum: what is dust on one counts for dust there", async () => {
      const place = second.place;
      const lanes = [second.lane({ minimum: 10n }), second.lane()];
      const [source, vault] = await second.paid(10n, freshAddress(), lanes);
      await place.call("touchSource", source, 0n);
      await place.pass(DAY);
      await place.mint(vault, MINIMUM);
      assert.equal((await place.fault("refundSource", source, 1n)).error, "TooEarly");
      await place.call("touchSource", source, 1n);
      assert.equal((await place.since(vault))[1], MINIMUM + 10n);
      assert.equal((await place.fault("refundSource", source, 0n)).error, "TooEarly");
      await place.pass(DAY);
      await place.call("refundSource", source, 1n);
      assert.equal(await place.balance(source.refund), MINIMUM + 10n);
    });

    it("other tokens and coins go back at once; on a chain without a lane, everything", async () => {
      const [source, vault] = await second.paid(AMOUNT, freshAddress());
      const place = second.place;
      const token = await place.deploy("TestToken", "Other", "OTH", 6);
      await place.mint(vault, 7n, token);
      await place.call("refundOtherSource", source, token.target);
      assert.equal(await place.balance(source.refund, token), 7n);
      assert.equal((await place.fault("refundOtherSource", source, place.token)).error, "OwnAsset");
      await (await place.owner.sendTransaction({ to: vault, value: 3n })).wait();
      await place.call("refundOtherSource", source, ZERO_ADDRESS);
      assert.equal(await place.provider.getBalance(source.refund), 3n);
      await stage.home.mint(vault, 9n);
      await stage.home.call("refundOtherSource", source, stage.home.token);
      assert.equal(await stage.home.balance(source.refund), 9n);
    });
  });

  describe("an out-address", () => {
    /** Of whom the vault has told, in a call that reverts. */
    async function words(terms: OutTerms): Promise<string> {
      const fault = await stage.home.fault("flush", terms, 0n, FINALITY.safe);
      assert.equal(fault.error, "TransferRefused");
      return Buffer.from(String(fault.args[0]).slice(2), "hex").toString();
    }

    it("pays its recipient on the other chain", async () => {
      const to = freshAddress();
      const [terms, vault] = await stage.paidOut(AMOUNT, {}, { recipient: paddedAddress(to) });
      const stranger = await stage.home.account(5);
      const receipt = await stage.home.receiptOf(stranger, "flush", terms, 10n, FINALITY.fast);
      assert.equal(await stage.home.balance(vault), 0n);
      await deliver(second.place, attest(messageOf(receipt), { finality: 1_000, fee: 10n }));
      assert.equal(await second.place.balance(to), AMOUNT - 10n);
    });

    it("with hook and caller: both are in the message, and only the caller delivers", async () => {
      const hook = Uint8Array.from({ length: 56 }, (_, i) => i + 1);
      const caller = paddedAddress(freshAddress());
      const [terms] = await stage.paidOut(AMOUNT, {}, { hook, caller });
      const receipt = await stage.home.receiptOf(stage.home.owner, "flush", terms, 0n, FINALITY.safe);
      const sent = messageOf(receipt);
      assert.deepEqual(toHex(sent.slice(148 + 228)), toHex(hook));
      assert.equal(toHex(sent.slice(108, 140)), caller);
      assert.equal(await undelivered(second.place, attest(sent)), "Invalid caller for message");
    });

    it("not below the minimum, not above the ceiling", async () => {
      const [dust] = await stage.paidOut(MINIMUM - 1n);
      assert.equal((await stage.home.fault("flush", dust, 0n, FINALITY.safe)).error, "BelowMinimum");
      const [terms] = await stage.paidOut(MINIMUM);
      assert.equal(
        (await stage.home.fault("flush", terms, CEILING + 1n, FINALITY.safe)).error,
        "FeesAboveCeiling",
      );
    });

    it("of more than CCTP burns at once so much leaves with each call; of a limit below the minimum CCTP speaks", async () => {
      const { abi } = await loadArtifact("TokenMinterV2");
      const { minter, token } = stage.home.cctp;
      const limits = new Contract(minter, abi, stage.home.owner);
      const limit = async (units: bigint): Promise<void> => {
        await (await limits.getFunction("setMaxBurnAmountPerMessage")(token, units)).wait();
      };
      const before = (await limits.getFunction("burnLimitsPerMessage")(token)) as bigint;
      const to = freshAddress();
      const held = 2n * MINIMUM + MINIMUM / 2n;
      const [terms, vault] = await stage.paidOut(held, {}, { recipient: paddedAddress(to) });
      const burnt = async (): Promise<bigint> => {
        const receipt = await stage.home.receiptOf(stage.home.owner, "flush", terms, 0n, FINALITY.safe);
        await deliver(second.place, attest(messageOf(receipt)));
        return held - (await stage.home.balance(vault));
      };
      await limit(MINIMUM - 1n);
      assert.match(await words(terms), /exceeds per tx limit/);
      await limit(0n);
      assert.match(await words(terms), /not supported/);
      await limit(MINIMUM);
      assert.equal(await burnt(), MINIMUM);
      assert.equal(await burnt(), 2n * MINIMUM);
      assert.equal(await second.place.balance(to), 2n * MINIMUM);
      assert.equal((await stage.home.fault("flush", terms, 0n, FINALITY.safe)).error, "BelowMinimum");
      await stage.home.mint(vault, MINIMUM);
      await limit(before);
      assert.equal((await burnt()) + MINIMUM, held + MINIMUM);
      assert.equal(await second.place.balance(to), held + MINIMUM);
    });

    it("where CCTP refuses, its words come through and the money stays", async () => {
      const [terms, vault] = await stage.paidOut(AMOUNT, {}, { domain: 99 });
      assert.match(await words(terms), /No TokenMessenger for domain/);
      assert.equal(await stage.home.balance(vault), AMOUNT);
    });
  });

  it("a message about money that never came credits nobody", async () => {
    const terms = stage.inTerms();
    const { abi } = await loadArtifact("MessageTransmitterV2");
    const transmitter = new Contract(second.place.cctp.transmitter, abi, second.place.owner);
    const [source] = await second.paid(AMOUNT, inAddress(terms));
    const real = messageOf(
      await second.place.receiptOf(second.place.owner, "forward", source, 0n, 0n, FINALITY.safe),
    );
    // The same body, sent by anybody: attested like everything.
    const sent = await transmitter.getFunction("sendMessage")(
      HOME_DOMAIN,
      paddedAddress(stage.home.cctp.messenger),
      `0x${"00".repeat(32)}`,
      FINALITY.safe,
      toHex(real.slice(148)),
    );
    const forged = attest(messageOf(await sent.wait()));
    assert.equal(await undelivered(stage.home, forged), "Remote TokenMessenger unsupported");
    const fault = await stage.home.fault("sweep", [{ terms, fees: [] }], []);
    assert.equal(faultOf(String(fault.args[0])).error, "BelowMinimum");
  });
});
