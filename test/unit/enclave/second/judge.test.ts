// The second verifier's judge against vectors that other implementations made, and each refusal for its own reason.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { concat, keccak256, toBeHex } from "ethers";
import fc from "fast-check";
import { openJudge, type Judge, type Request, type Verdict } from "../../../../enclave/second/judge/judge.ts";
import { poseidon4 } from "poseidon-lite";
import { proofHashOf } from "../../../../enclave/second/judge/proof.ts";
import { trapdoorKeys } from "../../../../scripts/lab/bench/trapdoor/keys.ts";
import { openSimulator } from "../../../../scripts/lab/bench/trapdoor/simulator.ts";
import { vanishing } from "../../../../scripts/lab/verdicts/origins.ts";
import { mustField } from "../../../../shared/protocol/brands.ts";
import { refused } from "../../../contract/vectors/refusals.ts";
import { REFUSALS, ROOT_UPDATES, statementCalled, STATEMENTS } from "../../../contract/vectors/story.ts";
import { onTwistOutsideSubgroup } from "../support/toy-groth16.ts";
import { attestBody, KEYS, rootBody } from "./requests.ts";

const q = 0x30644e72e131a029b85045b68181585d97816a916871ca8d3c208c16d87cfd47n;
const r = 0x30644e72e131a029b85045b68181585d2833e84879b9709143e1f593f0000001n;
const NO_HEAD = toBeHex(0, 32);

const hex = (bytes: Uint8Array): string => `0x${Buffer.from(bytes).toString("hex")}`;
const codeOf = (verdict: Verdict | undefined): string | undefined =>
  verdict?.type === "refused" ? verdict.code : verdict?.type;
const wordsOf = (bytes: string): bigint[] =>
  Array.from({ length: 8 }, (_, i) => BigInt(`0x${bytes.slice(2 + 64 * i, 66 + 64 * i)}`));
const proofOf = (words: readonly bigint[]): string => concat(words.map((word) => toBeHex(word, 32)));

