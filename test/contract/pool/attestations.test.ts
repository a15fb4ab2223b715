// Who may attest: signatures in their one spelling, thresholds, and the life of a signer. See attestations.tree.
import assert from "node:assert/strict";
import { JsonRpcProvider } from "ethers";
import { drawField, seal, type Sealed } from "../../support/drafts.ts";
import {
  type Attester,
  attester,
  sealUpdate,
  signatureBytes,
} from "../../../scripts/stack/pool-transaction.ts";
import { attestationDigest } from "../../../shared/protocol/attestation.ts";
import { ZERO_ADDRESS, ZERO_BYTES32, type Address } from "../../../shared/protocol/brands.ts";
import { bytesToUint, concatBytes, mustFromHex, toHex, word } from "../../../shared/protocol/bytes.ts";
import { keccakHex } from "../../../shared/protocol/hash.ts";
import { imageOf } from "../../../shared/protocol/host/registration.ts";
import { contextOf, KIND_NAMES, KINDS, type Kind } from "../../../shared/protocol/statements.ts";
import { deployPool } from "../../../scripts/deploy/pool.ts";
import {
  deployPoolWithSigners,
  developmentAttestations,
  imageNamed,
  measurementNamed,
  registerDevelopmentSigner,
} from "../../../scripts/stack/development-registration.ts";
import { startAnvil } from "../../support/chain.ts";
import { fault, freshAddress, mustAddress, World, type Fault } from "./world.ts";

/** The least that a root must be old, and by which a change must be slower. */
const TWO_DAYS_SECS = 2 * 86_400;
/** An enclave in debug mode. */
const NOTHING_MEASURED = { pcr0: "00".repeat(48), pcr1: "00".repeat(48), pcr2: "00".repeat(48) };
const SECP256K1_ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
const ascending = (...attesters: Attester[]): Attester[] =>
  attesters.sort((a, b) => (BigInt(a.address) < BigInt(b.address) ? -1 : 1));
const withAttestations = (member: Sealed, bytes: Uint8Array): Sealed => ({
  ...member,
  transaction: { ...member.transaction, attestations: toHex(bytes) },
});
const asText = ({ error, args }: Fault): string => [error, ...args].join(" ").toLowerCase();

/** Signatures of these attesters in exactly this order. */
function signedBy(member: Sealed, attesters: readonly Attester[]): Sealed {
  const { draft, statementHash } = member;
  const digest = attestationDigest(draft.home, {
    kind: draft.kind,
    verifyingKeyHash: draft.verifyingKeyHash,
    statementHash,
    proofHash: keccakHex(draft.proof),
    deadline: draft.deadline,
  });
  return withAttestations(member, concatBytes(...attesters.map(({ key }) => signatureBytes(key, digest))));
}

