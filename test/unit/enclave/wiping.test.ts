// No copy of a secret outlives the step that needed it, where JavaScript lets one wipe it: whatever memory the bytes
// passed through is held here and looked into afterwards, on the paths that succeed and on those that refuse.
import assert from "node:assert/strict";
import { createPublicKey, randomBytes } from "node:crypto";
import { openEnvelope } from "../../../enclave/kms-envelope.ts";
import { nitroPlatform } from "../../../enclave/nitro.ts";
import { Releases } from "../../../enclave/release.ts";
import { restore } from "../../../enclave/restore.ts";
import { makeSealedKey, Signer } from "../../../enclave/signer.ts";
import { sealEnvelope } from "../../../scripts/stand-ins/kms/envelope.ts";
import { ZERO_BYTES32 } from "../../../shared/protocol/brands.ts";
import { concatBytes, uintToBytes } from "../../../shared/protocol/bytes.ts";
import { encodeCbor } from "../../../shared/protocol/cbor.ts";
import { envelopeOf, RECIPIENT, rsaKey, SECRET } from "../../support/crafted-envelope.ts";
import { watched, type Copies } from "./support/copies.ts";
import { addressOf, aPair, CONFIGURATION, plaintextOf, platformInMemory } from "./support/key-life.ts";
import { SocketFolder } from "./support/sockets.ts";

/** This run's alone, so that it is nowhere by chance; below the group order. */
const aSecret = (): Uint8Array => Uint8Array.from(randomBytes(32)).with(0, 1);

/** Seen on its way `atLeast` so often, and gone from everything but `but`. */
function assertGone(copies: Copies, secret: Uint8Array, but: readonly Uint8Array[] = [], atLeast = 1): void {
  assert.ok(copies.held(secret) >= atLeast, `seen only ${String(copies.held(secret))} times`);
  assert.equal(copies.left(secret, ...but), 0, "copies that are left");
}

