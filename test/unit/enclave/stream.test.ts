import assert from "node:assert/strict";
import { framed, MessageSplitter } from "../../../enclave/stream.ts";
import { concatBytes, uintToBytes } from "../../../shared/protocol/bytes.ts";

const MESSAGES = [new Uint8Array(0), Uint8Array.of(1), new Uint8Array(300).fill(2), new Uint8Array(0)];
const STREAM = concatBytes(...MESSAGES.map(framed));
const MOST = 300;

describe("enclave/stream", () => {
  it("says how long a message is, and then it", () => {
    assert.deepEqual(framed(Uint8Array.of(7, 8)), Uint8Array.of(0, 0, 0, 2, 7, 8));
  });

  it("gives the same messages wherever the stream is cut", () => {
    for (const size of [1, 3, 5, 100, STREAM.length]) {
      const splitter = new MessageSplitter(MOST);
      const got: Uint8Array[] = [];
      for (let at = 0; at < STREAM.length; at += size)
        got.push(...splitter.push(STREAM.subarray(at, at + size))!);
      assert.deepEqual(got, MESSAGES);
    }
  });

  it("waits for what is announced, and for a whole length", () => {
    const splitter = new MessageSplitter(MOST);
    assert.deepEqual(splitter.push(uintToBytes(2n, 4).subarray(0, 3)), []);
    assert.deepEqual(splitter.push(Uint8Array.of(2, 5)), []);
    assert.deepEqual(splitter.push(Uint8Array.of(6, 0)), [Uint8Array.of(5, 6)]);
  });

  it("takes the longest that may be, and nothing that announces more", () => {
    assert.equal(new MessageSplitter(MOST).push(framed(new Uint8Array(MOST)))?.length, 1);
    for (const length of [MOST + 1, 0xffff_ffff]) {
      const splitter = new MessageSplitter(MOST);
      assert.equal(splitter.push(uintToBytes(BigInt(length), 4)), undefined);
      assert.equal(splitter.push(new Uint8Array(8)), undefined);
    }
  });

  it("keeps what it gave as it was", () => {
    const chunk = framed(Uint8Array.of(9));
    const [message] = new MessageSplitter(MOST).push(chunk)!;
    chunk.fill(0);
    assert.deepEqual(message, Uint8Array.of(9));
  });
});
