// What a proof's bytes stand for: the pool's library against the watcher's decompression and the enclave's look at points. See compressed-proof.tree.
import assert from "node:assert/strict";
import { bn254 } from "@noble/curves/bn254.js";
import { id, Interface, JsonRpcProvider } from "ethers";
import { buildGroth16 } from "../../../enclave/verify.ts";
import { loadArtifact } from "../../../scripts/build/contracts.ts";
import { verificationKeysFolder } from "../../../scripts/build/circuits/artefacts.ts";
import { deployContract, readKeys } from "../../../scripts/deploy/pool.ts";
import { decompress } from "../../../scripts/watch/groth16.ts";
import { BASE_FIELD_ORDER, type Address, type Field } from "../../../shared/protocol/brands.ts";
import { bytesToUint, concatBytes, mustFromHex, toHex, word } from "../../../shared/protocol/bytes.ts";
import { encodeProof } from "../../../shared/protocol/host/proofs.ts";
import { compressProof, decodeProof, type Proof } from "../../../shared/protocol/proof.ts";
import { signalCount } from "../../../shared/protocol/statements.ts";
import { startAnvil, type Anvil } from "../../support/chain.ts";
import { drawBytes } from "../../support/drafts.ts";
import { STATEMENTS } from "../vectors/story.ts";

const { Fp, Fp2 } = bn254.fields;
const Q = BASE_FIELD_ORDER;
const PARITY = 1n << 255n;
/** b.x.c0 has no parity. */
const FLAGGED = [0, 1, 3];

const NOTHING = 0;
const POINT = 1;
const WRONG_CLAIM = 2;

interface Claim {
  readonly compressed: Uint8Array;
  /** In the order of EIP-197. */
  readonly words: readonly bigint[];
}

const drawBelow = (end: number): number => Number(bytesToUint(drawBytes(8)) % BigInt(end));
const drawOf = <T>(values: readonly T[]): T => values[drawBelow(values.length)]!;
const drawCoordinate = (): bigint => bytesToUint(drawBytes(40)) % Q;
const ofBytes = (bytes: Uint8Array): bigint[] =>
  Array.from({ length: bytes.length / 32 }, (_, i) => bytesToUint(bytes.subarray(32 * i, 32 * i + 32)));
const flip = (bytes: Uint8Array, bit: number): Uint8Array =>
  bytes.map((byte, i) => (i === bit >> 3 ? byte ^ (1 << (bit & 7)) : byte));
const wordsOf = (proof: Proof): bigint[] => ofBytes(encodeProof(proof));

/** What the watcher makes of the bytes, in the order of EIP-197. */
function decompressed(compressed: Uint8Array): bigint[] | undefined {
  const points = decompress(compressed);
  if (typeof points === "string") return undefined;
  const { x, y } = points.b.toAffine();
  return [points.a.x, points.a.y, x.c1, x.c0, y.c1, y.c0, points.c.x, points.c.y];
}

function expected({ compressed, words }: Claim): number {
  const right = decompressed(compressed);
  if (right === undefined) return NOTHING;
  return right.every((value, i) => value === words[i]) ? POINT : WRONG_CLAIM;
}

/** On the curve and on the twist; B is hardly ever in the subgroup. */
function drawPoints(): Uint8Array {
  for (;;) {
    const [a, b1, b0, c] = [drawCoordinate(), drawCoordinate(), drawCoordinate(), drawCoordinate()];
    const flag = (x: bigint): bigint => (drawBelow(2) === 0 ? x : x | PARITY);
    const compressed = concatBytes(...[flag(a), flag(b1), b0, flag(c)].map(word));
    if (decompressed(compressed) !== undefined) return compressed;
  }
}

const TRUE_PROOFS = STATEMENTS.map(({ compressedProof }) => mustFromHex(compressedProof));

