import assert from "node:assert/strict";
import { Contract } from "ethers";
import { Pool } from "../../../../../proxy/base/chain/pool.ts";
import { createChain } from "../../../../../proxy/base/chain/provider.ts";
import type { PoolBrakes } from "../../../../../proxy/base/observe/metrics.ts";
import { createPoolWatch } from "../../../../../proxy/api/status/pool-watch.ts";
import { loadArtifact } from "../../../../../scripts/build/contracts.ts";
import { ZERO_ADDRESS, type Address } from "../../../../../shared/protocol/brands.ts";
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

  it("tells what the pool tells: room, the pause, claims that wait and one that is set aside, and the end", async () => {
    const assets = [world.usdcAddress, token];
    const [attested, proved] = (await world.pool.getFunction("room")(token)) as bigint[];
    const first = (await look(pool, assets))!;
    assert.equal(first.isUnsound, false);
    assert.ok(first.attestedFrom <= (await now(world)));
    assert.deepEqual(first.assets[1], {
      ...{ attestedRoom: attested, provedRoom: proved, waitingClaims: 0, claimsSetAside: 0 },
    });

    const blocked = freshAddress();
    for (const member of [withdrawal(proved!, freshAddress()), withdrawal(300n, blocked)])
      assert.equal(typeof (await outcome(world, member)), "bigint");
    await world.call(actingAs(world.pool, await world.account(1)), "pause");
    const paused = (await look(pool, assets))!;
    assert.equal(paused.attestedFrom, (await now(world)) + 3 * DAY);
    assert.deepEqual(
      paused.assets.map(({ waitingClaims, claimsSetAside }) => [waitingClaims, claimsSetAside]),
      [
        [0, 0],
        [1, 0],
      ],
    );

    await tomorrow();
    await world.call(contract, "setRefused", blocked, true);
    assert.deepEqual((await recover(world, "payClaim", [token, 0n])).said, ["ClaimSetAside"]);
    const { waitingClaims, claimsSetAside } = (await look(pool, assets))!.assets[1]!;
    assert.deepEqual([waitingClaims, claimsSetAside], [0, 1]);

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

describe("pool-watch: what it asks", () => {
  /** A line of so many claims, all of them behind the first that waits, of which these are not paid. */
  function lineOf(line: { made: number; first: number; unpaid: Set<number> }) {
    const asked: number[] = [];
    const pool: Asked = {
      brakes: async () => ({ attestedFrom: 0, isUnsound: false, advanceableFrom: 0 }),
      room: async () => ({ attested: 1n, proved: 1n }),
      claimLine: async () => line,
      claimLeft: async (_, id) => {
        asked.push(id);
        return line.unpaid.has(id) ? 1n : 0n;
      },
    };
    const watch = createPoolWatch(pool, [ZERO_ADDRESS], NEVER_AGAIN_MS);
    const count = async (): Promise<number | undefined> => {
      asked.length = 0;
      watch.start();
      await watch.stop();
      return watch.brakes()?.assets[0]?.claimsSetAside;
    };
    return { asked, count };
  }

  it("looks at each claim until it is paid, at most fifty new ones at once", async () => {
    const line = { made: 120, first: 120, unpaid: new Set([3, 70]) };
    const { asked, count } = lineOf(line);
    assert.deepEqual([await count(), asked.length], [1, 50]);
    assert.deepEqual([await count(), asked.length], [2, 51]);
    assert.deepEqual([await count(), asked.length], [2, 22]);
    line.unpaid.delete(3);
    assert.deepEqual([await count(), asked], [1, [3, 70]]);
    assert.deepEqual([await count(), asked], [1, [70]]);
  });

  it("begins anew where the chain took claims back", async () => {
    const line = { made: 10, first: 10, unpaid: new Set([8]) };
    const { count } = lineOf(line);
    assert.equal(await count(), 1);
    Object.assign(line, { made: 5, first: 5, unpaid: new Set([2]) });
    assert.equal(await count(), 1);
    line.unpaid.clear();
    assert.equal(await count(), 0);
  });
});
