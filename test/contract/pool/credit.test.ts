// `credit`: notes for money that a contract brings, and a source, or a token on the way, that wants more notes than it brings money. See credit.tree.
import assert from "node:assert/strict";
import { Contract, getAddress, type ContractTransactionReceipt } from "ethers";
import { loadArtifact } from "../../../scripts/build/contracts.ts";
import { deployContract } from "../../../scripts/deploy/pool.ts";
import { depositDraft, drawBytes, seal } from "../../support/drafts.ts";
import {
  answerOf,
  drawOpenNote as note,
  orderOf,
  totalOf,
  type OpenNote,
  type Told,
} from "../../support/credit-source.ts";
import { toyKeys, toyProof } from "../../support/toy-keys.ts";
import { NO_UPDATE } from "../../../scripts/stack/pool-transaction.ts";
import {
  FIELD_ORDER,
  mustField,
  ZERO_ADDRESS,
  ZERO_BYTES32,
  type Address,
} from "../../../shared/protocol/brands.ts";
import { toHex } from "../../../shared/protocol/bytes.ts";
import { poseidon3 } from "../../../shared/protocol/host/poseidon.ts";
import { CIPHERTEXT_BYTES } from "../../../shared/protocol/statements.ts";
import { emptyNode, nextHead, TREE_DEPTH } from "../../../shared/protocol/tree.ts";
import { advanceOver, recover } from "./recovery.ts";
import { DAY, GAS, nextBlockAt, nextBlockTomorrow, now } from "./told-world.ts";
import { actingAs, fault, freshAddress, mustAddress, World, type Credited, type Fault } from "./world.ts";

/** In ConfigurableToken.sol. */
const TOKEN_BEHAVIOURS = {
  Honest: 0,
  ReturnsFalse: 2,
  TakesFee: 4,
  MovesNothing: 5,
  Reenters: 8,
  HidesBalance: 9,
};
const MOST_NOTES = 64;
const MOST_VALUE = 2n ** 128n - 1n;
const CAPACITY = 4n ** BigInt(TREE_DEPTH);
const WINDOW_LEAVES = 252n;
const HELD = 10n ** 12n;
/** Account 1. */
const GUARDIAN = mustAddress("0x70997970C51812dc3A010C7d01b50e0d17dc79C8");

/** One word of an ABI encoding. */
const word = (value: bigint): string => value.toString(16).padStart(64, "0");
const notesOf = (count: number): OpenNote[] => Array.from({ length: count }, () => note());

