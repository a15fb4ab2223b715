import assert from "node:assert/strict";
import { boot } from "../../../enclave/boot.ts";
import { Life } from "../../../enclave/phase.ts";
import { ZERO_ADDRESS } from "../../../shared/protocol/brands.ts";
import { aPlatform, DEAD_PLATFORM } from "./support/platforms.ts";
import { SocketFolder } from "./support/sockets.ts";

describe("enclave/boot", () => {
  it("serves with a key from the platform, another at each boot", async () => {
    const folder = await SocketFolder.make();
    try {
      const platform = await aPlatform(folder);
      const lives = [new Life(), new Life()] as const;
      for (const life of lives) await boot(life, platform);
      assert.deepEqual(
        lives.map(({ phase }) => phase),
        ["serving", "serving"],
      );
      assert.notEqual(lives[0].signer, ZERO_ADDRESS);
      assert.notEqual(lives[0].signer, lives[1].signer);
    } finally {
      await folder.remove();
    }
  });

  it("halts when the platform gives no key, or throws", async () => {
    const throwing = {
      ...DEAD_PLATFORM,
      randomBytes: async (): Promise<never> => {
        throw new Error("out of order");
      },
    };
    for (const platform of [DEAD_PLATFORM, throwing]) {
      const life = new Life();
      await boot(life, platform);
      assert.equal(life.phase, "halted");
      assert.equal(life.signer, ZERO_ADDRESS);
    }
  });
});
