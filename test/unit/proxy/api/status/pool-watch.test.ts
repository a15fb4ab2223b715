import assert from "node:assert/strict";
import { Contract } from "ethers";
import { Pool } from "../../../../../proxy/base/chain/pool.ts";
import { createChain } from "../../../../../proxy/base/chain/provider.ts";
import type { PoolBrakes } from "../../../../../proxy/base/observe/metrics.ts";
import { createPoolWatch } from "../../../../../proxy/api/status/pool-watch.ts";
import { loadArtifact } from "../../../../../scripts/build/contracts.ts";
import type { Address } from "../../../../../shared/protocol/brands.ts";
import { emptyNode, TREE_DEPTH } from "../../../../../shared/protocol/tree.ts";
import { recover } from "../../../../contract/pool/recovery.ts";
import { DAY, nextBlockTomorrow, now, outcome } from "../../../../contract/pool/told-world.ts";
import { actingAs, freshAddress, mustAddress, World } from "../../../../contract/pool/world.ts";
import { depositDraft, seal, type Sealed } from "../../../../support/drafts.ts";
import { toyKeys, toyProof, toyProved } from "../../../../support/toy-keys.ts";

const HELD = 100_000n;
const FOR_EVER = 2 ** 40 - 1;
const NEVER_AGAIN_MS = 3_600_000;

type Asked = Parameters<typeof createPoolWatch>[0];

/** One look. */
async function look(pool: Asked, assets: readonly Address[]): Promise<PoolBrakes | undefined> {
  const watch = createPoolWatch(pool, assets, NEVER_AGAIN_MS);
  watch.start();
  await watch.stop();
  return watch.brakes();
}

describe("pool-watch: on a real pool", function () {
  let world: World;
  let token: Address;
  let contract: Contract;
  let pool: Asked;
  before(async () => {
    world = await World.start({
      ...{ keys: toyKeys(), minimumCap: 1_000n, moreAssets: ["RefusingToken"] },
      guardian: mustAddress("0x70997970C51812dc3A010C7d01b50e0d17dc79C8"),
    });
    token = world.moreAssets[0]!;
    contract = new Contract(token, (await loadArtifact("RefusingToken")).abi, world.owner);
    const { chainId, pool: address } = world.setting.home;
    pool = new Pool(createChain(world.provider._getConnection().url, chainId), address);
    await world.call(contract, "mint", world.owner.address, HELD);
    const terms = { asset: token, amount: HELD, depositor: mustAddress(world.owner.address) };
    assert.equal(await outcome(world, toyProved(seal(depositDraft(world.setting, terms)))), 0n);
    await tomorrow();
  });
  after(() => world.stop());

  const tomorrow = async (): Promise<void> => {
    await nextBlockTomorrow(world);
    await world.provider.send("evm_mine", []);
  };
  const withdrawal = (amount: bigint, recipient: Address): Sealed => {
    const root = emptyNode(TREE_DEPTH);
    return toyProved(seal({ ...world.withdrawalDraft(recipient, amount, token), root }));
  };

  it("tells what the pool tells: room, the pause, what claims wait for and could have, and the end", async () => {
    const assets = [world.usdcAddress, token];
    const [attested, proved] = (await world.pool.getFunction("room")(token)) as bigint[];
    const first = (await look(pool, assets))!;
    assert.equal(first.isUnsound, false);
    assert.ok(first.attestedFrom <= (await now(world)));
    assert.deepEqual(first.assets[1], {
      ...{ attestedRoom: attested, provedRoom: proved, claimsWaiting: 0n, claimsDue: 0n },
    });

    for (const member of [withdrawal(proved!, freshAddress()), withdrawal(300n, freshAddress())])
      assert.equal(typeof (await outcome(world, member)), "bigint");
    await world.call(actingAs(world.pool, await world.account(1)), "pause");
    const paused = (await look(pool, assets))!;
    assert.equal(paused.attestedFrom, (await now(world)) + 3 * DAY);
    assert.deepEqual(
      paused.assets.map(({ claimsWaiting, claimsDue }) => claimsWaiting + claimsDue),
      [0n, 300n],
    );

    await tomorrow();
    const { claimsWaiting, claimsDue } = (await look(pool, assets))!.assets[1]!;
    assert.deepEqual([claimsWaiting, claimsDue], [0n, 300n]);
    assert.deepEqual((await recover(world, "payClaim", [token, 0n])).said, ["ClaimPaid"]);
    const after = (await look(pool, assets))!.assets[1]!;
    assert.deepEqual([after.claimsWaiting, after.claimsDue], [0n, 0n]);

    const { kind, signals } = withdrawal(1n, freshAddress()).transaction;
    await recover(world, "reportUnsound", [kind, signals, toyProof(signals)]);
    const { isUnsound, attestedFrom } = (await look(pool, assets))!;
    assert.deepEqual([isUnsound, attestedFrom], [true, FOR_EVER]);
  });

  it("knows nothing while the node does not answer", async () => {
    const silent = new Pool(createChain("http://127.0.0.1:1", 1n), world.setting.home.pool);
    assert.equal(await look(silent, [token]), undefined);
  });
});
