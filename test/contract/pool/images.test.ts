// Which code may vouch: images that the owner proposes, what goes with one, and the wei that stand for a signer. And what an
// asset's minimum may become. See images.tree.
import assert from "node:assert/strict";
import {
  imageNamed,
  measurementNamed,
  registerDevelopmentSigner,
} from "../../../scripts/stack/development-registration.ts";
import { attester } from "../../../scripts/stack/pool-transaction.ts";
import { ZERO_BYTES32 } from "../../../shared/protocol/brands.ts";
import { imageOf } from "../../../shared/protocol/host/registration.ts";
import { quarter } from "./caps-model.ts";
import { refusedTo } from "./recovery.ts";
import { nextBlockAt, now } from "./told-world.ts";
import { actingAs, fault, World } from "./world.ts";

const [SHARED, OTHER, FRESH] = ["shared", "other", "fresh"] as const;
const [IMAGE, NEW] = [imageNamed(SHARED), imageNamed(FRESH)];
const DEBUG = imageOf({ pcr0: "00".repeat(48), pcr1: "00".repeat(48), pcr2: "00".repeat(48) });
const [BOND, DELAY, MINIMUM] = [10n ** 17n, 1_000, 5_000n];
const WINDOW = 7 * 86_400;
const SOURCE = ["0123abcd", "npm run build-image -- --development"];