describe("contracts: compressed proof", function () {
  let anvil: Anvil;
  let provider: JsonRpcProvider;
  let address: Address;
  let abi: Interface;
  before(async () => {
    anvil = await startAnvil();
    provider = new JsonRpcProvider(anvil.url, anvil.chainId, { staticNetwork: true, pollingInterval: 10 });
    ({ address } = await deployContract(await provider.getSigner(0), "CompressedProofHarness", []));
    abi = new Interface((await loadArtifact("CompressedProofHarness")).abi);
  });
  after(async () => {
    provider.destroy();
    await anvil.stop();
  });

  async function standings(claims: readonly Claim[]): Promise<number[]> {
    const answers: number[] = [];
    for (let from = 0; from < claims.length; from += 200) {
      const some = claims.slice(from, from + 200);
      const data = abi.encodeFunctionData("standings", [some]);
      const answer = await provider.call({ to: address, data });
      answers.push(...(abi.decodeFunctionResult("standings", answer)[0] as bigint[]).map(Number));
    }
    return answers;
  }

  async function assertStanding(claims: readonly Claim[], how: (claim: Claim) => number): Promise<number[]> {
    const answers = await standings(claims);
    claims.forEach((claim, i) => {
      const told = `${toHex(claim.compressed)} ${claim.words.join(" ")}`;
      assert.equal(answers[i], how(claim), told);
    });
    return answers;
  }

  it("knows the decompression of true proofs, and no other words for them", async () => {
    const claims = TRUE_PROOFS.map((compressed) => ({ compressed, words: decompressed(compressed)! }));
    await assertStanding(claims, () => POINT);
    const negated = claims.flatMap(({ compressed, words }) =>
      [[1], [4, 5], [4], [5], [7], [1, 4, 5]].map((places) => ({
        compressed,
        words: words.map((value, i) => (places.includes(i) ? Q - value : value)),
      })),
    );
    const spelledTwice = claims.flatMap(({ compressed, words }) =>
      words.map((value, i) => ({ compressed, words: words.with(i, value + Q) })),
    );
    const foreign = claims.map(({ compressed }, i) => ({ compressed, words: claims.at(i - 1)!.words }));
    const none = claims.map(({ compressed }) => ({ compressed, words: Array<bigint>(8).fill(0n) }));
    await assertStanding([...negated, ...spelledTwice, ...foreign, ...none], () => WRONG_CLAIM);
  });

  it("follows every flipped bit", async () => {
    for (const compressed of TRUE_PROOFS.slice(0, 2)) {
      const words = decompressed(compressed)!;
      const claims = Array.from({ length: 1024 }, (_, bit) => ({ compressed: flip(compressed, bit), words }));
      const answers = await assertStanding(claims, expected);
      assert.ok(!answers.includes(POINT));
    }
  });

  it("agrees with the watcher about drawn bytes and words", async () => {
    const claims = Array.from({ length: 3_000 }, drawClaim);
    const answers = await assertStanding(claims, expected);
    for (const answer of [NOTHING, POINT, WRONG_CLAIM])
      assert.ok(answers.filter((each) => each === answer).length > 300, `answer ${answer}`);
  });

  it("calls nothing pointless that the enclave takes for points, and takes nothing that it refuses", async () => {
    const { verdicts } = await buildGroth16(await readKeys(verificationKeysFolder));
    const signals = Array.from({ length: signalCount("spend") }, () => 0n as Field);
    const claims = Array.from({ length: 600 }, () => drawClaim().words)
      .flatMap((words) => decodeProof(concatBytes(...words.map(word))) ?? [])
      .map((proof) => ({ proof, compressed: compressProof(proof), words: wordsOf(proof) }));
    assert.ok(claims.length > 300);
    const found = claims.map(({ proof }) => verdicts([{ kind: "spend", proof, signals }])[0]!);
    const areTaken = found.map((verdict) => !["PROOF_AT_INFINITY", "PROOF_NOT_ON_CURVE"].includes(verdict));
    const answers = await standings(claims);
    areTaken.forEach((isTaken, i) => assert.equal(answers[i] === POINT, isTaken, found[i]));
    assert.ok(areTaken.includes(true) && areTaken.includes(false));

    const taken = claims.filter((_, i) => areTaken[i]);
    const lies = taken.map(({ compressed }) => ({ compressed, words: drawClaim().words }));
    assert.ok(!(await standings(lies)).includes(NOTHING));
  });

  describe("the ends", () => {
    const [good, other] = [drawPoints(), drawPoints()];
    const withWord = (place: number, value: bigint): Uint8Array =>
      concatBytes(...ofBytes(good).with(place, value).map(word));

    it("x at or above q, and bits that mean nothing, are no points", async () => {
      const values = [0, 1, 2, 3].flatMap((place) => {
        const x = ofBytes(good)[place]!;
        const clean = x & ~PARITY;
        const flagged = [Q, Q + 1n, clean + Q, clean | (1n << 254n), (1n << 254n) - 1n, PARITY - 1n];
        const also = FLAGGED.includes(place) ? flagged.map((value) => value | PARITY) : [clean | PARITY];
        return [...flagged, ...also].map((value) => withWord(place, value));
      });
      for (const words of [decompressed(good)!, ofBytes(drawBytes(256))])
        await assertStanding(
          values.map((compressed) => ({ compressed, words })),
          () => NOTHING,
        );
    });

    it("x of 0, 1 and q − 1, with either parity", async () => {
      const claims = [0, 1, 2, 3].flatMap((place) =>
        [0n, 1n, Q - 1n].flatMap((x) =>
          (FLAGGED.includes(place) ? [x, x | PARITY] : [x]).flatMap((value): Claim[] => {
            const compressed = withWord(place, value);
            const right = decompressed(compressed);
            return [right ?? [], decompressed(good)!, Array<bigint>(8).fill(0n)]
              .filter(({ length }) => length === 8)
              .map((words) => ({ compressed, words }));
          }),
        ),
      );
      await assertStanding(claims, expected);
    });

    it("infinity, as EIP-197 spells it, is the decompression of nothing", async () => {
      for (const places of [
        [0, 1],
        [2, 3, 4, 5],
        [6, 7],
        [0, 1, 2, 3, 4, 5, 6, 7],
      ]) {
        const words = decompressed(good)!.map((value, i) => (places.includes(i) ? 0n : value));
        const compressed = compressProof(decodeProof(concatBytes(...words.map(word)))!);
        const claim = { compressed, words };
        assert.notEqual(expected(claim), POINT);
        await assertStanding([claim], expected);
      }
    });

    it("a y of B with c0 zero has its parity in c1", async () => {
      const met = new Set<string>();
      for (let i = 0; i < 12; i++) {
        const b = realSquare();
        for (const y of [b.y, Fp2.neg(b.y)]) {
          const { a, c } = decodeProof(concatBytes(...decompressed(other)!.map(word)))!;
          const proof: Proof = {
            a,
            b: [
              [b.x.c0, b.x.c1],
              [y.c0, y.c1],
            ],
            c,
          };
          const compressed = compressProof(proof);
          const claim = { compressed, words: wordsOf(proof) };
          assert.equal(expected(claim), POINT);
          await assertStanding([claim], expected);
          await assertStanding([{ ...claim, compressed: flip(compressed, 263) }], () => WRONG_CLAIM);
          met.add(y.c0 === 0n ? `imaginary ${y.c1 & 1n}` : `real ${y.c0 & 1n}`);
        }
      }
      assert.equal(met.size, 4);
    });

    it("y is never zero: −3 and −3/(9 + u) are no cubes", () => {
      assert.notEqual(Fp.pow(Fp.neg(3n), (Q - 1n) / 3n), 1n);
      const b = Fp2.neg(bn254.G2.Point.CURVE().b);
      assert.ok(!Fp2.eql(Fp2.pow(b, (Q * Q - 1n) / 3n), Fp2.ONE));
    });

    it("bytes of another length are no proof", async () => {
      const words = decompressed(good)!;
      const lengths = [
        good.slice(1),
        good.slice(0, -1),
        concatBytes(good, new Uint8Array(1)),
        new Uint8Array(),
      ];
      await assertStanding(
        [...lengths, concatBytes(good, good)].map((compressed) => ({ compressed, words })),
        () => NOTHING,
      );
    });
  });

  it("says the same at any gas, or reverts", async () => {
    const good = drawPoints();
    const words = decompressed(good)!;
    const noPoint = Array.from({ length: 1000 }, (_, i) =>
      concatBytes(...ofBytes(good).with(3, BigInt(i)).map(word)),
    );
    const claims = [
      { compressed: good, words },
      { compressed: noPoint.find((each) => decompressed(each) === undefined)!, words },
      { compressed: good, words: words.with(1, Q - words[1]!) },
    ];
    for (const claim of claims) {
      const data = abi.encodeFunctionData("standing", [claim.compressed, claim.words]);
      const met = new Set<string>();
      for (let gas = 29_000; gas <= 60_000; gas += gas < 48_000 ? 97 : 1_000)
        met.add(await answerAt(data, gas));
      const last = await answerAt(data, 10_000_000);
      assert.ok(met.delete(last), last);
      met.delete("out of gas");
      assert.deepEqual([...met], claim === claims[0] ? [] : ["GasShort"]);
    }
  });

  async function answerAt(data: string, gasLimit: number): Promise<string> {
    try {
      const answer = await provider.call({ to: address, data, gasLimit });
      return String(abi.decodeFunctionResult("standing", answer)[0]);
    } catch (error) {
      const reason = (error as { data?: string | null }).data ?? "0x";
      if (reason.length < 10) return "out of gas";
      return [
        ["GasShort", "GasShort()"],
        ["NotTheDecompression", "NotTheDecompression()"],
      ].find(([, text]) => reason === id(text!).slice(0, 10))![0]!;
    }
  }
});

