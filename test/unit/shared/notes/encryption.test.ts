import fc from "fast-check";
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { decryptNote, encryptNote, nobody } from "../../../../shared/notes/encryption.ts";
import { newSeed, SpendingKey } from "../../../../shared/notes/keys.ts";
import { newNote } from "../../../../shared/notes/note.ts";
import { isViewingKey } from "../../../../shared/notes/address.ts";
import { mustField, type Address } from "../../../../shared/protocol/brands.ts";
import { mustFromHex, toHex } from "../../../../shared/protocol/bytes.ts";
import { CIPHERTEXT_BYTES } from "../../../../shared/protocol/statements.ts";

const ASSET = "0x00000000000000000000000000000000000000bb" as Address;
const reader = SpendingKey.fromSeed(newSeed()).viewing;
const stranger = SpendingKey.fromSeed(newSeed()).viewing;

describe("note encryption", () => {
  it("gives the bytes of the fixed vectors, and reads them", () => {
    const { ciphertexts } = JSON.parse(
      readFileSync(new URL("../../../support/vectors/ciphertexts.json", import.meta.url), "utf8"),
    ) as {
      ciphertexts: {
        reader: string;
        ephemeralSecret: string;
        asset: Address;
        value: string;
        blinding: string;
        ciphertext: string;
      }[];
    };
    for (const vector of ciphertexts) {
      const keys = SpendingKey.fromSeed(mustFromHex(vector.reader)).viewing;
      const note = {
        asset: vector.asset,
        value: BigInt(vector.value),
        blinding: mustField(BigInt(vector.blinding)),
      };
      assert.equal(
        toHex(encryptNote(keys.address, note, mustFromHex(vector.ephemeralSecret))),
        vector.ciphertext,
      );
      assert.deepEqual(decryptNote(keys, mustFromHex(vector.ciphertext)), note);
    }
  });

  it("carries any note to its reader alone, always in 117 bytes", () => {
    fc.assert(
      fc.property(fc.bigInt(0n, (1n << 128n) - 1n), (value) => {
        const note = newNote(ASSET, value);
        const ciphertext = encryptNote(reader.address, note);
        assert.equal(ciphertext.length, CIPHERTEXT_BYTES);
        assert.deepEqual(decryptNote(reader, ciphertext), note);
        assert.equal(decryptNote(stranger, ciphertext), undefined);
      }),
      { numRuns: 20 },
    );
  });

  it("opens nothing after a change of any single byte", () => {
    const ciphertext = encryptNote(reader.address, newNote(ASSET, 7n));
    for (let at = 0; at < ciphertext.length; at++) {
      const changed = ciphertext.slice();
      changed[at]! ^= 1;
      assert.equal(decryptNote(reader, changed), undefined, `byte ${at}`);
    }
  });

  it("a view tag that fits by chance opens nothing: the seal decides", () => {
    const ciphertext = encryptNote(stranger.address, newNote(ASSET, 7n));
    let opened = 0;
    // One of the 256 tags is the right one for this reader.
    for (let tag = 0; tag < 256; tag++) {
      const changed = ciphertext.slice();
      changed[32] = tag;
      if (decryptNote(reader, changed) !== undefined) opened += 1;
    }
    assert.equal(opened, 0);
  });

  it("refuses low-order ephemeral keys and other lengths", () => {
    const ciphertext = encryptNote(reader.address, newNote(ASSET, 7n));
    const lowOrder = ciphertext.slice();
    lowOrder.fill(0, 0, 32);
    assert.equal(decryptNote(reader, lowOrder), undefined);
    for (const length of [0, 32, 116])
      assert.equal(decryptNote(reader, ciphertext.slice(0, length)), undefined);
    assert.equal(decryptNote(reader, new Uint8Array(118)), undefined);
  });

  it("never throws on arbitrary bytes", () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 0, maxLength: 130 }), (bytes) => {
        assert.equal(decryptNote(reader, bytes), undefined);
      }),
      { numRuns: 200 },
    );
  });

  it("a dummy looks like any other output: full length, a valid ephemeral point, another one each time", () => {
    const one = encryptNote(nobody(), newNote(ASSET, 0n));
    const two = encryptNote(nobody(), newNote(ASSET, 0n));
    assert.equal(one.length, CIPHERTEXT_BYTES);
    assert.ok(isViewingKey(one.slice(0, 32)));
    assert.notDeepEqual(one.slice(0, 32), two.slice(0, 32));
  });
});
