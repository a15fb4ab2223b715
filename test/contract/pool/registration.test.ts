// How a signer comes into the pool: by a document of its own enclave and nothing else. Every refusal has its own error, and
// changes nothing. See registration.tree.
import assert from "node:assert/strict";
import { Contract, type JsonRpcSigner } from "ethers";
import { PoolRefused } from "../../../scripts/operator/refusal.ts";
import {
  developmentDocument,
  developmentKmsKeyName,
  imageNamed,
  measurementNamed,
  registerDevelopmentSigner,
  type Bent,
} from "../../../scripts/stack/development-registration.ts";
import { attester, type Attester } from "../../../scripts/stack/pool-transaction.ts";
import { attestationSteps } from "../../../shared/client/chain/nitro/attestation-steps.ts";
import { ATTESTATIONS_ABI } from "../../../shared/contracts/abi.ts";
import { readAttestation } from "../../../shared/protocol/attestation-document.ts";
import { readCertificate } from "../../../shared/protocol/x509.ts";
import { ZERO_ADDRESS, ZERO_BYTES32, type Bytes32 } from "../../../shared/protocol/brands.ts";
import { concatBytes, mustFromHex, toHex } from "../../../shared/protocol/bytes.ts";
import { keccakHex } from "../../../shared/protocol/hash.ts";
import { decodeUserData, encodeUserData } from "../../../shared/protocol/user-data.ts";
import { refusedTo } from "./recovery.ts";
import { nextBlockAt, now } from "./told-world.ts";
import { actingAs, mustAddress, World } from "./world.ts";

const [BOND, DELAY, MAX_AGE_SECS, AHEAD_SECS, SIGNERS_OF_IMAGE] = [10n ** 17n, 1_000, 3_600, 60, 32];
const NAME = "the image of this test";
const GAS = 16_000_000;

/** Of what is no document, none. */
function hintsFor(document: Uint8Array): { readonly hints: Uint8Array } {
  try {
    return attestationSteps(document).document;
  } catch {
    return { hints: new Uint8Array(0) };
  }
}

/** Addresses as we write them. */
const lowered = (value: unknown): unknown => (typeof value === "string" ? value.toLowerCase() : value);