describe("pool: images, bonds and minimums", function () {
  let world: World;
  let restore: () => Promise<void>;
  const [first, twin, other] = [attester(0), attester(1), attester(2)];
  before(async () => {
    world = await World.start({
      attesters: [first, twin, other],
      ...{ imageNames: [SHARED, SHARED, OTHER], kinds: [1, 1, 2] },
      signerBond: BOND,
      changeDelay: DELAY,
      minimumCap: MINIMUM,
    });
  });
  beforeEach(async () => {
    restore = await world.remember();
  });
  afterEach(() => restore());
  after(() => world.stop());

  const ask = (name: string, ...args: unknown[]): Promise<unknown> => world.pool.getFunction(name)(...args);
  const isSigner = (one: typeof first): Promise<unknown> => ask("isSigner", one.address);
  const record = async (image: string): Promise<unknown[]> => [...((await ask("imageRecord", image)) as [])];
  const said = async (name: string, ...args: unknown[]): Promise<string[]> => {
    const { logs } = await world.call(world.pool, name, ...args);
    return logs.map((log) => world.pool.interface.parseLog(log)!.name);
  };
  const propose = (image: string, kind = 1): Promise<string[]> =>
    said("proposeImage", image, kind, ...SOURCE);
  const proposalRefused = (image: string, kind = 1) =>
    refusedTo(world, "proposeImage", [image, kind, ...SOURCE]);
  const register = (one: typeof first, name: string, sender = world.owner): Promise<unknown> =>
    registerDevelopmentSigner(sender, {
      ...{ pool: world.setting.home.pool, signer: one.address, measurement: measurementNamed(name) },
    });

  it("begins with its images admitted, as its first events say", async () => {
    const events = await world.pool.queryFilter(world.pool.filters["ImageAdmitted"]!());
    const shown = events.map((event) => [...world.pool.interface.parseLog(event)!.args]);
    assert.deepEqual(shown, [
      [IMAGE, 1n],
      [imageNamed(OTHER), 2n],
    ]);
    assert.deepEqual(await record(IMAGE), [true, 1n, 2n]);
    assert.deepEqual(await record(NEW), [false, 0n, 0n]);
  });

  it("the owner proposes one with source and build; everybody sees it for the delay; anyone admits it in its week", async () => {
    const { logs, blockNumber } = await world.call(world.pool, "proposeImage", NEW, 2, ...SOURCE);
    const from = BigInt((await world.provider.getBlock(blockNumber))!.timestamp + DELAY);
    const { name, args } = world.pool.interface.parseLog(logs[0]!)!;
    assert.deepEqual([name, ...args], ["ImageProposed", NEW, 2n, from, from + BigInt(WINDOW), ...SOURCE]);
    assert.deepEqual(await proposalRefused(NEW), fault("ImageProposedBefore", NEW));
    assert.deepEqual(await refusedTo(world, "admitImage", [NEW]), fault("TooEarly", from));
    await assert.rejects(register(attester(7), FRESH), { code: "ImageNotAdmitted" });
    const stranger = actingAs(world.pool, await world.account(8));
    await nextBlockAt(world, from - 1n);
    await assert.rejects(world.call(stranger, "admitImage", NEW));
    const again = await world.remember();
    await nextBlockAt(world, from + BigInt(WINDOW) - 1n);
    await world.call(stranger, "admitImage", NEW);
    assert.deepEqual(await record(NEW), [true, 2n, 0n]);
    assert.deepEqual(await proposalRefused(NEW), fault("ImageAdmittedBefore", NEW));
    assert.deepEqual(await refusedTo(world, "admitImage", [NEW]), fault("ImageNotProposed", NEW));
    await again();
    await nextBlockAt(world, from + BigInt(WINDOW));
    await world.provider.send("evm_mine", []);
    assert.deepEqual(
      await refusedTo(world, "admitImage", [NEW]),
      fault("ProposalExpired", from + BigInt(WINDOW)),
    );
    // It may be proposed again, as another kind too, and waits again.
    assert.deepEqual(await propose(NEW, 1), ["ImageProposed"]);
    assert.equal((await refusedTo(world, "admitImage", [NEW])).error, "TooEarly");
  });

  it("ImageInadmissible: none, that of debug mode, and no kind of verifier", async () => {
    for (const [image, kind] of [
      ...([ZERO_BYTES32, DEBUG] as const).map((bad) => [bad, 1] as const),
      ...[0, 3, 255].map((bad) => [NEW, bad] as const),
    ])
      assert.deepEqual(await proposalRefused(image, kind), fault("ImageInadmissible", image, BigInt(kind)));
  });

  it("NotOwner, ImageNotProposed: nobody else proposes or revokes one, and none is admitted unproposed", async () => {
    const stranger = actingAs(world.pool, await world.account(6));
    for (const [name, args] of [
      ["proposeImage", [NEW, 1, ...SOURCE]],
      ["revokeImage", [IMAGE]],
      ["removeSigner", [first.address]],
    ] as const) {
      const refused = await world.revertOf(stranger.getFunction(name).staticCall(...args));
      assert.deepEqual(refused, fault("NotOwner"), name);
    }
    assert.deepEqual(await refusedTo(world, "admitImage", [NEW]), fault("ImageNotProposed", NEW));
  });

  it("revokeImage puts out every signer of it, for ever, and no other; none comes in any more", async () => {
    assert.deepEqual(await said("revokeImage", IMAGE), ["ImageRevoked", "SignerRemoved", "SignerRemoved"]);
    assert.deepEqual(await Promise.all([first, twin, other].map(isSigner)), [false, false, true]);
    assert.deepEqual(await record(IMAGE), [false, 1n, 0n]);
    await assert.rejects(register(attester(7), SHARED), { code: "ImageRevokedBefore" });
    assert.deepEqual(await proposalRefused(IMAGE), fault("ImageRevokedBefore", IMAGE));
    assert.deepEqual(await refusedTo(world, "revokeImage", [IMAGE]), fault("ImageRevokedBefore", IMAGE));
  });

  it("one that is revoked while it is only proposed, or before, is never admitted", async () => {
    await propose(NEW);
    await world.increaseTime(DELAY);
    assert.deepEqual(await said("revokeImage", NEW), ["ImageRevoked"]);
    assert.deepEqual(await refusedTo(world, "admitImage", [NEW]), fault("ImageNotProposed", NEW));
    const never = imageNamed("never proposed");
    await said("revokeImage", never);
    assert.deepEqual(await proposalRefused(never), fault("ImageRevokedBefore", never));
  });

  it("BondMismatch, BondHeld: a signer comes with its bond, which goes back to who posted it, after the delay, once", async () => {
    const fresh = attester(6);
    const poster = await world.account(6);
    await register(fresh, OTHER, poster);
    assert.deepEqual(await refusedTo(world, "releaseBond", [fresh.address]), fault("BondMismatch", 0n));
    await said("removeSigner", fresh.address);
    const free = BigInt((await now(world)) + DELAY);
    assert.deepEqual(await refusedTo(world, "releaseBond", [fresh.address]), fault("BondHeld", free));
    const before = await world.provider.getBalance(poster.address);
    await nextBlockAt(world, free);
    assert.deepEqual(await said("releaseBond", fresh.address), ["BondPaid"]);
    assert.equal(await world.provider.getBalance(poster.address), before + BOND);
    assert.deepEqual(await refusedTo(world, "releaseBond", [fresh.address]), fault("BondMismatch", 0n));
  });

  it("an asset's minimum may double, by a proposal that everybody sees, and never grow by more, shrink or be zero: Inadmissible", async () => {
    const asset = world.usdcAddress;
    await said("delistAsset", asset);
    for (const wrong of [0n, MINIMUM - 1n, 2n * MINIMUM + 1n, 2n ** 104n - 1n])
      assert.equal((await refusedTo(world, "proposeAsset", [asset, wrong])).error, "Inadmissible");
    await said("proposeAsset", asset, 2n * MINIMUM);
    const attested = async (): Promise<bigint> => ((await ask("room", asset)) as bigint[])[0]!;
    const roomOf = (cap: bigint): bigint => quarter(cap) - quarter(quarter(cap));
    assert.equal(await attested(), roomOf(MINIMUM));
    await world.increaseTime(DELAY);
    await said("addAsset", asset);
    assert.equal(await attested(), roomOf(2n * MINIMUM));
  });
});
