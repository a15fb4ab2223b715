// What SPEC.md says of a verifier, held against both: the codes' numbers, which fault is named first, the edges of the rules,
// what is no request, and the strings that are hashed.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { concat, keccak256, toBeHex, toUtf8Bytes } from "ethers";
import { openOrigins } from "../../../scripts/lab/verdicts/origins.ts";
import { wordsIn } from "../../../scripts/lab/verdicts/points.ts";
import {
  openFirst,
  openSecond,
  openSigner,
  type Answer,
  type Verifiers,
} from "../../../scripts/lab/verdicts/verifiers.ts";
import { openSimulator, type Simulator } from "../../../scripts/lab/bench/trapdoor/simulator.ts";
import { BASE_FIELD_ORDER, mustField } from "../../../shared/protocol/brands.ts";
import { concatBytes, mustFromHex, toHex, uintToBytes } from "../../../shared/protocol/bytes.ts";
import { FrameSplitter, REFUSALS } from "../../../shared/protocol/enclave-messages.ts";
import { encodeProof } from "../../../shared/protocol/host/proofs.ts";
import { emptyFrontier } from "../../../shared/protocol/host/frontier.ts";
import { emptyNode, TREE_CAPACITY, TREE_DEPTH, digitAt } from "../../../shared/protocol/tree.ts";
import { contextOf, extOf, FIELD_ORDER } from "../../support/oracle.ts";
import { PROJECT_ROOT } from "../../support/tree.ts";
import { onTwistOutsideSubgroup } from "../../unit/enclave/support/toy-groth16.ts";
import { attestBody, rootBody, type RootTerms } from "../../unit/enclave/second/requests.ts";
import { HOME, ROOT_UPDATES, statementCalled, type StatementStep } from "../vectors/story.ts";

const UINT64_MAX = 2n ** 64n - 1n;
const LAST = TREE_CAPACITY - 1n;
const NO_HEAD = toBeHex(0, 32);
const keccakOf = (text: string): string => keccak256(toUtf8Bytes(text));
const flat = (words: readonly bigint[]): string => concat(words.map((word) => toBeHex(word, 32)));

