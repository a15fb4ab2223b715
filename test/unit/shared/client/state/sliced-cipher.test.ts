import assert from "node:assert/strict";
import { xchacha20poly1305 } from "@noble/ciphers/chacha.js";
import { randomBytes } from "@noble/hashes/utils.js";
import {
  decryptInTurns,
  encryptInTurns,
  PIECE_BYTES,
} from "../../../../../shared/client/state/sliced-cipher.ts";
import { Turns } from "../../../../../shared/client/base/turns.ts";

/** Around where a block, a piece and the padding begin. */
const LENGTHS = [0, 1, 15, 16, 17, 63, 64, 65, 1_000].concat(
  [-1, 0, 1, 33].flatMap((more) => [PIECE_BYTES + more, 3 * PIECE_BYTES + more]),
);

describe("XChaCha20-Poly1305 in pieces", () => {
  it("gives the bytes of the library's one call, and reads them", async () => {
    for (const length of LENGTHS)
      for (const headerLength of [0, 9, 16]) {
        const [key, nonce, header] = [randomBytes(32), randomBytes(24), randomBytes(headerLength)];
        const plain = length === 0 ? new Uint8Array(0) : randomPlain(length);
        const whole = xchacha20poly1305(key, nonce, header).encrypt(plain);
        const sealing = { key, nonce, header };
        assert.ok(Buffer.from(whole).equals(await encryptInTurns(sealing, plain, new Turns())), `${length}`);
        assert.ok(
          Buffer.from(plain).equals((await decryptInTurns(sealing, whole, new Turns()))!),
          `${length}`,
        );
      }
  });

  it("reads nothing that was changed, cut, or sealed otherwise", async () => {
    const sealing = { key: randomBytes(32), nonce: randomBytes(24), header: randomBytes(9) };
    const sealed = await encryptInTurns(sealing, randomPlain(PIECE_BYTES + 40), new Turns());
    const open = (bytes: Uint8Array, how = sealing) => decryptInTurns(how, bytes, new Turns());
    assert.ok((await open(sealed)) !== undefined);
    for (const at of [
      0,
      PIECE_BYTES - 1,
      PIECE_BYTES,
      sealed.length - 17,
      sealed.length - 16,
      sealed.length - 1,
    ]) {
      const changed = sealed.slice();
      changed[at]! ^= 1;
      assert.equal(await open(changed), undefined, `byte ${at}`);
    }
    for (const length of [0, 15, 16, PIECE_BYTES, sealed.length - 1])
      assert.equal(await open(sealed.slice(0, length)), undefined, `${length} bytes`);
    for (const part of ["key", "nonce", "header"] as const) {
      const other = { ...sealing, [part]: sealing[part].slice().fill(3) };
      assert.equal(await open(sealed, other), undefined, part);
    }
  });
});

/** `randomBytes` has a limit in browsers and Node alike. */
function randomPlain(length: number): Uint8Array {
  const seed = randomBytes(251);
  return Uint8Array.from({ length }, (_, index) => seed[index % seed.length]! ^ (index >> 8));
}
