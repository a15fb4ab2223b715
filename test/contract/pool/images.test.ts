// What comes with a signer: the image that holds its key, and the wei that stand for it. And what an asset's minimum may
// become. See images.tree.
import assert from "node:assert/strict";
import { attester } from "../../../scripts/stack/pool-transaction.ts";
import { asBytes32, ZERO_BYTES32 } from "../../../shared/protocol/brands.ts";
import { refusedTo } from "./recovery.ts";
import { nextBlockAt, now } from "./told-world.ts";
import { actingAs, fault, World } from "./world.ts";

const [IMAGE, OTHER] = [asBytes32(`0x${"1a".repeat(32)}`)!, asBytes32(`0x${"2b".repeat(32)}`)!];
const [BOND, DELAY, MINIMUM] = [10n ** 17n, 1_000, 5_000n];

describe("pool: images, bonds and minimums", function () {
  let world: World;
  let restore: () => Promise<void>;
  const [first, twin, other] = [attester(0), attester(1), attester(2)];
  before(async () => {
    const attesters = [first, twin, other];
    const images = [IMAGE, IMAGE, OTHER];
    world = await World.start({
      attesters,
      images,
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

  const isSigner = (one: typeof first): Promise<boolean> => world.pool.getFunction("isSigner")(one.address);
  const said = async (name: string, ...args: unknown[]): Promise<string[]> => {
    const { logs } = await world.call(world.pool, name, ...args);
    return logs.map((log) => world.pool.interface.parseLog(log)!.name);
  };

  it("revokeImage puts out every signer of it, the proposed ones too, for ever, and no other", async () => {
    const proposed = attester(3);
    await said("proposeSigner", proposed.address, IMAGE, "0x");
    const events = ["ImageRevoked", "SignerRemoved", "SignerRemoved", "SignerWithdrawn"];
    assert.deepEqual(await said("revokeImage", IMAGE), events);
    assert.deepEqual(await Promise.all([first, twin, other].map(isSigner)), [false, false, true]);
    await world.increaseTime(DELAY);
    const late = world.pool.getFunction("addSigner").staticCall(proposed.address, { value: BOND });
    assert.equal((await world.revertOf(late)).error, "NotProposed");
    const again = await refusedTo(world, "proposeSigner", [attester(4).address, IMAGE, "0x"]);
    assert.deepEqual(again, fault("ImageRevokedBefore", IMAGE));
    assert.deepEqual(await refusedTo(world, "revokeImage", [IMAGE]), fault("ImageRevokedBefore", IMAGE));
    assert.deepEqual(
      await refusedTo(world, "revokeImage", [ZERO_BYTES32]),
      fault("ImageRevokedBefore", ZERO_BYTES32),
    );
  });

  it("NotOwner: nobody else revokes an image", async () => {
    const stranger = actingAs(world.pool, await world.account(6));
    const refused = await world.revertOf(stranger.getFunction("revokeImage").staticCall(IMAGE));
    assert.deepEqual(refused, fault("NotOwner"));
  });

  it("Inadmissible: a key of one image is never said to be another's", async () => {
    const fresh = attester(5);
    await said("proposeSigner", fresh.address, IMAGE, "0x");
    await world.increaseTime(DELAY + 8 * 86_400);
    assert.equal(
      (await refusedTo(world, "proposeSigner", [fresh.address, OTHER, "0x"])).error,
      "Inadmissible",
    );
    assert.deepEqual(await said("proposeSigner", fresh.address, IMAGE, "0x"), ["SignerProposed"]);
  });

  it("BondMismatch, BondHeld: a signer comes with its bond, which goes back to who posted it, after the delay, once", async () => {
    const fresh = attester(6);
    await said("proposeSigner", fresh.address, OTHER, "0x");
    await world.increaseTime(DELAY);
    const poster = actingAs(world.pool, await world.account(6));
    for (const value of [0n, BOND - 1n, BOND + 1n]) {
      const refused = await world.revertOf(
        poster.getFunction("addSigner").staticCall(fresh.address, { value }),
      );
      assert.deepEqual(refused, fault("BondMismatch", BOND));
    }
    await world.call(poster, "addSigner", fresh.address, { value: BOND });
    assert.deepEqual(await refusedTo(world, "releaseBond", [fresh.address]), fault("BondMismatch", 0n));
    await said("removeSigner", fresh.address);
    const free = BigInt((await now(world)) + DELAY);
    assert.deepEqual(await refusedTo(world, "releaseBond", [fresh.address]), fault("BondHeld", free));
    const { address } = await world.account(6);
    const before = await world.provider.getBalance(address);
    await nextBlockAt(world, free);
    assert.deepEqual(await said("releaseBond", fresh.address), ["BondPaid"]);
    assert.equal(await world.provider.getBalance(address), before + BOND);
    assert.deepEqual(await refusedTo(world, "releaseBond", [fresh.address]), fault("BondMismatch", 0n));
  });

  it("an asset's minimum may grow, by a proposal that everybody sees, and never shrink: Inadmissible", async () => {
    const asset = world.usdcAddress;
    await said("delistAsset", asset);
    assert.equal((await refusedTo(world, "proposeAsset", [asset, MINIMUM - 1n])).error, "Inadmissible");
    await said("proposeAsset", asset, 2n * MINIMUM);
    const attested = async (): Promise<bigint> =>
      ((await world.pool.getFunction("room")(asset)) as bigint[])[0]!;
    assert.equal(await attested(), (MINIMUM * 3n) / 4n);
    await world.increaseTime(DELAY);
    await said("addAsset", asset);
    assert.equal(await attested(), (2n * MINIMUM * 3n) / 4n);
  });
});
