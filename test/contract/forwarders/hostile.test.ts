// Pools, tokens and messengers that somebody wrote into their own terms, and that want other people's money. See hostile.tree.
import assert from "node:assert/strict";
import { Contract } from "ethers";
import { loadArtifact } from "../../../scripts/build/contracts.ts";
import type { Address } from "../../../shared/protocol/brands.ts";
import { FINALITY, inAddress, outAddress, type InTerms } from "../../../shared/protocol/host/forwarders.ts";
import { mustAddress } from "../pool/world.ts";
import { DAY, faultOf, MINIMUM, named, someone, Stage } from "./stage.ts";

/** In HostileParty.sol. */
const MODES = { Honest: 0, DoesNothing: 1, AsksForMore: 2, AsksTwice: 3, CallsBack: 4 } as const;
/** In ConfigurableToken.sol. */
const BEHAVIOURS = { ReturnsFalse: 2, TakesFee: 4, MovesNothing: 5, Reenters: 8, HidesBalance: 9 };

describe("forwarders: hostile parties", function () {
  let stage: Stage;
  let hostile: Contract;
  let party: Address;
  let token: Contract;
  let asset: Address;
  let victim: InTerms;
  let restore: () => Promise<void>;
  before(async () => {
    stage = await Stage.open({ moreAssets: ["ConfigurableToken"] });
    hostile = await stage.home.deploy("HostileParty");
    party = mustAddress(hostile.target as string);
    asset = stage.world.moreAssets[0]!;
    token = new Contract(asset, (await loadArtifact("ConfigurableToken")).abi, stage.home.owner);
    [victim] = await stage.paidIn(7n * MINIMUM);
    await stage.home.call("touch", victim);
    await stage.home.pass(DAY);
  });
  beforeEach(async () => {
    restore = await stage.world.remember();
  });
  afterEach(async () => {
    assert.equal(
      await stage.home.balance(inAddress(victim)),
      7n * MINIMUM,
      "the victim's money is where it was",
    );
    await restore();
  });
  after(() => stage.stop());

  const set = async (mode: keyof typeof MODES, message = "0x"): Promise<void> => {
    await (await hostile.getFunction("set")(MODES[mode], stage.home.factory.address, message)).wait();
  };
  const data = (name: string, ...args: unknown[]): string =>
    stage.home.forwarders.interface.encodeFunctionData(name, args);
  const answerOf = async (contract: Contract): Promise<readonly [boolean, string]> => [
    (await contract.getFunction("wasRefused")()) as boolean,
    faultOf(String(await contract.getFunction("answer")())).error,
  ];
  const sweepOf = (...terms: InTerms[]): unknown[] => terms.map((each) => ({ terms: each, fees: [] }));
  const everyCall = (): string[] => {
    const out = stage.outTerms();
    return [
      data("sweep", sweepOf(victim), []),
      data("refund", victim),
      data("touch", victim),
      data("refundOther", victim, asset),
      data("flush", out, 0n, FINALITY.safe),
      data("returnOut", out),
      data("returnOtherOut", out, asset),
    ];
  };

  describe("a pool that the terms name", () => {
    it("takes its own address's money and no other, though both are in one call", async () => {
      await set("Honest");
      const [own, vault] = await stage.paidIn(MINIMUM, { pool: party });
      const events = await stage.home.call("sweep", sweepOf(own, victim), []);
      assert.equal(faultOf(String(named(events, "SweepSkipped")[0]!.args["reason"])).error, "Mixed");
      assert.deepEqual([await stage.home.balance(vault), await stage.home.balance(party)], [0n, MINIMUM]);
    });

    it("gets nothing for an order that nobody gave", async () => {
      const [own] = await stage.paidIn(MINIMUM, { pool: party });
      const orders = [
        data("sweep", sweepOf(victim), []),
        data("sweep", sweepOf({ ...victim, pool: party }), []),
        data("returnOut", stage.outTerms({ pool: party })),
      ];
      for (const order of orders) {
        await set("AsksForMore", order);
        await stage.home.call("sweep", sweepOf(own), []);
        assert.deepEqual(await answerOf(hostile), [true, "NotExpected"]);
        await stage.home.mint(inAddress(own), MINIMUM);
      }
    });

    it("gets what was ordered once", async () => {
      const [own, vault] = await stage.paidIn(MINIMUM, { pool: party });
      await set("AsksTwice");
      await stage.home.call("sweep", sweepOf(own), []);
      assert.deepEqual(await answerOf(hostile), [true, "NotExpected"]);
      assert.equal(await stage.home.balance(vault), 0n);
    });

    it("that asks for nothing has done nothing", async () => {
      const [own, vault] = await stage.paidIn(MINIMUM, { pool: party });
      await set("DoesNothing");
      assert.equal((await stage.home.fault("sweep", sweepOf(own), [])).error, "NotExpected");
      assert.equal(await stage.home.balance(vault), MINIMUM);
      await stage.home.call("touch", own);
      await stage.home.pass(DAY);
      await stage.home.call("refund", own);
      assert.equal(await stage.home.balance(own.refund), MINIMUM);
    });

    it("calls nothing in the middle", async () => {
      for (const message of everyCall()) {
        const [own] = await stage.paidIn(MINIMUM, { pool: party });
        await set("CallsBack", message);
        await stage.home.callAs(stage.home.owner, "sweep", sweepOf(own), []);
        assert.deepEqual(await answerOf(hostile), [true, "Reentered"]);
      }
    });
  });

  it("nobody has credit brought outside a call, the pool included", async () => {
    const order = data("sweep", sweepOf(victim), []);
    for (const from of [stage.home.owner.address, stage.pool, party]) {
      await stage.home.provider.send("anvil_impersonateAccount", [from]);
      await stage.home.provider.send("anvil_setBalance", [from, "0xde0b6b3a7640000"]);
      const signer = await stage.home.provider.getSigner(from);
      assert.equal(
        (await stage.home.faultAs(signer, "bringCredit", victim.asset, order)).error,
        "NotExpected",
      );
    }
  });

  describe("a token", () => {
    const behave = async (behaviour: keyof typeof BEHAVIOURS): Promise<void> => {
      await (await token.getFunction("setBehaviour")(BEHAVIOURS[behaviour])).wait();
    };
    const paid = async (): Promise<readonly [InTerms, Address]> => {
      const terms = stage.inTerms({ asset });
      await stage.home.mint(inAddress(terms), MINIMUM, token);
      return [terms, inAddress(terms)];
    };

    it("that calls back finds the door locked, whatever it wants", async () => {
      for (const message of everyCall()) {
        const [own] = await paid();
        await (await token.getFunction("setReentry")(stage.home.factory.address, message)).wait();
        await behave("Reenters");
        await stage.home.call("sweep", sweepOf(own), []);
        assert.deepEqual(await answerOf(token), [true, "Reentered"]);
      }
    });

    it("that calls `bringCredit` is not the pool", async () => {
      const [own] = await paid();
      const order = data("sweep", sweepOf(victim), []);
      const message = data("bringCredit", victim.asset, order);
      await (await token.getFunction("setReentry")(stage.home.factory.address, message)).wait();
      await behave("Reenters");
      await stage.home.call("sweep", sweepOf(own), []);
      assert.deepEqual(await answerOf(token), [true, "NotExpected"]);
    });

    it("that keeps a part or moves nothing makes no note", async () => {
      for (const behaviour of ["TakesFee", "MovesNothing"] as const) {
        const [own, vault] = await paid();
        await behave(behaviour);
        assert.equal((await stage.home.fault("sweep", sweepOf(own), [])).error, "TransferMismatch");
        assert.equal(await stage.home.balance(vault, token), MINIMUM);
      }
    });

    it("that refuses, or hides what it holds, is skipped or reverts", async () => {
      const [own, vault] = await paid();
      await behave("ReturnsFalse");
      const fault = await stage.home.fault("sweep", sweepOf(own), []);
      assert.equal(faultOf(String(fault.args[0])).error, "TransferRefused");
      assert.equal(await stage.home.balance(vault, token), MINIMUM);
      await behave("HidesBalance");
      assert.equal((await stage.home.fault("sweep", sweepOf(own), [])).error, "TransferRefused");
    });
  });

  describe("a messenger that the terms name", () => {
    it("that takes nothing has not been paid", async () => {
      const [terms, vault] = await stage.paidOut(MINIMUM, {}, { messenger: party });
      await set("DoesNothing");
      assert.deepEqual(await stage.home.fault("flush", terms, 0n, FINALITY.safe), {
        error: "NotTaken",
        args: [MINIMUM],
      });
      assert.equal(await stage.home.balance(vault), MINIMUM);
    });

    it("that calls back finds the door locked, and has no allowance left", async () => {
      for (const message of everyCall()) {
        const terms = stage.outTerms({ refund: someone() }, { messenger: party });
        await stage.home.mint(outAddress(terms), MINIMUM);
        await set("CallsBack", message);
        await stage.home.call("flush", terms, 0n, FINALITY.safe);
        assert.deepEqual(await answerOf(hostile), [true, "Reentered"]);
        const allowance: unknown = await stage.home.usdc.getFunction("allowance")(outAddress(terms), party);
        assert.equal(allowance, 0n);
      }
    });
  });
});
