import assert from "node:assert/strict";
import { openOutput, OutputSealer } from "../../../../shared/notes/encryption.ts";
import { SpendingKey } from "../../../../shared/notes/keys.ts";
import { completeNote, sealUnmeasured } from "../../../../shared/notes/measured-note.ts";
import { commitmentOf, npkOf } from "../../../../shared/notes/note.ts";
import { FIELD_ORDER, mustField, type Address } from "../../../../shared/protocol/brands.ts";
import { CIPHERTEXT_BYTES } from "../../../../shared/protocol/statements.ts";

const ASSET = "0x00000000000000000000000000000000000000bb" as Address;
const OTHER = "0x00000000000000000000000000000000000000cc" as Address;
const me = SpendingKey.fromSeed(new Uint8Array(32).fill(4)).viewing;
const stranger = SpendingKey.fromSeed(new Uint8Array(32).fill(5)).viewing;

describe("note that the pool measures", () => {
  it("is sealed like any other: its reader finds asset, value 0 and the blinding behind npk", () => {
    const sealer = new OutputSealer();
    const { npk, blinding } = sealUnmeasured(sealer, me.address, ASSET);
    const [ciphertext] = sealer.ciphertexts;
    const sealed = { ephemeralKey: sealer.ephemeralKey, output: 0, ciphertext: ciphertext! };
    assert.equal(ciphertext!.length, CIPHERTEXT_BYTES);
    assert.deepEqual(openOutput(me, sealed), { asset: ASSET, value: 0n, blinding });
    assert.equal(openOutput(stranger, sealed), undefined);
    assert.equal(npk, npkOf(me.owner, blinding));
    for (const other of [sealer, new OutputSealer()])
      assert.notEqual(sealUnmeasured(other, me.address, ASSET).npk, npk, "every blinding is fresh");
  });

  it("is completed with the pool's asset and value when they give the leaf", () => {
    const { npk, blinding } = sealUnmeasured(new OutputSealer(), me.address, ASSET);
    const leaf = commitmentOf(npk, ASSET, 900n);
    const measured = { npk, asset: ASSET, value: 900n };
    assert.deepEqual(completeNote(me.owner, blinding, measured, leaf), {
      asset: ASSET,
      value: 900n,
      blinding,
    });
  });

  it("is refused with another value, asset, npk, leaf, owner or blinding", () => {
    const { npk, blinding } = sealUnmeasured(new OutputSealer(), me.address, ASSET);
    const leaf = commitmentOf(npk, ASSET, 900n);
    const measured = { npk, asset: ASSET, value: 900n };
    const complete = (
      lie: Partial<typeof measured>,
      owner = me.owner,
      secret = blinding,
      place = leaf,
    ): unknown => completeNote(owner, secret, { ...measured, ...lie }, place);
    assert.equal(complete({ value: 901n }), undefined);
    for (const alias of [900n + FIELD_ORDER, 900n - FIELD_ORDER]) {
      assert.equal(complete({ value: alias }), undefined, "a second spelling of the value");
    }
    assert.equal(complete({ asset: OTHER }), undefined);
    assert.equal(complete({ npk: mustField(5n) }), undefined);
    assert.equal(complete({}, stranger.owner), undefined);
    assert.equal(complete({}, me.owner, mustField(5n)), undefined);
    assert.equal(complete({}, me.owner, blinding, mustField(5n)), undefined);
    // A leaf that fits the lie is still not this owner's note.
    const foreign = mustField(5n);
    const made = commitmentOf(foreign, ASSET, 900n);
    assert.equal(complete({ npk: foreign }, me.owner, blinding, made), undefined);
  });
});
