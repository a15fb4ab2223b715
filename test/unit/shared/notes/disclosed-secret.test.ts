import { x25519 } from "@noble/curves/ed25519.js";
import { randomBytes } from "@noble/hashes/utils.js";
import assert from "node:assert/strict";
import { hkdfSync } from "node:crypto";
import {
  discloseSecret,
  publicKeyOf,
  readDisclosedSecret,
} from "../../../../shared/notes/disclosed-secret.ts";
import { nobody } from "../../../../shared/notes/encryption.ts";
import { SpendingKey } from "../../../../shared/notes/keys.ts";
import { randomField } from "../../../../shared/notes/note.ts";
import { senderSecret, type TransferTerms } from "../../../../shared/notes/sender-key.ts";
import { mustFromHex } from "../../../../shared/protocol/bytes.ts";
import type { Address } from "../../../../shared/protocol/brands.ts";

const message = new TextEncoder().encode("what it is bound to");

describe("a shared secret that is shown with a proof", () => {
  it("is the X25519 secret of both, for any keys, and of those two keys and that message alone", () => {
    for (let run = 0; run < 8; run++) {
      const [mine, theirs, third] = [randomBytes(32), randomBytes(32), randomBytes(32)];
      const [own, other, foreign] = [mine, theirs, third].map((secret) => x25519.getPublicKey(secret)) as [
        Uint8Array,
        Uint8Array,
        Uint8Array,
      ];
      assert.deepEqual(publicKeyOf(mine), own);
      const proof = discloseSecret(mine, other, message)!;
      assert.deepEqual(readDisclosedSecret(own, other, proof, message), x25519.getSharedSecret(mine, other));
      assert.equal(readDisclosedSecret(other, own, proof, message), undefined);
      assert.equal(readDisclosedSecret(foreign, other, proof, message), undefined);
      assert.equal(readDisclosedSecret(own, foreign, proof, message), undefined);
      assert.equal(readDisclosedSecret(own, other, proof, message.slice(1)), undefined);
    }
  });

  it("draws another nonce each time, and changes no byte of what it is given", () => {
    const [secret, other] = [randomBytes(32), x25519.getPublicKey(randomBytes(32))];
    const before = [secret.slice(), other.slice()];
    const [one, two] = [discloseSecret(secret, other, message)!, discloseSecret(secret, other, message)!];
    assert.deepEqual(one.shared, two.shared);
    assert.notDeepEqual(one.response, two.response);
    assert.deepEqual([secret, other], before);
  });

  it("is refused for keys that nobody has a secret for, and for numbers with a second spelling", () => {
    const secret = randomBytes(32);
    const own = x25519.getPublicKey(secret);
    // Of low order (0, 1), on the twist (2), not canonical (2^255 − 1), another length.
    const crafted = [0, 1, 2].map((u) => Uint8Array.from({ length: 32 }, (_, at) => (at === 0 ? u : 0)));
    for (const key of [...crafted, new Uint8Array(32).fill(255), new Uint8Array(31)])
      assert.equal(discloseSecret(secret, key, message), undefined);
    const other = x25519.getPublicKey(randomBytes(32));
    const proof = discloseSecret(secret, other, message)!;
    const order = (1n << 252n) + 27742317777372353535851937790883648493n;
    const again = (bytes: Uint8Array): Uint8Array => {
      const value = BigInt(`0x${Buffer.from(bytes).reverse().toString("hex")}`) + order;
      return Uint8Array.from(Buffer.from(value.toString(16).padStart(64, "0"), "hex").reverse());
    };
    for (const changed of [
      { ...proof, challenge: again(proof.challenge) },
      { ...proof, response: again(proof.response) },
      { ...proof, shared: Uint8Array.from(proof.shared, (byte, at) => (at === 31 ? byte ^ 0x80 : byte)) },
    ])
      assert.equal(readDisclosedSecret(own, other, changed, message), undefined);
  });
});

describe("the ephemeral secret of a private transfer", () => {
  const keys = SpendingKey.fromSeed(new Uint8Array(32).fill(3));
  const to = nobody();
  const asset = `0x${"ab".repeat(20)}` as Address;
  const [low, high] = [randomField(), randomField()].sort((a, b) => (a < b ? -1 : 1)) as [
    ReturnType<typeof randomField>,
    ReturnType<typeof randomField>,
  ];
  const terms: TransferTerms = {
    ...{ nullifiers: [high, low], to, asset, value: 30n, change: 70n, fees: 5n, salt: 1_000 },
  };

  it("is what section 12.1 says, byte for byte", () => {
    const hex = (value: bigint, bytes: number): string => value.toString(16).padStart(2 * bytes, "0");
    const info = Buffer.concat([
      Buffer.from("cloister/ephemeral/v1"),
      Buffer.from(hex(low, 32) + hex(to.owner, 32), "hex"),
      to.viewingKey,
      mustFromHex(asset),
      Buffer.from(hex(30n, 16) + hex(70n, 16) + hex(5n, 16) + hex(1_000n, 2), "hex"),
    ]);
    const scalar = Buffer.from(hex(keys.scalar(), 32), "hex");
    const expected = new Uint8Array(hkdfSync("sha256", scalar, Buffer.alloc(0), info, 32));
    assert.deepEqual(senderSecret(keys, terms), expected);
  });

  it("is another one for any other content, spender or salt, and the same whatever the order of the notes", () => {
    const changes: Partial<TransferTerms>[] = [
      { nullifiers: [high] },
      { to: nobody() },
      { to: { ...to, owner: randomField() } },
      { asset: `0x${"ac".repeat(20)}` as Address },
      { value: 31n },
      { change: 69n },
      { fees: 6n },
      { salt: 1_001 },
    ];
    const all = [
      senderSecret(keys, terms),
      ...changes.map((one) => senderSecret(keys, { ...terms, ...one })),
    ];
    all.push(senderSecret(SpendingKey.fromSeed(new Uint8Array(32).fill(4)), terms));
    assert.equal(new Set(all.map((one) => Buffer.from(one).toString("hex"))).size, all.length);
    assert.deepEqual(senderSecret(keys, { ...terms, nullifiers: [low, high] }), all[0]);
  });
});
