/**
 * What watcher and refuter make of what was proved on a root that is revoked: see suspended.tree. The pool's keys are
 * toys, whose trapdoor the test knows: so whatever is to be true is quickly proved.
 */
import assert from "node:assert/strict";
import { Contract, HDNodeWallet, toQuantity } from "ethers";
import { loadArtifact } from "../../../scripts/build/contracts.ts";
import { attester } from "../../../scripts/stack/pool-transaction.ts";
import { Account, memoryBook } from "../../../scripts/watch/account.ts";
import { isAlarm, type Finding } from "../../../scripts/watch/findings.ts";
import { memoryJournal, type Journal } from "../../../scripts/watch/journal.ts";
import { Ledger } from "../../../scripts/watch/ledger.ts";
import { connectNode } from "../../../scripts/watch/node.ts";
import { nextStep } from "../../../scripts/watch/refutation.ts";
import { Refuter, type Report } from "../../../scripts/watch/refuter.ts";
import { createWatcher, type Watcher } from "../../../scripts/watch/watcher.ts";
import { DEVELOPMENT_MNEMONIC } from "../../support/chain.ts";
import { seal, type Sealed } from "../../support/drafts.ts";
import { draftAgain } from "../../support/draft-again.ts";
import { toyKeys, toyProved } from "../../support/toy-keys.ts";
import { falseStatement } from "../pool/recovery.ts";
import { GAS, outcome, trueUpdate } from "../pool/told-world.ts";
import { actingAs, freshAddress, World } from "../pool/world.ts";

const KEYS = toyKeys();
const BOND = 10n ** 18n;
const CHANGE_DELAY_SECS = 100;
const [PAID, STOLEN, TRADED, BOUGHT] = [1_000n, 2_000n, 3_000n, 777n];
const [LIAR, OTHER_LIAR] = [attester(0), attester(1)];

