/**
 * What the watcher says of the guardian's pause, of broken circuits and of claims: see brakes.tree. The
 * pool's keys are toys, whose trapdoor the test knows: only so can it prove what is false.
 */
import assert from "node:assert/strict";
import { Contract } from "ethers";
import { loadArtifact } from "../../../scripts/build/contracts.ts";
import type { Finding } from "../../../scripts/watch/findings.ts";
import { memoryJournal, type Journal } from "../../../scripts/watch/journal.ts";
import { connectNode } from "../../../scripts/watch/node.ts";
import { nextStep } from "../../../scripts/watch/refutation.ts";
import { createWatcher, type Watcher } from "../../../scripts/watch/watcher.ts";
import { mustField, type Address } from "../../../shared/protocol/brands.ts";
import { emptyNode, TREE_DEPTH } from "../../../shared/protocol/tree.ts";
import { depositDraft, drawField, seal, type Sealed } from "../../support/drafts.ts";
import { draftAgain } from "../../support/draft-again.ts";
import { toyKeys, toyProof, toyProved } from "../../support/toy-keys.ts";
import { falseUpdate, recover } from "../pool/recovery.ts";
import { DAY, GAS, nextBlockAt, nextBlockTomorrow, now, outcome } from "../pool/told-world.ts";
import { actingAs, freshAddress, mustAddress, World } from "../pool/world.ts";

const HELD = 100_000n;
const [PAUSE_SECS, LONG_SECS] = [3 * DAY, 3_000 * DAY];
const GUARDIAN = mustAddress("0x70997970C51812dc3A010C7d01b50e0d17dc79C8");
const KEYS = toyKeys();

