import assert from "node:assert/strict";
import { inspect } from "node:util";
import { computeAddress, recoverAddress, Signature, SigningKey } from "ethers";
import fc from "fast-check";
import { Signer } from "../../../enclave/signer.ts";
import { mustFromHex, toHex, word } from "../../../shared/protocol/bytes.ts";

/** SEC 2, section 2.4.1 */
const GROUP_ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;

describe("enclave/signer", () => {
  const drawing = (...draws: (Uint8Array | undefined)[]): Promise<Signer> =>
    Signer.draw({ randomBytes: async () => draws.shift() });

  it("takes the first possible key that the platform gives", async () => {
    for (const unusable of [word(0n), word(GROUP_ORDER), word((1n << 256n) - 1n), undefined]) {
      assert.equal(
        (await drawing(unusable, word(5n))).address,
        computeAddress(toHex(word(5n))).toLowerCase(),
      );
    }
    for (const edge of [1n, GROUP_ORDER - 1n]) {
      assert.equal((await drawing(word(edge))).address, computeAddress(toHex(word(edge))).toLowerCase());
    }
  });

  it("gives up on a source that gives no key", async () => {
    await assert.rejects(drawing(undefined, undefined, word(5n)));
    await assert.rejects(drawing(word(0n), word(0n), word(5n)));
    await assert.rejects(drawing(new Uint8Array(31).fill(1), new Uint8Array(33).fill(1)));
  });

  it("signs as ethers does: deterministic, low s, v 27 or 28, recovers to its address", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.bigInt({ min: 1n, max: GROUP_ORDER - 1n }),
        fc.uint8Array({ minLength: 32, maxLength: 32 }),
        async (key, digest) => {
          const signer = await drawing(word(key));
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

  it("shows its key to nobody who prints it", async () => {
    const key = mustFromHex(`0x${"a7".repeat(32)}`);
    const signer = await drawing(key);
    const shown =
      inspect(signer, { showHidden: true, depth: 9 }) + JSON.stringify(signer) + Object.keys(signer).join();
    assert.ok(!shown.includes("167") && !shown.toLowerCase().includes("a7a7"), shown);
  });
});
