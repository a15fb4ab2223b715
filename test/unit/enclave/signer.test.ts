import assert from "node:assert/strict";
import { inspect } from "node:util";
import { recoverAddress, Signature, SigningKey } from "ethers";
import fc from "fast-check";
import { makeSealedKey, Signer } from "../../../enclave/signer.ts";
import { ZERO_ADDRESS, ZERO_BYTES32 } from "../../../shared/protocol/brands.ts";
import { concatBytes, mustFromHex, toHex, word } from "../../../shared/protocol/bytes.ts";
import { addressOf, aSigner, CONFIGURATION, openWithKms, plaintextOf } from "./support/key-life.ts";

/** SEC 2, section 2.4.1 */
const GROUP_ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;

describe("enclave/signer", () => {
  describe("a sealed key", () => {
    const sealing = (drawn: Uint8Array | undefined) =>
      makeSealedKey({ randomBytes: async () => drawn }, CONFIGURATION);

    it("holds what the platform drew, for KMS alone, and is another one each time", async () => {
      for (const secret of [word(1n), word(5n), word(GROUP_ORDER - 1n)]) {
        const copy = new Uint8Array(secret);
        const made = await sealing(copy);
        assert.ok(made !== undefined);
        assert.equal(made.signer, addressOf(secret));
        assert.equal(made.sealedKey.length, 256);
        assert.equal(toHex(openWithKms(made.sealedKey)), toHex(plaintextOf(secret)));
        assert.notDeepEqual((await sealing(new Uint8Array(secret)))?.sealedKey, made.sealedKey);
      }
    });

    it("leaves nothing of the secret in the platform's bytes", async () => {
      const drawn = word(77n);
      assert.ok((await sealing(drawn)) !== undefined);
      assert.deepEqual(drawn, new Uint8Array(32));
    });

    it("is not made of what is no key, nor without randomness", async () => {
      for (const none of [word(0n), word(GROUP_ORDER), word((1n << 256n) - 1n), undefined])
        assert.equal(await sealing(none), undefined);
      for (const length of [0, 31, 33])
        assert.equal(await sealing(new Uint8Array(length).fill(1)), undefined);
    });
  });

  describe("opening", () => {
    const secret = word(5n);
    const opened = (plaintext: Uint8Array): Signer | undefined => Signer.open(plaintext, CONFIGURATION);

    it("takes what was sealed under this configuration, and wipes it", () => {
      const plaintext = plaintextOf(secret);
      assert.equal(plaintext.length, 105);
      const signer = opened(plaintext);
      assert.equal(signer?.address, addressOf(secret));
      assert.deepEqual(plaintext, new Uint8Array(105));
      assert.equal(recoverAddress(word(9n), toHex(signer.sign(word(9n)))).toLowerCase(), addressOf(secret));
    });

    for (const [what, plaintext] of [
      ["another domain", plaintextOf(secret, { domain: "cloister-signing-kez" })],
      ["another version", plaintextOf(secret, { version: 2 })],
      ["another configuration", plaintextOf(secret, { configurationHash: ZERO_BYTES32 })],
      ["the address of another key", plaintextOf(secret, { signer: addressOf(word(6n)) })],
      ["a key of zero", plaintextOf(secret).fill(0, 73)],
      ["a key at the group order", concatBytes(plaintextOf(secret).slice(0, 73), word(GROUP_ORDER))],
      ["a byte less", plaintextOf(secret).slice(0, -1)],
      ["a byte more", concatBytes(plaintextOf(secret), Uint8Array.of(0))],
      ["nothing", new Uint8Array(0)],
    ] as const) {
      it(`refuses ${what}, and wipes it all the same`, () => {
        assert.equal(opened(plaintext), undefined);
        assert.deepEqual(plaintext, new Uint8Array(plaintext.length));
      });
    }
    it("knows no zero address", () => {
      assert.equal(opened(plaintextOf(secret, { signer: ZERO_ADDRESS })), undefined);
    });
  });

  it("signs as ethers does: deterministic, low s, v 27 or 28, recovers to its address", () => {
    fc.assert(
      fc.property(
        fc.bigInt({ min: 1n, max: GROUP_ORDER - 1n }),
        fc.uint8Array({ minLength: 32, maxLength: 32 }),
        (key, digest) => {
          const signer = aSigner(word(key));
          const signature = signer.sign(digest);
          assert.equal(signature.length, 65);
          assert.equal(toHex(signature), new SigningKey(word(key)).sign(digest).serialized);
          assert.equal(recoverAddress(digest, toHex(signature)).toLowerCase(), signer.address);
          assert.ok(BigInt(Signature.from(toHex(signature)).s) <= GROUP_ORDER / 2n);
          assert.deepEqual(signer.sign(digest), signature);
        },
      ),
      { numRuns: 50 },
    );
  });

  it("signs nothing once it is wiped, and still says whose key it was", () => {
    const signer = aSigner(word(5n));
    signer.sign(word(1n));
    signer.wipe();
    assert.throws(() => signer.sign(word(1n)));
    assert.equal(signer.address, addressOf(word(5n)));
  });

  it("shows its key to nobody who prints it", () => {
    const signer = aSigner(mustFromHex(`0x${"a7".repeat(32)}`));
    const shown =
      inspect(signer, { showHidden: true, depth: 9 }) + JSON.stringify(signer) + Object.keys(signer).join();
    assert.ok(!shown.includes("167") && !shown.toLowerCase().includes("a7a7"), shown);
  });
});
