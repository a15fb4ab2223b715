// A deposit by Hyperlane's warp route that no service carries any further: by the key and nodes alone, and the route's relayers.
import assert from "node:assert/strict";
import { parseEther, toBeHex, Wallet } from "ethers";
import { lanesOf } from "../../../shared/client/bridges/bridge-pins.ts";
import { inPlace, type InPlace } from "../../../shared/client/bridges/terms.ts";
import {
  recoverBridges,
  type Recovery,
  type RecoveryChain,
  type RecoveryOptions,
} from "../../../shared/client/chain/index.ts";
import { RefundKey } from "../../../shared/notes/bridge-keys.ts";
import { SpendingKey } from "../../../shared/notes/keys.ts";
import { asAddress } from "../../../shared/protocol/host/text.ts";
import { TIMEOUT_SECS } from "../../../shared/protocol/host/forwarders.ts";
import { CEILING, FAR_ID, MINIMUM, POSTAGE, WarpStage, type End } from "./warp-stage.ts";

const AMOUNT = 6_000_000n;
const bounds = { minimum: MINIMUM, feeCeiling: CEILING };
const COLLECTOR = "0x00000000000000000000000000000000000000d4";
const acts = ({ steps }: Recovery): string[] => steps.map(({ what, state }) => `${what} ${state}`);
const keys = (seed: number) => SpendingKey.fromSeed(new Uint8Array(32).fill(seed));

describe("recovery of a deposit by a warp route", function () {
  let stage: WarpStage;
  let chains: readonly [RecoveryChain, RecoveryChain];

  before(async function () {
    this.timeout(900_000);
    stage = await WarpStage.start(false);
    chains = [await reached(stage.home), await reached(stage.far)];
  });
  after(() => (stage as WarpStage | undefined)?.stop());
  afterEach(() => stage.stopRelaying());

  async function reached({ provider, url, route }: End): Promise<RecoveryChain> {
    const sender = new Wallet(Wallet.createRandom().privateKey, provider);
    await provider.send("anvil_setBalance", [sender.address, toBeHex(10n ** 20n)]);
    return { chainId: route.domain, rpc: url, sender };
  }

  const pins = (): RecoveryOptions["bridges"] => {
    const { factory, on, home, far } = stage;
    const [lane, exit] = [far.route.route, home.route.route];
    return {
      ...{ factory: factory.address, vaultCodeHash: factory.vaultCodeHash, collector: COLLECTOR },
      assets: { [on.usdcAddress]: bounds },
      lanes: [
        {
          ...{ chainId: FAR_ID, protocol: 1, token: far.token, messenger: lane },
          ...{ domain: home.route.domain, ...bounds },
        },
      ],
      exits: { chains: [{ chainId: FAR_ID, protocol: 1, messenger: exit, domain: FAR_ID, ...bounds }] },
    };
  };
  const place = (seed: number): InPlace => {
    const maker = { keys: keys(seed).viewing, home: stage.on.home, factory: stage.factory };
    return inPlace(maker, {
      ...{ ...bounds, kind: "in", venue: "chain", index: 0, asset: stage.on.usdcAddress, createdAt: 0 },
      ...{ collector: asAddress(COLLECTOR)!, lanes: lanesOf(pins()) },
      refund: new RefundKey(keys(seed), "in", 0).address,
    });
  };
  const recover = (seed: number): Promise<Recovery> =>
    recoverBridges({
      ...{ keys: keys(seed), pool: stage.on.home.pool, assets: [stage.on.usdcAddress], bridges: pins() },
      ...{ home: chains[0], chains: [chains[1]] },
    });

  it("sends it for the route's price, says that relayers have it, and sweeps it when it is there", async () => {
    const { address, source } = place(1);
    await stage.pay(stage.far, source!.address, AMOUNT);
    const before = await stage.postageAt(stage.far);
    assert.deepEqual(acts(await recover(1)), ["forward done"]);
    assert.equal((await stage.postageAt(stage.far)) - before, POSTAGE);
    const waiting = await recover(1);
    assert.deepEqual([waiting.found, waiting.steps], [[], []]);
    assert.match(waiting.waitingFor[0]?.what ?? "", /6000000 on the way .* relayers/);
    await stage.relay();
    await stage.mined("the delivery", async () => (await stage.balance(stage.home, address)) === AMOUNT);
    assert.deepEqual(acts(await recover(1)), ["sweep done"]);
    assert.deepEqual(await stage.valuesOf(keys(1)), [AMOUNT]);
    const again = await recover(1);
    assert.deepEqual([again.found, again.steps, again.waitingFor], [[], [], []]);
  });

  it("pays no price above the bound, and takes the money back by the clock instead", async () => {
    const { source, terms } = place(2);
    await stage.price(stage.far, parseEther("0.5"));
    await stage.pay(stage.far, source!.address, AMOUNT);
    assert.deepEqual(acts(await recover(2)), ["forward refused", "touch done"]);
    assert.deepEqual(acts(await recover(2)), ["forward refused"]);
    await stage.pass(stage.far, TIMEOUT_SECS + 1);
    assert.deepEqual(acts(await recover(2)), ["forward refused", "refund done"]);
    assert.equal(await stage.balance(stage.far, terms.refund), AMOUNT);
    await stage.price(stage.far, POSTAGE);
  });
});
