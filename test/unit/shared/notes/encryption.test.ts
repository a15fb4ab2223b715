import fc from "fast-check";
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { isViewingKey } from "../../../../shared/notes/address.ts";
import { nobody, openOutput, OutputSealer, type SealedOutput } from "../../../../shared/notes/encryption.ts";
import { IncomingViewingKey, newSeed, SpendingKey } from "../../../../shared/notes/keys.ts";
import { mustField, type Address } from "../../../../shared/protocol/brands.ts";
import { mustFromHex, toHex } from "../../../../shared/protocol/bytes.ts";
import { CIPHERTEXT_BYTES } from "../../../../shared/protocol/statements.ts";
import { outputKeys } from "../../../support/oracle.ts";
import { sealNote } from "../../../support/sealed-notes.ts";

const ASSET = "0x00000000000000000000000000000000000000bb" as Address;
const reader = SpendingKey.fromSeed(newSeed()).viewing;
const stranger = SpendingKey.fromSeed(newSeed()).viewing;

interface Vector {
  readonly owner: string;
  readonly viewingSecret: string;
  readonly viewingKey: string;
  readonly ephemeralSecret: string;
  readonly ephemeralKey: string;
  readonly output: number;
  readonly blinding: string;
  readonly asset: string;
  readonly value: string;
  readonly ciphertext: string;
}
const { ciphertexts } = JSON.parse(
  readFileSync(new URL("../../../support/vectors/ciphertexts.json", import.meta.url), "utf8"),
) as { ciphertexts: Vector[] };

