// What npm run demo:stolen-key shows, whose own checks are the assertions: here that it made all of them and that they held.
import assert from "node:assert/strict";
import { poll } from "../../scripts/base/poll.ts";
import { admitTheKey, honestDays, knownTo, showStolenKey } from "../../scripts/demo/stolen-key/acts.ts";
import { CHANGE_DELAY_SECS, StolenKeyStage, usd } from "../../scripts/demo/stolen-key/stage.ts";
import { newSeed } from "../../shared/client/index.ts";
import { Story, type Journey } from "../../scripts/demo/story.ts";

describe("a stolen key", () => {
  it("loses no more than what may leave at once, and honest people pay and leave alone", async () => {
    const { chapters } = await Story.of(showStolenKey);
    const checks = chapters.flatMap((one) => one.checks);
    for (const { what, expected, actual } of checks) assert.equal(actual, expected, what);
    const named = new Map(checks.map(({ what, actual }) => [what, actual]));
    assert.equal(named.get("honest notes less what the pool holds: the loss"), "18.75 USDC");
    assert.match(named.get("what the watcher found") ?? "", /^(PROOF_FORGED ){6}ROOT_FORGED$/);
    assert.equal(named.get("public balance of who left"), "5 USDC");
    assert.equal(named.get("Carol's public balance"), "30 USDC");
    assert.equal(named.get("claims made, of roots that are revoked, and what is owed to them"), "2 0");
    assert.equal(named.get("the thief's notes"), "0 USDC");
  });

  it("a payment on a root that was revoked comes again by itself, through the service", async () => {
    const play: Journey = (story, parties) =>
      story.chapter("by itself", {}, async (chapter) => {
        const stage = await StolenKeyStage.on(story, chapter);
        parties.add({ stop: () => stage.close() });
        const { alice, bob } = await honestDays(stage, {
          alice: newSeed(),
          bob: newSeed(),
          carol: newSeed(),
        });
        const thief = await admitTheKey(stage);
        const to = thief.keys.viewing.address;
        await stage.execute([await thief.forge({ type: "transfer", to, value: usd(1_000) })]);
        await knownTo(stage, [alice, bob]);
        const before = bob.balance().total;
        await alice.pay(bob.address, usd(40), { deadlineSecs: 7_200 });
        await bob.sync();
        chapter.is("paid", bob.balance().total - before, usd(40));

        const [watcher, refuter] = [await stage.watcher(), await stage.refuter(await stage.account())];
        const comesTo = (more: bigint) =>
          poll(async (): Promise<true | undefined> => {
            // A root that comes in between moves what a refutation has to name.
            await stage.follow(watcher, refuter);
            await Promise.all([alice.sync(), bob.sync()]);
            return bob.balance().total - before === more || undefined;
          });
        chapter.is("suspended", await comesTo(0n), true);
        await stage.passTime(CHANGE_DELAY_SECS);
        chapter.is("paid again", await comesTo(usd(40)), true);
        chapter.is("what Alice sees", alice.activity()[0]!.state, "done");
        const kept = bob.activity().map(({ state }) => state);
        chapter.is("what Bob sees", kept.includes("suspended"), true);
      });
    const { chapters } = await Story.of(play);
    for (const { what, expected, actual } of chapters.flatMap((one) => one.checks))
      assert.equal(actual, expected, what);
  });
});
