// The judge behind its stream, first in this process, then as a process of its own.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import type { Socket } from "node:net";
import { fileURLToPath } from "node:url";
import { concat, toBeHex } from "ethers";
import { serve } from "../../../../enclave/second/frames.ts";
import type { Request } from "../../../../enclave/second/judge/judge.ts";
import { REFUSALS } from "../../../contract/vectors/story.ts";
import { refused } from "../../../contract/vectors/refusals.ts";
import { ROOT_UPDATES, STATEMENTS } from "../../../contract/vectors/story.ts";
import { attestBody, KEYS, rootBody } from "./requests.ts";

const HEAD = toBeHex(0, 32);
const hex = (bytes: Uint8Array): string => `0x${Buffer.from(bytes).toString("hex")}`;
const bytesOf = (text: string): Uint8Array => new Uint8Array(Buffer.from(text.slice(2), "hex"));
const frameOf = (id: number, type: number, body: string): string =>
  concat(["0x01", toBeHex(5 + (body.length - 2) / 2, 4), toBeHex(id, 4), toBeHex(type, 1), body]);
const asked = (id: number, { type, body }: Request): Uint8Array => bytesOf(frameOf(id, type, hex(body)));

const [deposit] = STATEMENTS;
const [update] = ROOT_UPDATES;
const falsified = attestBody({ ...deposit!, proof: STATEMENTS[1]!.proof });
const root = rootBody({ fromIndex: 0, headBefore: HEAD, frontier: [], leaves: update!.leaves });

/** Requests, and replies with the digests of other implementations. */
const TALK: readonly (readonly [Uint8Array, string])[] = [
  [
    asked(1, attestBody(deposit!)),
    frameOf(
      1,
      0x86,
      concat([
        deposit!.statementHash,
        String(deposit!.attestation.message["proofHash"]),
        deposit!.attestation.digest,
      ]),
    ),
  ],
  [asked(0xffff_ffff, falsified), frameOf(0xffff_ffff, 0xff, "0x0d")],
  [
    asked(3, root),
    frameOf(
      3,
      0x87,
      concat([
        ...["oldRoot", "newRoot"].map((name) => toBeHex(BigInt(update!.attestation.message[name]!), 32)),
        toBeHex(update!.leaves.length, 8),
        String(update!.attestation.message["headAfter"]),
        update!.attestation.digest,
      ]),
    ),
  ],
  [asked(4, { type: 1, body: new Uint8Array() }), frameOf(4, 0, "0x")],
];
const QUESTIONS = TALK.map(([question]) => question);
const ANSWERS = concat(TALK.map(([, answer]) => answer));

const message = (...parts: readonly Uint8Array[]): Uint8Array => {
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  return Buffer.concat([bytesOf(toBeHex(length, 4)), ...parts]);
};
const CONFIGURATION = message(
  Buffer.from(JSON.stringify({ kmsPublicKey: "unread", verificationKeys: KEYS })),
);
const READY = "0x00000000";
const batch = (frames: readonly Uint8Array[], weights = randomBytes(16 * frames.length)): Uint8Array =>
  message(bytesOf(toBeHex(weights.length, 2)), weights, ...frames);
const NO_WEIGHTS = Buffer.alloc(0);
const said = (...answers: readonly string[]): string =>
  concat(answers.map((answer) => concat([toBeHex((answer.length - 2) / 2, 4), answer])));