describe("enclave/second/judge", function () {
  let judge: Judge;
  before(() => {
    judge = openJudge(KEYS, (length) => randomBytes(length));
  });
  const one = (request: Request): Verdict => judge.judge([request])[0]!;

  describe("statements", () => {
    for (const step of STATEMENTS) {
      it(`accepts ${step.name}, with the digest and hashes of another implementation`, () => {
        const verdict = one(attestBody(step));
        assert.ok(verdict.type === "accepted");
        assert.equal(hex(verdict.digest), step.attestation.digest);
        assert.equal(
          hex(verdict.reply),
          concat([step.statementHash, String(step.attestation.message["proofHash"])]),
        );
      });
    }

    for (const refusal of REFUSALS) {
      it(`${refusal.code}: ${refusal.name}`, () => {
        const { of, signals, extBytes } = refused(refusal);
        assert.equal(codeOf(one(attestBody({ ...of, signals, extBytes }))), refusal.code);
      });
    }

    const spend = statementCalled("a withdrawal");
    const words = wordsOf(spend.proof);
    const withWords = (change: (words: readonly bigint[]) => readonly bigint[]): Request =>
      attestBody({ ...spend, proof: proofOf(change(words)) });

    for (const kindId of [0, 5, 255]) {
      it(`UNKNOWN_KIND: ${String(kindId)}`, () => {
        assert.equal(codeOf(one(attestBody({ ...spend, kindId }))), "UNKNOWN_KIND");
      });
    }
    for (let place = 0; place < 8; place++) {
      it(`PROOF_NOT_CANONICAL: coordinate ${String(place)} + q`, () => {
        const request = withWords((all) => all.with(place, all[place]! + q));
        assert.equal(codeOf(one(request)), "PROOF_NOT_CANONICAL");
        assert.equal(codeOf(one(withWords((all) => all.with(place, q)))), "PROOF_NOT_CANONICAL");
      });
    }
    for (const [what, places] of [
      ["A", [0, 1]],
      ["B", [2, 3, 4, 5]],
      ["C", [6, 7]],
    ] as const) {
      it(`PROOF_AT_INFINITY: ${what}`, () => {
        const request = withWords((all) => all.map((word, i) => (places.some((at) => at === i) ? 0n : word)));
        assert.equal(codeOf(one(request)), "PROOF_AT_INFINITY");
      });
      it(`PROOF_NOT_ON_CURVE: one bit of ${what}`, () => {
        const request = withWords((all) => all.with(places[1], all[places[1]]! ^ 1n));
        assert.equal(codeOf(one(request)), "PROOF_NOT_ON_CURVE");
      });
    }
    it("PROOF_NOT_IN_SUBGROUP: B of another order", () => {
      const [[x0, x1], [y0, y1]] = onTwistOutsideSubgroup();
      const request = withWords((all) => [all[0]!, all[1]!, x1, x0, y1, y0, all[6]!, all[7]!]);
      assert.equal(codeOf(one(request)), "PROOF_NOT_IN_SUBGROUP");
    });
    it("PROOF_INVALID: another statement's proof, and A and C exchanged", () => {
      const { proof } = statementCalled("a private transfer");
      assert.equal(codeOf(one(attestBody({ ...spend, proof }))), "PROOF_INVALID");
      const exchanged = withWords((all) => [all[6]!, all[7]!, ...all.slice(2, 6), all[0]!, all[1]!]);
      assert.equal(codeOf(one(exchanged)), "PROOF_INVALID");
    });
    it("accepts the twin (−A, −B) under another proof hash", () => {
      const twin = one(
        withWords((all) => [
          all[0]!,
          q - all[1]!,
          all[2]!,
          all[3]!,
          q - all[4]!,
          q - all[5]!,
          ...all.slice(6),
        ]),
      );
      const plain = one(attestBody(spend));
      assert.ok(twin.type === "accepted" && plain.type === "accepted");
      assert.deepEqual(twin.reply.slice(0, 32), plain.reply.slice(0, 32));
      assert.notDeepEqual(twin.reply, plain.reply);
    });
    for (const [what, changes] of [
      ["chain", { chainId: 1 }],
      ["pool", { pool: `0x${"11".repeat(20)}` }],
      ["deadline", { deadline: BigInt(spend.deadline) + 1n }],
    ] as const) {
      it(`CONTEXT_MISMATCH: another ${what}`, () => {
        assert.equal(codeOf(one(attestBody({ ...spend, ...changes }))), "CONTEXT_MISMATCH");
      });
    }
  });

  it("accepts a proof for signals whose sum over the key's points is infinity", async () => {
    const { kind, kindId, deadline, extBytes, signals: told } = statementCalled("a withdrawal");
    const simulated = openJudge(JSON.parse(JSON.stringify(await trapdoorKeys())), (length) =>
      randomBytes(length),
    );
    const signals = told.map(BigInt);
    signals[9] = vanishing(kind, signals, 9);
    const { a, b, c } = (await openSimulator()).prove(kind, signals.map(mustField));
    const proof = proofOf([...a, ...b[0].toReversed(), ...b[1].toReversed(), ...c]);
    const request = attestBody({ kindId, deadline, extBytes, signals, proof });
    const another = attestBody({ kindId, deadline, extBytes, signals: signals.with(9, 1n), proof });
    assert.deepEqual(simulated.judge([request]).map(codeOf), ["accepted"]);
    assert.deepEqual(simulated.judge([request, request, another]).map(codeOf), [
      "accepted",
      "accepted",
      "PROOF_INVALID",
    ]);
  });

  it("hashes the parity of B's y.c1 where y.c0 is 0", () => {
    const hash = (y1: bigint, y0: bigint): string =>
      hex(proofHashOf({ a: [1n, 2n], b: [3n, 4n, y1, y0], c: [5n, 7n] }));
    const flag = 1n << 255n;
    const words = (b: bigint): string => keccak256(proofOf([1n, b, 4n, 5n | flag]));
    assert.equal(hash(9n, 0n), words(3n | flag));
    assert.equal(hash(8n, 0n), words(3n));
    assert.equal(hash(9n, 2n), words(3n));
    assert.equal(hash(8n, 1n), words(3n | flag));
  });

  describe("batches", () => {
    const story = STATEMENTS.map((step) => attestBody(step));
    const [deposit, other] = [story[0]!, STATEMENTS[1]!];
    const bad = attestBody({ ...other, proof: STATEMENTS[0]!.proof });

    it("refuse the false one alone, wherever it stands", () => {
      for (let at = 0; at <= story.length; at++) {
        const verdicts = judge.judge(story.toSpliced(at, 0, bad));
        assert.deepEqual(verdicts.map(codeOf), story.map(() => "accepted").toSpliced(at, 0, "PROOF_INVALID"));
      }
    });

    it("give each request its own verdict, whatever stands beside it", () => {
      const root = rootBody({ fromIndex: 0, headBefore: NO_HEAD, frontier: [], leaves: [1] });
      const nothing = { type: 6, body: new Uint8Array(3) };
      const mixed = [bad, root, deposit, nothing, bad, deposit];
      assert.deepEqual(mixed.map(one), judge.judge(mixed));
      assert.deepEqual(judge.judge([]), []);
    });

    // Two errors that cancel each other where all weights are 1: C + D here, C − D there.
    it("weigh each equation: faults that cancel one another are found", async () => {
      const { bn254 } = await import("@noble/curves/bn254.js");
      const moved = (by: bigint): Request => {
        const all = wordsOf(other.proof);
        const c = bn254.G1.Point.fromAffine({ x: all[6]!, y: all[7]! });
        const { x, y } = c.add(bn254.G1.Point.BASE.multiply(by)).toAffine();
        return attestBody({ ...other, proof: proofOf([...all.slice(0, 6), x, y]) });
      };
      const cancelling = [moved(7n), moved(r - 7n)];
      assert.deepEqual(judge.judge(cancelling).map(codeOf), ["PROOF_INVALID", "PROOF_INVALID"]);
      const unweighed = openJudge(KEYS, (length) => new Uint8Array(length).fill(1, length - 1));
      assert.deepEqual(unweighed.judge(cancelling).map(codeOf), ["accepted", "accepted"]);
    });

    it("throw when the generator gives nothing, or zeros: every batch would hold", () => {
      for (const random of [
        () => new Uint8Array(16),
        () => new Uint8Array(0),
        () => new Uint8Array(15).fill(1),
      ])
        assert.throws(() => openJudge(KEYS, random).judge([bad, bad]), /no randomness/);
    });
  });

  describe("root updates", () => {
    it("have the digests of another implementation", () => {
      let [frontier, count, head]: [bigint[][], number, string] = [[], 0, NO_HEAD];
      for (const { leaves, attestation } of ROOT_UPDATES) {
        const verdict = one(
          rootBody({ fromIndex: count, headBefore: head, frontier: frontier.flat(), leaves }),
        );
        assert.ok(verdict.type === "accepted");
        assert.equal(hex(verdict.digest), attestation.digest);
        head = hex(verdict.reply.slice(72));
        count += leaves.length;
        frontier = frontierOf(leaves.map(BigInt), frontier);
      }
      assert.equal(ROOT_UPDATES.length, 4);
    });

    const root = (changes: Partial<Parameters<typeof rootBody>[0]>): string | undefined =>
      codeOf(one(rootBody({ fromIndex: 0, headBefore: NO_HEAD, frontier: [], leaves: [1], ...changes })));
    const LAST = 4n ** 16n - 2n;
    const FULL = Array.from({ length: 47 }, (_, i) => i + 1);

    for (const [code, what, changes] of [
      ["FRONTIER_INVALID", "too many nodes", { frontier: [1] }],
      ["FRONTIER_INVALID", "too few", { fromIndex: 5, frontier: [1] }],
      ["FRONTIER_INVALID", "the second spelling of a node", { fromIndex: 1, frontier: [r + 1n] }],
      ["FRONTIER_INVALID", "an index beyond the tree", { fromIndex: 4n ** 16n }],
      ["LEAVES_INVALID", "the empty leaf", { leaves: [1, 0] }],
      ["LEAVES_INVALID", "a leaf of r", { leaves: [r] }],
      ["LEAVES_INVALID", "more than there is room for", { fromIndex: LAST, frontier: FULL, leaves: [1, 2] }],
      ["accepted", "as many as there is room for", { fromIndex: LAST, frontier: FULL }],
      ["accepted", "empty nodes of void leaves", { fromIndex: 2, frontier: [0, 0] }],
      ["malformed", "no leaf", { leaves: [] }],
      ["malformed", "257 leaves", { leaves: Array.from({ length: 257 }, () => 1) }],
    ] as const) {
      it(`${code}: ${what}`, () => assert.equal(root(changes), code));
    }
  });

  describe("bodies", () => {
    for (const [name, request] of [
      ["attest", attestBody(STATEMENTS[0]!)],
      ["attest-root", rootBody({ fromIndex: 0, headBefore: NO_HEAD, frontier: [], leaves: [1] })],
    ] as const) {
      it(`malformed: ${name} cut anywhere, or with a byte behind it`, () => {
        for (let length = 0; length < request.body.length; length++) {
          assert.equal(codeOf(one({ ...request, body: request.body.slice(0, length) })), "malformed");
        }
        assert.equal(codeOf(one({ ...request, body: Uint8Array.of(...request.body, 0) })), "malformed");
      });
      it(`malformed: ${name} as another type`, () => {
        for (const type of [0, 1, 5, 8, 13 - request.type, 0x86, 0xff])
          assert.equal(codeOf(one({ ...request, type })), "malformed");
      });
    }

    it("lead to no throw, whatever they are", () => {
      const body = fc.uint8Array({ maxLength: 700 });
      fc.assert(
        fc.property(fc.constantFrom(6, 7), body, (type, body) => {
          assert.equal(judge.judge([{ type, body }]).length, 1);
        }),
        { numRuns: 2_000 },
      );
      const whole = attestBody(STATEMENTS[3]!);
      fc.assert(
        fc.property(fc.nat(whole.body.length - 1), fc.nat(255), (at, value) => {
          const [verdict] = judge.judge([{ ...whole, body: whole.body.with(at, value) }]);
          assert.ok(verdict?.type !== "accepted" || whole.body[at] === value);
        }),
        { numRuns: 200 },
      );
    });
  });
});

/** Complete nodes by level once these leaves stand behind those; by poseidon-lite. */
function frontierOf(leaves: readonly bigint[], before: readonly (readonly bigint[])[]): bigint[][] {
  const levels = Array.from({ length: 4 }, (_, level) => [...(before[level] ?? [])]);
  levels[0]!.push(...leaves);
  for (const [level, nodes] of levels.slice(0, -1).entries()) {
    while (nodes.length >= 4) levels[level + 1]!.push(poseidon4(nodes.splice(0, 4)));
  }
  return levels;
}
