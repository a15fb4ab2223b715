import assert from "node:assert/strict";
import { inPlace, outPlace, type InPlace, type OutPlace } from "../../../shared/client/bridges/terms.ts";
import { chainExit, lanesOf, venueExit } from "../../../shared/client/bridges/bridge-pins.ts";
import type { Recovery } from "../../../shared/client/chain.ts";
import { RefundKey } from "../../../shared/notes/bridge-keys.ts";
import { TIMEOUT_SECS } from "../../../shared/protocol/host/forwarders.ts";
import { asAddress } from "../../../shared/protocol/host/text.ts";
import { ACCOUNT, CEILING, MINIMUM, PAYEE, RecoveryStage, REFUND, show } from "./recovery-stage.ts";

const AMOUNT = 9_000_000n;
const acts = ({ steps }: Recovery): string[] => steps.map(({ what, state }) => `${what} ${state}`);

describe("recovery of bridge money, with a key and nodes alone", function () {
  let stage: RecoveryStage;
  before(async () => {
    stage = await RecoveryStage.open();
  });
  after(() => (stage as RecoveryStage | undefined)?.stop());

  const maker = (seed: number) => ({
    keys: stage.keys(seed).viewing,
    home: { chainId: BigInt(stage.lone.anvil.chainId), pool: stage.lone.pool },
    factory: stage.factory,
  });
  const common = { minimum: MINIMUM, feeCeiling: CEILING, createdAt: 0 };
  const incoming = (seed: number, index: number, refund = REFUND): InPlace =>
    inPlace(maker(seed), {
      ...{ ...common, kind: "in", venue: "perpvenue", index, asset: stage.lone.asset, refund },
      ...{ collector: asAddress(stage.pins.collector)!, lanes: lanesOf(stage.pins) },
    });
  const outgoing = (seed: number, index: number, to: "exchange" | "chain"): OutPlace => {
    const payee = to === "exchange" ? ACCOUNT : PAYEE;
    const chainId = to === "exchange" ? undefined : stage.secondChain;
    const {
      minimum: _least,
      feeCeiling: _most,
      ...exit
    } = chainId === undefined ? venueExit(stage.pins, payee) : chainExit(stage.pins, chainId, payee);
    const venue = chainId === undefined ? "perpvenue" : "chain";
    return outPlace(maker(seed), {
      ...{ ...common, kind: "out", venue, index, asset: stage.lone.asset, payee, chainId, exit },
    });
  };

  it("sweeps what lies at an address into its note without fees, once", async () => {
    await stage.pay("home", incoming(1, 0).address, AMOUNT);
    const recovery = await stage.recover(1);
    assert.deepEqual(acts(recovery), ["sweep done"], show(recovery));
    assert.deepEqual(await stage.notes(1), [AMOUNT]);
    const again = await stage.recover(1);
    assert.deepEqual([again.found, again.steps, again.waitingFor], [[], [], []]);
    assert.deepEqual(await stage.notes(1), [AMOUNT]);
  });

  it("a dry run shows the step and sends nothing", async () => {
    await stage.pay("home", incoming(2, 0).address, AMOUNT);
    const before = await stage.sent();
    const recovery = await stage.recover(2, { dryRun: true });
    assert.deepEqual(acts(recovery), ["sweep possible"]);
    assert.deepEqual(
      recovery.found.map(({ amount, kind }) => [kind, amount]),
      [["in", AMOUNT]],
    );
    assert.deepEqual(await stage.sent(), before);
    assert.deepEqual(await stage.notes(2), []);
  });

  it("burns on another chain, delivers with the attestation, and sweeps: each run goes on where the last one stopped", async () => {
    const place = incoming(3, 0);
    await stage.pay("second", place.source!.address, AMOUNT);
    const first = await stage.recover(3);
    assert.deepEqual(acts(first), ["forward done"], show(first));
    assert.equal(await stage.balance("second", place.source!.address), 0n);
    assert.ok(first.waitingFor.length > 0, "the attester has not signed yet");
    const second = await stage.recoverUntil(3, ({ steps }) => steps.length > 0);
    assert.deepEqual(acts(second), ["deliver done", "sweep done"], show(second));
    assert.deepEqual(await stage.notes(3), [AMOUNT]);
    assert.deepEqual(acts(await stage.recover(3)), []);
  });

  it("sends on what waits at an out-address, and delivers it to the other chain", async () => {
    const before = await stage.balance("second", PAYEE);
    await stage.pay("home", outgoing(4, 0, "chain").address, AMOUNT);
    assert.deepEqual(acts(await stage.recover(4)), ["flush done"]);
    await stage.recoverUntil(4, (recovery) => acts(recovery).includes("deliver done"));
    assert.equal((await stage.balance("second", PAYEE)) - before, AMOUNT);
  });

  it("allows the fee that the bridge's own contract takes of every burn", async () => {
    await stage.takeFee(1_000n);
    try {
      await stage.pay("home", outgoing(4, 1, "chain").address, AMOUNT);
      assert.deepEqual(acts(await stage.recover(4)), ["flush done"]);
    } finally {
      await stage.takeFee(0n);
    }
  });

  it("an exit that takes nothing: the money is back in the note of the address after the time-out", async () => {
    await stage.pay("home", outgoing(5, 0, "exchange").address, AMOUNT);
    const first = await stage.recover(5);
    assert.deepEqual(acts(first), ["flush refused", "touch done"], show(first));
    const waiting = await stage.recover(5);
    assert.deepEqual(acts(waiting), ["flush refused"]);
    const [{ until } = { until: undefined }] = waiting.waitingFor;
    const now = (await stage.lone.provider.getBlock("latest"))!.timestamp;
    assert.ok(until !== undefined && until > now && until <= now + TIMEOUT_SECS);
    await stage.lone.pass(TIMEOUT_SECS + 1);
    assert.deepEqual(acts(await stage.recover(5)), ["flush refused", "return done"]);
    assert.deepEqual(await stage.notes(5), [AMOUNT]);
  });

  it("less than the minimum is refunded after the time-out, and to nobody else than the refund address", async () => {
    const before = await stage.balance("home", REFUND);
    await stage.pay("home", incoming(6, 0).address, MINIMUM - 1n);
    assert.deepEqual(acts(await stage.recover(6)), ["touch done"]);
    assert.deepEqual(acts(await stage.recover(6)), []);
    await stage.lone.pass(TIMEOUT_SECS + 1);
    assert.deepEqual(acts(await stage.recover(6)), ["refund done"]);
    assert.equal((await stage.balance("home", REFUND)) - before, MINIMUM - 1n);
  });

  it("finds every number within the gap, also behind used ones, and none beyond it", async () => {
    for (const index of [4, 20, 41]) await stage.pay("home", incoming(7, index).address, AMOUNT);
    const near = await stage.recover(7);
    assert.deepEqual(
      near.found.map(({ index }) => index),
      [4, 20],
      show(near),
    );
    const far = await stage.recover(7, { gap: 40 });
    assert.deepEqual(
      far.found.map(({ index }) => index),
      [41],
    );
    assert.deepEqual(await stage.notes(7), [AMOUNT, AMOUNT, AMOUNT]);
  });

  it("without the refund address an address is not found: it is a part of it", async () => {
    await stage.pay("home", incoming(8, 0).address, AMOUNT);
    assert.deepEqual((await stage.recover(8, { refundAddresses: [PAYEE] })).found, []);
    assert.deepEqual(acts(await stage.recover(8, { refundAddresses: [PAYEE, REFUND] })), ["sweep done"]);
  });

  it("finds addresses with the wallet's own refund accounts from the key alone, on every chain", async () => {
    const alone = { refundAddresses: [], accounts: [], recipients: [] };
    const own = (index: number): InPlace => {
      const { address } = new RefundKey(stage.keys(10), "in", index);
      return incoming(10, index, address);
    };
    await stage.pay("home", own(0).address, AMOUNT);
    await stage.pay("second", own(3).source!.address, AMOUNT);
    const recovery = await stage.recover(10, alone);
    assert.deepEqual(acts(recovery), ["forward done", "sweep done"], show(recovery));
    assert.deepEqual(await stage.notes(10), [AMOUNT]);
    // Another wallet's key finds none of it.
    assert.deepEqual((await stage.recover(11, alone)).found, []);
  });

  it("refunds to an account of the wallet's own key, and says which", async () => {
    const key = new RefundKey(stage.keys(12), "in", 1);
    await stage.pay("home", incoming(12, 1, key.address).address, MINIMUM - 1n);
    assert.deepEqual(acts(await stage.recover(12, { refundAddresses: [] })), ["touch done"]);
    await stage.lone.pass(TIMEOUT_SECS + 1);
    const { steps } = await stage.recover(12, { refundAddresses: [] });
    assert.deepEqual(
      steps.map(({ what, refundAddress }) => [what, refundAddress]),
      [["refund", key.address]],
    );
    assert.equal(await stage.balance("home", key.address), MINIMUM - 1n);
  });

  it("with nobody to pay for gas it says what could be done", async () => {
    await stage.pay("home", incoming(9, 0).address, AMOUNT);
    const [rpc] = stage.urls;
    const recovery = await stage.recover(9, { home: { chainId: stage.lone.anvil.chainId, rpc }, chains: [] });
    assert.deepEqual(acts(recovery), ["sweep possible"]);
  });

  it("believes no node of another chain", async () => {
    const [, rpc] = stage.urls;
    const asked = stage.recover(9, { home: { chainId: stage.lone.anvil.chainId, rpc } });
    await assert.rejects(asked, (error: { code?: string }) => error.code === "CHAIN_DOUBTED");
  });
});