describe("enclave/second/frames", function () {
  async function talk(...chunks: readonly Uint8Array[]): Promise<string> {
    const written: Uint8Array[] = [];
    await serve(streamOf([CONFIGURATION, ...chunks]), (bytes) => void written.push(bytes));
    const all = hex(Buffer.concat(written));
    assert.equal(all.slice(0, READY.length), READY);
    return `0x${all.slice(READY.length)}`;
  }

  it("answers each frame of a batch under its id, with weights and without", async () => {
    assert.equal(await talk(batch(QUESTIONS)), said(ANSWERS));
    assert.equal(await talk(batch(QUESTIONS, NO_WEIGHTS)), said(ANSWERS));
  });

  it("answers batch after batch, also where chunks cut messages anywhere", async () => {
    const twice = Buffer.concat([batch(QUESTIONS), batch([]), batch(QUESTIONS.slice(0, 1), NO_WEIGHTS)]);
    const answers = said(ANSWERS, "0x", TALK[0]![1]);
    for (const size of [1, 7, 500, twice.length]) {
      const pieces = Array.from({ length: Math.ceil(twice.length / size) }, (_, i) =>
        twice.subarray(size * i, size * i + size),
      );
      assert.equal(await talk(...pieces), answers);
    }
    assert.equal(await talk(), "0x");
  });

  it("judges a batch by the weights that came with it, and never by none that are zero, few or old", async () => {
    const two = [QUESTIONS[0]!, asked(2, attestBody(STATEMENTS[1]!))];
    await talk(batch(two));
    for (const weights of [Buffer.alloc(32), randomBytes(31), randomBytes(1)]) {
      await assert.rejects(talk(batch(two, weights)), /no randomness/);
      await assert.rejects(talk(batch(QUESTIONS, randomBytes(320)), batch(two, weights)), /no randomness/);
    }
  });

  it("has the wire's number for every refusal that vectors show", async () => {
    const numbers: Record<string, number> = {
      ...{ SIGNAL_COUNT: 3, SIGNAL_RANGE: 4, EXT_MALFORMED: 9, NULLIFIERS_NOT_DISTINCT: 10 },
      ...{ CONTEXT_MISMATCH: 11, STATEMENT_INVALID: 12 },
    };
    const refusals = REFUSALS.map((refusal) => ({ code: refusal.code, ...refused(refusal) }));
    const frames = refusals.map(({ of, signals, extBytes }, i) =>
      asked(i, attestBody({ ...of, signals, extBytes })),
    );
    const answers = refusals.map(({ code }, i) => frameOf(i, 0xff, toBeHex(numbers[code]!, 1)));
    assert.equal(await talk(batch(frames)), said(concat(answers)));
    assert.deepEqual([...new Set(refusals.map(({ code }) => code))].sort(), Object.keys(numbers).sort());
  });

  for (const [what, bytes] of [
    ["another version", "0x0200000005000000010600"],
    ["a length below 5", "0x0100000004000000010600"],
    ["a length above 65,536", "0x0100010001000000010600"],
    ["a frame that ends early", "0x01000000060000000106"],
    ["half a frame's head", "0x010000"],
  ] as const) {
    it(`ends at ${what}`, () => assert.rejects(talk(batch([QUESTIONS[0]!, bytesOf(bytes)])), /no frame/));
  }
  it("ends where the stream does, and says when that is within a message", async () => {
    await assert.rejects(talk(batch(QUESTIONS).subarray(0, -1)), /within a message/);
    await assert.rejects(talk(bytesOf("0x0000")), /within a message/);
  });
});

describe("enclave/second/process", function () {
  const PROGRAM = fileURLToPath(new URL("../../../../enclave/second/process.ts", import.meta.url));

  async function run(...messages: readonly Uint8Array[]): Promise<{ code: number; said: string }> {
    const child = spawn(process.execPath, ["--import", "tsx", PROGRAM], {
      stdio: ["ignore", "ignore", "ignore", "pipe"],
    });
    const stream = child.stdio[3] as Socket;
    const heard: Buffer[] = [];
    stream.on("data", (chunk: Buffer) => heard.push(chunk)).on("error", () => undefined);
    stream.end(Buffer.concat(messages));
    const [code] = (await once(child, "close")) as [number];
    return { code, said: hex(Buffer.concat(heard)) };
  }

  it("answers on descriptor 3 and ends with it", async () => {
    const answer = await run(CONFIGURATION, batch(QUESTIONS));
    assert.deepEqual(answer, { code: 0, said: concat([READY, said(ANSWERS)]) });
  });

  it("says nothing without keys that are exactly the four kinds'", async () => {
    for (const text of ["", "{}", JSON.stringify({ verificationKeys: { spend: KEYS["spend"] } })]) {
      const answer = await run(message(Buffer.from(text)), batch(QUESTIONS));
      assert.notEqual(answer.code, 0);
      assert.equal(answer.said, "0x");
    }
  });
});

async function* streamOf(chunks: Iterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield* chunks;
}
