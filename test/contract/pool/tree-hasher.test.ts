// The tree on chain against `Frontier` of shared/protocol, and its numbers against the paper's generator. See tree-hasher.tree.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { Interface, JsonRpcProvider } from "ethers";
import { loadArtifact } from "../../../scripts/build/contracts.ts";
import { deployContract } from "../../../scripts/deploy/pool.ts";
import { FIELD_ORDER, type Address, type Field } from "../../../shared/protocol/brands.ts";
import { bytesToUint } from "../../../shared/protocol/bytes.ts";
import { digitAt, Frontier, TREE_CAPACITY, TREE_DEPTH } from "../../../shared/protocol/tree.ts";
import { startAnvil, type Anvil } from "../../support/chain.ts";
import { drawBytes, drawField } from "../../support/drafts.ts";
import { EMPTY_ROOTS, treeOf } from "../../support/leaf-tree.ts";
import { poseidonRecurrence, tableNumbers } from "../../support/poseidon-recurrence.ts";
import { PROJECT_ROOT } from "../../support/tree.ts";

const CAPACITY = Number(TREE_CAPACITY);
const MOST = 2n ** 256n - 1n;
const NOT_CANONICAL = [FIELD_ORDER, FIELD_ORDER + 1n, MOST];
const VOID = 0n as Field;

const drawLeaves = (count: number): Field[] => Array.from({ length: count }, drawField);
const drawBelow = (end: number): number => Number(bytesToUint(drawBytes(8)) % BigInt(end));

/** Any numbers are a frontier, if there are as many as the index asks for. */
function drawNodes(fromIndex: number): Field[] {
  const digits = Array.from({ length: TREE_DEPTH }, (_, level) => digitAt(BigInt(fromIndex), level));
  return drawLeaves(digits.reduce((sum, digit) => sum + digit));
}

const SHAPES: readonly (readonly [fromIndex: number, count: number])[] = [
  ...[1, 2, 3, 4, 5, 16, 64, 255, 256].map((count) => [0, count] as const),
  ...[1, 2, 3, 4].flatMap((place) => [1, 4, 7].map((count) => [4 + place, count] as const)),
  // Aligned, and over the borders of many levels at once.
  ...[
    [256, 256],
    [64, 192],
    [4 ** 8, 64],
    [4 ** 15, 1],
  ].map(([from, count]) => [from!, count!] as const),
  ...[2, 5, 8, 12, 15].flatMap((level) => [1, 5, 256].map((count) => [4 ** level - 1, count] as const)),
  // The last leaves that there are places for.
  ...[1, 3, 64, 256].map((count) => [CAPACITY - 1 - count, count] as const),
];

