// ECDSA over P-384 on chain against node:crypto and noble; no hint changes a verdict. See p384.tree.
import assert from "node:assert/strict";
import { createPublicKey, generateKeyPairSync, sign, verify, type KeyObject } from "node:crypto";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { p384 } from "@noble/curves/nist.js";
import { sha384 } from "@noble/hashes/sha2.js";
import { Contract, Interface, JsonRpcProvider, type Signer } from "ethers";
import { loadArtifact } from "../../../scripts/build/contracts.ts";
import { deployContract } from "../../../scripts/deploy/pool.ts";
import {
  combine,
  FIELD,
  GENERATOR,
  HIGH_GENERATOR,
  isOnCurve,
  negate,
  SCALARS,
  type Point,
} from "../../../shared/client/chain/nitro/p384-curve.ts";
import { HINTS_BYTES, hintsFor } from "../../../shared/client/chain/nitro/p384-hints.ts";
import { bytesToUint, concatBytes, uintToBytes } from "../../../shared/protocol/bytes.ts";
import { startAnvil, type Anvil } from "../../support/chain.ts";
import { drawBytes } from "../../support/drafts.ts";
import { PROJECT_ROOT } from "../../support/tree.ts";

const N = SCALARS.ORDER;
const P = FIELD.ORDER;
const BYTES = 48;
const NUMBERS = HINTS_BYTES / BYTES;
const AT_ONCE = 16;

interface Case {
  readonly digest: Uint8Array;
  readonly signature: Uint8Array;
  readonly publicKey: Uint8Array;
}
type Verdict = boolean | "HintsInvalid" | "GasShort";

const number = (value: bigint): Uint8Array => uintToBytes(value, BYTES);
const pair = (first: bigint, second: bigint): Uint8Array => concatBytes(number(first), number(second));
const spelt = (point: Point): Uint8Array => pair(point!.x, point!.y);
const read = (hints: Uint8Array, i: number): bigint =>
  bytesToUint(hints.subarray(i * BYTES, (i + 1) * BYTES));
const drawScalar = (): bigint => 1n + (bytesToUint(drawBytes(64)) % (N - 1n));

/** SEC 1 v2, 4.1.4 with noble's points, which share nothing with the hints' arithmetic but the field. */
function verdictOf({ digest, signature, publicKey }: Case): boolean {
  const [r, s] = [bytesToUint(signature.subarray(0, BYTES)), bytesToUint(signature.subarray(BYTES))];
  if (r === 0n || r >= N || s === 0n || s >= N) return false;
  let key;
  try {
    key = p384.Point.fromBytes(concatBytes(Uint8Array.of(4), publicKey));
  } catch {
    return false;
  }
  const inverse = SCALARS.inv(s);
  const u1 = SCALARS.mul(SCALARS.create(bytesToUint(digest)), inverse);
  const u2 = SCALARS.mul(r, inverse);
  const point = p384.Point.BASE.multiplyUnsafe(u1).add(key.multiplyUnsafe(u2));
  return !point.is0() && SCALARS.create(point.toAffine().x) === r;
}

function signed(secret: bigint, digest: Uint8Array, nonce = drawScalar()): Case {
  const r = SCALARS.create(combine(nonce, undefined, 0n)!.x);
  const s = SCALARS.div(SCALARS.create(bytesToUint(digest) + r * secret), nonce);
  return { digest, signature: pair(r, s), publicKey: spelt(combine(secret, undefined, 0n)) };
}

/** A true signature with a given u1 and u2 over a given key: R = u1·G + u2·Q, s = r/u2, e = u1·s. */
function craft(key: Point, u1: bigint, u2: bigint): Case {
  const r = SCALARS.create(combine(SCALARS.create(u1), key, SCALARS.create(u2))!.x);
  const s = SCALARS.div(r, SCALARS.create(u2));
  return {
    digest: number(SCALARS.mul(SCALARS.create(u1), s)),
    signature: pair(r, s),
    publicKey: spelt(key),
  };
}