describe("pool: registration of signers", function () {
  let world: World;
  let stranger: JsonRpcSigner;
  let kmsKey: Bytes32;
  let restore: () => Promise<void>;
  const [known, fresh] = [attester(0), attester(7)];
  before(async () => {
    world = await World.start({
      ...{ attesters: [known], imageNames: [NAME], signerBond: BOND, changeDelay: DELAY },
    });
    stranger = await world.account(6);
    kmsKey = await developmentKmsKeyName();
  });
  beforeEach(async () => {
    restore = await world.remember();
  });
  afterEach(() => restore());
  after(() => world.stop());

  const ask = (name: string, ...args: unknown[]): Promise<unknown> => world.pool.getFunction(name)(...args);
  const isSigner = (one: Attester): Promise<unknown> => ask("isSigner", one.address);
  const wanted = (one: Attester, name = NAME) => ({
    ...{ pool: world.setting.home.pool, signer: one.address, measurement: measurementNamed(name) },
  });
  const documentOf = (one = fresh, bent: Bent = {}, name = NAME): Promise<Uint8Array> =>
    developmentDocument(world.owner, wanted(one, name), bent);
  /** What `register` takes; `made` is the block whose hash the document bears. */
  const callOf = async (document: Uint8Array, made?: number): Promise<readonly unknown[]> => {
    const { hints } = hintsFor(document);
    return [toHex(document), toHex(hints), made ?? (await world.provider.getBlockNumber()) - 1, kmsKey];
  };
  /** The name and arguments of the error, as a stranger meets it. */
  const refusal = async (args: readonly unknown[], value = BOND): Promise<unknown[]> => {
    const pool = actingAs(world.pool, stranger);
    try {
      await pool.getFunction("register").staticCall(...args, { value });
    } catch (error) {
      const { data } = error as { data?: string };
      const own = typeof data === "string" ? world.pool.interface.parseError(data) : null;
      if (own !== null) return [own.name, ...(own.args as unknown as unknown[]).map(lowered)];
      const theirs = PoolRefused.in(error);
      if (theirs !== undefined) return [theirs.code];
      throw error;
    }
    return ["registered"];
  };
  const refusedCall = async (name: string, ...args: unknown[]): Promise<unknown[]> => {
    const refused = await refusedTo(world, name, args);
    return [refused.error, ...refused.args.map(lowered)];
  };
  const refusalOf = async (bent: Bent, one = fresh): Promise<unknown[]> =>
    refusal(await callOf(await documentOf(one, bent)));
  const register = async (args: readonly unknown[]): Promise<readonly string[]> => {
    const pool = actingAs(world.pool, stranger);
    const { logs } = await world.call(pool, "register", ...args, { value: BOND, gasLimit: GAS });
    return logs.map((log) => world.pool.interface.parseLog(log)!.name);
  };
  const attestations = async (by: JsonRpcSigner = world.owner): Promise<Contract> =>
    new Contract((await ask("attestations")) as string, ATTESTATIONS_ABI, by);

  it("a stranger registers what an enclave's document says, live or of its birth; its word counts from then on", async () => {
    for (const [i, type] of (["live", "genesis"] as const).entries()) {
      const one = attester(7 + i);
      const member = world.transfer({ attesters: [one] });
      const early = await world.executeOne(member);
      assert.equal(typeof early === "object" && early.error, "SignerUnknown");
      const document = await documentOf(one, { type });
      assert.deepEqual(await register(await callOf(document)), ["BondPosted", "SignerRegistered"]);
      const [event] = await world.pool.queryFilter(world.pool.filters["SignerRegistered"]!(one.address));
      const { signer, image, kind, leaf, ...said } = world.pool.interface.parseLog(event!)!.args.toObject();
      const chain = attestationSteps(document).certificates;
      assert.deepEqual(
        [mustAddress(signer as string), image, kind, leaf],
        [one.address, imageNamed(NAME), 1n, chain.at(-1)!.id],
      );
      assert.deepEqual([said["kmsKey"], said["document"]], [kmsKey, toHex(document)]);
      assert.deepEqual([...((await ask("signerRecord", one.address)) as [])], [image, leaf, 0n]);
      assert.equal(typeof (await world.executeOne(member)), "bigint");
    }
    assert.deepEqual([...((await ask("imageRecord", imageNamed(NAME))) as [])], [true, 1n, 3n]);
  });

  it("every step is a transaction below 2^24 gas, and the certificates are paid for once", async () => {
    const another = await World.start({ attesters: [], imageNames: [NAME] });
    try {
      const gas: (bigint | undefined)[][] = [];
      for (const one of [known, fresh]) {
        const steps: (bigint | undefined)[] = [];
        const at = { ...wanted(one), pool: another.setting.home.pool };
        await registerDevelopmentSigner(another.owner, at, ({ gasUsed }) => steps.push(gasUsed));
        gas.push(steps);
      }
      const [cold, warm] = gas as [bigint[], (bigint | undefined)[]];
      assert.equal(cold.length, 4);
      for (const each of cold) assert.ok(each < 2n ** 24n, String(each));
      assert.ok(cold.reduce((sum, each) => sum + each, 0n) < 8_000_000n, String(cold));
      assert.deepEqual(warm.slice(0, 3), [undefined, undefined, undefined]);
      assert.ok(warm[3]! < 3_000_000n, String(warm[3]));
    } finally {
      await another.stop();
    }
  });

  it("BondMismatch: any other bond", async () => {
    const args = await callOf(await documentOf());
    for (const value of [0n, BOND - 1n, BOND + 1n])
      assert.deepEqual(await refusal(args, value), ["BondMismatch", BOND]);
  });

  it("ImageNotAdmitted: any register that is another", async () => {
    for (const name of ["pcr0", "pcr1", "pcr2"] as const) {
      const other = { ...measurementNamed(NAME), [name]: "5a".repeat(48) };
      const document = await developmentDocument(world.owner, { ...wanted(fresh), measurement: other });
      assert.equal((await refusal(await callOf(document)))[0], "ImageNotAdmitted", name);
    }
  });

  it("a document that is damaged in any part is refused, whatever is done to it", async () => {
    const document = await documentOf();
    const args = await callOf(document);
    const steps = [0, 1, 2, 40, 200, 600, 1_000, 2_000, document.length - 90, document.length - 1];
    for (const at of steps) {
      const bent = document.map((byte, i) => (i === at ? byte ^ 1 : byte));
      // With the right hints for what it is now, or those of before.
      const [error] = await refusal(await callOf(bent));
      assert.notEqual((await refusal([toHex(bent), ...args.slice(1)]))[0], "registered");
      assert.notEqual(error, "registered", `byte ${String(at)}`);
    }
    for (const bent of [document.slice(0, -1), concatBytes(document, Uint8Array.of(0)), new Uint8Array(0)])
      assert.notEqual((await refusal([toHex(bent), ...args.slice(1)]))[0], "registered");
  });

  it("DocumentFromFuture, DocumentStale: to the millisecond", async () => {
    const late = await refusalOf({ aheadMs: AHEAD_SECS * 1_000 + 60_000 });
    assert.equal(late[0], "DocumentFromFuture");
    const old = await refusalOf({ aheadMs: -(MAX_AGE_SECS + 60) * 1_000 });
    assert.equal(old[0], "DocumentStale");

    /** Whether a document of that time is taken in a block of the second `at`. */
    const takes = async (aheadMs: number, wait: number): Promise<boolean> => {
      const again = await world.remember();
      const block = await world.provider.getBlock("latest");
      const args = await callOf(await documentOf(fresh, { aheadMs }));
      await nextBlockAt(world, block!.timestamp + wait);
      const isTaken = await register(args).then(
        () => true,
        () => false,
      );
      await again();
      return isTaken;
    };
    assert.deepEqual(
      [await takes(AHEAD_SECS * 1_000 + 10_000, 10), await takes(AHEAD_SECS * 1_000 + 10_001, 10)],
      [true, false],
    );
    const age = -MAX_AGE_SECS * 1_000 + 10_000;
    assert.deepEqual([await takes(age, 10), await takes(age - 1, 10)], [true, false]);
    // What was cut to seconds would be taken for older, or younger, than it is.
    assert.deepEqual([await takes(age + 999, 10), await takes(age - 999, 10)], [true, false]);
  });

  it("NonceMismatch: another block's hash, one that is longer or cut, none, or a caller's own", async () => {
    const block = await world.provider.getBlock("latest");
    const [hash, earlier] = [
      mustFromHex(block!.parentHash),
      (await world.provider.getBlock(block!.number - 2))!.hash!,
    ];
    for (const nonce of [
      mustFromHex(earlier),
      hash.slice(1),
      concatBytes(hash, hash),
      new Uint8Array(32).fill(7),
      new Uint8Array(0),
    ])
      assert.deepEqual(await refusalOf({ nonce }), ["NonceMismatch", block!.parentHash]);
    const args = await callOf(await documentOf());
    assert.deepEqual(await refusal(args.with(2, block!.number - 2)), ["NonceMismatch", earlier]);
  });

  it("BlockUnknown: one that is not there yet", async () => {
    const args = await callOf(await documentOf());
    const made = Number(args[2]);
    for (const number of [made + 5, 2n ** 64n - 1n])
      assert.deepEqual(await refusal(args.with(2, number)), ["BlockUnknown", BigInt(number)]);
    assert.deepEqual(await refusal(args), ["registered"]);
  });

  it("a block that is older than 256 is good where the chain keeps its history (EIP-2935)", async () => {
    const args = await callOf(await documentOf());
    await world.provider.send("anvil_mine", ["0x12c", "0x0"]);
    const history = "0x0000F90827F1C53a10cb7A02335B175320002935";
    const isKept = (await world.provider.getCode(history)) !== "0x";
    assert.deepEqual(await refusal(args), isKept ? ["registered"] : ["BlockUnknown", args[2]]);
    const hash = (await world.provider.getBlock(Number(args[2])))!.hash!;
    // As the system contract answers, and as a chain would where something else stands there.
    for (const [code, wantedOutcome] of [
      [`0x7f${hash.slice(2)}60005260206000f3`, ["registered"]],
      [`0x7f${hash.slice(2)}600052601f6000f3`, ["BlockUnknown", BigInt(args[2] as number)]],
      ["0x60006000fd", ["BlockUnknown", BigInt(args[2] as number)]],
      ["0x", ["BlockUnknown", BigInt(args[2] as number)]],
    ] as const) {
      await world.provider.send("anvil_setCode", [history, code]);
      assert.deepEqual(await refusal(args), wantedOutcome);
    }
  });

  it("UserDataInvalid: another layout, purpose or version, nobody, the pool itself", async () => {
    const good = readAttestation(await documentOf())!.userData!;
    const claims = decodeUserData(good)!;
    assert.equal(claims.type, "live");
    const birth = readAttestation(await documentOf(fresh, { type: "genesis" }))!.userData!;
    const bent: readonly Uint8Array[] = [
      new Uint8Array(0),
      good.slice(0, -1),
      concatBytes(good, Uint8Array.of(0)),
      birth.slice(0, -1),
      concatBytes(birth, Uint8Array.of(0)),
      // The length of one with the type of the other.
      birth.slice(0, 70),
      concatBytes(good, new Uint8Array(64)),
      ...[0, 15, 16, 17].map((at) => good.map((byte, i) => (i === at ? byte ^ 1 : byte))),
      encodeUserData({ type: "release", configurationHash: claims.configurationHash }),
      encodeUserData({ ...claims, type: "live", signer: ZERO_ADDRESS }),
      encodeUserData({ ...claims, type: "live", signer: world.setting.home.pool }),
    ];
    for (const userData of bent)
      assert.deepEqual(await refusalOf({ userData }), ["UserDataInvalid"], toHex(userData));
  });

  it("ConfigurationMismatch: circuits, roots or KMS key that are not those that the image was built with", async () => {
    const args = await callOf(await documentOf());
    assert.equal((await refusal(args.with(3, ZERO_BYTES32)))[0], "ConfigurationMismatch");
    assert.equal((await refusalOf({ configurationHash: ZERO_BYTES32 }))[0], "ConfigurationMismatch");
    // Of a pool with other circuits.
    const other = await World.start({ attesters: [known], imageNames: [NAME] });
    try {
      assert.equal(
        (await refusalOf({ configurationHash: keccakHex(mustFromHex(other.setting.home.pool)) }))[0],
        "ConfigurationMismatch",
      );
    } finally {
      await other.stop();
    }
  });

  it("SignerRegisteredBefore: the same document again, or another of the same signer, also of another image", async () => {
    const args = await callOf(await documentOf());
    await register(args);
    const again = ["SignerRegisteredBefore", fresh.address];
    assert.deepEqual(await refusal(args), again);
    assert.deepEqual(await refusalOf({ type: "genesis" }), again);
    const second = "another image";
    await world.call(world.pool, "proposeImage", imageNamed(second), 2, "", "");
    await world.increaseTime(DELAY);
    await world.call(world.pool, "admitImage", imageNamed(second));
    await assert.rejects(registerDevelopmentSigner(world.owner, wanted(fresh, second)), { code: again[0] });
    assert.equal(((await ask("signerRecord", fresh.address)) as unknown[])[0], imageNamed(NAME));
  });

  it("SignerRemovedBefore: a removed one never returns, by an old document or a new one; nor one that never came", async () => {
    const args = await callOf(await documentOf());
    await register(args);
    await world.call(world.pool, "removeSigner", fresh.address);
    const never = ["SignerRemovedBefore", fresh.address];
    assert.deepEqual(await refusal(args), never);
    assert.deepEqual(await refusalOf({}), never);
    assert.deepEqual(await refusedCall("removeSigner", fresh.address), never);
    // A key that is known to be robbed before anybody registered it.
    const robbed = attester(8);
    await world.call(world.pool, "removeSigner", robbed.address);
    assert.deepEqual(await refusalOf({}, robbed), ["SignerRemovedBefore", robbed.address]);
    assert.equal(await isSigner(robbed), false);
  });

  it("who copies a registration on its way pays for it, and nobody loses anything", async () => {
    const args = await callOf(await documentOf());
    const thief = await world.account(9);
    await world.call(actingAs(world.pool, thief), "register", ...args, { value: BOND, gasLimit: GAS });
    assert.equal(await isSigner(fresh), true);
    const before = await world.provider.getBalance(world.setting.home.pool);
    await assert.rejects(register(args));
    assert.equal(await world.provider.getBalance(world.setting.home.pool), before);
    // The bond is whose it was, and goes back to nobody else.
    await world.call(world.pool, "removeSigner", fresh.address);
    await world.increaseTime(DELAY);
    const held = await world.provider.getBalance(thief.address);
    await world.call(world.pool, "releaseBond", fresh.address);
    assert.equal(await world.provider.getBalance(thief.address), held + BOND);
  });

  it("ImageFull: thirty-two of one image, and a place is free again when one is removed", async () => {
    const many = Array.from({ length: SIGNERS_OF_IMAGE - 1 }, (_, i) => attester(100 + i));
    for (const one of many) await register(await callOf(await documentOf(one)));
    assert.deepEqual(await refusalOf({}), ["ImageFull", imageNamed(NAME)]);
    await world.call(world.pool, "removeSigner", many[3]!.address);
    await register(await callOf(await documentOf()));
    assert.deepEqual(await refusalOf({}, attester(99)), ["ImageFull", imageNamed(NAME)]);
    // All of them go in one call, the last comer and the place that was taken again included.
    const { gasUsed } = await world.call(world.pool, "revokeImage", imageNamed(NAME));
    const all = [known, fresh, ...many];
    assert.deepEqual(
      await Promise.all(all.map(isSigner)),
      all.map(() => false),
    );
    assert.ok(gasUsed < 500_000n, `${String(gasUsed)} gas`);
  });

  describe("a certificate that is revoked later", () => {
    let document: Uint8Array;
    beforeEach(async () => {
      document = await documentOf();
      await register(await callOf(document));
    });
    const chain = (): string[] =>
      readAttestation(document)!.chain.map((der) => keccakHex(readCertificate(der)!.toBeSigned));
    const expel = (one = fresh) => refusedCall("expel", one.address);

    it("SignerTrusted, SignerUnknown: not while it is trusted, also when it has expired since, and nobody who is not in", async () => {
      assert.deepEqual(await expel(), ["SignerTrusted", fresh.address]);
      await world.increaseTime(400 * 86_400);
      assert.deepEqual(await expel(), ["SignerTrusted", fresh.address]);
      assert.deepEqual(await expel(attester(50)), ["SignerUnknown", attester(50).address]);
    });

    for (const [i, what] of (["the root", "the intermediate", "the leaf"] as const).entries())
      it(`anybody expels its signers when ${what} is revoked, for ever`, async () => {
        await world.call(await attestations(), "revoke", chain()[i]);
        const { logs } = await world.call(actingAs(world.pool, stranger), "expel", fresh.address);
        assert.deepEqual(
          logs.map((log) => world.pool.interface.parseLog(log)!.name),
          ["SignerExpelled", "SignerRemoved"],
        );
        assert.equal(await isSigner(fresh), false);
        assert.deepEqual(await expel(), ["SignerUnknown", fresh.address]);
        assert.ok((await now(world)) > 0);
        // By that platform nobody comes in any more.
        assert.notEqual((await refusal(await callOf(await documentOf(attester(9)))))[0], "registered");
        // Its bond goes back like that of any that was removed.
        await world.increaseTime(DELAY);
        await world.call(world.pool, "releaseBond", fresh.address);
      });
  });
});
