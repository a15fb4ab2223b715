import assert from "node:assert/strict";
import { createPrivateKey, createPublicKey, hkdfSync, verify } from "node:crypto";
import { inspect } from "node:util";
import { Wallet as Account } from "ethers";
import {
  addressNote,
  BRIDGE_KINDS,
  DepositKey,
  RefundKey,
  type BridgeKind,
} from "../../../../shared/notes/bridge-keys.ts";
import { openOutput, OutputSealer } from "../../../../shared/notes/encryption.ts";
import { SpendingKey } from "../../../../shared/notes/keys.ts";
import { npkOf } from "../../../../shared/notes/note.ts";
import { asAddress } from "../../../../shared/protocol/host/text.ts";
import { toHex, word } from "../../../../shared/protocol/bytes.ts";

const KEYS = SpendingKey.fromSeed(new Uint8Array(32).fill(1));
const ASSET = asAddress("0x00000000000000000000000000000000000000bb")!;
const KINDS = Object.keys(BRIDGE_KINDS) as BridgeKind[];
const LAST = 2 ** 32 - 1;

/** Kind, number, npk, ephemeral key: addresses that hold money depend on every one of these bytes. */
const NOTES = [
  ["in", 0, "0x0b335493f86f424c0bddda14bb021baad0529657f972e976e20ca03c75f6600e"],
  ["in", 1, "0x281a83acbc2941b77d3f043cf9e1d14e09163e296312fa609cac0f2f96515847"],
  ["in", LAST, "0x10f90d47f96dd972259e9b44996599de6dd7c8e6456c3cf9df3b3bb538abaef0"],
  ["out", 0, "0x024b9ec0890370453ed9d493e8931210904910e090d5d88ac66b6249c320aa06"],
  ["out", 1, "0x2a3a5a39986bf3311546a1b66aefe94d58edb0c3274f5aae7c25491b7edb7d3a"],
  ["altchain", 0, "0x2f77d7b042b9720b54ed2a95aadf1b940761d31dfa99f1dbfe0ed5883e2d2c0e"],
] as const;
const DEPOSIT_KEYS = [
  "A69DZ9qmbAfH9vCJ2zpUgFiMB4zceJikjqrLDHgd7hx7",
  "C1bvbvvgX9iL2mvfpZp4aRiEBJqUwuAsp3UMTsc6QEzz",
];

/** Kind, number, account. What was refunded is on these. */
const REFUNDS = [
  ["in", 0, "0x6656663fc8317a5d1bf0e58d9215ef76bafe8f34"],
  ["in", 1, "0x44f71bfed3eb2ef522519754f23233b8afb2de74"],
  ["in", LAST, "0x4d2b73457bfade9945255b9afe1e0fc42e035e1c"],
  ["altchain", 0, "0x70bdda91a88f87e1d2fd198b348bbe4b84d7a08d"],
] as const;
/** Order of secp256k1's group, as SEC 2 prints it. */
const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;

/** The derivation once more, by Node's own HKDF. */
function derived(secret: Uint8Array, purpose: number, index: number): Uint8Array {
  const info = Buffer.alloc(18 + 1 + 4);
  info.write("cloister/bridge/v1");
  info.writeUInt8(purpose, 18);
  info.writeUInt32BE(index, 19);
  return new Uint8Array(hkdfSync("sha256", secret, new Uint8Array(0), info, 32));
}

describe("keys of bridge addresses", () => {
  it("give the notes of the fixed vectors", () => {
    for (const [kind, index, npk] of NOTES)
      assert.equal(toHex(word(addressNote(KEYS.viewing, kind, index, ASSET).npk)), npk, `${kind} ${index}`);
  });

  it("are HKDF of the viewing secret over kind and number, as another implementation finds them", () => {
    for (const kind of KINDS) {
      for (const index of [0, 1, 255, 256, LAST]) {
        const secret = derived(KEYS.viewing.exportSecret(), BRIDGE_KINDS[kind], index);
        const sealer = new OutputSealer(secret);
        sealer.seal(KEYS.viewing.address, ASSET, 0n);
        const note = addressNote(KEYS.viewing, kind, index, ASSET);
        assert.deepEqual(note.ephemeralKey, sealer.ephemeralKey);
        assert.deepEqual(note.ciphertext, sealer.ciphertexts[0]);
      }
    }
  });

  it("give a note that its owner opens at output 0, and nobody else", () => {
    const { ephemeralKey, ciphertext, npk, blinding } = addressNote(KEYS.viewing, "in", 3, ASSET);
    const sealed = { ephemeralKey, output: 0, ciphertext };
    assert.deepEqual(openOutput(KEYS.viewing, sealed), { asset: ASSET, value: 0n, blinding });
    assert.equal(npkOf(KEYS.owner, blinding), npk);
    const other = SpendingKey.fromSeed(new Uint8Array(32).fill(2));
    assert.equal(openOutput(other.viewing, sealed), undefined);
  });

  it("never meet: another kind, number or wallet is another note", () => {
    const other = SpendingKey.fromSeed(new Uint8Array(32).fill(2));
    const all = [KEYS, other].flatMap(({ viewing }) =>
      KINDS.flatMap((kind) => [0, 1, 2].map((index) => addressNote(viewing, kind, index, ASSET).npk)),
    );
    assert.equal(new Set(all).size, 18);
  });

  it("refuse a number that has no place in the derivation", () => {
    for (const index of [-1, 2 ** 32, 0.5])
      assert.throws(() => addressNote(KEYS.viewing, "in", index, ASSET), RangeError);
  });
});

