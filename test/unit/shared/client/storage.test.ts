import assert from "node:assert/strict";
import { memoryStorage, textStorage } from "../../../../shared/client/storage.ts";

const bytes = Uint8Array.from({ length: 300 }, (_, i) => i % 256);

describe("storages", () => {
  it("memory and text give back what they were last given, and nothing before", async () => {
    const entries = new Map<string, string>();
    const text = {
      getItem: (key: string) => entries.get(key) ?? null,
      setItem: (key: string, value: string) => void entries.set(key, value),
    };
    for (const storage of [memoryStorage(), textStorage(text, "wallet")]) {
      assert.equal(await storage.load(), undefined);
      await storage.save(bytes.slice(1));
      await storage.save(bytes);
      assert.deepEqual(await storage.load(), bytes);
    }
  });

  it("a damaged text is an error, not an empty wallet", async () => {
    const storage = textStorage({ getItem: () => "not base64!", setItem: () => undefined }, "wallet");
    await assert.rejects(storage.load(), (error) => (error as { code?: string }).code === "STORAGE_CORRUPT");
  });
});
