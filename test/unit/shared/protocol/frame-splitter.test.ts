import assert from "node:assert/strict";
import fc from "fast-check";
import { concatBytes, uintToBytes } from "../../../../shared/protocol/bytes.ts";
import { FrameSplitter, MAX_FRAME_BYTES } from "../../../../shared/protocol/enclave-messages.ts";

const frameOf = (payload: Uint8Array): Uint8Array =>
  concatBytes(Uint8Array.of(1), uintToBytes(BigInt(payload.length), 4), payload);
const header = (version: number, length: number): Uint8Array =>
  concatBytes(Uint8Array.of(version), uintToBytes(BigInt(length), 4));

describe("shared/protocol/enclave-messages FrameSplitter", () => {
  it("finds the same frames however the stream is cut", () => {
    const payloads = fc.array(fc.uint8Array({ minLength: 5, maxLength: 40 }), { maxLength: 6 });
    fc.assert(
      fc.property(payloads, fc.array(fc.integer({ min: 0, max: 30 })), (sent, cuts) => {
        const stream = concatBytes(...sent.map(frameOf));
        const splitter = new FrameSplitter();
        const got: Uint8Array[] = [];
        let at = 0;
        for (const size of [...cuts, stream.length]) {
          got.push(...splitter.push(stream.subarray(at, at + size))!);
          at += size;
        }
        assert.deepEqual(got, sent);
      }),
    );
  });

  it("holds back a frame until its last byte, and takes the greatest", () => {
    const splitter = new FrameSplitter();
    const payload = new Uint8Array(MAX_FRAME_BYTES).fill(4);
    const frame = frameOf(payload);
    assert.deepEqual(splitter.push(frame.subarray(0, -1)), []);
    assert.deepEqual(splitter.push(frame.subarray(-1)), [payload]);
    assert.deepEqual(splitter.push(new Uint8Array(0)), []);
  });

  it("does not share memory with the chunk", () => {
    const chunk = frameOf(new Uint8Array(5).fill(1));
    const [payload] = new FrameSplitter().push(chunk)!;
    chunk.fill(0xff);
    assert.deepEqual(payload, new Uint8Array(5).fill(1));
  });

  const bad: Record<string, Uint8Array> = {
    "another version, at its first byte": Uint8Array.of(0),
    "version 2": Uint8Array.of(2),
    "a length below 5": header(1, 4),
    "a length above the cap": header(1, MAX_FRAME_BYTES + 1),
    "a length of 4 GiB": header(1, 0xffff_ffff),
    "a good frame and then another version": concatBytes(frameOf(new Uint8Array(5)), Uint8Array.of(7)),
  };
  for (const [what, bytes] of Object.entries(bad)) {
    it(`is done permanently after ${what}`, () => {
      const splitter = new FrameSplitter();
      assert.equal(splitter.push(bytes), undefined);
      assert.equal(splitter.push(frameOf(new Uint8Array(5))), undefined);
      assert.equal(splitter.push(new Uint8Array(0)), undefined);
    });
  }

  it("copies each byte of a trickled frame once", () => {
    // Counted, not timed: a splitter that joins what it holds at every push copies 2 GiB here.
    const frame = frameOf(new Uint8Array(MAX_FRAME_BYTES));
    let copied = 0;
    const set = Uint8Array.prototype.set;
    Uint8Array.prototype.set = function (source, offset) {
      copied += source.length;
      set.call(this, source, offset);
    };
    try {
      const splitter = new FrameSplitter();
      let frames = 0;
      for (let i = 0; i < frame.length; i++) frames += splitter.push(frame.subarray(i, i + 1))!.length;
      assert.equal(frames, 1);
      assert.equal(copied, frame.length);
    } finally {
      Uint8Array.prototype.set = set;
    }
  });

  it("never throws, whatever it is given", () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 40 })), (chunks) => {
        const splitter = new FrameSplitter();
        for (const chunk of chunks) splitter.push(chunk);
      }),
      { numRuns: 2_000 },
    );
  });
});
