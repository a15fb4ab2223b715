import assert from "node:assert/strict";
import { memoryStorage, textStorage, type TextStore } from "../../../../../shared/client/state/storage.ts";

const bytes = Uint8Array.from({ length: 300 }, (_, i) => i % 256);

function aTextStore(): TextStore {
  const entries = new Map<string, string>();
  return {
    getItem: (key) => entries.get(key) ?? null,
    setItem: (key, value) => void entries.set(key, value),
  };
}

describe("storages", () => {
  for (const [name, storage] of [
    ["memory", memoryStorage()],
    ["text", textStorage(aTextStore(), "wallet")],
  ] as const) {
    it(`${name} gives back what it was last given and nothing before, and keeps it from a stale writer`, async () => {
      assert.equal(await storage.load(), undefined);
      assert.equal(await storage.save(bytes, "some version"), undefined);
      const first = await storage.save(bytes.slice(1), undefined);
      assert.ok(first !== undefined);
      assert.equal(await storage.save(bytes.slice(2), undefined), undefined, "it is not empty any more");
      const second = await storage.save(bytes, first);
      assert.ok(second !== undefined && second !== first);
      assert.equal(await storage.save(bytes.slice(3), first), undefined);
      assert.deepEqual(await storage.load(), { bytes, version: second });
    });
  }

  it("a damaged text is an error, not an empty wallet", async () => {
    const storage = textStorage({ getItem: () => "not base64!", setItem: () => undefined }, "wallet");
    await assert.rejects(storage.load(), (error) => (error as { code?: string }).code === "STORAGE_CORRUPT");
  });
});