describe("pool: credit", function () {
  let world: World;
  let source: Contract;
  let sourceAddress: Address;
  let configurable: Contract;
  let configurableAddress: Address;
  let restore: () => Promise<void>;
  before(async () => {
    world = await World.start({
      ...{ executor: "ConfigurableExecutor", moreAssets: ["ConfigurableToken", "TestUSDC"] },
      ...{ keys: toyKeys(), minimumCap: 16_000_000n, guardian: GUARDIAN },
    });
    sourceAddress = (await deployContract(world.owner, "ConfigurableSource", [])).address;
    source = await contractAt("ConfigurableSource", sourceAddress);
    configurableAddress = world.moreAssets[0]!;
    configurable = await contractAt("ConfigurableToken", configurableAddress);
    for (const token of [world.usdc, configurable]) await world.call(token, "mint", sourceAddress, HELD);
    assert.equal(typeof (await world.executeOne(await world.deposit())), "bigint");
  });
  beforeEach(async () => {
    restore = await world.remember();
  });
  afterEach(() => restore());
  after(() => world.stop());

  const contractAt = async (name: string, address: string): Promise<Contract> =>
    new Contract(address, (await loadArtifact(name)).abi, world.owner);
  const balance = (asset: string, account: string = world.setting.home.pool): Promise<bigint> =>
    new Contract(asset, configurable.interface, world.provider).getFunction("balanceOf")(account);
  const poolCall = (name: string, ...args: unknown[]): string =>
    world.pool.interface.encodeFunctionData(name, args);
  const tokenIs = (behaviour: keyof typeof TOKEN_BEHAVIOURS): Promise<unknown> =>
    world.call(configurable, "setBehaviour", TOKEN_BEHAVIOURS[behaviour]);
  const queue = async (): Promise<unknown[]> => [...(await world.pool.getFunction("queue")())];
  const checkpointAt = (count: bigint, head: string): Promise<bigint> =>
    world.pool.getFunction("checkpointTime")(count, head);

  const credit = (
    order: string,
    asset: string = world.usdcAddress,
    ...overrides: readonly object[]
  ): Promise<ContractTransactionReceipt> =>
    world.call(source, "credit", world.setting.home.pool, asset, order, ...overrides);

  async function credited(
    notes: readonly OpenNote[],
    changes: Partial<Told> = {},
  ): Promise<readonly Credited[]> {
    // An estimate is made in the second of the block before, in which a level that is full is written as it was.
    const order = orderOf(notes, changes);
    const made = world.takeCredited(await credit(order, world.usdcAddress, { gasLimit: GAS }));
    assert.deepEqual(await queue(), [world.queue.count, world.queue.head]);
    return made;
  }

  /** Refused whole: neither leaf nor money stays. */
  async function assertRefused(
    order: string,
    expected: Fault,
    asset: string = world.usdcAddress,
  ): Promise<void> {
    const state = async (): Promise<unknown[]> => [await queue(), await balance(world.usdcAddress)];
    const before = await state();
    assert.deepEqual(await world.revertOf(credit(order, asset)), expected);
    assert.deepEqual(await state(), before);
  }

  /** The same where the call ends without a word of the pool's. */
  async function assertFails(order: string, gasLimit = 10_000_000n): Promise<string> {
    const before = [await queue(), await balance(world.usdcAddress)];
    const failed = await source
      .getFunction("credit")
      .staticCall(world.setting.home.pool, world.usdcAddress, order, { gasLimit })
      .then(
        () => assert.fail("was not refused"),
        (error: unknown) => error as { data?: string | null },
      );
    assert.deepEqual([await queue(), await balance(world.usdcAddress)], before);
    return failed.data ?? "0x";
  }

  describe("honest", () => {
    it("makes one note after the other, hashed as every reader hashes them, for exactly the money that came", async () => {
      const notes = [
        note({ value: 1n }),
        note({ value: 2_000_000n }),
        note({ npk: 1n }),
        note({ npk: FIELD_ORDER - 1n }),
      ];
      const [first, held] = [world.queue.count, await balance(world.usdcAddress)];
      const args = [world.setting.home.pool, world.usdcAddress, orderOf(notes)];
      assert.equal(await source.getFunction("credit").staticCall(...args), first);
      const made = await credited(notes);
      assert.deepEqual(
        made.map(({ npk, value, ephemeralKey, ciphertext }) => ({ npk, value, ephemeralKey, ciphertext })),
        notes,
      );
      for (const [i, { leafIndex, commitment, npk, asset, value }] of made.entries()) {
        assert.deepEqual([leafIndex, asset], [first + BigInt(i), world.usdcAddress]);
        assert.equal(commitment, poseidon3(npk, BigInt(world.usdcAddress), value));
      }
      assert.equal(await balance(world.usdcAddress), held + totalOf(notes));
    });

    it("makes 64 in a call, and as many again behind them", async () => {
      for (let i = 0; i < 2; i++) {
        const notes = notesOf(MOST_NOTES);
        assert.equal((await credited(notes)).length, MOST_NOTES);
      }
    });

    it("makes a note of the largest value that there is", async () => {
      await world.call(configurable, "mint", sourceAddress, MOST_VALUE);
      const receipt = await credit(orderOf([note({ value: MOST_VALUE })]), configurableAddress);
      assert.equal(world.takeCredited(receipt)[0]?.value, MOST_VALUE);
    });

    it("twice in one transaction: each counts its own money", async () => {
      const [first, second] = [notesOf(2), notesOf(3)];
      const receipt = await world.call(
        ...([source, "creditTwice", world.setting.home.pool, world.usdcAddress] as const),
        ...[orderOf(first), orderOf(second)],
      );
      assert.equal(world.takeCredited(receipt).length, 5);
      await assertRefused(
        orderOf(first, { moved: totalOf(first) + 1n }),
        fault("TransferMismatch", totalOf(first), totalOf(first) + 1n),
      );
    });

    it("goes on while the attested path is closed: nobody's word is needed", async () => {
      await world.call(actingAs(world.pool, await world.account(1)), "pause");
      assert.equal(((await world.executeOne(world.transfer())) as Fault).error, "AttestedPathShut");
      assert.equal((await credited(notesOf(1))).length, 1);
    });
  });

  describe("amounts", () => {
    it("TransferMismatch: a source that brings less or more than its notes say, or nothing", async () => {
      const notes = notesOf(3);
      const total = totalOf(notes);
      for (const moved of [0n, 1n, total - 1n, total + 1n, 2n * total])
        await assertRefused(orderOf(notes, { moved }), fault("TransferMismatch", total, moved));
    });

    it("TransferMismatch: money that was in the pool before is nobody's to claim", async () => {
      await world.call(world.usdc, "mint", world.setting.home.pool, 5_000n);
      await assertRefused(
        orderOf([note({ value: 5_000n })], { moved: 0n }),
        fault("TransferMismatch", 5_000n, 0n),
      );
    });

    it("TransferMismatch: values whose sum is more than any balance", async () => {
      const notes = Array.from({ length: MOST_NOTES }, () => note({ value: MOST_VALUE }));
      await assertRefused(
        orderOf(notes, { moved: 1n }),
        fault("TransferMismatch", BigInt(MOST_NOTES) * MOST_VALUE, 1n),
      );
    });

    it("ZeroAmount: a note of nothing, alone or among others", async () => {
      await assertRefused(orderOf([note({ value: 0n })]), fault("ZeroAmount"));
      await assertRefused(orderOf([note(), note({ value: 0n })]), fault("ZeroAmount"));
    });

    it("a value above 128 bits is no value", async () => {
      const value = 0xabcdefn;
      const answered = answerOf([note({ value })]).replace(word(value), word(2n ** 128n));
      assert.equal(await assertFails(orderOf([], { behaviour: "AnswersRaw", answered, moved: 7n })), "0x");
    });

    for (const [behaviour, expected] of [
      ["TakesFee", fault("TransferMismatch", 1_000n, 990n)],
      ["MovesNothing", fault("TransferMismatch", 1_000n, 0n)],
      ["HidesBalance", fault("TransferRefused", "0x")],
    ] as const)
      it(`${expected.error}: a token that ${behaviour}`, async () => {
        await tokenIs(behaviour);
        await assertRefused(orderOf([note()]), expected, configurableAddress);
      });
  });

  describe("notes", () => {
    it("NoteCount: none, or more than 64", async () => {
      for (const count of [0, MOST_NOTES + 1, 200])
        await assertRefused(orderOf(notesOf(count)), fault("NoteCount", BigInt(count)));
    });

    it("NpkOutOfRange: a key that is zero or not below r", async () => {
      for (const npk of [0n, FIELD_ORDER, FIELD_ORDER + 1n, 2n ** 256n - 1n])
        await assertRefused(orderOf([note(), note({ npk })]), fault("NpkOutOfRange"));
    });

    it("CiphertextLength: any but 53 bytes", async () => {
      for (const length of [0, 1, CIPHERTEXT_BYTES - 1, CIPHERTEXT_BYTES + 1, 300]) {
        const bent = note({ ciphertext: toHex(drawBytes(length)) });
        await assertRefused(orderOf([bent]), fault("CiphertextLength", BigInt(length)));
      }
    });

    it("TreeFull: more than there are places; the last stays empty", async () => {
      await world.pretendLeafCount(CAPACITY - 2n);
      await assertRefused(orderOf(notesOf(2)), fault("TreeFull"));
      assert.equal((await credited(notesOf(1)))[0]?.leafIndex, CAPACITY - 2n);
      await assertRefused(orderOf(notesOf(1)), fault("TreeFull"));
    });
  });

  describe("assets and brakes", () => {
    it("AssetUnsupported: unlisted, delisted, or no token at all", async () => {
      const { address } = await deployContract(world.owner, "TestUSDC", []);
      await world.call(await contractAt("TestUSDC", address), "mint", sourceAddress, HELD);
      for (const asset of [address, ZERO_ADDRESS, freshAddress(), world.setting.home.pool])
        await assertRefused(orderOf(notesOf(1)), fault("AssetUnsupported", getAddress(asset)), asset);
      await world.call(world.pool, "delistAsset", world.usdcAddress);
      await assertRefused(orderOf(notesOf(1)), fault("AssetUnsupported", getAddress(world.usdcAddress)));
    });

    it("DepositsStopped: once something false was proved", async () => {
      const root = emptyNode(TREE_DEPTH);
      const { transaction } = seal({ ...world.withdrawalDraft(freshAddress(), 1n), root });
      const args = [transaction.kind, transaction.signals, toyProof(transaction.signals)];
      assert.ok((await recover(world, "reportUnsound", args)).said.includes("Unsound"));
      await assertRefused(orderOf(notesOf(1)), fault("DepositsStopped"));
    });

    it("counts in: as much as the bucket may leave again, and no cap that stands is raised", async () => {
      const room = async (): Promise<bigint> =>
        ((await world.pool.getFunction("room")(world.usdcAddress)) as bigint[])[0]!;
      // The movement that fixes the cap is the credit.
      await nextBlockTomorrow(world);
      await world.provider.send("evm_mine", []);
      const before = await room();
      await credited([note({ value: 700_000n }), note({ value: 300_000n })]);
      assert.equal(await room(), before + 1_000_000n);
    });
  });

  describe("a source", () => {
    it("Reentered: that opens any door of the pool while its money is counted", async () => {
      const deposit = seal(
        depositDraft(world.setting, { asset: world.usdcAddress, amount: 1_000n, depositor: sourceAddress }),
      );
      for (const message of [
        poolCall("execute", [deposit.transaction], NO_UPDATE),
        poolCall("execute", [world.transfer().transaction], NO_UPDATE),
        poolCall("execute", [], world.updateTo(world.queue)),
        poolCall("credit", world.usdcAddress, orderOf([note()])),
        poolCall("payClaim", world.usdcAddress, 0n),
        poolCall("removeClaim", world.usdcAddress, 0n),
        poolCall("advance", [], 1n, ZERO_BYTES32, [1n], []),
        poolCall("releaseBond", sourceAddress),
      ]) {
        const again = await world.remember();
        const made = await credited(notesOf(2), {
          behaviour: "Calls",
          target: world.setting.home.pool,
          message,
        });
        assert.equal(made.length, 2);
        assert.equal(await source.getFunction("wasRefused")(), true);
        assert.deepEqual(world.faultOf(await source.getFunction("answer")()), fault("Reentered"));
        await again();
      }
    });

    it("Reentered: that has its money counted by another credit inside its own", async () => {
      const { address: inner } = await deployContract(world.owner, "ConfigurableSource", []);
      await world.call(world.usdc, "mint", inner, HELD);
      const message = source.interface.encodeFunctionData("credit", [
        ...[world.setting.home.pool, world.usdcAddress, orderOf([note({ value: 400n })])],
      ]);
      await credited([note()], { behaviour: "Calls", target: inner, message });
      assert.deepEqual(world.faultOf(await source.getFunction("answer")()), fault("Reentered"));
      assert.equal(await balance(world.usdcAddress, inner), HELD);
    });

    it("that answers with 100 kB behind its notes is counted by its notes; all of it as one list is none", async () => {
      const notes = notesOf(2);
      const moved = totalOf(notes);
      const raw = { behaviour: "AnswersRaw" as const, moved };
      const long = `${answerOf(notes)}${"ff".repeat(100_000)}`;
      const made = world.takeCredited(await credit(orderOf(notes, { ...raw, answered: long })));
      assert.deepEqual(
        made.map(({ npk }) => npk),
        notes.map(({ npk }) => npk),
      );
      for (const answered of [
        "0x",
        `0x${"ff".repeat(100_000)}`,
        answerOf(notes).slice(0, -64),
        // A list of 2^64 notes, of as many as there are words, and one that begins behind its end.
        `0x${word(32n)}${word(2n ** 64n)}`,
        `0x${word(32n)}${word(2n ** 255n)}`,
        `0x${word(2n ** 200n)}`,
        `0x${word(32n)}${word(1n)}${word(2n ** 64n)}`,
      ])
        await assertFails(orderOf([], { ...raw, answered }));
    });

    it("NoteCount: that names one note 65 times over in a short answer", async () => {
      const count = BigInt(MOST_NOTES + 1);
      const one = answerOf([note({ value: 1n })]).slice(2 + 3 * 64);
      const offsets = word(32n * count).repeat(Number(count));
      const answered = `0x${word(32n)}${word(count)}${offsets}${one}`;
      await assertRefused(
        orderOf([], { behaviour: "AnswersRaw", answered, moved: count }),
        fault("NoteCount", count),
      );
    });

    it("that refuses or burns all gas harms nobody but its caller", async () => {
      const answered = `0x08c379a0${"00".repeat(50_000)}`;
      await assertFails(orderOf(notesOf(1), { behaviour: "RevertsAtLength", answered }));
      await assertFails(orderOf(notesOf(1), { behaviour: "BurnsGas" }), 3_000_000n);
      assert.equal((await credited(notesOf(1))).length, 1);
    });

    it("without code brings nothing", async () => {
      const data = poolCall("credit", world.usdcAddress, "0x");
      const call = { from: world.owner.address, to: world.setting.home.pool, data };
      await assert.rejects(world.provider.call(call));
    });
  });

  it("Reentered: a venue in the middle of a swap, and a token that moves", async () => {
    const venue = await contractAt("ConfigurableExecutor", world.executor!);
    const message = source.interface.encodeFunctionData("credit", [
      ...[world.setting.home.pool, world.usdcAddress, orderOf([note()])],
    ]);
    await world.call(venue, "set", 7, 500n);
    await world.call(venue, "setCall", sourceAddress, message);
    const swap = seal(world.swapDraft({ amount: 1_000n, tokenOut: world.moreAssets[1]!, minAmountOut: 1n }));
    assert.equal(typeof (await world.executeOne(swap)), "bigint");
    assert.deepEqual(world.faultOf(await venue.getFunction("answer")()), fault("Reentered"));

    await tokenIs("Reenters");
    await world.call(configurable, "setReentry", sourceAddress, message);
    const receipt = await credit(orderOf([note({ value: 10n })]), configurableAddress);
    assert.equal(world.takeCredited(receipt).length, 1);
    assert.deepEqual(world.faultOf(await configurable.getFunction("answer")()), fault("Reentered"));
  });

  describe("the queue", () => {
    it("takes an update up to the end of a credit, with payments of the call that carries it behind", async () => {
      await credited(notesOf(3));
      const end = world.queue;
      assert.equal(typeof (await world.execute([world.transfer()], world.updateTo(end))).update, "bigint");
      await credited(notesOf(1));
      await credited(notesOf(2));
      const members = [world.transfer()];
      const { update } = await world.execute(members, world.updateTo(world.after(members)));
      assert.equal(typeof update, "bigint");
      // An update that was made for its end fits after strangers added leaves.
      await credited(notesOf(2));
      const made = world.updateTo(world.queue);
      await credited(notesOf(5));
      assert.equal(typeof (await world.execute([], made)).update, "bigint");
    });

    it("each note is a boundary: a window's checkpoint stands behind its first, for ever", async () => {
      const heads = [world.queue];
      while (world.queue.count <= 2n * WINDOW_LEAVES) {
        let { head, count } = world.queue;
        for (const { commitment } of await credited(notesOf(MOST_NOTES))) {
          head = nextHead(head, mustField(commitment));
          count += 1n;
          heads.push({ head, count });
        }
      }
      // Ends of calls are in the ring; whatever comes later takes their places.
      for (let i = 0; i < 5; i++) await credited(notesOf(MOST_NOTES));
      for (const { count, head } of heads) {
        if (count === WINDOW_LEAVES || count === 2n * WINDOW_LEAVES)
          assert.notEqual(await checkpointAt(count, head), 0n, `${count}`);
      }
      for (const window of [1n, 2n]) {
        const end = heads.find(({ count }) => count === window * WINDOW_LEAVES)!;
        assert.equal(typeof (await world.execute([], world.updateTo(end))).update, "bigint");
      }
    });

    it("RootUpdateHead: inside a credit, where no window begins", async () => {
      const { count, head } = world.queue;
      const [first] = await credited(notesOf(3));
      const inside = { count: count + 1n, head: nextHead(head, mustField(first!.commitment)) };
      assert.deepEqual((await world.execute([], world.updateTo(inside))).update, fault("RootUpdateHead"));
    });

    it("goes into the tree by anybody's `advance` as well", async () => {
      await credited(notesOf(5));
      await nextBlockAt(world, (await now(world)) + DAY);
      await recover(world, "advance", advanceOver(world));
      assert.equal(world.rooted.count, world.queue.count);
    });
  });
});
