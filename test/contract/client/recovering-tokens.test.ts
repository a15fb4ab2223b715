// Tokens at addresses that do not wait for them, by the recovery alone: real chains, real contracts, no service.
import assert from "node:assert/strict";
import { Contract, ZeroAddress } from "ethers";
import { loadArtifact } from "../../../scripts/build/contracts.ts";
import { deployTestUsdc } from "../../../scripts/deploy/pool.ts";
import { chainExit, lanesOf } from "../../../shared/client/bridges/bridge-pins.ts";
import { inPlace, outPlace } from "../../../shared/client/bridges/terms.ts";
import type { Recovery } from "../../../shared/client/chain.ts";
import type { Address } from "../../../shared/protocol/brands.ts";
import { asAddress } from "../../../shared/protocol/host/text.ts";
import { TIMEOUT_SECS } from "../../../shared/protocol/host/forwarders.ts";
import { CEILING, MINIMUM, PAYEE, RecoveryStage, REFUND, show } from "./recovery-stage.ts";

const AMOUNT = 6_000_000n;
const acts = ({ steps }: Recovery): string[] => steps.map(({ what, state }) => `${what} ${state}`);

describe("recovery of tokens that nobody waits for", function () {
  let stage: RecoveryStage;
  let token: Contract;
  let stray: Address;
  before(async () => {
    stage = await RecoveryStage.open();
    const owner = await stage.lone.provider.getSigner(0);
    stray = (await deployTestUsdc(owner)).address;
    token = new Contract(stray, (await loadArtifact("TestUSDC")).abi, owner);
  });
  after(() => (stage as RecoveryStage | undefined)?.stop());

  const maker = (seed: number) => ({
    keys: stage.keys(seed).viewing,
    home: { chainId: BigInt(stage.lone.anvil.chainId), pool: stage.lone.pool },
    factory: stage.factory,
  });
  const common = { minimum: MINIMUM, feeCeiling: CEILING, createdAt: 0 };
  const incoming = (seed: number) =>
    inPlace(maker(seed), {
      ...{ ...common, kind: "in", venue: "perpvenue", index: 0, asset: stage.lone.asset, refund: REFUND },
      ...{ collector: asAddress(stage.pins.collector)!, lanes: lanesOf(stage.pins) },
    });
  const outgoing = (seed: number, index = 0) => {
    const chainId = stage.secondChain;
    const { minimum: _least, feeCeiling: _most, ...exit } = chainExit(stage.pins, chainId, PAYEE);
    return outPlace(maker(seed), {
      ...{
        ...common,
        kind: "out",
        venue: "chain",
        index,
        asset: stage.lone.asset,
        payee: PAYEE,
        chainId,
        exit,
      },
    });
  };
  const send = async (to: string, amount = AMOUNT): Promise<void> => {
    await (await token.getFunction("mint").send(to, amount)).wait();
  };
  const held = async (of: string): Promise<bigint> =>
    (await token.getFunction("balanceOf").staticCall(of)) as bigint;
  const named = () => ({ tokens: [{ chainId: stage.lone.anvil.chainId, address: stray }] });

  it("a named token goes to the refund address at once, from both addresses of a number", async () => {
    const [place, before] = [incoming(1), await held(REFUND)];
    await send(place.address);
    await send(place.source!.address, 7n);
    assert.deepEqual((await stage.recover(1)).found, [], "nobody has named it");
    const recovery = await stage.recover(1, named());
    assert.deepEqual(acts(recovery), ["refundOther done", "refundOther done"], show(recovery));
    assert.ok(recovery.steps.every((step) => step.token === stray && step.refundAddress === REFUND));
    assert.equal((await held(REFUND)) - before, AMOUNT + 7n);
    assert.deepEqual(acts(await stage.recover(1, named())), []);
  });

  it("one that nobody has named is shown by its Transfer log, and left where it is", async () => {
    const { address } = incoming(2);
    await send(address);
    const recovery = await stage.recover(2, { searchTokens: true });
    assert.deepEqual(recovery.strays, [
      { chainId: stage.lone.anvil.chainId, address, token: stray, amount: AMOUNT },
    ]);
    assert.deepEqual([recovery.steps, recovery.found], [[], []]);
    assert.equal(await held(address), AMOUNT);
    const again = await stage.recover(2, { searchTokens: true, ...named() });
    assert.deepEqual(acts(again), ["refundOther done"]);
    assert.deepEqual(again.strays, []);
  });

  it("the right money on the wrong chain comes back without being named", async () => {
    const place = incoming(3);
    const [home, second] = [await stage.balance("home", REFUND), await stage.balance("second", REFUND)];
    // The pool's dollars at the source address, and the other chain's at the address of the pool's chain. These two dollars
    // have one address, so there the clock has to run.
    assert.equal(stage.pins.lanes[0]!.token, stage.lone.asset);
    await stage.pay("home", place.source!.address, AMOUNT);
    await stage.pay("second", place.address, 2n * AMOUNT);
    const recovery = await stage.recover(3);
    assert.deepEqual(acts(recovery), ["sweep refused", "touch done", "refundOther done"], show(recovery));
    assert.equal((await stage.balance("home", REFUND)) - home, AMOUNT);
    assert.deepEqual(acts(await stage.recover(3)), ["sweep refused"]);
    await stage.second.send("evm_increaseTime", [TIMEOUT_SECS + 1]);
    await stage.second.send("anvil_mine", ["0x1"]);
    assert.deepEqual(acts(await stage.recover(3)), ["sweep refused", "refund done"]);
    assert.equal((await stage.balance("second", REFUND)) - second, 2n * AMOUNT);
  });

  it("coins of the chain, named by the zero address", async () => {
    const { provider, anvil } = stage.lone;
    const { address } = incoming(4);
    const before = await provider.getBalance(REFUND);
    await (await (await provider.getSigner(0)).sendTransaction({ to: address, value: 5n })).wait();
    const tokens = [{ chainId: anvil.chainId, address: ZeroAddress }];
    assert.deepEqual(acts(await stage.recover(4, { tokens })), ["refundOther done"]);
    assert.equal((await provider.getBalance(REFUND)) - before, 5n);
  });

  it("of an out-address it goes to the payee", async () => {
    const before = await held(PAYEE);
    await send(outgoing(5).address);
    assert.deepEqual(acts(await stage.recover(5, named())), ["refundOther done"]);
    assert.equal((await held(PAYEE)) - before, AMOUNT);
  });

  it("a payee that was paid before is found on the chain, so the next address for it needs no hint", async () => {
    const hints = { accounts: [], recipients: [] };
    await stage.pay("home", outgoing(6, 0).address, 9_000_000n);
    assert.deepEqual(
      (await stage.recover(6, hints)).found,
      [],
      "nothing has left it, so nothing tells its payee",
    );
    assert.deepEqual(acts(await stage.recover(6)), ["flush done"]);
    await stage.pay("home", outgoing(6, 3).address, 8_000_000n);
    const recovery = await stage.recover(6, hints);
    assert.deepEqual(
      acts(recovery).filter((act) => act.startsWith("flush")),
      ["flush done"],
      show(recovery),
    );
    // Another key has paid nobody.
    await stage.pay("home", outgoing(7, 0).address, 9_000_000n);
    assert.deepEqual((await stage.recover(7, hints)).found, []);
  });
});