/** Of any kind: true, nearly true, and nothing at all, in bytes and words. */
function drawClaim(): Claim {
  const origin = drawBelow(3) === 0 ? drawOf(TRUE_PROOFS) : drawPoints();
  const compressed = drawOf(BYTE_CHANGES)(origin);
  const words = drawOf([decompressed(compressed), decompressed(origin)]) ?? decompressed(origin)!;
  return { compressed, words: drawOf(WORD_CHANGES)(words) };
}

const changeWord =
  (change: (x: bigint) => bigint) =>
  (bytes: Uint8Array): Uint8Array => {
    const words = ofBytes(bytes);
    const place = drawBelow(4);
    return concatBytes(...words.with(place, change(words[place]!)).map(word));
  };
const same = <T>(value: T): T => value;
const BYTE_CHANGES: readonly ((bytes: Uint8Array) => Uint8Array)[] = [
  same,
  same,
  (bytes) => flip(bytes, drawBelow(1024)),
  changeWord((x) => x ^ PARITY),
  changeWord(() => drawCoordinate()),
  changeWord((x) => (x & PARITY) | drawCoordinate()),
  changeWord((x) => (x & ~PARITY) + Q),
  changeWord(() => drawOf([0n, 1n, Q - 1n, Q, PARITY, 2n * PARITY - 1n])),
];
const changeOne =
  (change: (value: bigint) => bigint) =>
  (words: readonly bigint[]): readonly bigint[] => {
    const place = drawBelow(8);
    return words.with(place, change(words[place]!));
  };
