// The second program's judge with real processes: the second verifier's own, and some that were taken over.
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { openSecond } from "../../../enclave/second.ts";
import type { Judge } from "../../../enclave/judge.ts";
import type { Platform } from "../../../enclave/platform.ts";
import type { Signer } from "../../../enclave/signer.ts";
import { developmentConfiguration } from "../../../scripts/image/configuration.ts";
import { BASE_FIELD_ORDER, FIELD_ORDER, ZERO_BYTES32 } from "../../../shared/protocol/brands.ts";
import { concatBytes, toHex, word } from "../../../shared/protocol/bytes.ts";
import {
  FRAME_HEADER_BYTES,
  REFUSALS as CODES,
  type AttestRequest,
  type AttestRootRequest,
  type EnclaveReply,
} from "../../../shared/protocol/enclave-messages.ts";
import { encodeRequest } from "../../../shared/protocol/host/enclave-host.ts";
import { encodeProof } from "../../../shared/protocol/host/proofs.ts";
import { refused } from "../../contract/vectors/refusals.ts";
import { HOME, REFUSALS } from "../../contract/vectors/story.ts";
import { codeOf } from "./support/frame-client.ts";
import { aSigner, CONFIGURATION } from "./support/key-life.ts";
import { aPlatform, SECOND_VERIFIER } from "./support/platforms.ts";
import { SocketFolder, until } from "./support/sockets.ts";
import {
  PROVEN,
  aProvenDeposit,
  aProvenSpend,
  aProvenSwap,
  leaves,
  withSignals,
} from "./support/statements.ts";
import { onTwistOutsideSubgroup } from "./support/toy-groth16.ts";
import { judgeWith, verifierHere } from "./support/verifiers.ts";

type Request = AttestRequest | AttestRootRequest;

const payloadOf = (id: number, request: Request): Uint8Array =>
  encodeRequest(id, request).slice(FRAME_HEADER_BYTES);

const aRootUpdate = (changes: Partial<AttestRootRequest> = {}): AttestRootRequest => ({
  ...{ type: "attest-root", ...HOME, fromIndex: 0n, headBefore: ZERO_BYTES32, frontier: [] },
  leaves: leaves(16),
  ...changes,
});

/** What it signed. */
function watched(signer: Signer): { readonly signer: Signer; readonly signed: Uint8Array[] } {
  const signed: Uint8Array[] = [];
  const sign = signer.sign.bind(signer);
  signer.sign = (digest) => {
    signed.push(digest);
    return sign(digest);
  };
  return { signer, signed };
}

/** With a tenth of all times. */
const hurried = (platform: Platform): Platform => ({
  ...platform,
  processors: 1,
  after: (ms, then) => platform.after(ms / 10, then),
});

