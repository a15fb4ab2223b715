import assert from "node:assert/strict";
import { developmentKeyHashes } from "../../../../../proxy/base/chain/development-keys.ts";
import { BENCHMARK_PHRASE, trapdoorKeys } from "../../../../../scripts/lab/bench/trapdoor/keys.ts";
import { refuseDevelopmentKeys } from "../../../../../scripts/build/circuits/key-purpose.ts";
import {
  parseVerificationKey,
  verificationKeyHash,
} from "../../../../../shared/protocol/verification-key.ts";

const MAINNET = 1n;
const SEPOLIA = 11_155_111n;

describe("scripts/build/circuits/key-purpose", () => {
  it("refuses the committed development keys on every chain but local ones, and names the key", async () => {
    const keyHashes = await developmentKeyHashes();
    for (const chainId of [MAINNET, SEPOLIA, 0n, 31_336n, 31_339n])
      await assert.rejects(
        refuseDevelopmentKeys({ chainId, keyHashes, development: false }),
        /the deposit-shield key is a development key, and chain [0-9]+ is no local one/,
      );
    for (const chainId of [31_337n, 31_338n, 1_337n])
      await refuseDevelopmentKeys({ chainId, keyHashes, development: false });
  });

  it("takes them elsewhere when the operator says that it is for development", async () => {
    const keyHashes = await developmentKeyHashes();
    await refuseDevelopmentKeys({ chainId: SEPOLIA, keyHashes, development: true });
  });

  it("refuses benchmark keys there too, by their mark when their hashes are of no list", async () => {
    for (const phrase of [BENCHMARK_PHRASE, "a phrase that nobody listed"]) {
      const made = Object.entries(await trapdoorKeys(phrase));
      const keys = new Map(made.map(([kind, json]) => [kind, parseVerificationKey(json)]));
      const keyHashes = new Map([...keys].map(([kind, key]) => [kind, verificationKeyHash(key)]));
      for (const use of [{ keyHashes, keys }, ...(phrase === BENCHMARK_PHRASE ? [{ keyHashes }] : [])])
        await assert.rejects(
          refuseDevelopmentKeys({ chainId: MAINNET, ...use, development: false }),
          /the deposit-shield key is a development key/,
        );
      await refuseDevelopmentKeys({ chainId: 31_337n, keyHashes, keys, development: false });
    }
  });

  it("takes other keys everywhere, and refuses one bad key among them", async () => {
    const good = `0x${"ab".repeat(32)}`;
    const bad = `0x${"cd".repeat(32)}`;
    const known = new Map([["spend", bad]]);
    const onMainnet = (keyHashes: ReadonlyMap<string, string>): Promise<void> =>
      refuseDevelopmentKeys({ chainId: MAINNET, keyHashes, development: false }, known);
    await onMainnet(new Map([["spend", good]]));
    const mixed = new Map([
      ["spend", good],
      ["spend9", bad.toUpperCase().replace("0X", "0x")],
    ]);
    await assert.rejects(onMainnet(mixed), /the spend9 key is a development key/);
  });
});