describe("contracts: P-384", function () {
  let anvil: Anvil;
  let provider: JsonRpcProvider;
  let owner: Signer;
  let contract: Contract;
  let abi: Interface;
  before(async () => {
    anvil = await startAnvil();
    provider = new JsonRpcProvider(anvil.url, anvil.chainId, { staticNetwork: true, pollingInterval: 10 });
    owner = await provider.getSigner(0);
    const { address } = await deployContract(owner, "P384", []);
    abi = new Interface((await loadArtifact("IP384")).abi);
    contract = new Contract(address, abi, owner);
  });
  after(async () => {
    provider.destroy();
    await anvil.stop();
  });

  const call = ({ digest, signature, publicKey }: Case, hints: Uint8Array): string =>
    abi.encodeFunctionData("verify", [
      digest.subarray(0, 32),
      digest.subarray(32),
      signature,
      publicKey,
      hints,
    ]);

  async function ask(case_: Case, hints = hintsOf(case_), gasLimit?: number): Promise<Verdict> {
    try {
      const answer = await provider.call({
        to: contract.target,
        data: call(case_, hints),
        ...(gasLimit === undefined ? {} : { gasLimit }),
      });
      return abi.decodeFunctionResult("verify", answer)[0] as boolean;
    } catch (error) {
      const { data } = error as { data?: string | null };
      const name = typeof data === "string" ? abi.parseError(data)?.name : undefined;
      if (name === "HintsInvalid" || name === "GasShort") return name;
      throw error;
    }
  }

  const hintsOf = ({ digest, signature, publicKey }: Case): Uint8Array =>
    hintsFor(digest, signature, publicKey);

  /** A few at a time: much of a call is waiting. */
  async function together<T>(items: readonly T[], act: (item: T) => Promise<void>): Promise<void> {
    for (let from = 0; from < items.length; from += AT_ONCE)
      await Promise.all(items.slice(from, from + AT_ONCE).map(act));
  }

  /** The contract says what SEC 1 says. */
  async function agree(case_: Case, expected?: boolean): Promise<void> {
    const verdict = verdictOf(case_);
    if (expected !== undefined) assert.equal(verdict, expected, "the case is not what the test takes it for");
    assert.equal(await ask(case_), verdict);
  }

  it("has noble's multiples of the generator, every one", async () => {
    const text = await readFile(path.join(PROJECT_ROOT, "shared/contracts/nitro/P384Table.sol"), "utf8");
    const scaled = (value: bigint): string =>
      FIELD.create(value << 256n)
        .toString(16)
        .padStart(96, "0");
    const high = p384.Point.BASE.multiply(1n << 192n);
    const expected = [1n, 3n, 5n, 7n].flatMap((a) =>
      [-7n, -5n, -3n, -1n, 1n, 3n, 5n, 7n].flatMap((b) => {
        const part = b < 0n ? high.multiply(-b).negate() : high.multiply(b);
        const { x, y } = p384.Point.BASE.multiply(a).add(part).toAffine();
        return [scaled(x), scaled(y)];
      }),
    );
    assert.deepEqual(
      [...text.matchAll(/hex"([0-9a-f]{96})"/g)].map(([, digits]) => digits),
      expected,
    );
    const { x, y } = p384.Point.BASE.toAffine();
    assert.equal(
      [...text.matchAll(/G_[XY]_(?:HI|LO) = 0x([0-9a-f]+);/g)].map(([, digits]) => digits).join(""),
      scaled(x) + scaled(y),
    );
  });

  it("accepts node:crypto's signatures and refuses them for another message or key", async () => {
    const keys = [1, 2].map(() => generateKeyPairSync("ec", { namedCurve: "P-384" }));
    const coordinates = (key: KeyObject): Uint8Array => {
      const { x, y } = key.export({ format: "jwk" });
      return concatBytes(Buffer.from(x!, "base64url"), Buffer.from(y!, "base64url"));
    };
    for (let i = 0; i < 12; i++) {
      const message = drawBytes(i * 20);
      const [own, other] = [keys[i % 2]!, keys[(i + 1) % 2]!];
      const signature = sign("sha384", message, { key: own.privateKey, dsaEncoding: "ieee-p1363" });
      const publicKey = createPublicKey(own.privateKey);
      assert.ok(verify("sha384", message, { key: publicKey, dsaEncoding: "ieee-p1363" }, signature));
      const good = { digest: sha384(message), signature, publicKey: coordinates(publicKey) };
      await agree(good, true);
      await agree({ ...good, digest: sha384(drawBytes(5)) }, false);
      await agree({ ...good, publicKey: coordinates(other.publicKey) }, false);
    }
  });

  it("accepts noble's signatures, of high s too", async () => {
    for (let i = 0; i < 10; i++) {
      const secret = p384.utils.randomSecretKey();
      const digest = sha384(drawBytes(99));
      const signature = p384.sign(digest, secret, { prehash: false, lowS: false });
      const publicKey = p384.getPublicKey(secret, false).subarray(1);
      await agree({ digest, signature, publicKey }, true);
      const r = signature.subarray(0, BYTES);
      const s = SCALARS.neg(bytesToUint(signature.subarray(BYTES)));
      await agree({ digest, signature: concatBytes(r, number(s)), publicKey }, true);
    }
  });

  it("refuses r and s at and outside the ends of their range", async () => {
    const good = signed(drawScalar(), drawBytes(48));
    const [r, s] = [good.signature.subarray(0, BYTES), good.signature.subarray(BYTES)];
    const ends = [0n, N, N + 1n, (1n << 384n) - 1n];
    for (const end of ends) {
      for (const signature of [concatBytes(number(end), s), concatBytes(r, number(end)), pair(end, end)]) {
        const bad = { ...good, signature };
        // Whatever the hints: nothing, or those of the good one.
        for (const hints of [new Uint8Array(), hintsOf(good)]) assert.equal(await ask(bad, hints), false);
        assert.equal(verdictOf(bad), false);
      }
    }
    for (const end of [1n, 2n, N - 1n, N - 2n, 1n << 192n, (1n << 192n) - 1n])
      for (const signature of [concatBytes(number(end), s), concatBytes(r, number(end)), pair(end, end)])
        await agree({ ...good, signature });
  });

  it("refuses keys that are none, and bytes of another length", async () => {
    const good = signed(drawScalar(), drawBytes(48));
    const [x, y] = [
      bytesToUint(good.publicKey.subarray(0, BYTES)),
      bytesToUint(good.publicKey.subarray(BYTES)),
    ];
    const keys = [
      [x, y + 1n],
      [x + 1n, y],
      [y, x],
      [0n, 0n],
      [x, 0n],
      [P, y],
      [x, P],
      [(1n << 384n) - 1n, y],
    ].map(([a, b]) => pair(a!, b!));
    // A second spelling of a point: the smallest x whose x + p still fits.
    for (let small = 0n; ; small++) {
      const root = FIELD.create(small ** 3n - 3n * small + p384.Point.CURVE().b);
      if (!FIELD.isValid(root) || !isSquare(root)) continue;
      const height = FIELD.sqrt(root);
      assert.ok(isOnCurve(small, height));
      keys.push(pair(small + P, height));
      await agree({ ...good, publicKey: pair(small, height) });
      break;
    }
    for (const publicKey of keys) {
      const bad = { ...good, publicKey };
      assert.equal(verdictOf(bad), false);
      for (const hints of [new Uint8Array(), hintsOf(good)]) assert.equal(await ask(bad, hints), false);
    }
    const { signature, publicKey } = good;
    for (const bytes of [new Uint8Array(), signature.subarray(1), concatBytes(signature, Uint8Array.of(0))])
      assert.equal(await ask({ ...good, signature: bytes }, hintsOf(good)), false);
    for (const bytes of [new Uint8Array(), publicKey.subarray(1), concatBytes(publicKey, Uint8Array.of(0))])
      assert.equal(await ask({ ...good, publicKey: bytes }, hintsOf(good)), false);
  });

  function isSquare(value: bigint): boolean {
    return FIELD.eql(FIELD.pow(value, (P - 1n) / 2n), 1n);
  }

  it("gives SEC 1's verdict where keys and points are small multiples of each other", async () => {
    // Additions of equal points, of opposite ones and of infinity, in the tables and on the way.
    const multiples = [1n, 2n, 3n, 5n, 7n, 14n, 1n << 192n, (N + 1n) / 2n, SCALARS.inv(3n)];
    const keys = multiples.flatMap((multiple) => {
      const point = combine(multiple, undefined, 0n);
      return [point, negate(point)];
    });
    const factors = [0n, 1n, 2n, 7n, 8n, 1n << 192n, N - 1n, N - 2n];
    const cases = keys.flatMap((key) =>
      factors
        .slice(0, 4)
        .flatMap((u1) =>
          [1n, 2n, N - 1n, factors[Number(drawScalar() % 7n) + 1]!].map((u2) => ({ key, u1, u2 })),
        ),
    );
    await together(cases, async ({ key, u1, u2 }) => {
      if (combine(u1, key, u2) !== undefined) await agree(craft(key, u1, u2), true);
    });
    assert.deepEqual(keys[0], GENERATOR);
    assert.deepEqual(keys[12], HIGH_GENERATOR);
  });

  it("refuses where u1·G + u2·Q is at infinity, and proves it", async () => {
    for (const multiple of [1n, 2n, drawScalar(), N - 1n]) {
      const key = combine(multiple, undefined, 0n);
      for (const r of [1n, 5n, drawScalar()]) {
        const s = drawScalar();
        // e = −r · d
        const digest = number(SCALARS.neg(SCALARS.mul(r, multiple)));
        const bad = { digest, signature: pair(r, s), publicKey: spelt(key) };
        assert.equal(combine(SCALARS.div(bytesToUint(digest), s), key, SCALARS.div(r, s)), undefined);
        await agree(bad, false);
        assert.ok(
          hintsOf(bad)
            .subarray(BYTES, 3 * BYTES)
            .every((byte) => byte === 0),
        );
      }
    }
    // Nobody can say it of another: the equation does not hold.
    const good = signed(drawScalar(), drawBytes(48));
    const hints = hintsOf(good).slice();
    hints.fill(0, BYTES, 3 * BYTES);
    assert.equal(await ask(good, hints), "HintsInvalid");
  });

  it("takes r for x modulo n where x is n or more", async () => {
    // Such points are one in 2^194, but a key can be made for one: x first, then Q = (R − u1·G)/u2.
    for (let x = N, found = 0; found < 4; x++) {
      const square = FIELD.create(x ** 3n - 3n * x + p384.Point.CURVE().b);
      if (x === N || !isSquare(square)) continue;
      found++;
      const point = { x, y: FIELD.sqrt(square) };
      const [u1, u2] = [drawScalar(), drawScalar()];
      const inverse = SCALARS.inv(u2);
      const key = combine(SCALARS.neg(SCALARS.mul(u1, inverse)), point, inverse);
      const good = craft(key, u1, u2);
      assert.equal(bytesToUint(good.signature.subarray(0, BYTES)), x - N);
      await agree(good, true);
    }
  });

  it("takes a digest of n or more, of zeros and of ones as it is", async () => {
    for (const digest of [0n, 1n, N - 1n, N, N + 1n, (1n << 384n) - 1n].map(number))
      await agree(signed(drawScalar(), digest), true);
  });

  it("refuses every signature with a bit flipped", async () => {
    const good = signed(drawScalar(), drawBytes(48));
    for (let i = 0; i < 24; i++) {
      const at = Number(drawScalar() % BigInt(8 * 3 * BYTES));
      const all = concatBytes(good.digest, good.signature, good.digest);
      all[at >> 3]! ^= 1 << (at & 7);
      const bad = {
        ...good,
        digest: all.slice(0, BYTES),
        signature: all.slice(BYTES, 3 * BYTES),
      };
      await agree(bad, verdictOf(bad));
    }
  });

  it("answers alike or not at all for every damaged hint", async () => {
    const good = signed(drawScalar(), drawBytes(48));
    for (const case_ of [good, { ...good, digest: drawBytes(48) }]) {
      const verdict = verdictOf(case_);
      const hints = hintsOf(case_);
      assert.equal(await ask(case_, hints), verdict);
      let refusals = 0;
      const numbers = Array.from({ length: NUMBERS }, (_, i) => i);
      await together(numbers, async (i) => {
        const own = read(hints, i);
        const damages = [0n, own ^ 1n, own ^ (1n << 383n), drawScalar()].filter((damage) => damage !== own);
        // Another spelling of the same slope, where there is one, is as good.
        const damage = damages[i % damages.length]!;
        const damaged = concatBytes(
          hints.subarray(0, i * BYTES),
          number(damage),
          hints.subarray((i + 1) * BYTES),
        );
        const answer = await ask(case_, damaged);
        if (answer === "HintsInvalid") refusals++;
        else assert.equal(answer, verdict, `hint ${i}`);
      });
      // Of additions with infinity and to infinity no slope is read, and it is told as 0.
      const unread = Array.from({ length: NUMBERS }, (_, i) => read(hints, i)).filter((own) => own === 0n);
      assert.equal(refusals, NUMBERS - unread.length);
      // Four first additions, two or three last ones.
      assert.ok(unread.length <= 7, String(unread.length));
      for (const wrong of [new Uint8Array(), hints.subarray(1), concatBytes(hints, Uint8Array.of(0))])
        assert.equal(await ask(case_, wrong), "HintsInvalid");
      for (const other of [signed(drawScalar(), drawBytes(48)), { ...case_, digest: drawBytes(48) }])
        assert.equal(await ask(case_, hintsOf(other)), "HintsInvalid");
    }
  });

  it("answers alike or not at all for hints chosen with care", async () => {
    const good = signed(drawScalar(), drawBytes(48));
    const bad = { ...good, digest: drawBytes(48) };
    const withHead = (case_: Case, head: readonly (bigint | undefined)[]): Uint8Array => {
      const hints = hintsOf(case_).slice();
      for (const [i, value] of head.entries()) if (value !== undefined) hints.set(number(value), i * BYTES);
      return hints;
    };
    for (const case_ of [good, bad]) {
      const hints = hintsOf(case_);
      const [z, x, y] = [read(hints, 0), read(hints, 1), read(hints, 2)];
      const heads = [
        // z = 0 and z = n make the equation empty.
        [0n],
        [N],
        [SCALARS.neg(z)],
        // Factors that are not short.
        [1n],
        [SCALARS.create(z << 100n)],
        // The other point of the same x, the good one's point, the key, the generator, points on no curve.
        [undefined, x, FIELD.neg(y)],
        [undefined, read(hintsOf(good), 1), FIELD.neg(read(hintsOf(good), 2))],
        [
          undefined,
          bytesToUint(case_.publicKey.subarray(0, BYTES)),
          bytesToUint(case_.publicKey.subarray(BYTES)),
        ],
        [undefined, GENERATOR!.x, GENERATOR!.y],
        [undefined, x, FIELD.create(y + 1n)],
        [undefined, 0n, y],
        [undefined, x, 0n],
        [undefined, P, y],
      ];
      for (const head of heads)
        assert.equal(await ask(case_, withHead(case_, head)), "HintsInvalid", head.join(" "));
    }
    // z + n is the same z.
    const z = read(hintsOf(good), 0);
    if (z + N < 1n << 384n) assert.equal(await ask(good, withHead(good, [z + N])), true);
    // The good one's whole hints for the bad one: its point does not solve the equation.
    assert.equal(await ask(bad, hintsOf(good)), "HintsInvalid");
  });

  it("gives no answer with too little gas", async () => {
    const good = signed(drawScalar(), drawBytes(48));
    for (let gasLimit = 450_000; gasLimit <= 1_300_000; gasLimit += 50_000) {
      const answer = await ask(good, hintsOf(good), gasLimit).catch(() => "out of gas");
      assert.ok(answer === true || answer === "out of gas" || answer === "GasShort", `${answer}`);
    }
  });

  it("costs at most 1,300,000 gas a signature, hints in the calldata included", async () => {
    let most = 0;
    for (let i = 0; i < 5; i++) {
      const good = signed(drawScalar(), drawBytes(48));
      const data = call(good, hintsOf(good));
      const sent = await owner.sendTransaction({ to: contract.target, data, gasLimit: 3_000_000 });
      most = Math.max(most, Number((await sent.wait())!.gasUsed) - 21_000);
    }
    assert.ok(most <= 1_300_000, `${most} gas`);
  });
});
