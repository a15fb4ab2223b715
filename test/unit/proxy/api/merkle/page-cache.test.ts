import assert from "node:assert/strict";
import { PageCache } from "../../../../../proxy/api/merkle/page-cache.ts";

describe("merkle/page-cache", () => {
  const page = (bytes: number) => ({ body: Buffer.alloc(bytes), etag: `"${String(bytes)}"`, bytes });

  it("makes each page once and stays within its bound, forgetting what was not asked for longest", () => {
    const cache = new PageCache(10_000);
    const made: string[] = [];
    const ask = (key: string): void => {
      cache.get(key, () => {
        made.push(key);
        return page(3_000);
      });
    };
    for (const key of ["a", "b", "a", "c", "a", "b"]) ask(key);
    assert.deepEqual(made, ["a", "b", "c", "b"]);
    assert.ok(cache.bytes <= 10_000);
  });

  it("counts small pages too, so that a million of them are not free", () => {
    const cache = new PageCache(10_000);
    for (let i = 0; i < 1_000; i++) cache.get(String(i), () => page(32));
    assert.ok(cache.bytes <= 10_000 && cache.bytes > 5_000, String(cache.bytes));
  });

  it("serves a page that is larger than the bound without keeping it", () => {
    const cache = new PageCache(1_000);
    assert.equal(cache.get("a", () => page(5_000)).body.length, 5_000);
    assert.equal(cache.bytes, 0);
  });
});
