// Caps and claims of a real pool beside a model of them, step by step, from a fixed seed and from a drawn one. See caps.tree.
import assert from "node:assert/strict";
import { randomInt } from "node:crypto";
import { CapsModel } from "./caps-model.ts";
import { CapsPlay, startCaps } from "./caps-play.ts";
import type { World } from "./world.ts";

/** A longer run: CLOISTER_CAPS_STEPS=5000. */
const STEPS = Number(process.env["CLOISTER_CAPS_STEPS"] ?? 120);
const FIXED = 23;

for (const threshold of [1, 2])
  describe(`pool: caps and claims beside a model, at a threshold of ${String(threshold)}`, function () {
    this.timeout(120_000 + STEPS * 1_000);
    let world: World;
    let restore: () => Promise<void>;
    before(async () => {
      world = await startCaps(threshold);
    });
    beforeEach(async () => {
      restore = await world.remember();
    });
    afterEach(() => restore());
    after(() => world.stop());

    const drawn = randomInt(2 ** 32);
    for (const seed of [FIXED, drawn])
      it(`says of every step what the model says (seed ${String(seed)})`, async () => {
        const play = await CapsPlay.begin(world, seed);
        await play.run(STEPS);
        if (seed !== FIXED) return;
        for (const deed of ["deposit paid", "withdrawal paid", "withdrawal claimed", "claim ClaimPaid"])
          assert.ok((play.counts.get(deed) ?? 0) > 0, deed);
      });

    it("notices a model in which nobody is ever silent", async () => {
      class NeverSilent extends CapsModel {
        override get silentFrom(): number {
          return 2 ** 40;
        }
      }
      const play = await CapsPlay.begin(world, FIXED, NeverSilent);
      await assert.rejects(play.run(STEPS), assert.AssertionError);
    });

    it("notices a model that is one unit off in what attestations let out", async () => {
      class OneMore extends CapsModel {
        override room(asset: string): [bigint, bigint] {
          const [attested, proved] = super.room(asset);
          return [attested + 1n, proved];
        }
      }
      const play = await CapsPlay.begin(world, FIXED, OneMore);
      await assert.rejects(play.run(STEPS), assert.AssertionError);
    });
  });
