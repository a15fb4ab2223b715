// X25519 by the platform and by the library: one outcome for every 32 bytes, and the library's where the platform has none.
import { x25519 } from "@noble/curves/ed25519.js";
import fc from "fast-check";
import assert from "node:assert/strict";
import { IncomingViewingKey } from "../../../../shared/notes/keys.ts";
import { platformX25519 } from "../../../../shared/notes/platform-x25519.ts";
import { mustField } from "../../../../shared/protocol/brands.ts";
import { mustFromHex, toHex } from "../../../../shared/protocol/bytes.ts";

const bytes = (text: string): Uint8Array => mustFromHex(`0x${text}`);
const key32 = fc.uint8Array({ minLength: 32, maxLength: 32 });
const SECRET = new Uint8Array(32).fill(7);

function ofLibrary(secret: Uint8Array, publicKey: Uint8Array): string | undefined {
  try {
    return toHex(x25519.getSharedSecret(secret, publicKey));
  } catch {
    return undefined;
  }
}
async function ofPlatform(secret: Uint8Array, publicKey: Uint8Array): Promise<string | undefined> {
  const shared = await platformX25519(secret)(publicKey);
  return shared === undefined ? undefined : toHex(shared);
}
const reader = (secret: Uint8Array): IncomingViewingKey => new IncomingViewingKey(mustField(1n), secret);

/** Secret, public key, shared secret: RFC 7748, section 5.2; the second public key has the bit that is left out. */
const PUBLISHED = [
  [
    "a546e36bf0527c9d3b16154b82465edd62144c0ac1fc5a18506a2244ba449ac4",
    "e6db6867583030db3594c1a424b15f7c726624ec26b3353b10a903a6d0ab1c4c",
    "c3da55379de9c6908e94ea4df28d084f32eccf03491c71f754b4075577a28552",
  ],
  [
    "4b66e9d4d1b4673c5ad22691957d6af5c11b6421e0ea01d42ca4169e7918ba0d",
    "e5210f12786811d3f4b7959d0538ae2c31dbe7106fc03c3efc4cd549c715a493",
    "95cbde9476e8907d7aade45cb4b873f88b595a68799fa152e6f8f7647aac7957",
  ],
] as const;

/** Little-endian: 0, 1, two of order 8, p − 1, p, p + 1. Of p and above the least 255 bits are reduced. */
const LOW_ORDER = [
  "00".repeat(32),
  `01${"00".repeat(31)}`,
  "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
  "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
  `ec${"ff".repeat(30)}7f`,
  `ed${"ff".repeat(30)}7f`,
  `ee${"ff".repeat(30)}7f`,
];
/** p + 2 and 2^255 − 1, with and without the bit that is left out. */
const UNREDUCED = [`ef${"ff".repeat(30)}7f`, `ef${"ff".repeat(31)}`, `${"ff".repeat(31)}7f`, "ff".repeat(32)];

/** As in a browser: `platformX25519` finds no OpenSSL. */
function hideOpenSsl(): () => void {
  const real = process.getBuiltinModule;
  process.getBuiltinModule = () => undefined;
  return () => (process.getBuiltinModule = real);
}

describe("notes/platform-x25519", () => {
  for (const way of ["OpenSSL", "Web Cryptography"])
    describe(`by ${way}`, () => {
      let show = (): unknown => undefined;
      before(() => {
        if (way !== "OpenSSL") show = hideOpenSsl();
      });
      after(() => void show());

      it("gives the published secrets", async () => {
        for (const [secret, publicKey, shared] of PUBLISHED)
          assert.equal(await ofPlatform(bytes(secret), bytes(publicKey)), `0x${shared}`);
      });

      it("gives the library's secret for any secret and public key", () =>
        fc.assert(
          fc.asyncProperty(key32, key32, async (secret, publicKey) => {
            assert.equal(await ofPlatform(secret, publicKey), ofLibrary(secret, publicKey));
          }),
          { numRuns: 300 },
        ));

      it("gives none for a key of low order, and the library's for one that is not reduced", async () => {
        for (const text of LOW_ORDER) {
          assert.equal(ofLibrary(SECRET, bytes(text)), undefined, text);
          assert.equal(await ofPlatform(SECRET, bytes(text)), undefined, text);
        }
        for (const text of UNREDUCED) {
          const shared = await ofPlatform(SECRET, bytes(text));
          assert.ok(shared !== undefined);
          assert.equal(shared, ofLibrary(SECRET, bytes(text)), text);
        }
      });

      it("gives none for another length", async () => {
        for (const length of [0, 31, 33])
          assert.equal(await ofPlatform(SECRET, new Uint8Array(length)), undefined);
      });
    });

  describe("a reader that asks ahead", () => {
    it("has the secret of the platform, and of another key the library's own", async () => {
      const me = reader(SECRET);
      const [first, second] = [3, 4].map((n) => x25519.getPublicKey(new Uint8Array(32).fill(n))) as [
        Uint8Array,
        Uint8Array,
      ];
      await me.prepare(first);
      for (const each of [first, second, first])
        assert.equal(toHex(me.sharedSecret(each)!), ofLibrary(SECRET, each));
      await me.prepare(bytes(LOW_ORDER[2]!));
      assert.equal(me.sharedSecret(bytes(LOW_ORDER[2]!)), undefined);
      assert.equal(toHex(me.sharedSecret(first)!), ofLibrary(SECRET, first));
    });

    it("asks once for the outputs of one transaction, and believes what was said", async () => {
      const show = hideOpenSsl();
      const { subtle } = globalThis.crypto;
      const real = subtle.deriveBits.bind(subtle);
      let asked = 0;
      subtle.deriveBits = () => {
        asked++;
        return Promise.resolve(new Uint8Array(32).fill(0xab).buffer);
      };
      try {
        const me = reader(SECRET);
        const key = x25519.getPublicKey(new Uint8Array(32).fill(3));
        for (let output = 0; output < 4; output++) {
          await me.prepare(key);
          assert.equal(toHex(me.sharedSecret(key)!), `0x${"ab".repeat(32)}`);
        }
        assert.equal(asked, 1);
      } finally {
        subtle.deriveBits = real;
        show();
      }
    });

    for (const [what, fake] of [
      ["has no Web Cryptography, as a page outside a secure context", undefined],
      [
        "does not know the curve",
        { importKey: () => Promise.reject(new DOMException("", "NotSupportedError")) },
      ],
      [
        "says zero where it had to refuse",
        {
          importKey: () => Promise.resolve({}),
          deriveBits: () => Promise.resolve(new ArrayBuffer(32)),
        },
      ],
    ] as const)
      it(`computes it itself on a platform that ${what}`, async () => {
        const show = hideOpenSsl();
        const real = Object.getOwnPropertyDescriptor(globalThis, "crypto")!;
        const { crypto } = globalThis;
        // The library draws from it.
        const left = { getRandomValues: crypto.getRandomValues.bind(crypto), subtle: fake };
        Object.defineProperty(globalThis, "crypto", { configurable: true, value: left });
        try {
          const me = reader(SECRET);
          const key = x25519.getPublicKey(new Uint8Array(32).fill(3));
          await me.prepare(key);
          assert.equal(toHex(me.sharedSecret(key)!), ofLibrary(SECRET, key));
        } finally {
          Object.defineProperty(globalThis, "crypto", real);
          show();
        }
      });
  });
});