const WORD_CHANGES: readonly ((words: readonly bigint[]) => readonly bigint[])[] = [
  same,
  same,
  same,
  changeOne((value) => value ^ (1n << BigInt(drawBelow(256)))),
  changeOne((value) => (Q - value + Q) % Q),
  changeOne((value) => value + Q),
  changeOne(() => drawOf([0n, 1n, Q - 1n, Q, 2n * PARITY - 1n])),
  ([ax, ay, bx1, bx0, by1, by0, cx, cy]) => [ax!, ay!, bx0!, bx1!, by0!, by1!, cx!, cy!],
  ([ax, ay, bx1, bx0, by1, by0, cx, cy]) => [cx!, cy!, bx1!, bx0!, by1!, by0!, ax!, ay!],
  (words) => words.map(() => drawCoordinate()),
  (words) => words.map(() => 0n),
];

type Fp2Element = ReturnType<typeof Fp2.sqrt>;

/** A point of the twist whose y² is in Fp, so one half of y is zero: x₁ is drawn, and x₀ found by it. */
function realSquare(): { readonly x: Fp2Element; readonly y: Fp2Element } {
  const { b } = bn254.G2.Point.CURVE();
  for (;;) {
    const x1 = drawCoordinate();
    const square = Fp.div(Fp.sub(Fp.pow(x1, 3n), b.c1), Fp.mul(3n, x1));
    if (Fp.pow(square, (Q - 1n) / 2n) !== 1n) continue;
    const x = Fp2.fromBigTuple([Fp.sqrt(square), x1]);
    const right = Fp2.add(Fp2.mul(Fp2.sqr(x), x), b);
    assert.equal(right.c1, 0n);
    return { x, y: Fp2.sqrt(right) };
  }
}