describe("deposit keys of the other blockchain", () => {
  it("are those of the fixed vectors, from the spending key", () => {
    DEPOSIT_KEYS.forEach((text, index) => assert.equal(new DepositKey(KEYS, index).text, text));
  });

  it("sign what another implementation verifies", () => {
    const key = new DepositKey(KEYS, 7);
    const message = new TextEncoder().encode("a burn");
    const x = Buffer.from(key.publicKey).toString("base64url");
    const publicKey = createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x }, format: "jwk" });
    assert.ok(verify(undefined, message, publicKey, key.sign(message)));
    assert.ok(!verify(undefined, new TextEncoder().encode("another"), publicKey, key.sign(message)));
  });

  it("never appear in a log, a string or JSON", () => {
    const key = new DepositKey(KEYS, 0);
    const seed = derived(word(KEYS.scalar()), 4, 0);
    const shown = [inspect(key, { showHidden: true, depth: 9 }), JSON.stringify({ key }), String(key)];
    for (const text of shown) {
      assert.ok(!text.includes(toHex(seed).slice(2)) && !text.includes(String(seed)), text);
      assert.ok(text.includes("[keys]"), text);
    }
    // The seed that was looked for is the right one, as another implementation finds the public key.
    const pkcs8 = Buffer.concat([Buffer.from("302e020100300506032b657004220420", "hex"), seed]);
    const { x } = createPublicKey(createPrivateKey({ key: pkcs8, format: "der", type: "pkcs8" })).export({
      format: "jwk",
    });
    assert.equal(x, Buffer.from(key.publicKey).toString("base64url"));
  });
});

describe("refund keys", () => {
  it("are those of the fixed vectors", () => {
    for (const [kind, index, address] of REFUNDS)
      assert.equal(new RefundKey(KEYS, kind, index).address, address, `${kind} ${index}`);
  });

  it("are 48 bytes of HKDF of the spending key, reduced to 1 … n − 1, as other implementations find key and account", () => {
    for (const kind of ["in", "altchain"] as const) {
      for (const index of [0, 1, 255, 256, LAST]) {
        const info = Buffer.alloc(22 + 1 + 4);
        info.write("cloister/refund-key/v1");
        info.writeUInt8(BRIDGE_KINDS[kind], 22);
        info.writeUInt32BE(index, 23);
        const wide = Buffer.from(hkdfSync("sha256", word(KEYS.scalar()), new Uint8Array(0), info, 48));
        const secret = (BigInt(`0x${wide.toString("hex")}`) % (ORDER - 1n)) + 1n;
        const key = new RefundKey(KEYS, kind, index);
        assert.equal(key.exportPrivateKey(), `0x${secret.toString(16).padStart(64, "0")}`);
        assert.equal(new Account(key.exportPrivateKey()).address.toLowerCase(), key.address);
      }
    }
  });

  it("never meet: another kind, number or wallet is another account, and none is a key of another use", () => {
    const other = SpendingKey.fromSeed(new Uint8Array(32).fill(2));
    const all = [KEYS, other].flatMap((keys) =>
      (["in", "altchain"] as const).flatMap((kind) =>
        [0, 1, 2].map((index) => new RefundKey(keys, kind, index).exportPrivateKey()),
      ),
    );
    const uses = [
      ...[0, 1, 2, 3, 4].map((purpose) => derived(word(KEYS.scalar()), purpose, 0)),
      ...KINDS.map((kind) => derived(KEYS.viewing.exportSecret(), BRIDGE_KINDS[kind], 0)),
      ...[word(KEYS.scalar()), KEYS.storageKey(), KEYS.viewing.exportSecret()],
    ];
    assert.equal(new Set([...all, ...uses.map(toHex)]).size, 12 + 11);
  });

  it("refuse a number that has no place in the derivation", () => {
    for (const index of [-1, 2 ** 32, 0.5]) assert.throws(() => new RefundKey(KEYS, "in", index), RangeError);
  });

  it("never appear in a log, a string or JSON", () => {
    const key = new RefundKey(KEYS, "in", 0);
    const secret = key.exportPrivateKey().slice(2);
    const shown = [inspect(key, { showHidden: true, depth: 9 }), JSON.stringify({ key }), String(key)];
    for (const text of shown) {
      assert.ok(
        !text.includes(secret) && !text.includes(Uint8Array.from(Buffer.from(secret, "hex")).join()),
        text,
      );
      assert.ok(text.includes("[keys]"), text);
    }
  });
});
