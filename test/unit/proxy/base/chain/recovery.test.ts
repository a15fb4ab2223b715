// Signatures of attestations and authorizations, against another implementation of the curve.
import assert from "node:assert/strict";
import { computeAddress, recoverAddress, SigningKey } from "ethers";
import fc from "fast-check";
import {
  recoverInTurn,
  recoverSigner,
  RECOVERIES_IN_A_TURN,
} from "../../../../../proxy/base/chain/recovery.ts";
import type { Address } from "../../../../../shared/protocol/brands.ts";
import { asAddress } from "../../../../../shared/protocol/host/text.ts";
import { concatBytes, mustFromHex, toHex, word } from "../../../../../shared/protocol/bytes.ts";

/** Of the group: SEC 2, section 2.4.1. */
const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
const bytes = (length: number): fc.Arbitrary<Uint8Array> =>
  fc.uint8Array({ minLength: length, maxLength: length }).filter((drawn) => drawn.some((byte) => byte !== 0));

function theirs(digest: Uint8Array, signature: Uint8Array): Address | undefined {
  try {
    return asAddress(recoverAddress(digest, toHex(signature)));
  } catch {
    return undefined;
  }
}

describe("base/chain/recovery", () => {
  it("are recovered to the same signer a few in a turn, so that others get theirs in between", async () => {
    const key = new SigningKey(`0x${"11".repeat(32)}`);
    const digest = word(5n);
    const signature = mustFromHex(key.sign(digest).serialized);
    const signer = recoverSigner(digest, signature);
    let done = 0;
    const seen: number[] = [];
    const all = Array.from({ length: 4 * RECOVERIES_IN_A_TURN }, async () => {
      assert.equal(await recoverInTurn(digest, signature), signer);
      done += 1;
    });
    while (done < all.length) {
      await new Promise((resolve) => setImmediate(resolve));
      seen.push(done);
    }
    await Promise.all(all);
    assert.equal(signer, asAddress(computeAddress(key)));
    assert.ok(
      seen.every((count, i) => count - (seen[i - 1] ?? 0) <= RECOVERIES_IN_A_TURN),
      String(seen),
    );
    assert.equal(await recoverInTurn(digest, signature.slice(1)), undefined);
  });

  it("are read as another implementation reads them", () => {
    fc.assert(
      fc.property(bytes(32), bytes(32), fc.constantFrom(27, 28), (digest, secret, v) => {
        const { r, s } = new SigningKey(secret).sign(digest);
        const signature = concatBytes(mustFromHex(r), mustFromHex(s), Uint8Array.of(v));
        assert.equal(recoverSigner(digest, signature), theirs(digest, signature));
      }),
      { numRuns: 200 },
    );
  });

  it("are refused with s in the upper half, with numbers of no signature, and for no point", () => {
    const digest = word(5n);
    const { r, s, v } = new SigningKey(word(7n)).sign(digest);
    const form = (first: bigint, second: bigint, last: number): Uint8Array =>
      concatBytes(word(first), word(second), Uint8Array.of(last));
    const [R, S] = [BigInt(r), BigInt(s)];
    assert.equal(recoverSigner(digest, form(R, S, v)), asAddress(computeAddress(new SigningKey(word(7n)))));
    const half = ORDER / 2n;
    assert.notEqual(recoverSigner(digest, form(R, half, v)), undefined);
    for (const bad of [
      form(R, half + 1n, v),
      form(R, ORDER - S, 55 - v),
      form(0n, S, v),
      form(R, 0n, v),
      form(ORDER, S, v),
      form(R, ORDER, v),
      // No point of the curve has this x.
      form(5n, S, v),
      form(R, S, v - 27),
      form(R, S, 29),
      form(R, S, v).subarray(1),
      new Uint8Array(0),
    ]) {
      assert.equal(recoverSigner(digest, bad), undefined, toHex(bad));
    }
  });
});
