// An attested statement that its proof does not show: who is out for it, and what is undone. See refutation.tree.
import assert from "node:assert/strict";
import { bn254 } from "@noble/curves/bn254.js";
import { toQuantity, Wallet, type Log } from "ethers";
import { reattested, type Sealed } from "../../support/drafts.ts";
import { imageNamed } from "../../../scripts/stack/development-registration.ts";
import { attester } from "../../../scripts/stack/pool-transaction.ts";
import { concatBytes, mustFromHex, toHex, uintToBytes, word } from "../../../shared/protocol/bytes.ts";
import { advanceOver, falseStatement, recover, refusedTo, rootAt } from "./recovery.ts";
import {
  DAY,
  GAS,
  lie,
  nextBlockAt,
  now,
  outcome,
  proved,
  startTold,
  tellUntil,
  told,
  trueUpdate,
  wordsOf,
} from "./told-world.ts";
import { simulate } from "./simulation.ts";
import { actingAs, fault, type Fault, type World } from "./world.ts";

const IMAGE = imageNamed("thieves'");
const BOND = 10n ** 18n;

describe("pool: refuting a statement", function () {
  let world: World;
  let restore: () => Promise<void>;
  /** Two keys of one image, and one of another. */
  const [thief, twin, honest] = [attester(0), attester(1), attester(2)];
  before(async () => {
    world = await startTold({
      attesters: [thief, twin, honest],
      imageNames: ["thieves'", "thieves'", "another"],
      signerBond: BOND,
    });
  });
  beforeEach(async () => {
    restore = await world.remember();
  });
  afterEach(() => restore());
  after(() => world.stop());

  const read = (name: string, ...args: unknown[]): Promise<unknown> => world.pool.getFunction(name)(...args);
  const isSigner = (one = thief): Promise<unknown> => read("isSigner", one.address);
  const byHonest = (name: string): Sealed => told(world, name, [honest]);
  /** "a private transfer", which the thief's key vouches for with the proof of another spend. */
  const forged = (by = thief): Sealed => lie(world, "a private transfer", "a withdrawal", [by]);
  const PROOF = "a withdrawal";

  /** Two deposits and their root; the forged transfer and the root over it. */
  const steal = async (): Promise<{ good: bigint; bad: bigint }> => {
    await tellUntil(world, "a private transfer", [honest]);
    const good = world.rooted.root;
    assert.equal(await outcome(world, forged()), 6n);
    await world.execute([], trueUpdate(world, [honest]));
    return { good, bad: world.rooted.root };
  };

  it("puts the signer and its image out, pays the bond, closes the path, voids what was forged", async () => {
    const { good, bad } = await steal();
    const { nullifiers } = forged().draft;
    assert.equal(await read("isSpent", nullifiers[0]), true);
    const before = await world.provider.getBalance(world.setting.home.pool);
    const { said, receipt } = await recover(
      world,
      "refuteStatement",
      falseStatement(forged(), wordsOf(PROOF), [good, bad]),
    );
    assert.deepEqual(said, [
      ...["LeavesVoided", "RootsRevoked", "Refuted", "AttestedPathClosed"],
      ...["ImageRevoked", "SignerRemoved", "SignerRemoved", "BondPaid"],
    ]);
    assert.deepEqual(
      [await isSigner(thief), await isSigner(twin), await isSigner(honest)],
      [false, false, true],
    );
    assert.equal(await world.provider.getBalance(world.setting.home.pool), before - BOND);

    for (let i = 5; i <= 10; i++) assert.equal(await read("isVoid", i), i >= 6 && i < 10, String(i));
    for (const nullifier of nullifiers) assert.equal(await read("isSpent", nullifier), false);
    assert.deepEqual([await read("rootSequence", bad), await read("rootSequence", good)], [0n, 2n]);
    assert.deepEqual([world.rooted.root, world.rooted.count], [good, 6n]);
    const time = BigInt((await world.provider.getBlock(receipt.blockNumber))!.timestamp);
    const [attestedFrom] = (await read("brakes")) as bigint[];
    assert.equal(attestedFrom, time + BigInt(4 * DAY));
    // The image is out for ever.
    assert.equal((await refusedTo(world, "proposeImage", [IMAGE, 1, "", ""])).error, "ImageRevokedBefore");
    // And the honest one's word counts again when the path opens.
    assert.deepEqual(
      await outcome(world, byHonest("a private transfer")),
      fault("AttestedPathShut", attestedFrom),
    );
    await nextBlockAt(world, attestedFrom);
    assert.equal(await outcome(world, byHonest("a private transfer")), 10n);
  });

  it("the tree goes on from the last good root without the forged leaves, and the true owner pays with a proof", async () => {
    const { good, bad } = await steal();
    await recover(world, "refuteStatement", falseStatement(forged(), wordsOf(PROOF), [good, bad]));
    const voided = new Set([6, 7, 8, 9]);
    // Void leaves alone leave the root as it is.
    const over = await recover(world, "advance", advanceOver(world, { count: 2n, voided }));
    assert.deepEqual([over.said, world.rooted.root, world.rooted.count], [["RootUpdated"], good, 8n]);
    // While they wait no attested update fits, whoever signs it.
    const [attestedFrom] = (await read("brakes")) as bigint[];
    await recover(world, "advance", advanceOver(world, { voided }));
    assert.deepEqual([world.rooted.root, world.rooted.count], [good, 10n]);

    const from = ((await read("rootRecord", good)) as bigint[])[2]!;
    await nextBlockAt(world, from);
    assert.equal(await outcome(world, proved(world, "a private transfer")), 10n);
    const root = rootAt(world, 14n, voided);
    await recover(world, "advance", advanceOver(world, { voided }));
    assert.deepEqual([world.rooted.root, await read("rootSequence", root)], [root, 4n]);
    // And attested updates go on after it.
    await nextBlockAt(world, attestedFrom!);
    assert.equal(await outcome(world, world.transfer({ attesters: [honest] })), 14n);
    const next = world.updateTo(world.queue, {}, [honest]);
    assert.equal((await world.execute([], next)).update, 4n);
  });

  it("by an account that takes no coins: it is owed the bond, and has it paid to another, once", async () => {
    const holder = world.usdcAddress;
    await world.provider.send("anvil_impersonateAccount", [holder]);
    await world.provider.send("anvil_setBalance", [holder, toQuantity(BOND)]);
    const refuter = actingAs(world.pool, await world.provider.getSigner(holder));
    const shown = falseStatement(forged(), wordsOf(PROOF));
    const saidIn = ({ logs }: { readonly logs: readonly Log[] }): (string | undefined)[] =>
      logs.map((log) => world.pool.interface.parseLog(log)?.name);
    const refuted = await world.call(refuter, "refuteStatement", ...shown, { gasLimit: GAS });
    assert.deepEqual(saidIn(refuted), [
      ...["Refuted", "AttestedPathClosed", "ImageRevoked", "SignerRemoved", "SignerRemoved", "BondOwed"],
    ]);
    // The next refutation has nothing of it.
    assert.deepEqual((await recover(world, "refuteStatement", shown)).said, ["Refuted"]);
    assert.deepEqual(await refusedTo(world, "takeBonds", [holder]), fault("BondMismatch", 0n));
    await assert.rejects(world.call(refuter, "takeBonds", holder));
    const to = Wallet.createRandom().address;
    assert.deepEqual(saidIn(await world.call(refuter, "takeBonds", to)), ["BondsTaken"]);
    assert.equal(await world.provider.getBalance(to), BOND);
    await assert.rejects(world.call(refuter, "takeBonds", to));
  });

  it("RootUnknown: a proof on a revoked root, however old", async () => {
    const { good, bad } = await steal();
    await recover(world, "refuteStatement", falseStatement(forged(), wordsOf(PROOF), [good, bad]));
    await nextBlockAt(world, (await now(world)) + 30 * DAY);
    assert.deepEqual(await outcome(world, proved(world, "a withdrawal")), fault("RootUnknown", bad));
  });

  it("what was moved on before is suspended: its leaves are empty; the money has left, its notes stay spent", async () => {
    const { good, bad } = await steal();
    assert.equal(await outcome(world, byHonest("a withdrawal")), 10n);
    await recover(world, "refuteStatement", falseStatement(forged(), wordsOf(PROOF), [good, bad]));
    const { nullifiers } = byHonest("a withdrawal").draft;
    assert.deepEqual([await read("isSpent", nullifiers[0]), await read("isVoid", 10)], [true, false]);
    const forgedLeaves = new Set([6, 7, 8, 9]);
    const voided = new Set([...forgedLeaves, 10, 11, 12, 13]);
    const over = await recover(world, "advance", advanceOver(world, { voided, unnamed: forgedLeaves }));
    assert.deepEqual(over.said, ["LeavesSuspended", "RootUpdated"]);
    assert.deepEqual([world.rooted.root, world.rooted.count], [good, 14n]);
    assert.deepEqual([await read("isSpent", nullifiers[0]), await read("isVoid", 10)], [true, true]);
  });

  it("a deposit that was forged and paid for is proved again, without paying again, once", async () => {
    assert.equal(await outcome(world, lie(world, "a deposit", "another deposit", [thief])), 0n);
    const held = await world.usdc.getFunction("balanceOf")(world.setting.home.pool);
    const refutation = falseStatement(
      lie(world, "a deposit", "another deposit", [thief]),
      wordsOf("another deposit"),
    );
    const { said } = await recover(world, "refuteStatement", refutation);
    assert.ok(said.includes("LeavesVoided") && !said.includes("RootsRevoked"));
    const [attestedFrom] = (await read("brakes")) as bigint[];
    await nextBlockAt(world, attestedFrom!);
    assert.deepEqual(await outcome(world, told(world, "a deposit", [honest])), fault("StatementRepeated"));
    // Also when its user's limit has passed: the money is here.
    await nextBlockAt(world, told(world, "a deposit").draft.deadline + 5n);
    assert.equal(await outcome(world, proved(world, "a deposit")), 3n);
    assert.equal(await world.usdc.getFunction("balanceOf")(world.setting.home.pool), held);
    const again = (await outcome(world, proved(world, "a deposit"))) as Fault;
    assert.ok(["StatementRepeated", "DeadlinePassed"].includes(again.error));
  });

  describe("a deposit whose leaves are void", () => {
    const forgedDeposit = (): Sealed => lie(world, "a deposit", "another deposit", [thief]);
    /** As anybody reads it from the calldata. */
    const shown = (changes: { deadline?: bigint; ext?: string; signals?: readonly bigint[] } = {}) => {
      const { signals, deadline, ext } = forgedDeposit().transaction;
      const whole = { signals, deadline, ext, ...changes };
      return [whole.signals, whole.deadline, whole.ext];
    };
    const refuse = (args: readonly unknown[] = shown()) => refusedTo(world, "returnDeposit", args);
    const voided = async (): Promise<bigint> => {
      assert.equal(await outcome(world, forgedDeposit()), 0n);
      assert.deepEqual(await refuse(), fault("DepositStands"));
      await recover(world, "refuteStatement", falseStatement(forgedDeposit(), wordsOf("another deposit")));
      return BigInt(await now(world));
    };
    const depositor = (): Promise<bigint> =>
      world.usdc.getFunction("balanceOf")(toHex(mustFromHex(String(shown()[2])).slice(0, 20)));

    it("goes back to its depositor after the pool's delay, by anyone's call, once; also when circuits are broken", async () => {
      const at = await voided();
      const [before, held] = [
        await depositor(),
        await world.usdc.getFunction("balanceOf")(world.setting.home.pool),
      ];
      await nextBlockAt(world, at + BigInt(4 * DAY) - 1n);
      await world.provider.send("evm_mine", []);
      assert.deepEqual(await refuse(), fault("TooEarly", at + BigInt(4 * DAY)));
      await nextBlockAt(world, at + BigInt(4 * DAY));
      const { said, receipt } = await recover(world, "returnDeposit", shown());
      assert.deepEqual(said, ["DepositReturned"]);
      const { amount } = forgedDeposit().draft;
      assert.equal((await depositor()) - before, amount);
      assert.equal(held - (await world.usdc.getFunction("balanceOf")(world.setting.home.pool)), amount);
      const told = world.pool.interface.parseLog(
        receipt.logs.find(({ address }) => address === receipt.to)!,
      )!;
      assert.equal(told.args["statementHash"], forgedDeposit().statementHash);
      assert.deepEqual(await refuse(), fault("DepositStands"));
      assert.deepEqual(await outcome(world, proved(world, "a deposit")), fault("StatementRepeated"));
    });

    it("does not when it was proved again, and not with another word in it", async () => {
      const at = await voided();
      await nextBlockAt(world, at + BigInt(4 * DAY));
      const { signals, deadline, ext } = forgedDeposit().transaction;
      for (const bent of [
        shown({ deadline: deadline + 1n }),
        shown({ signals: signals.with(2, signals[2]! + 1n) }),
        shown({ signals: signals.slice(1) }),
        shown({ ext: `${ext.slice(0, 40)}${ext[40] === "0" ? "1" : "0"}${ext.slice(41)}` }),
        shown({ ext: `${ext}00` }),
      ])
        assert.deepEqual(await refuse(bent), fault("DepositStands"));
      assert.equal(await outcome(world, proved(world, "a deposit")), 3n);
      assert.deepEqual(await refuse(), fault("DepositStands"));
    });
  });

  for (const [name, of] of [
    ["a deposit", "another deposit"],
    ["a private transfer", "a withdrawal"],
    ["a payment of many notes", "a withdrawal"],
    ["a swap through one pool", "a swap through two pools"],
  ] as const) {
    it(`of ${name}: the lie is refuted, executed or not; the truth is not: StatementTrue`, async () => {
      const truth = falseStatement(told(world, name, [thief]), wordsOf(name));
      assert.deepEqual(await refusedTo(world, "refuteStatement", truth), fault("StatementTrue"));
      const { said } = await recover(
        world,
        "refuteStatement",
        falseStatement(lie(world, name, of, [thief]), wordsOf(of)),
      );
      assert.ok(said.includes("Refuted") && said.includes("AttestedPathClosed"));
      assert.ok(!said.includes("LeavesVoided") && !said.includes("RootsRevoked"));
      assert.equal(await isSigner(), false);
    });
  }

  it("however little gas there is, a true statement convicts nobody, and a false one is refuted or nothing happens", async () => {
    const name = "a private transfer";
    const lied = lie(world, name, PROOF, [thief]);
    const atAnyGas = async (shown: readonly unknown[]): Promise<readonly string[]> => {
      const data = world.pool.interface.encodeFunctionData("refuteStatement", shown);
      const met = new Set<string>();
      for (let gas = 60_000n; gas <= 1_200_000n; gas += 12_000n) {
        const tried = await simulate(world, { data, gas });
        const isOut = tried.said.some((each) => each.name === "Refuted");
        assert.equal(isOut, tried.isDone, `${String(gas)} gas`);
        met.add(tried.isDone ? "refuted" : "reverted");
      }
      return [...met];
    };
    const truth = falseStatement(told(world, name, [thief]), wordsOf(name));
    assert.deepEqual(await atAnyGas(truth), ["reverted"]);
    assert.deepEqual(await atAnyGas(falseStatement(lied, wordsOf(PROOF))), ["reverted", "refuted"]);
  });

  it("bytes that are no points at all are refuted with any words; true ones with wrong words are not", async () => {
    const member = told(world, "a private transfer", [thief]);
    const words = wordsOf("a private transfer");
    const bytes = Buffer.from(member.transaction.proof.slice(2), "hex");
    bytes.set(uintToBytes(2n ** 254n - 1n, 32), 0);
    const proof = toHex(bytes);
    const draft = { ...member.draft, proof: new Uint8Array(bytes) };
    const pointless = reattested({ draft, transaction: { ...member.transaction, proof } });
    const { said } = await recover(
      world,
      "refuteStatement",
      falseStatement(
        pointless,
        words.map(() => 0n),
      ),
    );
    assert.ok(said.includes("Refuted"));
    // Points of the curve, B in no group that counts: the precompile burns what it gets, and enough is left.
    const outside = outsideOfTheGroup();
    const b = Buffer.from(member.transaction.proof.slice(2), "hex");
    b.set(outside.compressed, 32);
    const stray = reattested({
      draft: { ...member.draft, proof: new Uint8Array(b), attesters: [honest] },
      transaction: { ...member.transaction, proof: toHex(b) },
    });
    const shown = falseStatement(stray, [...words.slice(0, 2), ...outside.words, ...words.slice(6)]);
    const data = world.pool.interface.encodeFunctionData("refuteStatement", shown);
    assert.equal((await simulate(world, { data, gas: 1_500_000n })).isDone, true);
    // Whoever shows a true statement with other words learns nothing and changes nothing.
    for (const i of words.keys()) {
      const bent = falseStatement(told(world, "a private transfer", [honest]), words.with(i, words[i]! ^ 1n));
      await assert.rejects(world.pool.getFunction("refuteStatement").staticCall(...bent, { gasLimit: GAS }));
    }
    assert.equal(await isSigner(honest), true);
  });
});

/** A point of the twist outside its subgroup: B's two compressed words, and its four in the order of EIP-197. */
function outsideOfTheGroup(): { readonly compressed: Uint8Array; readonly words: readonly bigint[] } {
  const { Fp2 } = bn254.fields;
  const twistB = Fp2.div(Fp2.fromBigTuple([3n, 0n]), Fp2.fromBigTuple([9n, 1n]));
  for (let c0 = 1n; ; c0++) {
    const x = Fp2.fromBigTuple([c0, 2n]);
    const square = Fp2.add(Fp2.mul(Fp2.sqr(x), x), twistB);
    try {
      const y = Fp2.sqrt(square);
      const sign = (y.c0 === 0n ? y.c1 : y.c0) & 1n;
      const compressed = concatBytes(word(x.c1 | (sign << 255n)), word(x.c0));
      return { compressed, words: [x.c1, x.c0, y.c1, y.c0] };
    } catch {
      // No point has this x.
    }
  }
}