describe("SPEC.md, of a verifier", function () {
  let text: string;
  let frames: string;
  let first: Verifiers;
  let second: Verifiers;
  let simulator: Simulator;

  before(async () => {
    text = await readFile(path.join(PROJECT_ROOT, "shared", "protocol", "SPEC.md"), "utf8");
    frames = text.slice(text.indexOf("\n## 9. Frames"), text.indexOf("\n### 9.1"));
    const { keys } = await openOrigins(1);
    const signer = await openSigner();
    [first, second] = [await openFirst(keys, signer), await openSecond(signer)];
    simulator = await openSimulator();
  });

  type Body = ReturnType<typeof attestBody>;
  /** Of both, which must say the same, byte for byte. */
  async function answerTo({ type, body }: Body, keys: "committed" | "simulated"): Promise<Answer> {
    const payload = concatBytes(uintToBytes(7n, 4), Uint8Array.of(type), body);
    const one = { name: "", keys, payload };
    const [[a], [b]] = [await first[keys]([one]), await second[keys]([one])];
    assert.equal(a!.reply, b!.reply);
    return a!;
  }
  const wordFor = async (request: Body): Promise<string> => (await answerTo(request, "committed")).word;

  it("has the number of every code", () => {
    const rows = [...frames.matchAll(/^\| (\d+) +\| `([A-Z_]+)` +\|/gm)];
    assert.deepEqual(
      rows.map(([, number, code]) => [Number(number), code]),
      REFUSALS.map((code, number) => [number, code]),
    );
  });

  it("names the type strings whose hashes are signed", () => {
    const [domain, attestation, update] = ["EIP712Domain", "Attestation", "RootUpdate"].map((name) => {
      const [line, ...others] = [...text.matchAll(new RegExp(`^ {4}(${name}\\(.*\\))$`, "gm"))];
      assert.equal(others.length, 0);
      return line![1]!;
    });
    const place = [toBeHex(HOME.chainId, 32), toBeHex(BigInt(HOME.pool), 32)];
    const separator = keccak256(concat([keccakOf(domain!), keccakOf("Cloister"), keccakOf("1"), ...place]));
    const digest = (type: string, message: Readonly<Record<string, string | number>>): string => {
      const members = [...type.matchAll(/(\w+)[,)]/g)].map(([, name]) =>
        toBeHex(BigInt(message[name!]!), 32),
      );
      return keccak256(concat(["0x1901", separator, keccak256(concat([keccakOf(type), ...members]))]));
    };
    for (const { attestation: signed } of [statementCalled("a withdrawal"), statementCalled("a deposit")])
      assert.equal(digest(attestation!, signed.message), signed.digest);
    for (const { attestation: signed } of ROOT_UPDATES)
      assert.equal(digest(update!, signed.message), signed.digest);
  });

  describe("which fault is named", () => {
    interface Draft {
      readonly kindId: number;
      readonly signals: readonly bigint[];
      readonly words: readonly bigint[];
      readonly extBytes: string;
    }
    const [[x0, x1], [y0, y1]] = onTwistOutsideSubgroup();
    const withSignal = (draft: Draft, place: number, change: (signal: bigint) => bigint): Draft => ({
      ...draft,
      signals: draft.signals.with(place, change(draft.signals[place]!)),
    });
    const withWords = (draft: Draft, change: (words: readonly bigint[]) => readonly bigint[]): Draft => ({
      ...draft,
      words: change(draft.words),
    });
    /** Each leaves the others as they are, so that all of them can be in one request. */
    const FAULTS: readonly (readonly [string, (draft: Draft) => Draft])[] = [
      ["UNKNOWN_KIND", (draft) => ({ ...draft, kindId: 5 })],
      ["SIGNAL_COUNT", (draft) => ({ ...draft, signals: [...draft.signals, 0n] })],
      ["SIGNAL_RANGE", (draft) => withSignal(draft, 9, (commitment) => commitment + FIELD_ORDER)],
      ["PROOF_NOT_CANONICAL", (draft) => withWords(draft, (all) => all.with(7, all[7]! + BASE_FIELD_ORDER))],
      ["EXT_MALFORMED", (draft) => ({ ...draft, extBytes: concat([draft.extBytes, "0x00"]) })],
      ["NULLIFIERS_NOT_DISTINCT", (draft) => withSignal(draft, 5, () => draft.signals[4]!)],
      ["CONTEXT_MISMATCH", (draft) => withSignal(draft, 0, (context) => context ^ 1n)],
      ["STATEMENT_INVALID", (draft) => withSignal(draft, 2, () => 1n << 160n)],
      ["PROOF_AT_INFINITY", (draft) => withWords(draft, (all) => all.with(6, 0n).with(7, 0n))],
      ["PROOF_NOT_ON_CURVE", (draft) => withWords(draft, (all) => all.with(1, all[1]! ^ 1n))],
      [
        "PROOF_NOT_IN_SUBGROUP",
        (draft) => withWords(draft, (all) => [...all.slice(0, 2), x1, x0, y1, y0, ...all.slice(6)]),
      ],
      ["PROOF_INVALID", (draft) => withWords(draft, (all) => all.with(1, BASE_FIELD_ORDER - all[1]!))],
    ];

    it("of a statement that has all of them, mended one by one in the order of the text", async () => {
      const order = frames.slice(frames.indexOf("\n1. `UNKNOWN_KIND`"), frames.indexOf("`BUSY` may also"));
      assert.deepEqual(
        [...order.matchAll(/`([A-Z_]+)`/g)].map(([, code]) => code),
        FAULTS.map(([code]) => code),
      );
      const { proof, signals, extBytes, kindId, deadline } = statementCalled("a withdrawal");
      const words = wordsIn(mustFromHex(proof));
      const right: Draft = { kindId, signals: signals.map(BigInt), words, extBytes };
      for (let mended = 0; mended <= FAULTS.length; mended++) {
        // The last first: what is put over another's place is the earlier one.
        const draft = FAULTS.slice(mended).reduceRight((wrong, [, spoil]) => spoil(wrong), right);
        const request = attestBody({ ...draft, deadline, proof: flat(draft.words) });
        assert.equal(await wordFor(request), FAULTS[mended]?.[0] ?? "ACCEPTED");
      }
    });

    it("of a root update: the frontier's before the leaves'", async () => {
      const full = Array.from({ length: TREE_DEPTH }, (_, level) =>
        Array.from({ length: digitAt(LAST, level) }, () => emptyNode(level)),
      ).flat();
      assert.equal(full.length, 48);
      const right = { fromIndex: 0n, headBefore: NO_HEAD, frontier: [], leaves: [1n] };
      const leaves: readonly Partial<RootTerms>[] = [{ leaves: [0n] }, { leaves: [1n, FIELD_ORDER] }];
      const frontiers: readonly Partial<RootTerms>[] = [
        { fromIndex: TREE_CAPACITY },
        { fromIndex: UINT64_MAX },
        { fromIndex: 1n, frontier: [FIELD_ORDER] },
        { fromIndex: 1n },
        { frontier: [1n] },
      ];
      for (const frontier of frontiers) {
        assert.equal(await wordFor(rootBody({ ...right, ...frontier })), "FRONTIER_INVALID");
        for (const some of leaves)
          assert.equal(await wordFor(rootBody({ ...right, ...frontier, ...some })), "FRONTIER_INVALID");
      }
      for (const some of leaves)
        assert.equal(await wordFor(rootBody({ ...right, ...some })), "LEAVES_INVALID");

      // Behind the last place but one there is room for one leaf, behind the last for none; every node may be empty.
      const beforeLast = { ...right, fromIndex: LAST - 1n, frontier: full.slice(1) };
      const { reply, word } = await answerTo(rootBody(beforeLast), "committed");
      assert.equal(word, "ACCEPTED");
      assert.equal(BigInt(`0x${reply.slice(132, 148)}`), LAST);
      assert.equal(BigInt(`0x${reply.slice(4, 68)}`), emptyFrontier().root());
      assert.equal(await wordFor(rootBody({ ...beforeLast, leaves: [1n, 2n] })), "LEAVES_INVALID");
      assert.equal(await wordFor(rootBody({ ...right, fromIndex: LAST, frontier: full })), "LEAVES_INVALID");
    });
  });

  describe("what is no request", () => {
    const { kindId, proof, signals, extBytes, deadline } = statementCalled("a withdrawal");
    const attest = attestBody({ kindId, proof, signals, extBytes, deadline });
    const root = (leaves: number): Body =>
      rootBody({ fromIndex: 0, headBefore: NO_HEAD, frontier: [], leaves: Array(leaves).fill(1) });

    for (const [what, request] of [
      ["another type", { ...attest, type: 12 }],
      ["type 0", { ...attest, type: 0 }],
      ["a statement with a byte missing", { ...attest, body: attest.body.slice(0, -1) }],
      ["a statement with a byte left over", { ...attest, body: concatBytes(attest.body, Uint8Array.of(0)) }],
      ["no leaves", root(0)],
      ["257 leaves", root(257)],
    ] as const) {
      it(what, async () => assert.equal(await wordFor(request), "MALFORMED"));
    }
    it("is not the most leaves that there may be", async () => {
      assert.equal(await wordFor(root(256)), "ACCEPTED");
    });
    it("a frame of less than 5 bytes or more than 65,536", () => {
      const headed = (length: number): Uint8Array =>
        concatBytes(Uint8Array.of(1), uintToBytes(BigInt(length), 4));
      for (const length of [5, 65_536]) {
        const read = new FrameSplitter().push(concatBytes(headed(length), new Uint8Array(length)));
        assert.deepEqual(
          read?.map((payload) => payload.length),
          [length],
        );
      }
      for (const length of [4, 65_537]) assert.equal(new FrameSplitter().push(headed(length)), undefined);
    });
  });

  describe("the rules' edges", () => {
    /** The story's, changed, bound and proved again under keys whose trapdoor is public: the rules alone decide. */
    async function verdict(
      of: StatementStep,
      changes: { terms?: Record<string, unknown>; signals?: Record<number, bigint>; deadline?: bigint },
    ): Promise<string> {
      const { terms, deadline = BigInt(of.deadline) } = changes;
      const ciphertexts = of.ext["ciphertexts"] as readonly string[];
      const ext = { ...of.ext, ...terms } as StatementStep["ext"];
      const extBytes = extOf(of.kind, ext, String(of.ext["ephemeralKey"]), ciphertexts);
      const signals = of.signals.map((signal, i) => changes.signals?.[i] ?? BigInt(signal));
      signals[0] = contextOf(HOME, of.kind, deadline, extBytes);
      const proof = toHex(encodeProof(simulator.prove(of.kind, signals.map(mustField))));
      return (
        await answerTo(attestBody({ kindId: of.kindId, deadline, proof, signals, extBytes }), "simulated")
      ).word;
    }
    const deposit = statementCalled("a deposit");
    const withdrawal = statementCalled("a withdrawal");
    const oneHop = statementCalled("a swap through one pool");
    const twoHops = statementCalled("a swap through two pools");
    const nobody = toBeHex(0, 20);
    const [accepted, invalid] = ["ACCEPTED", "STATEMENT_INVALID"];

    for (const [what, of, changes, word] of [
      ["a deadline of 0, as no verifier has a clock", withdrawal, { deadline: 0n }, accepted],
      ["the latest deadline", withdrawal, { deadline: UINT64_MAX }, accepted],
      ["a root, nullifier and commitment of 0", withdrawal, { signals: { 1: 0n, 4: 0n, 6: 0n } }, accepted],
      ["a commitment of r − 1", withdrawal, { signals: { 6: FIELD_ORDER - 1n } }, accepted],
      ["an amount of 2^128 − 1", withdrawal, { signals: { 3: 2n ** 128n - 1n } }, accepted],
      ["an amount of 2^128", withdrawal, { signals: { 3: 2n ** 128n } }, invalid],
      ["an asset of 2^160 − 1", withdrawal, { signals: { 2: 2n ** 160n - 1n } }, accepted],
      [
        "nothing, to nobody",
        withdrawal,
        { signals: { 2: 0n, 3: 0n }, terms: { recipient: nobody } },
        accepted,
      ],
      ["a span of one second", deposit, { terms: { validAfter: "6", validBefore: "7" } }, accepted],
      ["a span of none", deposit, { terms: { validAfter: "7", validBefore: "7" } }, invalid],
      ["the widest span", deposit, { terms: { validAfter: "0", validBefore: String(UINT64_MAX) } }, accepted],
      ["a span before the deadline", deposit, { terms: { validAfter: "0", validBefore: "1" } }, accepted],
      ["an npkOut of 0", oneHop, { terms: { npkOut: "0" } }, accepted],
      ["an npkOut of r − 1", oneHop, { terms: { npkOut: String(FIELD_ORDER - 1n) } }, accepted],
      ["an npkOut of r", oneHop, { terms: { npkOut: String(FIELD_ORDER) } }, invalid],
      ["a floor of 1", oneHop, { terms: { minAmountOut: "1" } }, accepted],
      ["a feeSecond with one hop", oneHop, { terms: { feeSecond: 500 } }, invalid],
      ["two hops of one tier", twoHops, { terms: { feeFirst: 100, feeSecond: 100 } }, accepted],
      ["no feeSecond with two hops", twoHops, { terms: { feeSecond: 0 } }, invalid],
      ["no feeFirst with two hops", twoHops, { terms: { feeFirst: 0 } }, invalid],
    ] as const) {
      it(`${what}: ${word}`, async () => assert.equal(await verdict(of, changes), word));
    }
  });
});
