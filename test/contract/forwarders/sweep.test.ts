// Balances become notes: one, many, each alone, with fees within the ceiling and for the collector only. See sweep.tree.
import assert from "node:assert/strict";
import { Contract, type LogDescription } from "ethers";
import { loadArtifact } from "../../../scripts/build/contracts.ts";
import { FIELD_ORDER, mustField, ZERO_ADDRESS, type Address } from "../../../shared/protocol/brands.ts";
import { toHex } from "../../../shared/protocol/bytes.ts";
import { poseidon3 } from "../../../shared/protocol/host/poseidon.ts";
import { inAddress, type InTerms, type Receiver } from "../../../shared/protocol/host/forwarders.ts";
import { CEILING, faultOf, MINIMUM, named, someone, Stage } from "./stage.ts";

describe("forwarders: sweep", function () {
  let stage: Stage;
  let restore: () => Promise<void>;
  before(async () => {
    stage = await Stage.open({ moreAssets: ["RefusingToken"] });
  });
  beforeEach(async () => {
    restore = await stage.world.remember();
  });
  afterEach(() => restore());
  after(() => stage.stop());

  const sweep = (
    terms: readonly InTerms[],
    { fees = [], to = [] }: { fees?: readonly bigint[]; to?: readonly Receiver[] } = {},
  ): Promise<LogDescription[]> =>
    stage.home.call(
      "sweep",
      terms.map((each) => ({ terms: each, fees })),
      to,
    );
  const skipped = (events: readonly LogDescription[]): readonly string[] =>
    named(events, "SweepSkipped").map(({ args }) => faultOf(args["reason"] as string).error);
  const assertNote = (
    event: LogDescription | undefined,
    to: Receiver,
    value: bigint,
    asset: Address,
  ): void => {
    assert.ok(event !== undefined, "a note was credited");
    const { npk, commitment, ephemeralKey, ciphertext } = event.args;
    assert.deepEqual(
      [event.args["value"], npk, ephemeralKey, ciphertext, commitment],
      [
        value,
        to.npk,
        toHex(to.ephemeralKey),
        toHex(to.ciphertext),
        poseidon3(to.npk, mustField(BigInt(asset)), value),
      ],
    );
  };

  describe("one address with the minimum in it", () => {
    it("becomes the receiver's note, whole, whoever calls", async () => {
      const [terms, vault] = await stage.paidIn(5_000_000n);
      const before = await stage.home.balance(stage.pool);
      const events = await stage.home.callAs(await stage.home.account(5), "sweep", [{ terms, fees: [] }], []);
      assertNote(named(events, "Credited")[0], terms.receiver, 5_000_000n, terms.asset);
      const [swept] = named(events, "Swept");
      assert.deepEqual([...swept!.args], [swept!.args["vault"], 0n, 5_000_000n, 0n]);
      assert.equal(String(swept!.args["vault"]).toLowerCase(), vault);
      assert.equal(await stage.home.balance(vault), 0n);
      assert.equal(await stage.home.balance(stage.pool), before + 5_000_000n);
    });

    it("becomes another note each time that money arrives", async () => {
      const [terms, vault] = await stage.paidIn(MINIMUM);
      await sweep([terms]);
      await stage.home.mint(vault, 3n * MINIMUM);
      const events = await sweep([terms]);
      assertNote(named(events, "Credited")[0], terms.receiver, 3n * MINIMUM, terms.asset);
      assert.equal(named(events, "Swept")[0]!.args["leafIndex"], 1n);
    });

    it("stops the refund clock", async () => {
      const [terms, vault] = await stage.paidIn(MINIMUM);
      await stage.home.call("touch", terms);
      assert.equal((await stage.home.since(vault))[1], MINIMUM);
      await sweep([terms]);
      assert.deepEqual(await stage.home.since(vault), [0n, 0n]);
      await stage.home.mint(vault, MINIMUM);
      await stage.home.pass(2 * 86_400);
      assert.equal((await stage.home.fault("refund", terms)).error, "TooEarly");
    });
  });

  describe("fees", () => {
    it("are one note for each collector, over all sweeps that were done", async () => {
      const paid = [await stage.paidIn(5_000_000n), await stage.paidIn(7_000_000n), await stage.paidIn(9n)];
      const to = [someone(), someone(), someone()];
      const terms = paid.map(([each]) => each);
      const events = await sweep(terms, { fees: [50_000n, 0n, 20_000n], to });
      assert.deepEqual(skipped(events), ["BelowMinimum"]);
      const notes = named(events, "Credited");
      assert.equal(notes.length, 4);
      assertNote(notes[0], terms[0]!.receiver, 4_930_000n, terms[0]!.asset);
      assertNote(notes[1], terms[1]!.receiver, 6_930_000n, terms[0]!.asset);
      assertNote(notes[2], to[0]!, 100_000n, terms[0]!.asset);
      assertNote(notes[3], to[2]!, 40_000n, terms[0]!.asset);
      assert.deepEqual(
        named(events, "Swept").map(({ args }) => args["leafIndex"] as bigint),
        [0n, 1n],
      );
    });

    it("may reach the ceiling and not pass it, together", async () => {
      const [terms] = await stage.paidIn(MINIMUM);
      const to = [someone(), someone()];
      const fault = await stage.home.fault("sweep", [{ terms, fees: [CEILING, 1n] }], to);
      assert.equal(fault.error, "NothingSwept");
      assert.deepEqual(faultOf(String(fault.args[0])), {
        error: "FeesAboveCeiling",
        args: [CEILING + 1n, CEILING],
      });
      const events = await sweep([terms], { fees: [CEILING - 1n, 1n], to });
      assertNote(named(events, "Credited")[0], terms.receiver, MINIMUM - CEILING, terms.asset);
    });

    it("are for the collector alone; without fees anybody sweeps", async () => {
      const stranger = await stage.home.account(5);
      const [terms] = await stage.paidIn(MINIMUM);
      const [nobodys] = await stage.paidIn(MINIMUM, { collector: ZERO_ADDRESS });
      const to = [someone()];
      const fault = await stage.home.faultAs(stranger, "sweep", [{ terms, fees: [1n] }], to);
      assert.equal(faultOf(String(fault.args[0])).error, "NotCollector");
      const own = await stage.home.fault("sweep", [{ terms: nobodys, fees: [1n] }], to);
      assert.equal(faultOf(String(own.args[0])).error, "NotCollector");
      const events = await stage.home.callAs(
        stranger,
        "sweep",
        [terms, nobodys].map((each) => ({ terms: each, fees: [] })),
        [],
      );
      assert.equal(named(events, "Swept").length, 2);
    });

    it("that nobody is named for, or that eat everything, are refused", async () => {
      const [terms] = await stage.paidIn(MINIMUM);
      const malformed = await stage.home.fault("sweep", [{ terms, fees: [0n, 1n] }], [someone()]);
      assert.equal(faultOf(String(malformed.args[0])).error, "FeesMalformed");
      const [greedy] = await stage.paidIn(500n, { minimum: 500n, feeCeiling: 500n });
      const fault = await stage.home.fault("sweep", [{ terms: greedy, fees: [500n] }], [someone()]);
      assert.equal(faultOf(String(fault.args[0])).error, "BelowMinimum");
    });
  });

  describe("many", () => {
    it("each alone: whatever is wrong with one, its neighbours are swept", async () => {
      const good = [await stage.paidIn(MINIMUM), await stage.paidIn(MINIMUM)].map(([terms]) => terms);
      const bad: readonly (readonly [InTerms, string])[] = [
        [(await stage.paidIn(MINIMUM - 1n))[0], "BelowMinimum"],
        [stage.inTerms(), "BelowMinimum"],
        [(await stage.paidIn(MINIMUM, { feeCeiling: 9n }))[0], "FeesAboveCeiling"],
        [(await stage.paidIn(MINIMUM, { collector: stage.pool }))[0], "NotCollector"],
        [(await stage.paidIn(MINIMUM, { receiver: someone({ npk: mustField(0n) }) }))[0], "NoteInvalid"],
        [
          (await stage.paidIn(MINIMUM, { receiver: someone({ npk: FIELD_ORDER as never }) }))[0],
          "NoteInvalid",
        ],
        [
          (await stage.paidIn(MINIMUM, { receiver: someone({ ciphertext: new Uint8Array(52) }) }))[0],
          "NoteInvalid",
        ],
        [(await stage.paidIn(2n ** 128n))[0], "NoteInvalid"],
        [(await stage.paidIn(MINIMUM, { pool: stage.home.token }))[0], "Mixed"],
        [(await stage.paidIn(MINIMUM, { asset: stage.world.moreAssets[0]! }))[0], "Mixed"],
        // The same again: nothing is left of it.
        [good[0]!, "BelowMinimum"],
      ];
      const events = await sweep([good[0]!, ...bad.map(([terms]) => terms), good[1]!], {
        fees: [10n],
        to: [someone()],
      });
      assert.deepEqual(
        skipped(events),
        bad.map(([, error]) => error),
      );
      assert.equal(named(events, "Swept").length, 2);
      for (const [terms] of bad.slice(0, -1)) {
        const vault = inAddress(terms, stage.home.factory);
        assert.equal(await stage.home.provider.getCode(vault), "0x", "what is skipped is not deployed");
      }
    });

    it("a token that refuses one address keeps the others from nothing", async () => {
      const asset = stage.world.moreAssets[0]!;
      const { abi } = await loadArtifact("RefusingToken");
      const token = new Contract(asset, abi, stage.home.owner);
      const own = [stage.inTerms({ asset }), stage.inTerms({ asset })];
      const vaults = own.map((terms) => inAddress(terms, stage.home.factory));
      for (const vault of vaults) await stage.home.mint(vault, MINIMUM, token);
      await (await token.getFunction("setRefusedSender")(vaults[0], true)).wait();
      const events = await sweep(own);
      assert.deepEqual(skipped(events), ["TransferRefused"]);
      assert.equal(named(events, "Swept").length, 1);
      assert.equal(await stage.home.balance(vaults[0]!, token), MINIMUM);
      assert.equal(await stage.home.balance(stage.pool, token), MINIMUM);
    });

    it("up to what the pool takes in one credit", async () => {
      const terms: InTerms[] = [];
      for (let i = 0; i < 64; i++) terms.push((await stage.paidIn(MINIMUM))[0]);
      const fees = [10n];
      const tooMany = await stage.home.fault(
        "sweep",
        terms.map((each) => ({ terms: each, fees })),
        [someone()],
      );
      assert.equal(tooMany.error, "NoteCount");
      assert.equal(named(await sweep(terms), "Swept").length, 64);
    });
  });

  it("nothing at all: reverts, and says why the first was not swept", async () => {
    assert.deepEqual(await stage.home.fault("sweep", [], []), { error: "NothingSwept", args: ["0x"] });
    const [dust] = await stage.paidIn(1n);
    const fault = await stage.home.fault("sweep", [{ terms: dust, fees: [] }], []);
    assert.deepEqual(faultOf(String(fault.args[0])), { error: "BelowMinimum", args: [1n, MINIMUM] });
  });

  it("an asset that the pool does not list stays for the refund", async () => {
    const token = await stage.home.deploy("TestToken", "Other", "OTH", 18);
    const terms = stage.inTerms({ asset: (token.target as string).toLowerCase() as Address });
    const vault = inAddress(terms, stage.home.factory);
    await stage.home.mint(vault, MINIMUM, token);
    assert.equal((await stage.home.fault("sweep", [{ terms, fees: [] }], [])).error, "AssetUnsupported");
    await stage.home.call("touch", terms);
    await stage.home.pass(86_400);
    await stage.home.call("refund", terms);
    assert.equal(await stage.home.balance(terms.refund, token), MINIMUM);
  });
});
