// What was proved on a root that is revoked: suspended, and how it comes again on a good one. See suspensions.tree.
import assert from "node:assert/strict";
import { Contract } from "ethers";
import { loadArtifact } from "../../../scripts/build/contracts.ts";
import { deployContract } from "../../../scripts/deploy/pool.ts";
import { attester } from "../../../scripts/stack/pool-transaction.ts";
import { drawOpenNote, orderOf } from "../../support/credit-source.ts";
import { authorize, drawBytes, drawField, seal, type Draft, type Sealed } from "../../support/drafts.ts";
import { toyKeys, toyProved } from "../../support/toy-keys.ts";
import type { Address } from "../../../shared/protocol/brands.ts";
import { concatBytes, mustFromHex, word } from "../../../shared/protocol/bytes.ts";
import { keccakHex } from "../../../shared/protocol/hash.ts";
import { emptyNode, TREE_DEPTH } from "../../../shared/protocol/tree.ts";
import {
  advanceOver,
  falseStatement,
  falseUpdate,
  recover,
  refusedTo,
  rootAt,
  type Recovered,
} from "./recovery.ts";
import { GAS, nextBlockAt, nextBlockTomorrow, now, outcome, trueUpdate } from "./told-world.ts";
import { fault, freshAddress, World, type Fault } from "./world.ts";

const EMPTY_ROOT = emptyNode(TREE_DEPTH);
const HELD = 100_000n;
/** What leaves at once by proofs. */
const PROVED = HELD / 10n / 4n / 4n;
/** Bytes that are no points, whatever words are shown for them. */
const NO_PROOF = new Uint8Array(128).fill(0xff);
const NO_WORDS = Array<bigint>(8).fill(0n);
const PAYOUT = 500n;