describe("watcher: what was proved on a revoked root", function () {
  let world: World;
  let restore: () => Promise<void>;
  /** Vouched for with a false proof. */
  let forged: Sealed;
  /** Proved on the root that covers it. */
  let payment: Sealed;
  let swap: Sealed;

  before(async () => {
    world = await World.start({
      ...{ keys: KEYS, attesters: [LIAR, OTHER_LIAR], signerBond: BOND, changeDelay: CHANGE_DELAY_SECS },
      ...{ provedDelay: 1, executor: "ConfigurableExecutor", moreAssets: ["TestUSDC"] },
    });
    const { abi } = await loadArtifact("ConfigurableExecutor");
    await world.call(new Contract(world.executor!, abi, world.owner), "set", 0, BOUGHT);
    await isExecuted(toyProved(await world.deposit()));
    await world.execute([], trueUpdate(world));
    forged = seal({ ...world.transferDraft(), attesters: [LIAR] });
    await isExecuted(forged);
    await world.execute([], trueUpdate(world));
    await world.increaseTime(2);
    payment = toyProved(seal(world.withdrawalDraft(freshAddress(), PAID)));
    swap = toyProved(seal(world.swapDraft({ tokenOut: world.moreAssets[0]!, amount: TRADED })));
    await isExecuted(payment);
    await isExecuted(toyProved(seal(world.withdrawalDraft(freshAddress(), STOLEN))));
    await isExecuted(swap);
    await isExecuted(toyProved(await world.deposit()));
  });
  beforeEach(async () => {
    restore = await world.remember();
  });
  afterEach(() => restore());
  after(() => world.stop());

  async function isExecuted(member: Sealed): Promise<void> {
    assert.equal(typeof (await outcome(world, member)), "bigint");
  }

  interface Hand {
    readonly watcher: Watcher;
    readonly journal: Journal;
    readonly found: Finding[];
    readonly reports: Report[];
    follow(): Promise<void>;
  }
  async function hand(): Promise<Hand> {
    const [found, reports, journal]: [Finding[], Report[], Journal] = [[], [], memoryJournal()];
    const watcher = await createWatcher({
      node: connectNode(world.provider._getConnection().url),
      ...{ home: world.setting.home, fromBlock: 0, confirmations: 0, keys: KEYS, journal },
      onFinding: (finding) => found.push(finding),
      retryDelayMs: 1,
    });
    const { privateKey } = HDNodeWallet.fromPhrase(DEVELOPMENT_MNEMONIC, "", "m/44'/60'/0'/0/5");
    const refuter = new Refuter({
      account: new Account(privateKey, world.provider, world.setting.home.pool, memoryBook()),
      advanceTo: "doubtful",
      onReport: (report) => reports.push(report),
    });
    const follow = async (): Promise<void> => {
      do await watcher.pass();
      while (await refuter.work(watcher.ledger));
    };
    return { watcher, journal, found, reports, follow };
  }

  const codes = (findings: readonly Finding[]): string[] => findings.map(({ code }) => code);
  const details = (findings: readonly Finding[], code: string): string[] =>
    findings.filter((one) => one.code === code).map(({ detail }) => detail);
  const newAlarms = (findings: readonly Finding[]): string[] => codes(findings.filter(isAlarm));

  async function isBalanced({ ledger }: Watcher): Promise<void> {
    const { usdc, usdcAddress, setting } = world;
    const held = (await usdc.getFunction("balanceOf")(setting.home.pool)) as bigint;
    assert.equal(ledger.owed.get(usdcAddress), held);
    assert.equal(ledger.owed.get(world.moreAssets[0]!), BOUGHT);
  }

  it("suspends all of it with `advance`; what comes again is confirmed, the theft never, and its sums are exact", async () => {
    const { watcher, journal, found, reports, follow } = await hand();
    await follow();
    assert.deepEqual(
      reports.map(({ act, outcome: came }) => [act, came]),
      [
        ["refutation", "mined"],
        ["advance", "mined"],
      ],
    );
    assert.match(reports[1]!.detail, /4 leaves from 7 on are suspended; .* 15 on are suspended; root/);
    const { usdcAddress } = world;
    assert.deepEqual(details(found, "SUSPENDED"), [
      `4 leaves from 7 on of root 2, -${PAID} of ${usdcAddress}`,
      `4 leaves from 11 on of root 2, -${STOLEN} of ${usdcAddress}`,
      `4 leaves from 15 on of root 2, -${TRADED} of ${usdcAddress}, ${BOUGHT} of ${world.moreAssets[0]!}`,
    ]);
    assert.equal(watcher.ledger.isRolledBack, false);

    await world.increaseTime(2);
    const told = found.length;
    const root = watcher.ledger.roots.newest.announced;
    await isExecuted(toyProved(seal(draftAgain(payment, root))));
    await isExecuted(toyProved(seal(draftAgain(swap, root, BOUGHT))));
    await follow();
    assert.deepEqual(details(found, "CONFIRMED"), [
      `${payment.statementHash} of leaf 7, -${PAID} of ${usdcAddress}`,
      `${swap.statementHash} of leaf 15, -${TRADED} of ${usdcAddress}, ${BOUGHT} of ${world.moreAssets[0]!}`,
    ]);
    assert.deepEqual(newAlarms(found.slice(told)), []);
    await isBalanced(watcher);
    const kept = await Ledger.from(journal.records());
    assert.deepEqual([kept.owed, kept.tree.root()], [watcher.ledger.owed, watcher.ledger.tree.root()]);
  });

  it("finds no fault where a statement comes again before `advance` has reached it", async () => {
    const { watcher, found, follow } = await hand();
    await refute(forged);
    await watcher.pass();
    await isExecuted(toyProved(seal(draftAgain(payment, watcher.ledger.roots.newest.announced))));
    await follow();
    assert.equal(details(found, "SUSPENDED").length, 3);
    assert.equal(details(found, "CONFIRMED").length, 1);
    assert.ok(!newAlarms(found).some((code) => code.endsWith("_WRONG") || code === "NULLIFIER_TWICE"));
    await isBalanced(watcher);
  });

  it("knows a false confirmation as any false statement: refuted, its notes are spent all the same, and may come again", async () => {
    const { watcher, found, follow } = await hand();
    await follow();
    await world.increaseTime(CHANGE_DELAY_SECS + 1);
    const root = watcher.ledger.roots.newest.announced;
    await isExecuted(seal({ ...draftAgain(payment, root), attesters: [OTHER_LIAR] }));
    const told = found.length;
    await follow();
    const since = found.slice(told);
    assert.deepEqual(
      new Set(newAlarms(since.filter(({ statement }) => statement !== undefined))),
      new Set(["PROOF_FORGED"]),
    );
    assert.match(details(since, "PROOF_FORGED")[0]!, /of what moved before/);
    assert.equal(await world.pool.getFunction("isSpent")(payment.draft.nullifiers[0]), true);
    assert.equal(watcher.ledger.isRolledBack, false);
    await isBalanced(watcher);

    const then = found.length;
    await isExecuted(toyProved(seal(draftAgain(payment, root))));
    await follow();
    assert.deepEqual([details(found, "CONFIRMED").length, newAlarms(found.slice(then))], [2, []]);
    await isBalanced(watcher);
  });

  it("finds a suspended statement that is refuted itself: its money is owed again, and no root goes", async () => {
    const { watcher, found, follow } = await hand();
    const late = seal({ ...world.withdrawalDraft(freshAddress(), PAID), attesters: [OTHER_LIAR] });
    await isExecuted(late);
    await refute(forged);
    await watcher.pass();
    // Whoever extends the tree is not bound to refute first.
    const { data } = (await nextStep(watcher.ledger, async () => false))!;
    const { pool } = world.setting.home;
    await (await world.owner.sendTransaction({ to: pool, data, gasLimit: GAS })).wait();
    await watcher.pass();
    const told = found.length;
    await follow();
    const since = found.slice(told);
    assert.deepEqual(details(since, "VOIDED"), ["4 leaves from 22 on"]);
    assert.deepEqual([details(since, "REVOKED"), watcher.ledger.isRolledBack], [[], false]);
    const held = (await world.usdc.getFunction("balanceOf")(pool)) as bigint;
    assert.equal(watcher.ledger.owed.get(world.usdcAddress), held + PAID);
    assert.equal(await world.pool.getFunction("isSpent")(late.draft.nullifiers[0]), false);
  });

  it("says of a bond that its holder cannot take coins, and where it went then", async () => {
    const holder = world.usdcAddress;
    await world.provider.send("anvil_impersonateAccount", [holder]);
    await world.provider.send("anvil_setBalance", [holder, toQuantity(BOND)]);
    const refuter = await world.provider.getSigner(holder);
    await refute(forged, refuter);
    const to = freshAddress();
    await world.call(actingAs(world.pool, refuter), "takeBonds", to);
    const { watcher, found } = await hand();
    await watcher.pass();
    assert.deepEqual(details(found, "BOND").slice(-2), [
      `${BOND} wei for signer ${LIAR.address}, owed to ${holder}`,
      `${BOND} wei owed to ${holder}, taken to ${to}`,
    ]);
  });

  /** By the roots around its leaves. */
  async function refute(member: Sealed, by = world.owner): Promise<void> {
    const { watcher } = await hand();
    await watcher.pass();
    const { roots } = watcher.ledger;
    const around = [roots.numbered(1)!.announced, roots.numbered(2)!.announced] as const;
    const shown = falseStatement(
      member,
      Array.from({ length: 8 }, () => 0n),
      around,
    );
    await world.call(actingAs(world.pool, by), "refuteStatement", ...shown, { gasLimit: GAS });
  }
});
