// A withdrawal to an account of the exchange that no service carries any further: by the key, nodes and the attester alone.
import assert from "node:assert/strict";
import { toBeHex, Wallet } from "ethers";
import { deployForwarders } from "../../../scripts/deploy/forwarders.ts";
import { venueExit } from "../../../shared/client/bridges/bridge-pins.ts";
import { outPlace } from "../../../shared/client/bridges/terms.ts";
import {
  recoverBridges,
  type Recovery,
  type RecoveryChain,
  type RecoveryOptions,
} from "../../../shared/client/chain.ts";
import { SpendingKey } from "../../../shared/notes/keys.ts";
import type { Address } from "../../../shared/protocol/brands.ts";
import { addressToWord } from "../../../shared/protocol/host/cctp.ts";
import type { Factory } from "../../../shared/protocol/host/forwarders.ts";
import { until } from "../../support/until.ts";
import { ALICE, alice, becomes, FINAL_BLOCKS, Stage, USD, type Place } from "./stage.ts";

const bounds = { minimum: 5n * USD, feeCeiling: USD };
/** No pool is needed where nothing becomes a note. */
const POOL = "0x00000000000000000000000000000000000000b0" as Address;
const acts = ({ steps }: Recovery): string[] => steps.map(({ what, state }) => `${what} ${state}`);

describe("recovery of a withdrawal to the exchange", function () {
  let stage: Stage;
  let factory: Factory;
  let chains: readonly [RecoveryChain, RecoveryChain];

  before(async () => {
    stage = await Stage.set();
    factory = await deployForwarders(stage.home.rich);
    chains = [await reached(stage.home, 31_337), await reached(stage.own, 31_340)];
  });
  after(() => (stage as Stage | undefined)?.close());

  /** Through an account that is nobody's and has coins for gas alone. */
  async function reached({ provider, anvil, cctp }: Place, chainId: number): Promise<RecoveryChain> {
    const sender = new Wallet(Wallet.createRandom().privateKey, provider);
    await provider.send("anvil_setBalance", [sender.address, toBeHex(10n ** 20n)]);
    return { chainId, rpc: anvil.url, sender, messenger: cctp.messenger };
  }

  const pins = (): RecoveryOptions["bridges"] => ({
    ...{ factory: factory.address, vaultCodeHash: factory.vaultCodeHash, lanes: [] },
    collector: "0x00000000000000000000000000000000000000d4",
    assets: { [stage.home.cctp.usdc]: bounds },
    exits: {
      perpvenue: {
        ...{ messenger: stage.home.cctp.messenger, domain: 19, ...bounds },
        caller: addressToWord(stage.forwarder),
      },
      chains: [],
    },
  });
  const keys = (seed: number) => SpendingKey.fromSeed(new Uint8Array(32).fill(seed));
  const addressOf = (seed: number, index: number): Address => {
    const { minimum: _least, feeCeiling: _most, ...exit } = venueExit(pins(), alice);
    const maker = { keys: keys(seed).viewing, home: { chainId: 31_337n, pool: POOL }, factory };
    return outPlace(maker, {
      ...{ ...bounds, kind: "out", venue: "perpvenue", index, asset: stage.home.cctp.usdc, createdAt: 0 },
      ...{ payee: alice, chainId: undefined, exit },
    }).address;
  };
  const recover = (seed: number, accounts: readonly string[] = []): Promise<Recovery> =>
    recoverBridges({
      ...{ keys: keys(seed), pool: POOL, assets: [stage.home.cctp.usdc], bridges: pins(), accounts },
      ...{ home: chains[0], chains: [chains[1]], attestations: stage.attesterUrl },
    });
  async function recoverUntil(seed: number, act: string): Promise<Recovery> {
    return until(act, async () => {
      const recovery = await recover(seed);
      return acts(recovery).includes(act) && recovery;
    });
  }

  it("sends it on, and has the exchange's own contract credit the account that the address names", async () => {
    await stage.home.pay(addressOf(1, 0), 21n * USD);
    assert.deepEqual((await recover(1)).found, [], "nothing has left yet, so no chain tells the account");
    assert.deepEqual(acts(await recover(1, [ALICE.address])), ["flush done"]);
    const waiting = await recover(1);
    assert.deepEqual(acts(waiting), []);
    assert.equal(
      waiting.waitingFor.length,
      1,
      "the burn itself names the account, so no hint is needed from here on",
    );
    await stage.home.mine(FINAL_BLOCKS);
    await recoverUntil(1, "deliver done");
    await stage.own.mine(1);
    // A new account costs 1.
    await becomes(() => stage.perps(alice), "20.0");
    const again = await recover(1);
    assert.deepEqual([again.found, again.steps, again.waitingFor], [[], [], []]);
  });

  it("finds later addresses for that account from the key alone", async () => {
    await stage.home.pay(addressOf(1, 4), 9n * USD);
    assert.deepEqual(acts(await recover(1)), ["flush done"]);
    await stage.home.mine(FINAL_BLOCKS);
    await recoverUntil(1, "deliver done");
    await stage.own.mine(1);
    await becomes(() => stage.perps(alice), "29.0");
  });

  it("calls nobody whom a stranger names as the only one who may deliver", async () => {
    const [out, nobody] = [addressOf(1, 0), Wallet.createRandom().address as Address];
    const burns = [];
    for (const caller of [nobody, out])
      burns.push(await stage.own.burn({ amount: 6n * USD, to: out, domain: 3, caller }));
    await stage.own.mine(FINAL_BLOCKS);
    for (const hash of burns) await stage.until(19, hash, "complete");
    const { steps, waitingFor } = await recover(1);
    assert.deepEqual([steps, waitingFor], [[], []]);
  });
});