describe("enclave: secrets are wiped", () => {
  describe("the security module's answer", () => {
    let folder: SocketFolder;
    beforeEach(async () => {
      folder = await SocketFolder.make();
    });
    afterEach(() => folder.remove());

    /** What comes of an answer that arrives in these pieces. */
    const answered = async (...pieces: readonly Uint8Array[]) => {
      const nsmPath = await folder.serve("nsm.sock", (socket) => {
        socket.once("data", () => {
          const next = (i: number): void => {
            if (i === pieces.length) return void socket.end();
            socket.write(pieces[i]!, () => setTimeout(next, 20, i + 1));
          };
          next(0);
        });
      });
      const platform = nitroPlatform({ listenPath: "none", verifiersPath: "none", nsmPath });
      return watched(() => platform.randomBytes(32));
    };
    const answerOf = (random: Uint8Array): Uint8Array => {
      const body = encodeCbor(new Map([["GetRandom", new Map([["random", random]])]]));
      return concatBytes(uintToBytes(BigInt(body.length), 4), body);
    };

    it("in every piece it came in and every buffer it was put together in; the answer is its last copy", async () => {
      const random = Uint8Array.from(randomBytes(256));
      const whole = answerOf(random);
      const { result, copies } = await answered(whole.slice(0, 150), whole.slice(150));
      assert.deepEqual(result, random.slice(0, 32));
      // The first piece, with what it was put into, twice, and what CBOR was read into.
      assertGone(copies, random.slice(0, 32), [result], 4);
      // Of the second.
      assertGone(copies, random.slice(-32), [result], 3);
      result.fill(0);
      assertGone(copies, random.slice(0, 32));
    });

    it("also when it breaks off, or goes on for longer than it said", async () => {
      const random = Uint8Array.from(randomBytes(256));
      const whole = answerOf(random);
      const broken = await answered(whole.slice(0, 150), whole.slice(150, -1));
      assert.equal(broken.result, undefined);
      assertGone(broken.copies, random.slice(0, 32));
      await folder.remove();
      folder = await SocketFolder.make();
      const longer = await answered(concatBytes(whole, Uint8Array.of(0)));
      assert.equal(longer.result, undefined);
      assertGone(longer.copies, random.slice(0, 32));
    });
  });

  describe("a drawn key", () => {
    const sealing = (drawn: Uint8Array, configuration: Parameters<typeof makeSealedKey>[1] = CONFIGURATION) =>
      watched(() => makeSealedKey({ randomBytes: async () => drawn }, configuration).catch(() => "threw"));

    it("once it is sealed, with the plaintext that was sealed", async () => {
      const secret = aSecret();
      const drawn = secret.slice();
      const { result, copies } = await sealing(drawn);
      assert.ok(typeof result === "object");
      assertGone(copies, secret, [], 2);
      assert.deepEqual(drawn, new Uint8Array(32));
    });

    it("that is none", async () => {
      const drawn = new Uint8Array(32).fill(0xff);
      assert.equal((await sealing(drawn)).result, undefined);
      assert.deepEqual(drawn, new Uint8Array(32));
    });

    it("when sealing throws", async () => {
      const secret = aSecret();
      const drawn = secret.slice();
      // Too small for what is sealed.
      const kmsPublicKey = createPublicKey(rsaKey(1024).privateKey);
      const { result, copies } = await sealing(drawn, { ...CONFIGURATION, kmsPublicKey });
      assert.equal(result, "threw");
      assertGone(copies, secret);
      assert.deepEqual(drawn, new Uint8Array(32));
    });
  });

  describe("an envelope", () => {
    const { privateKey, spki } = RECIPIENT;
    const contentKey = Uint8Array.from(randomBytes(32));
    const opening = (envelope: Uint8Array, length = SECRET.length) =>
      watched(() => openEnvelope(envelope, privateKey, spki, length));

    it("its content key; what was in it is there once, all of it in the caller's hands", async () => {
      const { result, copies } = await opening(envelopeOf({ contentKey }));
      assert.deepEqual(result, SECRET);
      assertGone(copies, contentKey);
      assertGone(copies, SECRET, [result]);
      result.fill(0);
      assertGone(copies, SECRET);
    });

    it("all of it, when it is of another length", async () => {
      const { result, copies } = await opening(envelopeOf({ contentKey }), SECRET.length - 1);
      assert.equal(result, undefined);
      assertGone(copies, contentKey);
      assertGone(copies, SECRET);
    });

    it("a content key of another length", async () => {
      const short = contentKey.slice(0, 16);
      const { result, copies } = await opening(envelopeOf({ cipher: "aes-128-cbc", contentKey: short }));
      assert.equal(result, undefined);
      assertGone(copies, short);
    });
  });

  describe("an opened key", () => {
    const opening = (plaintext: Uint8Array) => watched(() => Signer.open(plaintext, CONFIGURATION));

    it("but for the signer's own copy, which goes with it", async () => {
      const secret = aSecret();
      const plaintext = plaintextOf(secret);
      const { result: signer, copies } = await opening(plaintext);
      assert.equal(signer?.address, addressOf(secret));
      assert.deepEqual(plaintext, new Uint8Array(plaintext.length));
      assert.equal(copies.left(secret), 1);
      signer.wipe();
      assertGone(copies, secret);
    });

    it("that is refused", async () => {
      for (const changes of [
        { domain: "cloister-signing-kez" },
        { configurationHash: ZERO_BYTES32 },
        { signer: addressOf(aSecret()) },
      ]) {
        const secret = aSecret();
        const { result, copies } = await opening(plaintextOf(secret, changes));
        assert.equal(result, undefined);
        // A part: behind another domain the fields are read from one byte before theirs.
        assertGone(copies, secret.slice(0, 24));
      }
    });
  });

  describe("a released key", () => {
    it("that the birth certificate does not name", async () => {
      const secret = aSecret();
      const home = platformInMemory();
      const pair = await aPair(home);
      const releases = new Releases();
      await releases.request(home, CONFIGURATION);
      const release = releases.take()!;
      // The birth certificate is of the pair, the envelope somebody else's.
      const envelope = sealEnvelope(plaintextOf(secret), release.publicKey);
      const { result, copies } = await watched(() =>
        restore(CONFIGURATION, release, { type: "restore", ...pair, envelope }),
      );
      assert.equal(result, undefined);
      assertGone(copies, secret, [], 2);
    });
  });
});
