import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { inspect } from "node:util";
import { FullViewingKey, newPhrase, newSeed, SpendingKey } from "../../../../shared/notes/keys.ts";
import { mustFromHex, toHex, word } from "../../../../shared/protocol/bytes.ts";

interface KeyVector {
  spendingKey: string;
  authKey: string;
  nullifierKey: string;
  owner: string;
  viewingSecret: string;
  viewingKey: string;
}
const vectors = JSON.parse(
  readFileSync(new URL("../../../support/vectors/keys.json", import.meta.url), "utf8"),
) as {
  seeds: (KeyVector & { seed: string; address: string })[];
  phrases: (KeyVector & { phrase: string; passphrase: string })[];
};

describe("keys", () => {
  const same = (keys: SpendingKey, vector: KeyVector): void => {
    const { authKey, nullifierKey, viewingSecret } = keys.viewing.exportKeys();
    assert.equal(toHex(word(keys.scalar())), vector.spendingKey);
    assert.equal(toHex(word(authKey)), vector.authKey);
    assert.equal(toHex(word(nullifierKey)), vector.nullifierKey);
    assert.equal(toHex(word(keys.owner)), vector.owner);
    assert.equal(toHex(viewingSecret), vector.viewingSecret);
    assert.equal(toHex(keys.viewing.viewingKey), vector.viewingKey);
  };

  it("follow from a seed as the fixed vectors say", () => {
    for (const vector of vectors.seeds) {
      const keys = SpendingKey.fromSeed(mustFromHex(vector.seed));
      same(keys, vector);
      assert.equal(keys.viewing.addressText("cltest"), vector.address);
    }
  });

  it("follow from a phrase as the fixed vectors say, whatever its spacing and case", async () => {
    for (const vector of vectors.phrases) {
      same(await SpendingKey.fromPhrase(vector.phrase, vector.passphrase), vector);
      same(
        await SpendingKey.fromPhrase(
          `  ${vector.phrase.toUpperCase().replaceAll(" ", "  ")} `,
          vector.passphrase,
        ),
        vector,
      );
    }
  });

  it("never appear in a log, a string or JSON", () => {
    const keys = SpendingKey.fromSeed(mustFromHex(vectors.seeds[1]!.seed));
    for (const holder of [keys, keys.viewing]) {
      for (const text of [
        inspect(holder, { showHidden: true, depth: 9 }),
        JSON.stringify({ holder }),
        String(holder),
        JSON.stringify(Object.entries(holder), (_, value: unknown) =>
          typeof value === "bigint" ? String(value) : value,
        ),
      ]) {
        assert.ok(!text.includes(String(keys.scalar())), "the spending key");
        assert.ok(!text.includes(String(keys.viewing.nullifierKey)), "the nullifier key");
        assert.ok(!text.includes([...keys.viewing.exportSecret()].join(",")), "the viewing secret");
      }
    }
  });

  it("refuses a wrong phrase without repeating it", async () => {
    const wrong = `${"abandon ".repeat(11)}zebra`;
    await assert.rejects(
      SpendingKey.fromPhrase(wrong),
      (error: Error) => !error.message.includes("abandon") && !error.message.includes("zebra"),
    );
  });

  it("refuses a seed of another length", () => {
    for (const length of [0, 16, 31, 33, 64])
      assert.throws(() => SpendingKey.fromSeed(new Uint8Array(length)));
  });

  it("a viewing key made from exported parts is the same reader and cannot spend", () => {
    const keys = SpendingKey.fromSeed(newSeed());
    const { authKey, nullifierKey, viewingSecret } = keys.viewing.exportKeys();
    const auditor = new FullViewingKey(authKey, nullifierKey, viewingSecret);
    assert.equal(auditor.owner, keys.owner);
    assert.equal("scalar" in auditor, false);
  });

  it("makes fresh seeds and phrases that work", async () => {
    assert.notDeepEqual(newSeed(), newSeed());
    assert.equal(newPhrase().split(" ").length, 24);
    const [one, two] = await Promise.all(
      [newPhrase(), newPhrase()].map((phrase) => SpendingKey.fromPhrase(phrase)),
    );
    assert.notEqual(one!.owner, two!.owner);
  });
});