describe("enclave/second", function () {
  let folder: SocketFolder;
  before(async () => {
    folder = await SocketFolder.make();
  });
  after(() => folder.remove());

  describe("with the second verifier's processes", () => {
    let second: Judge;
    let first: Judge;
    const spend = aProvenSpend();
    before(async () => {
      const platform = await aPlatform(folder, SECOND_VERIFIER);
      second = await openSecond(platform, CONFIGURATION, await developmentConfiguration());
      first = judgeWith(await verifierHere());
    });

    /** By the second, once it is certain that the first says the same: code, fields and signature. */
    const judged = async (request: Request, id = 7): Promise<EnclaveReply> => {
      const payload = payloadOf(id, request);
      const reply = await second(aSigner(), request, payload);
      assert.deepEqual(reply, await first(aSigner(), request, payload));
      return reply;
    };

    for (const [kind, make] of PROVEN) {
      it(`signs what the first signs: ${kind}`, async () => {
        assert.equal((await judged(make().request)).type, "attest");
      });
    }

    it("signs what the first signs: root updates", async () => {
      for (const count of [1, 256]) {
        const reply = await judged(aRootUpdate({ leaves: leaves(count) }));
        assert.equal(reply.type, "attest-root");
      }
    });

    it("gives each of a crowd its own answer, also under one id, and signs for the good ones alone", async () => {
      const bad = { ...spend.request, proof: aProvenDeposit().request.proof };
      const crowd: Request[] = Array.from({ length: 40 }, (_, i) =>
        i % 5 === 3 ? bad : i % 7 === 2 ? aRootUpdate() : i % 2 === 0 ? spend.request : aProvenSwap().request,
      );
      const { signer, signed } = watched(aSigner());
      const replies = await Promise.all(crowd.map((one) => second(signer, one, payloadOf(3, one))));
      const alone = new Map<Request, EnclaveReply>();
      for (const one of new Set(crowd)) alone.set(one, await first(aSigner(), one, payloadOf(3, one)));
      assert.deepEqual(
        replies.map((reply) => JSON.stringify(reply, inText)),
        crowd.map((one) => JSON.stringify(alone.get(one), inText)),
      );
      assert.equal(signed.length, crowd.filter((one) => one !== bad).length);
    });

    describe("refuses as the first does, each for its own reason", () => {
      const met = new Set<string>();
      const refuses = (code: string, what: string, make: () => Request): void => {
        it(`${code}: ${what}`, async () => {
          assert.equal(codeOf(await judged(make())), code);
          met.add(code);
        });
      };
      const withProof = (proof: Partial<typeof spend.proof>): AttestRequest => ({
        ...spend.request,
        proof: encodeProof({ ...spend.proof, ...proof }),
      });

      for (const refusal of REFUSALS) {
        refuses(refusal.code, refusal.name, () => {
          const { of, signals, extBytes } = refused(refusal);
          return {
            ...{ type: "attest", ...HOME, kindId: of.kindId, deadline: BigInt(of.deadline), signals },
            proof: bytesOf(of.proof),
            ext: bytesOf(extBytes),
          };
        });
      }
      refuses("UNKNOWN_KIND", "kind 9", () => ({ ...spend.request, kindId: 9 }));
      refuses("PROOF_NOT_CANONICAL", "a coordinate + q", () => {
        const proof = new Uint8Array(spend.request.proof);
        proof.set(word(spend.proof.a[0] + BASE_FIELD_ORDER));
        return { ...spend.request, proof };
      });
      refuses("PROOF_AT_INFINITY", "C = 0", () => withProof({ c: [0n, 0n] }));
      refuses("PROOF_NOT_ON_CURVE", "one bit of A", () =>
        withProof({ a: [spend.proof.a[0], spend.proof.a[1] ^ 1n] }),
      );
      refuses("PROOF_NOT_IN_SUBGROUP", "B of another order", () =>
        withProof({ b: onTwistOutsideSubgroup() }),
      );
      refuses("PROOF_INVALID", "another amount", () =>
        withSignals(spend.request, "spend", { amountOut: 41n }),
      );
      refuses("FRONTIER_INVALID", "a node too many", () => aRootUpdate({ frontier: [1n] }));
      refuses("LEAVES_INVALID", "an empty leaf", () => aRootUpdate({ leaves: [1n, 0n] }));

      after("and no code of a judge's is left out", () => {
        const judges = CODES.slice(CODES.indexOf("UNKNOWN_KIND"), CODES.indexOf("LEAVES_INVALID") + 1);
        assert.deepEqual([...met].sort(), [...judges].sort());
      });
    });
  });

  describe("with a process that was taken over", () => {
    const { request } = aProvenSpend();
    let taken: SocketFolder;
    beforeEach(async () => {
      taken = await SocketFolder.make();
    });
    afterEach(() => taken.remove());

    /** Of a process that answers batches by `answer`; its successors answer each request with elevens. */
    async function judgeOver(answer: string): Promise<Judge> {
      await writeFile(taken.at("verifier.mjs"), PROCESS.replace("ANSWER", answer));
      const platform = await aPlatform(taken, { file: taken.at("verifier.mjs") });
      return openSecond(hurried(platform), CONFIGURATION, "{}");
    }

    const PROCESS = `
      import { appendFileSync, existsSync, readFileSync } from "node:fs";
      import { Socket } from "node:net";
      const program = new Socket({ fd: 3, readable: true, writable: true });
      const seen = new URL("./seen", import.meta.url).pathname;
      const framed = (...parts) => {
        const bytes = Buffer.concat(parts.map((part) => Buffer.from(part)));
        const length = Buffer.alloc(4);
        length.writeUInt32BE(bytes.length);
        return Buffer.concat([length, bytes]);
      };
      const frame = (...parts) => Buffer.concat([Buffer.from([1]), framed(...parts)]);
      const elevens = (length) => new Uint8Array(length).fill(0x11);
      const good = (id, type) => frame(id, [type | 0x80], elevens(type === 6 ? 96 : 136));
      const taken = (id, type, frames) => { ANSWER };
      let held = Buffer.alloc(0);
      let isSetUp = false;
      program.on("data", (chunk) => {
        held = Buffer.concat([held, chunk]);
        while (held.length >= 4 && held.length >= 4 + held.readUInt32BE(0)) {
          const message = held.subarray(4, 4 + held.readUInt32BE(0));
          held = held.subarray(4 + message.length);
          if (!isSetUp) {
            isSetUp = true;
            program.write(framed());
            continue;
          }
          const isFirst = !existsSync(seen) || readFileSync(seen, "utf8").startsWith(process.pid + "\\n");
          appendFileSync(seen, String(process.pid) + "\\n");
          const frames = [];
          let at = 2 + message.readUInt16BE(0);
          while (at < message.length) {
            const end = at + 5 + message.readUInt32BE(at + 1);
            frames.push(message.subarray(at + 5, end));
            at = end;
          }
          const [id, type] = [frames[0].subarray(0, 4), frames[0][4]];
          if (isFirst) program.write(taken(id, type, frames));
          else program.write(framed(...frames.map((one) => good(one.subarray(0, 4), one[4]))));
        }
      });
    `;

    it("signs the digest that it says, and nothing else: that is all its power", async () => {
      const judge = await judgeOver("return framed(good(id, type));");
      const { signer, signed } = watched(aSigner());
      const reply = await judge(signer, request, payloadOf(1, request));
      const elevens = new Uint8Array(32).fill(0x11);
      assert.deepEqual(signed, [elevens]);
      const hash = toHex(elevens);
      const signature = aSigner().sign(elevens);
      assert.deepEqual(reply, { type: "attest", statementHash: hash, proofHash: hash, signature });
    });

    const root = aRootUpdate();
    const order = `0x${FIELD_ORDER.toString(16)}`;
    for (const [what, answer, asked = request] of [
      ["nothing", "return framed();"],
      ["garbage", 'return framed("this is no frame");'],
      ["half a frame's head", "return framed([1, 0, 0]);"],
      ["half a frame", "return framed(good(id, type).subarray(0, 60));"],
      ["a frame and a byte", "return framed(good(id, type), [1]);"],
      ["two frames", "return framed(good(id, type), good(id, type));"],
      ["a frame of another version", "const bad = good(id, type); bad[0] = 2; return framed(bad);"],
      ["another request's id", "return framed(good([0, 0, 0, 9], type));"],
      ["the reply of another type", "return framed(good(id, 7));"],
      ["a reply without a digest", "return framed(frame(id, [0x86], elevens(64)));"],
      ["a reply with a signature in the digest's place", "return framed(frame(id, [0x86], elevens(129)));"],
      ["a byte less than a reply", "return framed(frame(id, [0x86], elevens(95)));"],
      ["that it was no request", "return framed(frame(id, [0]));"],
      ["a refusal without a code", "return framed(frame(id, [0xff]));"],
      ["a refusal with two codes", "return framed(frame(id, [0xff, 13, 13]));"],
      ["a refusal that nobody knows", "return framed(frame(id, [0xff, 200]));"],
      ["a refusal that is the program's own", "return framed(frame(id, [0xff, 0]));"],
      ["the next of the program's own", "return framed(frame(id, [0xff, 16]));"],
      ["more than any answer has", "return Buffer.from([0, 0, 0x40, 1]);"],
      ["a root that is none", rootAnswer(order), root],
      ["a second root that is none", rootAnswer(`0x${"11".repeat(32)}`, order), root],
      ["a byte less than a root update's", "return framed(frame(id, [0x87], elevens(135)));", root],
    ] as const) {
      it(`answers BUSY, signs nothing and replaces it when it answers ${what}`, () =>
        isReplaced(answer, asked));
    }
    it("the same when it dies", () => isReplaced("process.kill(process.pid, 'SIGKILL');", request));
    it("the same when it ends in order", () => isReplaced("process.exit(0);", request));
    it("the same when it hangs", () => isReplaced("for (;;);", request));
    it("the same when it says nothing", () => isReplaced("return new Uint8Array(0);", request));

    it("takes back nothing that it said before: a second answer to one batch ends it", async () => {
      const judge = await judgeOver(
        "return Buffer.concat([framed(good(id, type)), framed(good(id, type))]);",
      );
      const { signer, signed } = watched(aSigner());
      assert.equal((await judge(signer, request, payloadOf(1, request))).type, "attest");
      await until("another serves", async () => {
        await judge(signer, request, payloadOf(2, request));
        return new Set(await pids()).size === 2;
      });
      assert.ok(signed.length >= 2);
    });

    it("BUSY for all of a batch when one of its answers is none", async () => {
      // A request alone is a batch, and holds the process up while the next batch gathers.
      const judge = await judgeOver(`
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200);
        return framed(...frames.map((one, i) => good(one.subarray(0, 4), i === 1 ? 7 : 6)));
      `);
      const { signer, signed } = watched(aSigner());
      const replies = await Promise.all(
        [1, 2, 3].map((id) => judge(signer, request, payloadOf(id, request))),
      );
      assert.deepEqual(
        replies.map((reply) => (reply.type === "refused" ? reply.code : reply.type)),
        ["attest", "BUSY", "BUSY"],
      );
      assert.equal(signed.length, 1);
    });

    async function isReplaced(answer: string, asked: Request): Promise<void> {
      const judge = await judgeOver(answer);
      const { signer, signed } = watched(aSigner());
      const ask = (id: number): Promise<EnclaveReply> => judge(signer, asked, payloadOf(id, asked));
      assert.equal(codeOf(await ask(1)), "BUSY");
      assert.deepEqual(signed, []);
      await until("its successor serves", async () => (await ask(2)).type === asked.type);
      const [one, ...others] = await pids();
      assert.ok(others.length > 0 && !others.includes(one!));
    }
    /** Of those that had a batch, in their order. */
    async function pids(): Promise<string[]> {
      return (await readFile(taken.at("seen"), "utf8")).trim().split("\n");
    }
    function rootAnswer(...roots: readonly string[]): string {
      const bytes = roots.map((root) => `Buffer.from("${root.slice(2)}", "hex")`).join(", ");
      const rest = 136 - 32 * roots.length;
      return `return framed(frame(id, [0x87], ${bytes}, elevens(${String(rest)})));`;
    }
  });
});

const bytesOf = (hex: string): Uint8Array => concatBytes(Buffer.from(hex.slice(2), "hex"));
const inText = (_: string, value: unknown): unknown =>
  typeof value === "bigint" ? String(value) : value instanceof Uint8Array ? toHex(value) : value;