describe("note encryption", () => {
  it("gives the bytes and blindings of the fixed vectors, and reads them", () => {
    for (const secret of new Set(ciphertexts.map((vector) => vector.ephemeralSecret))) {
      const sealer = new OutputSealer(mustFromHex(secret));
      for (const vector of ciphertexts.filter(({ ephemeralSecret }) => ephemeralSecret === secret)) {
        const keys = new IncomingViewingKey(
          mustField(BigInt(vector.owner)),
          mustFromHex(vector.viewingSecret),
        );
        assert.equal(toHex(keys.viewingKey), vector.viewingKey);
        const note = {
          asset: vector.asset.toLowerCase() as Address,
          value: BigInt(vector.value),
          blinding: mustField(BigInt(vector.blinding)),
        };
        assert.deepEqual(sealer.seal(keys.address, note.asset, note.value), note);
        assert.equal(toHex(sealer.ephemeralKey), vector.ephemeralKey);
        assert.equal(toHex(sealer.ciphertexts[vector.output]!), vector.ciphertext);
        const [ephemeralKey, ciphertext] = [vector.ephemeralKey, vector.ciphertext].map(mustFromHex);
        const sealed = { ephemeralKey: ephemeralKey!, output: vector.output, ciphertext: ciphertext! };
        assert.deepEqual(openOutput(keys, sealed), note);
      }
    }
    assert.equal(ciphertexts.length, 8);
  });

  it("carries any note to its reader alone, always in 53 bytes", () => {
    fc.assert(
      fc.property(fc.bigInt(0n, (1n << 128n) - 1n), fc.nat(3), (value, output) => {
        const { note, sealed } = sealNote(reader.address, ASSET, value, output);
        assert.equal(sealed.ciphertext.length, CIPHERTEXT_BYTES);
        assert.deepEqual([note.asset, note.value], [ASSET, value]);
        assert.deepEqual(openOutput(reader, sealed), note);
        assert.equal(openOutput(stranger, sealed), undefined);
      }),
      { numRuns: 20 },
    );
  });

  it("two outputs to one reader share neither blinding nor ciphertext", () => {
    const sealer = new OutputSealer();
    const notes = [0, 1, 2, 3].map(() => sealer.seal(reader.address, ASSET, 5n));
    assert.equal(new Set(notes.map(({ blinding }) => blinding)).size, 4);
    assert.equal(new Set(sealer.ciphertexts.map(toHex)).size, 4);
    // Nor a byte of the key stream: equal notes would show equal bytes.
    const [first, second] = sealer.ciphertexts.map((ciphertext) => ciphertext.slice(1, 37));
    assert.notDeepEqual(first, second);
    notes.forEach((note, output) => {
      const { ephemeralKey } = sealer;
      const sealed = { ephemeralKey, output, ciphertext: sealer.ciphertexts[output]! };
      assert.deepEqual(openOutput(reader, sealed), note);
    });
  });

  it("draws another ephemeral key and other blindings each time the same payment is prepared", () => {
    const [one, two] = [sealNote(reader.address, ASSET, 5n), sealNote(reader.address, ASSET, 5n)];
    assert.notDeepEqual(one.sealed.ephemeralKey, two.sealed.ephemeralKey);
    assert.notEqual(one.note.blinding, two.note.blinding);
  });

  it("opens nothing at another place, under another ephemeral key, or after a change of any single byte", () => {
    const { sealed } = sealNote(reader.address, ASSET, 7n, 1);
    for (const output of [0, 2, 3, 257, -1, 1.5, NaN])
      assert.equal(openOutput(reader, { ...sealed, output }), undefined, `place ${output}`);
    const { ephemeralKey } = sealNote(reader.address, ASSET, 7n, 1).sealed;
    assert.equal(openOutput(reader, { ...sealed, ephemeralKey }), undefined);
    for (const part of ["ephemeralKey", "ciphertext"] as const) {
      for (let at = 0; at < sealed[part].length; at++) {
        const changed = sealed[part].slice();
        changed[at]! ^= 1;
        assert.equal(openOutput(reader, { ...sealed, [part]: changed }), undefined, `${part} ${at}`);
      }
    }
  });

  it("opens nothing when two outputs change places", () => {
    const sealer = new OutputSealer();
    for (const value of [1n, 2n]) sealer.seal(reader.address, ASSET, value);
    const { ephemeralKey } = sealer;
    for (const output of [0, 1]) {
      const ciphertext = sealer.ciphertexts[1 - output]!;
      assert.equal(openOutput(reader, { ephemeralKey, output, ciphertext }), undefined);
    }
  });

  it("takes the unused bit of an ephemeral key for another key, though the curve does not", () => {
    const { sealed } = sealNote(reader.address, ASSET, 7n);
    const twin = sealed.ephemeralKey.slice();
    twin[31]! ^= 0x80;
    assert.deepEqual(reader.sharedSecret(twin), reader.sharedSecret(sealed.ephemeralKey));
    assert.equal(openOutput(reader, { ...sealed, ephemeralKey: twin }), undefined);
  });

  it("a view tag that fits by chance opens nothing: the seal decides", () => {
    const { sealed } = sealNote(stranger.address, ASSET, 7n);
    let opened = 0;
    // One of the 256 tags is the right one for this reader.
    for (let tag = 0; tag < 256; tag++) {
      const ciphertext = sealed.ciphertext.slice();
      ciphertext[0] = tag;
      if (openOutput(reader, { ...sealed, ciphertext }) !== undefined) opened += 1;
    }
    assert.equal(opened, 0);
  });

  it("refuses low-order ephemeral keys and other lengths", () => {
    const { sealed } = sealNote(reader.address, ASSET, 7n);
    const zero = new Uint8Array(32);
    assert.equal(reader.sharedSecret(zero), undefined);
    assert.equal(openOutput(reader, { ...sealed, ephemeralKey: zero }), undefined);
    for (const length of [0, 52, 54, 117])
      assert.equal(openOutput(reader, { ...sealed, ciphertext: new Uint8Array(length) }), undefined);
    for (const length of [0, 31, 33])
      assert.equal(openOutput(reader, { ...sealed, ephemeralKey: new Uint8Array(length) }), undefined);
  });

  it("seals nothing to a key of low order, whose notes everybody could read", () => {
    const address = { owner: reader.owner, viewingKey: new Uint8Array(32) };
    assert.throws(() => new OutputSealer().seal(address, ASSET, 1n));
  });

  it("remembers one shared secret and mixes up none", () => {
    const outputs = Array.from({ length: 6 }, (_, i) => sealNote(reader.address, ASSET, BigInt(i)));
    for (const { note, sealed } of [...outputs, ...outputs.toReversed(), ...outputs])
      assert.deepEqual(openOutput(reader, sealed), note);
    const secret = reader.sharedSecret(outputs[0]!.sealed.ephemeralKey)!;
    secret.fill(0);
    assert.notDeepEqual(reader.sharedSecret(outputs[0]!.sealed.ephemeralKey), secret, "a caller's copy");
  });

  it("derives blindings that another implementation derives", () => {
    const secret = new Uint8Array(32).fill(3);
    const sealer = new OutputSealer(secret);
    for (let output = 0; output < 4; output++) {
      const { blinding } = sealer.seal(reader.address, ASSET, 0n);
      assert.equal(blinding, outputKeys(toHex(secret), toHex(reader.viewingKey), output).blinding);
    }
  });

  it("never throws on arbitrary bytes", () => {
    const bytes = fc.uint8Array({ minLength: 0, maxLength: 60 });
    const anything: fc.Arbitrary<SealedOutput> = fc.record(
      {
        ephemeralKey: fc.oneof(bytes, fc.uint8Array({ minLength: 32, maxLength: 32 })),
        output: fc.oneof(fc.nat(300), fc.double()),
        ciphertext: fc.oneof(bytes, fc.uint8Array({ minLength: 53, maxLength: 53 })),
      },
      { noNullPrototype: true },
    );
    fc.assert(
      fc.property(anything, (sealed) => {
        assert.equal(openOutput(reader, sealed), undefined);
      }),
      { numRuns: 200 },
    );
  });

  it("a dummy looks like any other output: full length, and its transaction a valid ephemeral point", () => {
    const one = sealNote(nobody(), ASSET, 0n).sealed;
    const two = sealNote(nobody(), ASSET, 0n).sealed;
    assert.equal(one.ciphertext.length, CIPHERTEXT_BYTES);
    assert.ok(isViewingKey(one.ephemeralKey));
    assert.notDeepEqual(one.ephemeralKey, two.ephemeralKey);
  });
});