describe("watcher: brakes and claims", function () {
  let world: World;
  let token: Address;
  let contract: Contract;
  let restore: () => Promise<void>;
  before(async () => {
    world = await World.start({
      ...{
        keys: KEYS,
        minimumCap: 1_000n,
        moreAssets: ["RefusingToken"],
        guardian: GUARDIAN,
        provedDelay: 1,
      },
    });
    token = world.moreAssets[0]!;
    contract = new Contract(token, (await loadArtifact("RefusingToken")).abi, world.owner);
    await world.call(contract, "mint", world.owner.address, HELD);
    const terms = { asset: token, amount: HELD, depositor: mustAddress(world.owner.address) };
    assert.equal(await outcome(world, toyProved(seal(depositDraft(world.setting, terms)))), 0n);
    await tomorrow();
  });
  beforeEach(async () => {
    restore = await world.remember();
  });
  afterEach(() => restore());
  after(() => world.stop());

  const tomorrow = async (): Promise<void> => {
    await nextBlockTomorrow(world);
    await world.provider.send("evm_mine", []);
  };
  const later = async (seconds: number): Promise<void> => {
    await nextBlockAt(world, (await now(world)) + seconds);
    await world.provider.send("evm_mine", []);
  };
  /** On the root of the empty tree, which is old. */
  const withdrawal = (amount: bigint, recipient: Address): Sealed => {
    const root = emptyNode(TREE_DEPTH);
    return toyProved(seal({ ...world.withdrawalDraft(recipient, amount, token), root }));
  };

  interface Eyes {
    readonly watcher: Watcher;
    readonly found: Finding[];
    alarms(): Promise<string[]>;
  }
  async function look(journal: Journal = memoryJournal()): Promise<Eyes> {
    const found: Finding[] = [];
    const watcher = await createWatcher({
      node: connectNode(world.provider._getConnection().url),
      ...{ home: world.setting.home, fromBlock: 0, confirmations: 0, keys: KEYS, journal },
      onFinding: (finding) => found.push(finding),
      retryDelayMs: 1,
    });
    const alarms = async (): Promise<string[]> => {
      await watcher.pass();
      return watcher.alarms.map(({ code, detail }) => `${code} ${detail}`);
    };
    return { watcher, found, alarms };
  }

  it("alarms while the guardian's pause lasts, with its end, and is content after it", async () => {
    const { found, alarms } = await look();
    assert.deepEqual(await alarms(), []);
    await world.call(actingAs(world.pool, await world.account(1)), "pause");
    const until = new Date(((await now(world)) + PAUSE_SECS) * 1_000).toISOString();
    const standing = [`ATTESTED_PATH_CLOSED until ${until}`];
    assert.deepEqual(await alarms(), standing);
    await later(PAUSE_SECS - 2);
    assert.deepEqual(await alarms(), standing);
    assert.equal(found.filter(({ code }) => code === "ATTESTED_PATH_CLOSED").length, 1, "told once");
    await later(2);
    assert.deepEqual(await alarms(), []);
  });

  it("names the kind and the transaction of a proof of money out of the empty tree, and alarms permanently", async () => {
    const journal = memoryJournal();
    const { watcher, found, alarms } = await look(journal);
    await watcher.pass();
    const { kind, signals } = withdrawal(1n, freshAddress()).transaction;
    const { said, receipt } = await recover(world, "reportUnsound", [kind, signals, toyProof(signals)]);
    assert.deepEqual(said, ["Unsound", "AttestedPathClosed"]);
    const standing = [
      "UNSOUND money out of the empty tree was proved, of kind spend",
      "ATTESTED_PATH_CLOSED permanently",
    ];
    assert.deepEqual(await alarms(), standing);
    const named = found.find(({ code }) => code === "UNSOUND");
    assert.deepEqual([named?.txHash, named?.block], [receipt.hash, receipt.blockNumber]);

    await later(LONG_SECS);
    assert.deepEqual(await alarms(), standing);
    assert.deepEqual(await (await look(journal)).alarms(), standing);
  });

  it("follows claims and their payment in parts, whoever is paid first; its sums are exact", async () => {
    const [blocked, next] = [freshAddress(), freshAddress()];
    const [, room] = (await world.pool.getFunction("room")(token)) as bigint[];
    const first = withdrawal(room!, freshAddress());
    for (const member of [first, withdrawal(3_000n, blocked), withdrawal(2_000n, next)])
      assert.equal(typeof (await outcome(world, member)), "bigint");
    const { watcher, found, alarms } = await look();
    assert.deepEqual(await alarms(), []);
    assert.equal(found.filter(({ code }) => code === "CLAIM_MADE").length, 2);
    const { claims, owed } = watcher.ledger;
    assert.deepEqual([claims.owed(token), owed.get(token)], [5_000n, HELD - room!]);

    await world.call(contract, "setRefused", blocked, true);
    await later(DAY / 12);
    await recover(world, "payClaim", [token, 1n]);
    const paid = (await contract.getFunction("balanceOf")(next)) as bigint;
    assert.ok(paid > 0n && paid < 2_000n, String(paid));
    assert.deepEqual([await alarms(), claims.owed(token)], [[], 5_000n - paid]);
    assert.equal(owed.get(token), HELD - room! - paid);

    await world.call(contract, "setRefused", blocked, false);
    for (let day = 0; claims.owed(token) > 0n; day++) {
      assert.ok(day < 10);
      await tomorrow();
      for (const [id, { left }] of claims.of(token).entries())
        if (left > 0n) await recover(world, "payClaim", [token, id]);
      assert.deepEqual(await alarms(), []);
    }
    assert.equal(owed.get(token), HELD - room! - 5_000n);
    assert.equal(await contract.getFunction("balanceOf")(world.setting.home.pool), HELD - room! - 5_000n);
  });

  it("says of a claim whose root was revoked that anybody may remove it, that it is gone, and that it counts again when its statement comes again", async () => {
    await world.execute([world.transfer()]);
    const update = world.updateTo(world.queue, { newRoot: drawField() });
    await world.execute([], update);
    const draft = world.withdrawalDraft(freshAddress(), HELD, token);
    await later(2);
    const member = toyProved(seal({ ...draft, root: mustField(world.rooted.root) }));
    assert.equal(typeof (await outcome(world, member)), "bigint");
    await recover(world, "refuteRootUpdate", falseUpdate(world, update));
    const { watcher, found, alarms } = await look();
    await alarms();
    const { claims, roots } = watcher.ledger;
    const isRoot = (number: number): boolean => roots.numbered(number) !== undefined;
    assert.deepEqual(claims.removable(isRoot), [{ asset: token, id: 0 }]);
    await recover(world, "removeClaim", [token, 0n]);
    await alarms();
    assert.deepEqual([claims.removable(isRoot), claims.owed(token)], [[], 0n]);
    const removed = found.find(({ code }) => code === "CLAIM_REMOVED");
    assert.equal(removed?.detail, `claim 0 of ${token}: ${HELD} of root ${claims.of(token)[0]!.rootNumber}`);
    assert.ok(!found.some(({ code }) => code === "CLAIM_WRONG"));

    // Whoever made it proves it again on a good root.
    const { data } = (await nextStep(watcher.ledger, async () => false))!;
    const { pool } = world.setting.home;
    await (await world.owner.sendTransaction({ to: pool, data, gasLimit: GAS })).wait();
    await alarms();
    await later(2);
    const good = roots.newest;
    const again = toyProved(seal(draftAgain(member, good.announced)));
    assert.equal(typeof (await outcome(world, again)), "bigint");
    assert.ok(!(await alarms()).some((alarm) => alarm.startsWith("CLAIM_WRONG")));
    assert.deepEqual([claims.owed(token), claims.of(token)[0]!.rootNumber], [HELD, good.sequence]);
    const rooted = found.find(({ code }) => code === "CLAIM_ROOTED");
    assert.match(rooted?.detail ?? "", new RegExp(`${HELD}, from root \\d to ${good.sequence}$`));
    await tomorrow();
    await recover(world, "payClaim", [token, 0n]);
    assert.ok(!(await alarms()).some((alarm) => alarm.startsWith("CLAIM_WRONG")));
    assert.ok(claims.owed(token) < HELD);
  });
});