describe("contracts: tree hasher", function () {
  let anvil: Anvil;
  let provider: JsonRpcProvider;
  let address: Address;
  let abi: Interface;
  before(async () => {
    anvil = await startAnvil();
    provider = new JsonRpcProvider(anvil.url, anvil.chainId, { staticNetwork: true, pollingInterval: 10 });
    ({ address } = await deployContract(await provider.getSigner(0), "TreeHasher", []));
    abi = new Interface((await loadArtifact("ITreeHasher")).abi);
  });
  after(async () => {
    provider.destroy();
    await anvil.stop();
  });

  type Arguments = readonly [
    frontier: readonly bigint[],
    fromIndex: number | bigint,
    leaves: readonly bigint[],
  ];
  const encode = (args: Arguments): string => abi.encodeFunctionData("append", [...args]);

  async function append(...args: Arguments): Promise<[oldRoot: bigint, newRoot: bigint]> {
    const answer = await provider.call({ to: address, data: encode(args) });
    const [oldRoot, newRoot] = abi.decodeFunctionResult("append", answer);
    return [oldRoot as bigint, newRoot as bigint];
  }

  /** `Name(argument)`, or "0x" when nothing was said. */
  async function refusal(data: string): Promise<string> {
    const failed = (await provider.call({ to: address, data }).then(
      () => assert.fail("was not refused"),
      (error: unknown) => error,
    )) as { data?: string };
    assert.ok(failed.data !== undefined, "the node gave no reason");
    const error = failed.data === "0x" ? null : abi.parseError(failed.data);
    return error === null ? failed.data : `${error.name}(${String(error.args)})`;
  }

  describe("its numbers", () => {
    const source = (file: string): Promise<string> =>
      readFile(path.join(PROJECT_ROOT, "shared/contracts/proofs", file), "utf8");
    const numbersIn = (text: string, pattern: RegExp): bigint[] =>
      [...text.matchAll(pattern)].map(([, digits = ""]) => BigInt(`0x${digits}`));
    const WORD = /hex"([0-9a-f]{64})"/g;

    it("are the generator's, or derived from them, every one", async () => {
      const recurrence = poseidonRecurrence(4);
      assert.deepEqual(numbersIn(await source("PoseidonTreeTable.sol"), WORD), tableNumbers(recurrence));
      const hasher = await source("TreeHasher.sol");
      const constants = (name: string): bigint[] =>
        numbersIn(hasher, new RegExp(`constant ${name} = 0x([0-9a-f]{64});`, "g"));
      assert.deepEqual(constants("M\\d\\d"), recurrence.drawn.matrix.flat());
      assert.deepEqual(constants("A\\d"), recurrence.feedback);
      assert.deepEqual(constants("B\\d"), recurrence.input);
      assert.deepEqual(constants("R"), [FIELD_ORDER]);
    });

    it("are the empty nodes of every height", async () => {
      assert.deepEqual(numbersIn(await source("TreeHasher.sol"), WORD), EMPTY_ROOTS);
    });
  });

  describe("appending", () => {
    async function assertLikeFrontier(fromIndex: number, leaves: readonly Field[]): Promise<void> {
      const nodes = drawNodes(fromIndex);
      const frontier = Frontier.from(BigInt(fromIndex), nodes)!;
      const oldRoot = frontier.root();
      for (const leaf of leaves) assert.ok(frontier.append(leaf));
      assert.deepEqual(
        await append(nodes, fromIndex, leaves),
        [oldRoot, frontier.root()],
        `${leaves.length} leaves at ${fromIndex}`,
      );
    }

    it("gives the roots before and after, as Frontier does: borders of levels, first and last places", async () => {
      for (const [fromIndex, count] of SHAPES) await assertLikeFrontier(fromIndex, drawLeaves(count));
    });

    it("does so from any index, for any count up to 256", async () => {
      for (let i = 0; i < 100; i++) {
        const fromIndex = drawBelow(Math.max(4 ** (1 + (i % TREE_DEPTH)) - 257, 256));
        await assertLikeFrontier(fromIndex, drawLeaves(1 + drawBelow(i % 4 === 0 ? 256 : 24)));
      }
    });

    it("takes the ends of the range", async () => {
      for (const end of [0n, 1n, FIELD_ORDER - 1n])
        await assertLikeFrontier(
          4 ** 5 - 3,
          Array.from({ length: 40 }, () => end as Field),
        );
      const nodes = Array.from({ length: 3 * TREE_DEPTH }, () => (FIELD_ORDER - 1n) as Field);
      const root = Frontier.from(TREE_CAPACITY - 1n, nodes)!.root();
      assert.deepEqual(await append(nodes, CAPACITY - 1, []), [root, root]);
    });

    it("of no leaves gives the same root twice", async () => {
      for (const fromIndex of [0, 1, 4, 63, 64, 1_000, CAPACITY - 1]) await assertLikeFrontier(fromIndex, []);
    });
  });

  describe("void leaves", () => {
    const assertLikeTree = async (before: readonly Field[], leaves: readonly Field[]): Promise<void> => {
      const { frontier, root } = treeOf(before);
      assert.deepEqual(
        await append(frontier, before.length, leaves),
        [root, treeOf([...before, ...leaves]).root],
        `${leaves.length} leaves behind ${before.length}`,
      );
    };
    const voids = (count: number): Field[] => Array.from({ length: count }, () => VOID);

    it("keep their places among others", async () => {
      for (let i = 0; i < 40; i++) {
        const drawn = (count: number): Field[] =>
          drawLeaves(count).map((leaf) => (drawBelow(2) === 0 ? VOID : leaf));
        await assertLikeTree(drawn(drawBelow(90)), drawn(1 + drawBelow(90)));
      }
    });

    for (const count of [1, 3, 4, 5, 16, 17, 64, 65, 256])
      it(`${count} side by side: appended, and as empty nodes in the frontier`, async () => {
        for (const lead of [0, 1, 4, 16, 64, 77]) {
          const before = drawLeaves(lead);
          await assertLikeTree(before, voids(count));
          await assertLikeTree(before, [...voids(count), ...drawLeaves(3)]);
          const after = [...before, ...voids(count)];
          await assertLikeTree(after, drawLeaves(1));
          await assertLikeTree(after, drawLeaves(30));
          await assertLikeTree(after, voids(30));
          await assertLikeTree(after, []);
        }
      });

    it("are told from a shorter tree by the index alone", async () => {
      const { frontier } = treeOf(voids(7));
      assert.deepEqual(frontier, [VOID, VOID, VOID, EMPTY_ROOTS[1]]);
      assert.deepEqual(await append(frontier, 7, []), [EMPTY_ROOTS[16], EMPTY_ROOTS[16]]);
      assert.equal(await refusal(encode([frontier, 0, []])), "FrontierLength(4)");
    });
  });

  describe("refuses", () => {
    const FROM = 4 ** 6 + 27;
    const nodes = drawNodes(FROM);

    it("a frontier of another length", async () => {
      for (const fromIndex of [0, 1, 3, 4, FROM, CAPACITY - 2]) {
        const right = drawNodes(fromIndex);
        for (const wrong of [right.slice(1), right.slice(0, -1), [...right, drawField()], []])
          if (wrong.length !== right.length)
            assert.equal(await refusal(encode([wrong, fromIndex, [1n]])), `FrontierLength(${wrong.length})`);
      }
    });

    it("a word at or above r, wherever it stands", async () => {
      const leaves = drawLeaves(6);
      for (const word of NOT_CANONICAL) {
        for (let i = 0; i < nodes.length; i++)
          assert.equal(
            await refusal(encode([nodes.with(i, word as Field), FROM, leaves])),
            `NotCanonical(${word})`,
          );
        for (let i = 0; i < leaves.length; i++)
          assert.equal(
            await refusal(encode([nodes, FROM, leaves.with(i, word as Field)])),
            `NotCanonical(${word})`,
          );
      }
    });

    it("more leaves than there are places: the last stays empty", async () => {
      for (const count of [1, 2, 64, 256]) {
        const fromIndex = CAPACITY - count;
        const full = encode([drawNodes(fromIndex), fromIndex, drawLeaves(count)]);
        assert.equal(await refusal(full), "TreeFull()");
      }
      assert.equal(await refusal(encode([[], CAPACITY, []])), "TreeFull()");
      assert.equal(await refusal(encode([[], 2n ** 64n - 1n, [1n]])), "TreeFull()");
    });

    it("lists that are not there, whatever their lengths say", async () => {
      const good = encode([nodes, FROM, [1n, 2n]]);
      const patched = (place: number, value: bigint): string =>
        good.slice(0, 10 + 64 * place) +
        value.toString(16).padStart(64, "0") +
        good.slice(10 + 64 * (place + 1));
      const lengthOfFrontier = 3;
      const lengthOfLeaves = lengthOfFrontier + nodes.length + 1;
      assert.equal(patched(lengthOfFrontier, BigInt(nodes.length)), good);
      assert.equal(patched(lengthOfLeaves, 2n), good);
      for (const length of [3n, 2n ** 32n, 2n ** 59n, 2n ** 64n, 2n ** 251n, MOST])
        assert.equal(await refusal(patched(lengthOfLeaves, length)), "0x");
      for (const length of [BigInt(nodes.length) + 4n, 2n ** 32n, 2n ** 59n, 2n ** 251n, MOST])
        assert.equal(await refusal(patched(lengthOfFrontier, length)), "0x");
      for (const place of [0, 2])
        for (const offset of [2n ** 32n, 2n ** 255n, MOST])
          assert.equal(await refusal(patched(place, offset)), "0x");
      // An index above 64 bits.
      assert.equal(await refusal(patched(1, 2n ** 64n)), "0x");
      for (const cut of [2, 64, 66, 100, 200]) assert.equal(await refusal(good.slice(0, -cut)), "0x");
    });
  });

  it("gives another old root for another frontier", async () => {
    const fromIndex = CAPACITY - 300;
    const nodes = drawNodes(fromIndex);
    const [right] = await append(nodes, fromIndex, [1n]);
    for (let i = 0; i < nodes.length; i++) {
      const [oldRoot] = await append(nodes.with(i, drawField()), fromIndex, [1n]);
      assert.notEqual(oldRoot, right, `node ${i}`);
    }
    for (let i = 1; i < nodes.length; i++) {
      const swapped = nodes.with(i, nodes[i - 1]!).with(i - 1, nodes[i]!);
      assert.notEqual((await append(swapped, fromIndex, [1n]))[0], right, `nodes ${i - 1} and ${i}`);
    }
  });

  it("calls nobody, keeps nothing and sees nothing but its arguments", async () => {
    const found = opcodes(await provider.getCode(address));
    assert.ok(found.includes(MULMOD) && found.includes(CALLDATALOAD) && found.includes(RETURN));
    assert.deepEqual(
      found.filter((code) => LOOKING_AROUND.some(([first, last]) => first <= code && code <= last)),
      [],
    );
  });

  for (const [count, most] of [
    [64, 30_000],
    [256, 17_000],
  ] as const)
    it(`costs at most ${most.toLocaleString("en")} gas a leaf at ${count}, from a place that is not aligned`, async () => {
      const fromIndex = 54_321;
      const data = encode([drawNodes(fromIndex), fromIndex, drawLeaves(count)]);
      const used = Number(await provider.estimateGas({ to: address, data }));
      assert.ok(used <= most * count, `${used / count} gas a leaf`);
    });
});

const [MULMOD, CALLDATALOAD, RETURN] = [0x09, 0x35, 0xf3] as const;
/** Accounts and blocks, storage of both kinds, logs and calls; not the call's value and data, nor the contract's own code. */
const LOOKING_AROUND = [
  [0x30, 0x33],
  [0x3a, 0x3f],
  [0x40, 0x4f],
  [0x54, 0x55],
  [0x5c, 0x5d],
  [0xa0, 0xf2],
  [0xf4, 0xfc],
  [0xff, 0xff],
] as const;

/** Of what can run: what a PUSH brings is left out. */
function opcodes(code: string): number[] {
  const bytes = Buffer.from(code.slice(2), "hex");
  const found: number[] = [];
  for (let at = 0; at < bytes.length; at++) {
    const opcode = bytes[at]!;
    found.push(opcode);
    if (opcode >= 0x60 && opcode <= 0x7f) at += opcode - 0x5f;
  }
  return found;
}
