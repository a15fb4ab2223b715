// Arithmetic modulo P-384's p and n on chain against BigInt, at the ends of what each function takes. See field384.tree.
import assert from "node:assert/strict";
import { Contract, JsonRpcProvider } from "ethers";
import { loadArtifact } from "../../../scripts/build/contracts.ts";
import { deployContract } from "../../../scripts/deploy/pool.ts";
import { FIELD, SCALARS } from "../../../shared/client/chain/nitro/p384-curve.ts";
import { bytesToUint } from "../../../shared/protocol/bytes.ts";
import { startAnvil, type Anvil } from "../../support/chain.ts";
import { drawBytes } from "../../support/drafts.ts";

const P = FIELD.ORDER;
const N = SCALARS.ORDER;
/** As in Field384.sol. */
const REDUCED = (1n << 384n) + (1n << 200n);
const LOOSE = 16n * P + 1n;
const UNREDUCED = 1n << 455n;
const WORD = 1n << 256n;
const OPERATIONS = [
  "mul",
  "mulSub",
  "add",
  "sub",
  "reduce",
  "scaled",
  "scalarMul",
  "scalarAdd",
  "scalarNegated",
] as const;
type Operation = (typeof OPERATIONS)[number];

/** Numbers where words, halves and multiples of p begin and end, and numbers of every length. */
function numbersBelow(end: bigint, drawn: number): bigint[] {
  const corners = [0, 32, 64, 96, 128, 192, 200, 255, 256, 320, 383, 384, 385, 387]
    .map((bits) => 1n << BigInt(bits))
    .concat([P, 2n * P, 3n * P, 15n * P, N, WORD - 1n, end])
    .flatMap((corner) => [corner - 2n, corner - 1n, corner, corner + 1n]);
  // The high word alone, the low word full.
  corners.push(end - WORD, ((end >> 256n) - 1n) * WORD, ((end >> 256n) - 1n) * WORD + 1n);
  const random = Array.from({ length: drawn }, () => {
    const bits = Number(bytesToUint(drawBytes(2)) % BigInt(end.toString(2).length + 1));
    return bytesToUint(drawBytes(64)) & ((1n << BigInt(bits)) - 1n);
  });
  return [...corners, ...random].filter((number) => number >= 0n && number < end);
}

const split = (number: bigint): [bigint, bigint] => [number / WORD, number % WORD];
type Operands = readonly [a: bigint, b: bigint, c?: bigint];
const pairsOf = (left: readonly bigint[], right: readonly bigint[]): [bigint, bigint][] =>
  left.flatMap((a) => right.map((b): [bigint, bigint] => [a, b]));

