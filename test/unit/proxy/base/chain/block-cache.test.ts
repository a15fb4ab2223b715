// What several callers may share: asked once, bounded, and no failure kept.
import assert from "node:assert/strict";
import { BlockCache } from "../../../../../proxy/base/chain/block-cache.ts";

describe("base/chain/block-cache", () => {
  it("asks once for those who come together and those who come later", async () => {
    const remembered = new BlockCache(4);
    let asked = 0;
    const question = async (): Promise<number> => ++asked;
    assert.deepEqual(
      await Promise.all([remembered.get("a", question), remembered.get("a", question)]),
      [1, 1],
    );
    assert.equal(await remembered.get("a", question), 1);
    assert.equal(await remembered.get("b", question), 2);
  });

  it("asks again after a failure, which everybody who waited for it receives", async () => {
    const remembered = new BlockCache(4);
    const fails = async (): Promise<number> => Promise.reject(new Error("unreachable"));
    const both = [remembered.get("a", fails), remembered.get("a", async () => 1)];
    for (const answer of both) await assert.rejects(answer, /unreachable/);
    assert.equal(await remembered.get("a", async () => 2), 2);
  });

  it("forgets the oldest, whatever callers ask", async () => {
    const remembered = new BlockCache(3);
    for (let i = 0; i < 1_000; i++) await remembered.get(`key ${String(i)}`, async () => i);
    assert.equal(remembered.size, 3);
    assert.equal(await remembered.get("key 999", async () => -1), 999);
    assert.equal(await remembered.get("key 0", async () => -1), -1);
  });
});