describe("pool: attestations", () => {
  describe("a signature has one spelling", () => {
    let world: World;
    before(async () => {
      world = await World.start();
    });
    after(() => world.stop());

    it("refuses the mirrored s, either v", async () => {
      const member = world.transfer();
      const signature = mustFromHex(member.transaction.attestations);
      const mirrored = word(SECP256K1_ORDER - bytesToUint(signature.slice(32, 64)));
      for (const v of [27, 28]) {
        const bent = concatBytes(signature.slice(0, 32), mirrored, Uint8Array.of(v));
        assert.deepEqual(await world.executeOne(withAttestations(member, bent)), fault("SignatureInvalid"));
      }
    });

    it("refuses v other than 27 and 28", async () => {
      const member = world.transfer();
      const signature = mustFromHex(member.transaction.attestations);
      for (const v of [0, 1, 26, 29, 255]) {
        const bent = concatBytes(signature.slice(0, 64), Uint8Array.of(v));
        assert.deepEqual(await world.executeOne(withAttestations(member, bent)), fault("SignatureInvalid"));
      }
    });

    it("refuses what recovers to nobody", async () => {
      const member = world.transfer();
      for (const bent of [
        concatBytes(word(0n), word(0n), Uint8Array.of(27)),
        concatBytes(word(0n), word(1n), Uint8Array.of(27)),
        concatBytes(word(SECP256K1_ORDER), word(1n), Uint8Array.of(28)),
      ]) {
        assert.deepEqual(await world.executeOne(withAttestations(member, bent)), fault("SignatureInvalid"));
      }
    });

    it("zero is never a signer", async () => {
      assert.equal(await world.pool.getFunction("isSigner")(ZERO_ADDRESS), false);
      const measurement = measurementNamed(`the image of ${world.setting.attesters[0]!.address}`);
      const zero = { pool: world.setting.home.pool, signer: ZERO_ADDRESS, measurement };
      await assert.rejects(registerDevelopmentSigner(world.owner, zero), { code: "UserDataInvalid" });
    });
  });

  describe("a threshold of two", () => {
    let world: World;
    const [a, b, c] = ascending(attester(1), attester(2), attester(3)) as [Attester, Attester, Attester];
    before(async () => {
      // Of the first verifier a, of the second b and c.
      world = await World.start({ attesters: [c, a, b], kinds: [2, 1, 2], threshold: 2 });
    });
    after(() => world.stop());

    it("takes two or three distinct signers in ascending order", async () => {
      for (const signers of [
        [a, b],
        [a, c],
        [a, b, c],
      ]) {
        assert.equal(typeof (await world.executeOne(signedBy(world.transfer(), signers))), "bigint");
      }
    });

    it("refuses one, the same twice, descending order, and an unknown one among enough", async () => {
      const stranger = attester(50);
      const outcome = async (...signers: Attester[]): Promise<string> =>
        asText((await world.executeOne(signedBy(world.transfer(), signers))) as Fault);
      assert.equal(await outcome(a), "toofewattestations 1 2");
      assert.equal(await outcome(a, a), "signersnotascending");
      assert.equal(await outcome(b, a), "signersnotascending");
      assert.equal(await outcome(a, b, b), "signersnotascending");
      assert.equal(await outcome(...ascending(a, stranger)), `signerunknown ${stranger.address}`);
      assert.equal(await outcome(...ascending(a, b, c, stranger)), `signerunknown ${stranger.address}`);
    });

    it("refuses two of one kind, however many: OneKindOnly", async () => {
      const alike = signedBy(world.transfer(), [b, c]);
      assert.deepEqual(await world.executeOne(alike), fault("OneKindOnly", 2n));
      // Of the same statement, a signature of the other kind beside them is enough.
      assert.equal(typeof (await world.executeOne(signedBy(alike, [a, b, c]))), "bigint");
    });

    it("asks the same of a root update", async () => {
      await world.execute([signedBy(world.transfer(), [a, b])]);
      const one = await world.execute([], world.updateTo(world.queue, {}, [a]));
      assert.deepEqual(one.update, fault("TooFewAttestations", 1n, 2n));
      const alike = await world.execute([], world.updateTo(world.queue, {}, [b, c]));
      assert.deepEqual(alike.update, fault("OneKindOnly", 2n));
      const two = await world.execute([], world.updateTo(world.queue, {}, [a, c]));
      assert.equal(two.update, 1n);
    });
  });

  describe("a statement is good in one place only", () => {
    let world: World;
    let restore: () => Promise<void>;
    before(async () => {
      world = await World.start({ forAllKinds: true });
    });
    beforeEach(async () => {
      restore = await world.remember();
    });
    afterEach(() => restore());
    after(() => world.stop());

    it("refuses it in another pool on the same chain, sealed for there or attested for there", async () => {
      const twin = await deployPoolWithSigners(world.owner, {
        signers: [attester(0).address],
        threshold: 1,
        changeDelay: 1,
        assets: [world.usdcAddress],
      });
      const elsewhere = { ...world.setting.home, pool: twin.address };
      const foreign = world.transfer({ home: elsewhere });
      assert.deepEqual(await world.executeOne(foreign), fault("ContextMismatch"));
      // The terms bound here, the attestation made for the twin: by the domain it is somebody else's.
      const mixed = signedBy({ ...world.transfer(), draft: { ...world.transferDraft(), home: elsewhere } }, [
        attester(0),
      ]);
      assert.equal(((await world.executeOne(mixed)) as Fault).error, "SignerUnknown");
      const member = world.transfer();
      await world.execute([member]);
      const update = sealUpdate(
        elsewhere,
        {
          ...world.updateTo(world.queue),
          oldRoot: world.rooted.root as never,
          newRoot: drawField(),
          headBefore: world.rooted.head,
          headAfter: world.queue.head,
        },
        [attester(0)],
      );
      const skipped = await world.execute([], update);
      assert.equal(typeof skipped.update === "object" && skipped.update.error, "SignerUnknown");
    });

    it("refuses it on another chain", async () => {
      const foreign = world.transfer({ home: { ...world.setting.home, chainId: 1n } });
      assert.deepEqual(await world.executeOne(foreign), fault("ContextMismatch"));
    });

    it("after a fork of the chain, the copy has a domain of its own and takes no old statement", async () => {
      const before: string = await world.pool.getFunction("domainSeparator")();
      const member = world.transfer();
      // An impersonated sender, because anvil's own accounts sign for the old chain only.
      await world.provider.send("anvil_impersonateAccount", [world.owner.address]);
      await world.provider.send("anvil_setChainId", [777]);
      const after: string = await world.pool.getFunction("domainSeparator")();
      assert.notEqual(after, before);
      assert.deepEqual(await world.executeOne(member), fault("ContextMismatch"));
      // Sealed for the fork, it is good there.
      const there = world.transfer({ home: { ...world.setting.home, chainId: 777n } });
      assert.equal(typeof (await world.executeOne(there)), "bigint");
      await world.provider.send("anvil_setChainId", [Number(world.setting.home.chainId)]);
      assert.equal(await world.pool.getFunction("domainSeparator")(), before);
    });

    it("refuses it as another kind, under its own name or another's, whatever was attested", async () => {
      for (const kind of KIND_NAMES) {
        for (const other of KIND_NAMES.filter((name) => name !== kind)) {
          // Renamed on the way: no two kinds have the same number of signals.
          const made = seal(world.draftOf(kind));
          const renamed = { ...made, transaction: { ...made.transaction, kind: KINDS[other].id } };
          assert.equal(((await world.executeOne(renamed)) as Fault).error, "SignalCount");
          // In the other's form, with the context that a proof of this kind binds.
          const form = world.draftOf(other);
          const context = contextOf(world.setting.home, kind, form.deadline, form.ext);
          assert.deepEqual(await world.executeOne(seal({ ...form, context })), fault("ContextMismatch"));
          // In every respect the other's, but attested for this kind's key.
          const verifyingKeyHash = world.setting.verifyingKeyHashes[kind];
          const misled = (await world.executeOne(seal({ ...form, verifyingKeyHash }))) as Fault;
          assert.equal(misled.error, "SignerUnknown");
        }
        for (const id of [0, 5, 6]) {
          const made = seal(world.draftOf(kind));
          const renamed = { ...made, transaction: { ...made.transaction, kind: id } };
          assert.equal(((await world.executeOne(renamed)) as Fault).error, "UnknownKind");
        }
        // And as what it is it is good: nothing above was refused for a fault of the draft.
        const genuine = seal(world.draftOf(kind));
        const sender = kind === "deposit-shield" ? await world.account(1) : world.owner;
        assert.equal(typeof (await world.executeOne(genuine, sender)), "bigint", kind);
      }
    });

    it("does not take an attestation of a statement for a root update", async () => {
      const member = world.transfer();
      await world.execute([member]);
      const update = { ...world.updateTo(world.queue), attestations: member.transaction.attestations };
      const { update: outcome } = await world.execute([], update);
      assert.equal(typeof outcome === "object" && outcome.error, "SignerUnknown");
    });
  });

  describe("a pool that makes no sense is not deployed", () => {
    let world: World;
    before(async () => {
      world = await World.start();
    });
    after(() => world.stop());

    it("ConfigurationInvalid: thresholds, images, assets, venue, circuits, hasher, documents, owner", async () => {
      const [first, second] = [imageNamed("first"), imageNamed("second")];
      const good = {
        images: [
          { image: first, kind: 1 },
          { image: second, kind: 2 },
        ],
        attestations: await developmentAttestations(world.owner),
        threshold: 2,
        changeDelay: 1,
        assets: [world.usdcAddress],
        verifiers: await verifiersOf(world),
        noteHasher: mustAddress(await world.pool.getFunction("noteHasher")()),
      };
      const { verifiers } = good;
      assert.ok((await deployPool(world.owner, good)).block > 0);
      const bent: readonly object[] = [
        { threshold: 0 },
        { maxDocumentAge: 0 },
        { attestations: freshAddress() },
        { images: [good.images[0], { image: first, kind: 2 }] },
        { images: [{ image: ZERO_BYTES32, kind: 1 }] },
        { images: [{ image: imageOf(NOTHING_MEASURED), kind: 1 }] },
        ...[0, 3, 255].map((kind) => ({ images: [{ image: first, kind }] })),
        { assets: [freshAddress()] },
        { assets: [world.usdcAddress, world.usdcAddress] },
        { executor: freshAddress() },
        { owner: ZERO_ADDRESS },
        { noteHasher: freshAddress() },
        { noteHasher: ZERO_ADDRESS },
        { treeHasher: freshAddress() },
        { governance: freshAddress() },
        { recovery: ZERO_ADDRESS },
        { signerRegistry: freshAddress() },
        { minimumCaps: [] },
        { assets: [world.usdcAddress], minimumCaps: [0n] },
        { verifiers: { ...verifiers, spend9: freshAddress() } },
        // Two that changed places would refuse every proof.
        { verifiers: { ...verifiers, spend: verifiers["private-swap"], "private-swap": verifiers.spend } },
        { verifiers: { ...verifiers, "deposit-shield": verifiers.spend9 } },
      ];
      for (const change of bent) {
        assert.deepEqual(
          await world.revertOf(deployPool(world.owner, { ...good, ...change })),
          fault("ConfigurationInvalid"),
        );
      }
      assert.equal(mustAddress(await world.pool.getFunction("owner")()), mustAddress(world.owner.address));
    });

    it("ConfigurationInvalid: delays below two days, and two days apart, where money can be; any on a chain for development", async () => {
      for (const [chainId, shortest] of [
        [1, TWO_DAYS_SECS],
        [31_339, TWO_DAYS_SECS],
        [1_337, 0],
        [31_338, 0],
      ] as const) {
        const chain = await startAnvil({ chainId });
        const provider = new JsonRpcProvider(chain.url, chainId, { staticNetwork: true, cacheTimeout: -1 });
        try {
          const owner = await provider.getSigner(0);
          const attestations = await developmentAttestations(owner);
          const settings = { attestations, threshold: 1, assets: [] };
          const make = (provedDelay: number, changeDelay: number) =>
            deployPool(owner, { ...settings, provedDelay, changeDelay });
          assert.ok((await make(shortest, 2 * shortest)).block > 0, String(chainId));
          assert.ok((await make(2 * shortest, 3 * shortest)).block > 0, String(chainId));
          if (shortest === 0) continue;
          for (const [provedDelay, changeDelay] of [
            [0, 0],
            [0, 2 * shortest],
            [shortest - 1, 2 * shortest],
            [shortest, shortest],
            [shortest, 2 * shortest - 1],
            [2 * shortest, 3 * shortest - 1],
          ] as const) {
            const short = make(provedDelay, changeDelay);
            assert.deepEqual(await world.revertOf(short), fault("ConfigurationInvalid"));
          }
        } finally {
          provider.destroy();
          await chain.stop();
        }
      }
    });
  });
});

async function verifiersOf(world: World): Promise<Record<Kind, Address>> {
  const found = KIND_NAMES.map(
    async (kind) => [kind, mustAddress(await world.pool.getFunction("verifier")(KINDS[kind].id))] as const,
  );
  return Object.fromEntries(await Promise.all(found)) as Record<Kind, Address>;
}