describe("contracts: arithmetic of P-384", function () {
  let anvil: Anvil;
  let provider: JsonRpcProvider;
  let harness: Contract;
  before(async () => {
    anvil = await startAnvil();
    provider = new JsonRpcProvider(anvil.url, anvil.chainId, { staticNetwork: true, pollingInterval: 10 });
    const { address } = await deployContract(await provider.getSigner(0), "Field384Harness", []);
    harness = new Contract(address, (await loadArtifact("Field384Harness")).abi, provider);
  });
  after(async () => {
    provider.destroy();
    await anvil.stop();
  });

  /** Calls `check` with what the contract says of each pair. */
  async function each(
    operation: Operation,
    pairs: readonly Operands[],
    check: (result: bigint, a: bigint, b: bigint, c: bigint) => boolean,
  ): Promise<void> {
    assert.ok(pairs.length > 50);
    for (let from = 0; from < pairs.length; from += 1_000) {
      const some = pairs.slice(from, from + 1_000);
      const operands = some.map(([a, b, c = 0n]) => [...split(a), ...split(b), ...split(c)]);
      const results = (await harness.getFunction("apply_")(OPERATIONS.indexOf(operation), operands)) as [
        bigint,
        bigint,
      ][];
      assert.equal(results.length, some.length);
      for (const [i, [hi, lo]] of results.entries()) {
        const [a, b, c = 0n] = some[i]!;
        assert.ok(check(hi * WORD + lo, a, b, c), `${operation} of ${a}, ${b}, ${c}: ${hi} ${lo}`);
      }
    }
  }

  const isMontgomery = (result: bigint, a: bigint, b: bigint): boolean =>
    result < REDUCED && (result * WORD - a * b) % P === 0n;

  const isDifference = (result: bigint, a: bigint, b: bigint, c: bigint): boolean =>
    result < REDUCED && ((result + c) * WORD - a * b) % P === 0n;

  it("multiplies loose numbers: the class of a · b / 2^256, reduced", async () => {
    const numbers = numbersBelow(LOOSE, 40);
    await each("mul", pairsOf(numbers, numbers), isMontgomery);
  });

  it("multiplies numbers whose product begins or ends a word", async () => {
    const inverse = FIELD.inv(WORD);
    const pairs = numbersBelow(P, 200)
      .filter((a) => a !== 0n)
      .flatMap((a): [bigint, bigint][] =>
        // Results of 0, 1, p − 1, 2^128 and 2^256 − 1, in every spelling that is loose.
        [0n, 1n, P - 1n, 1n << 128n, WORD - 1n, WORD].flatMap((wanted): [bigint, bigint][] => {
          const b = FIELD.div(FIELD.create(wanted), FIELD.mul(a, inverse));
          return [0n, P, 14n * P].map((more): [bigint, bigint] => [a, b + more]);
        }),
      );
    await each("mul", pairs, isMontgomery);
    // And less themselves: 0, 1 and p − 1 again.
    const subtrahends = [0n, 1n, P - 1n, P, WORD - 1n, WORD, 2n * P, 16n * P - 1n, 16n * P];
    await each(
      "mulSub",
      pairs.map(([a, b], i): Operands => [a, b, subtrahends[i % subtrahends.length]!]),
      isDifference,
    );
  });

  it("multiplies and subtracts loose numbers", async () => {
    const numbers = numbersBelow(LOOSE, 40);
    const triples = numbers.flatMap((a, i) =>
      numbers.map((c, j): Operands => [a, numbers[(i * 7 + j * 11) % numbers.length]!, c]),
    );
    await each("mulSub", triples, isDifference);
  });

  it("adds, and subtracts what is at most 2p", async () => {
    const loose = numbersBelow(LOOSE, 40);
    await each("add", pairsOf(loose, loose), (result, a, b) => result === a + b);
    const subtrahends = [...numbersBelow(2n * P, 20), 2n * P];
    await each("sub", pairsOf(loose, subtrahends), (result, a, b) => result === a - b + 2n * P);
  });

  it("reduces any number below 2^455", async () => {
    const numbers = numbersBelow(UNREDUCED, 500).map((a): [bigint, bigint] => [a, 0n]);
    await each("reduce", numbers, (result, a) => result < REDUCED && (result - a) % P === 0n);
  });

  it("scales by 2^256", async () => {
    const numbers = numbersBelow(LOOSE, 200).map((a): [bigint, bigint] => [a, 0n]);
    await each("scaled", numbers, (result, a) => result < REDUCED && (result - a * WORD) % P === 0n);
  });

  it("sees a multiple of p in both reduced spellings, and what is below p and n", async () => {
    const multiples = [0n, P];
    const numbers = [
      ...numbersBelow(REDUCED, 200),
      ...multiples.flatMap((multiple) => [
        multiple - 1n,
        multiple,
        multiple + 1n,
        multiple + WORD,
        multiple - WORD,
      ]),
    ].filter((number) => number >= 0n);
    const answers = (await harness.getFunction("judge")(numbers.map(split))) as boolean[][];
    for (const [i, a] of numbers.entries())
      assert.deepEqual([...answers[i]!], [a % P === 0n, a < P, a < N, a > 0n && a < N], `${a}`);
  });

  it("multiplies, adds and negates modulo n", async () => {
    const whole = numbersBelow(1n << 384n, 30);
    await each("scalarMul", pairsOf(whole, whole), (result, a, b) => result === (a * b) % N);
    const scalars = numbersBelow(N, 30);
    await each("scalarAdd", pairsOf(scalars, scalars), (result, a, b) => result === (a + b) % N);
    await each(
      "scalarNegated",
      [...scalars, N].map((a): [bigint, bigint] => [a, 0n]),
      (result, a) => result === N - a,
    );
  });
});