describe("pool: what was proved on a revoked root", function () {
  let world: World;
  let good: bigint;
  let restore: () => Promise<void>;
  const [thief, honest, liar, second, third] = [0, 1, 2, 3, 4].map(attester) as [
    ReturnType<typeof attester>,
    ReturnType<typeof attester>,
    ReturnType<typeof attester>,
    ReturnType<typeof attester>,
    ReturnType<typeof attester>,
  ];
  before(async () => {
    world = await World.start({
      ...{ keys: toyKeys(), attesters: [thief, honest, liar, second, third], minimumCap: 1_000n },
      ...{ moreAssets: ["TestUSDC"], executor: "FixedExecutor", provedDelay: 1 },
    });
    const deposit = await authorize(world.depositor, seal(by(honest, world.depositDraft(HELD))));
    assert.equal(await outcome(world, deposit), 0n);
    await nextBlockTomorrow(world);
    assert.equal(await outcome(world, transfer(EMPTY_ROOT)), 3n);
    await world.execute([], trueUpdate(world, [honest]));
    good = world.rooted.root;
  });
  beforeEach(async () => {
    restore = await world.remember();
  });
  afterEach(() => restore());
  after(() => world.stop());

  const by = (signer: ReturnType<typeof attester>, draft: Draft): Draft => ({
    ...draft,
    attesters: [signer],
  });
  const transfer = (root: bigint): Sealed => seal({ ...by(honest, world.transferDraft()), root });
  const withdrawal = (amount: bigint, to = freshAddress()): Draft =>
    by(honest, world.withdrawalDraft(to, amount));
  const read = (name: string, ...args: unknown[]): Promise<unknown> => world.pool.getFunction(name)(...args);
  const balance = (of: Address): Promise<bigint> => world.usdc.getFunction("balanceOf")(of);
  const held = (): Promise<bigint> => balance(world.setting.home.pool);
  const spent = async ({ draft }: Sealed): Promise<boolean> => {
    const each = await Promise.all(draft.nullifiers.map((nullifier) => read("isSpent", nullifier)));
    assert.equal(new Set(each).size, 1);
    return each[0] as boolean;
  };
  const leaves = (first: bigint, count = 4): number[] =>
    Array.from({ length: count }, (_, i) => Number(first) + i);
  const open = async (): Promise<void> => {
    const [attestedFrom] = (await read("brakes")) as bigint[];
    if (BigInt(await now(world)) < attestedFrom!) await nextBlockAt(world, attestedFrom!);
  };

  /** A payment on the good root, at leaf 7, and over it a root that is none. The result refutes it. */
  const fall = async (): Promise<() => Promise<Recovered>> => {
    assert.equal(await outcome(world, transfer(good)), 7n);
    const update = world.updateTo(world.queue, { newRoot: drawField() }, [thief]);
    await world.execute([], update);
    await nextBlockAt(world, (await now(world)) + 2);
    return () => recover(world, "refuteRootUpdate", falseUpdate(world, update));
  };
  const take = async (member: Sealed): Promise<bigint> => {
    const first = await outcome(world, member);
    assert.equal(typeof first, "bigint", JSON.stringify((first as Fault).error));
    return first as bigint;
  };
  /** To the end of the queue, and until a proof may use that root. */
  const goOn = async (voided: readonly number[], unnamed: readonly number[] = []): Promise<Recovered> => {
    const shown = { voided: new Set(voided), unnamed: new Set(unnamed) };
    const over = await recover(world, "advance", advanceOver(world, shown));
    await nextBlockAt(world, (await now(world)) + 2);
    await world.provider.send("evm_mine", []);
    return over;
  };

  const shown = (earlier: Sealed, value?: bigint): Uint8Array => {
    const { deadline, signals, proof } = earlier.transaction;
    const parts = [word(deadline), word(signals[1]!), mustFromHex(keccakHex(mustFromHex(proof)))];
    return concatBytes(...parts, ...(value === undefined ? [] : [word(value)]));
  };
  /** On the newest root, with another limit. */
  const again = (earlier: Sealed, changes: Partial<Draft> = {}): Sealed => {
    const { draft } = earlier;
    const anew = { deadline: draft.deadline + 7n, root: world.rooted.root, proof: drawBytes(128) };
    return seal({ ...by(honest, draft), ...anew, authorization: shown(earlier), ...changes });
  };
  const lieAgain = (earlier: Sealed, liar_: typeof liar): Sealed =>
    again(earlier, { attesters: [liar_], proof: NO_PROOF });
  const saidIn = async (member: Sealed): Promise<string[]> => {
    const { receipt } = await world.execute([member], undefined, { gasLimit: GAS });
    return receipt.logs.flatMap((log) => world.pool.interface.parseLog(log)?.name ?? "of a token");
  };
  const refute = (lie: Sealed, around?: readonly [bigint, bigint]): Promise<Recovered> =>
    recover(world, "refuteStatement", falseStatement(lie, NO_WORDS, around));
  const refused = async (member: Sealed): Promise<string> => ((await outcome(world, member)) as Fault).error;

  it("MakerUnknown: who made doubtful leaves has to be named, in order; then they are empty, and the notes stay spent", async () => {
    const revoke = await fall();
    const paid = transfer(world.rooted.root);
    const first = await take(paid);
    await revoke();
    const voided = leaves(first);
    const args = advanceOver(world, { voided: new Set(voided), unnamed: new Set() });
    const makers = args.at(-1) as string[];
    assert.equal(makers.length, 2);
    for (const [bent, at] of [
      [[], 7n],
      [makers.slice(0, 1), first],
      [makers.toReversed(), 7n],
      [[makers[0], makers[0]], first],
      [[makers[0], paid.statementHash], first],
    ] as const)
      assert.deepEqual(await refusedTo(world, "advance", args.with(-1, bent)), fault("MakerUnknown", at));

    // In two steps, the first of which ends in the middle of it: the second has to name nobody for its other half.
    const half = { voided: new Set(voided), unnamed: new Set<number>() };
    const { said } = await recover(world, "advance", advanceOver(world, { ...half, count: 6n }));
    assert.deepEqual(said, ["LeavesSuspended", "RootUpdated"]);
    assert.deepEqual((await goOn(voided, voided)).said, ["RootUpdated"]);
    assert.equal(world.rooted.root, rootAt(world, world.queue.count, new Set(voided)));
    for (const leaf of voided) assert.equal(await read("isVoid", leaf), true);
    assert.deepEqual([await read("isVoid", 7), await spent(paid)], [false, true]);
  });

  for (const way of ["attested", "proved"] as const)
    it(`comes again ${way}: its leaves are made anew, and no money moves, once`, async () => {
      const revoke = await fall();
      const to = freshAddress();
      const paid = seal(withdrawal(100n, to));
      const first = await take(paid);
      await revoke();
      await goOn(leaves(first));
      const voided = new Set(leaves(first));
      if (way === "attested") {
        assert.equal(await refused(again(paid)), "AttestedPathShut");
        await open();
      }
      const before = await held();
      const member = way === "attested" ? again(paid) : toyProved(again(paid));
      assert.deepEqual(await saidIn(member), ["Confirmed", "Executed"]);
      assert.deepEqual([await held(), await balance(to), await spent(paid)], [before, 100n, true]);
      assert.equal(await refused(again(paid)), way === "attested" ? "EarlierStands" : "AttestedPathShut");
      assert.equal(await refused(toyProved(again(paid))), "EarlierStands");
      assert.equal(await refused(toyProved(again(member))), "EarlierUnknown");
      await open();
      const root = rootAt(world, world.queue.count, voided);
      await world.execute([], world.updateTo(world.queue, { newRoot: root as never }, [honest]));
      assert.equal(world.rooted.root, root);
      await take(transfer(root));
    });

  it("comes again before `advance` has gone over its first leaves: they are suspended then", async () => {
    const revoke = await fall();
    const paid = transfer(world.rooted.root);
    const first = await take(paid);
    await revoke();
    assert.deepEqual(await saidIn(toyProved(again(paid))), ["LeavesSuspended", "Confirmed", "Executed"]);
    assert.deepEqual((await goOn(leaves(first), leaves(first))).said, ["RootUpdated"]);
    assert.equal(await read("isVoid", world.queue.count - 1n), false);
  });

  it("EarlierStands, EarlierUnknown, AuthorizationMalformed, RootUnknown: nothing else comes again", async () => {
    const revoke = await fall();
    const bad = world.rooted.root;
    const paid = transfer(bad);
    const other = transfer(bad);
    await take(paid);
    await take(other);
    assert.equal(await refused(again(paid)), "EarlierStands");
    await revoke();
    const first = world.queue.count - 8n;
    await goOn(leaves(first, 8));
    await open();
    const bent = (changes: Partial<Draft>): Promise<string> => refused(again(paid, changes));
    const { draft } = paid;
    assert.equal(await bent({ root: bad }), "RootUnknown");
    assert.equal(await bent({ authorization: new Uint8Array(0) }), "NullifierSpent");
    const whole = shown(paid);
    for (const length of [1, 64, 95, 97, 128])
      assert.equal(
        await bent({ authorization: concatBytes(whole, word(0n)).slice(0, length) }),
        "AuthorizationMalformed",
      );
    for (const at of [31, 63, 95])
      assert.equal(await bent({ authorization: whole.with(at, whole[at]! ^ 1) }), "EarlierUnknown");
    for (const changes of [
      { commitments: draft.commitments.with(0, drawField()) },
      { nullifiers: draft.nullifiers.toReversed() },
      { nullifiers: draft.nullifiers.with(1, drawField()) },
      { nullifiers: draft.nullifiers.with(1, other.draft.nullifiers[1]!) },
      { nullifiers: draft.nullifiers.with(0, drawField()) },
      { ext: draft.ext.with(30, draft.ext[30]! ^ 1) },
      { asset: BigInt(world.usdcAddress), amount: 5n, ext: withdrawal(5n).ext },
      { authorization: shown(other) },
    ])
      assert.equal(await bent(changes), "EarlierUnknown");
    // What was never executed, and what was on a good root.
    assert.equal(await refused(again(transfer(good))), "EarlierUnknown");
    await take(again(paid));
  });

  it("a note that was forged and paid on: what was paid with it is empty, and comes again on no good root", async () => {
    const forged = seal({ ...by(thief, world.transferDraft()), root: good, proof: NO_PROOF });
    assert.equal(await take(forged), 7n);
    await world.execute([], trueUpdate(world, [honest]));
    const bad = world.rooted.root;
    const onward = seal(withdrawal(100n));
    const first = await take(onward);
    await refute(forged, [good, bad]);
    await goOn([...leaves(7n), ...leaves(first)], leaves(7n));
    assert.deepEqual([world.rooted.root, world.rooted.count], [good, world.queue.count]);
    assert.deepEqual([await spent(forged), await spent(onward)], [false, true]);
    // All that the thief can prove is what it has proved: on that root.
    assert.equal(await refused(toyProved(again(onward, { root: bad }))), "RootUnknown");
  });

  it("a swap comes again with what it brought then, and with nothing else", async () => {
    const other = world.moreAssets[0]!;
    const venue = new Contract(world.executor!, (await loadArtifact("FixedExecutor")).abi, world.owner);
    await world.call(venue, "setPayout", PAYOUT);
    const token = new Contract(other, world.usdc.interface, world.owner);
    await world.call(token, "mint", world.executor, PAYOUT);
    const revoke = await fall();
    const swap = seal(by(honest, world.swapDraft({ amount: 100n, tokenOut: other })));
    const first = await take(swap);
    await revoke();
    await goOn(leaves(first));
    await open();
    const pools = (): Promise<bigint[]> =>
      Promise.all([held(), token.getFunction("balanceOf")(world.setting.home.pool)]);
    const before = await pools();
    for (const value of [PAYOUT + 1n, 0n, 2n ** 128n + PAYOUT])
      assert.equal(await refused(again(swap, { authorization: shown(swap, value) })), "EarlierUnknown");
    assert.equal(await refused(again(swap)), "AuthorizationMalformed");
    // Whatever became of the venue.
    await world.call(world.pool, "removeExecutor", world.executor);
    const member = again(swap, { authorization: shown(swap, PAYOUT) });
    assert.deepEqual(await saidIn(member), ["Confirmed", "Executed", "NoteHashed"]);
    assert.deepEqual(await pools(), before);
    const [then, anew] = [swap, member].map(({ statementHash }) => world.bought.get(statementHash)!);
    assert.deepEqual([anew!.commitment, anew!.value], [then!.commitment, PAYOUT]);
    assert.equal(anew!.leafIndex, world.queue.count - 1n);
  });

  describe("a claim", () => {
    const AMOUNT = 2n * PROVED;
    const claim = async (): Promise<unknown[]> => [
      ...((await read("claim", world.usdcAddress, 0)) as unknown[]),
    ];
    const inTheEnd = async (): Promise<bigint> => {
      const [to] = (await claim()) as [Address];
      for (let day = 0; (await claim())[1] !== 0n; day++) {
        assert.ok(day < 12);
        await nextBlockTomorrow(world);
        await recover(world, "payClaim", [world.usdcAddress, 0]);
      }
      return balance(to);
    };
    /** Of nine notes, on a root that is revoked then. */
    const suspended = async (): Promise<{ paid: Sealed; first: bigint }> => {
      const revoke = await fall();
      const draft = { ...world.draftOf("spend9"), asset: BigInt(world.usdcAddress), amount: AMOUNT };
      const paid = toyProved(seal({ ...draft, ext: withdrawal(AMOUNT).ext }));
      const first = await take(paid);
      await revoke();
      await goOn(leaves(first));
      assert.deepEqual((await claim()).slice(1), [AMOUNT, 0n, true]);
      return { paid, first };
    };

    it("is suspended with what made it, and stands again with it, whether it was removed meanwhile or not", async () => {
      const { paid } = await suspended();
      const back = await world.remember();
      const stays = toyProved(again(paid));
      assert.deepEqual(await saidIn(stays), ["Confirmed", "Executed", "ClaimRooted"]);
      assert.equal((await claim())[3], false);
      assert.equal(await inTheEnd(), AMOUNT);
      await back();

      assert.deepEqual((await recover(world, "removeClaim", [world.usdcAddress, 0])).said, ["ClaimRemoved"]);
      assert.deepEqual([...((await read("claimTotals", world.usdcAddress)) as bigint[])], [1n, 0n, 0n]);
      // With the gas that every pool gives a member of its kind, and no more.
      assert.equal(typeof (await world.executeOne(toyProved(again(paid)))), "bigint");
      assert.deepEqual([...((await read("claimTotals", world.usdcAddress)) as bigint[])].slice(0, 2), [
        1n,
        AMOUNT,
      ]);
      assert.equal(await inTheEnd(), AMOUNT);
    });

    it("of a lie that comes again, it is suspended again when that is refuted; the truth can come again still", async () => {
      const { paid, first } = await suspended();
      await open();
      const lie = lieAgain(paid, liar);
      const next = await take(lie);
      assert.equal((await claim())[3], false);
      await refute(lie);
      assert.deepEqual([(await claim())[3], await spent(paid)], [true, true]);
      const voided = [...leaves(first), ...leaves(next)];
      await goOn(voided, voided);
      await take(toyProved(again(paid)));
      assert.equal(await inTheEnd(), AMOUNT);
    });

    it("that is paid stays paid", async () => {
      const { paid } = await suspended();
      await open();
      const lie = lieAgain(paid, liar);
      await take(lie);
      assert.equal(await inTheEnd(), AMOUNT);
      await refute(lie);
      assert.deepEqual((await claim()).slice(1), [0n, 0n, false]);
      assert.deepEqual(await saidIn(toyProved(again(paid, { root: good }))), ["Confirmed", "Executed"]);
    });
  });

  it("lies that come again one after the other are refuted in any order, and the notes stay spent", async () => {
    // Below the roots that come stands a forgery that nobody has seen yet.
    const forged = seal({ ...by(second, world.transferDraft()), root: good, proof: NO_PROOF });
    await take(forged);
    await world.execute([], trueUpdate(world, [honest]));
    const above = world.rooted.root;
    const update = world.updateTo((await take(transfer(good)), world.queue), { newRoot: drawField() }, [
      thief,
    ]);
    await world.execute([], update);
    const paid = seal(withdrawal(100n));
    const first = await take(paid);
    await recover(world, "refuteRootUpdate", falseUpdate(world, update));
    await goOn(leaves(first));
    await open();
    const lie = lieAgain(paid, liar);
    const at = await take(lie);
    await refute(forged, [good, above]);
    const voided = [...leaves(7n), ...leaves(first)];
    await goOn([...voided, ...leaves(at)], voided);
    await open();
    const worse = lieAgain(paid, third);
    await take(worse);
    const before = await world.remember();
    for (const lies of [
      [worse, lie],
      [lie, worse],
    ]) {
      const back = await world.remember();
      for (const each of lies) {
        await refute(each);
        assert.equal(await spent(paid), true);
      }
      assert.equal(await refused(toyProved(again(lie))), "EarlierUnknown");
      await take(toyProved(again(paid)));
      await back();
    }
    await before();
  });

  it("one that is false itself: its refutation frees what it spent, and revokes no root made since", async () => {
    const revoke = await fall();
    const lie = seal({ ...by(liar, world.transferDraft()), proof: NO_PROOF });
    const first = await take(lie);
    await revoke();
    await goOn(leaves(first));
    const { root } = world.rooted;
    const { said } = await refute(lie);
    assert.ok(said.includes("LeavesVoided") && !said.includes("RootsRevoked"));
    assert.deepEqual([world.rooted.root, await spent(lie)], [root, false]);
    assert.notEqual(await read("rootSequence", root), 0n);
    // Whoever owns the notes spends them as ever.
    await take(toyProved(seal({ ...lie.draft, root, authorization: new Uint8Array(0) })));
    assert.equal(await refused(toyProved(again(lie))), "EarlierUnknown");
  });

  it("deposits and credits in between stay: of a deposit its hash is shown, of a credit nothing", async () => {
    const source = (await deployContract(world.owner, "ConfigurableSource", [])).address;
    const bringer = new Contract(source, (await loadArtifact("ConfigurableSource")).abi, world.owner);
    await world.call(world.usdc, "mint", source, HELD);
    const revoke = await fall();
    const notes = [drawOpenNote(), drawOpenNote()];
    const credit = async (): Promise<void> => {
      const args = [world.setting.home.pool, world.usdcAddress, orderOf(notes), { gasLimit: GAS }];
      world.takeCredited(await world.call(bringer, "credit", ...args));
    };
    await credit();
    const deposit = await authorize(world.depositor, seal(by(honest, world.depositDraft(1_000n))));
    const kept = await take(deposit);
    const first = await take(transfer(world.rooted.root));
    await credit();
    await revoke();
    const args = advanceOver(world, { voided: new Set(leaves(first)), unnamed: new Set() });
    const makers = args.at(-1) as string[];
    assert.equal(makers[1], deposit.statementHash);
    for (const bent of [makers.toSpliced(1, 1), makers.with(1, makers[2]!)])
      assert.deepEqual(await refusedTo(world, "advance", args.with(-1, bent)), fault("MakerUnknown", kept));
    assert.deepEqual((await goOn(leaves(first))).said, ["LeavesSuspended", "RootUpdated"]);
    for (let i = 7; i < Number(world.queue.count); i++)
      assert.equal(await read("isVoid", i), leaves(first).includes(i), String(i));
  });
});
