import fc from "fast-check";
import assert from "node:assert/strict";
import { MAX_EVENT_CHARS, SseParser, type SseMessage } from "../../../../../shared/client/service/sse.ts";

const parse = (...chunks: string[]): SseMessage[] => {
  const parser = new SseParser();
  return chunks.flatMap((chunk) => parser.push(chunk));
};

describe("event-stream format", () => {
  it("reads events, ids, several data lines, comments and all three line ends", () => {
    const text = ":hello\nevent: leaf\r\nid: 1-a-0\rdata: one\ndata: two\n\ndata:three\n\n";
    assert.deepEqual(parse(text), [
      { event: "leaf", data: "one\ntwo", id: "1-a-0", lastEventId: "1-a-0" },
      { event: "message", data: "three", id: undefined, lastEventId: "1-a-0" },
    ]);
  });

  it("ignores a byte-order mark, unknown fields, ids with NUL, and events without data", () => {
    assert.deepEqual(parse("\uFEFFfoo: bar\nid: a\0b\nevent: x\n\n"), []);
    assert.deepEqual(parse("\uFEFFdata: 1\n\n")[0]?.data, "1");
  });

  it("reads the reconnection time when it is digits only", () => {
    const parser = new SseParser();
    parser.push("retry: 3000\n\nretry: 5x\n\n");
    assert.equal(parser.retryMs, 3000);
  });

  it("keeps an unfinished event back", () => {
    assert.deepEqual(parse("data: 1\n"), []);
    assert.equal(parse("data: 1\r\n\r", "\n").length, 1);
  });

  it("gives the same messages wherever the stream is cut", () => {
    const line = fc.oneof(
      fc.constantFrom("", "data: a", "data", "id: 7-f-1", "event: leaf", ":c", "retry: 5", "data:  two"),
      fc.string({ maxLength: 12 }).map((text) => text.replace(/[\r\n]/g, "")),
    );
    const stream = fc
      .array(fc.tuple(line, fc.constantFrom("\n", "\r\n", "\r")), { maxLength: 40 })
      .map((lines) => lines.map((parts) => parts.join("")).join("") + "\n\n");
    fc.assert(
      fc.property(stream, fc.array(fc.nat(600), { maxLength: 12 }), (text, cuts) => {
        const at = [0, ...cuts.map((cut) => cut % (text.length + 1)).sort((a, b) => a - b), text.length];
        const pieces = at.slice(1).map((end, i) => text.slice(at[i], end));
        assert.deepEqual(parse(...pieces), parse(text));
      }),
      { numRuns: 500 },
    );
  });

  it("never throws on noise, and stops at an endless event", () => {
    fc.assert(fc.property(fc.array(fc.string()), (chunks) => void parse(...chunks)));
    assert.throws(() => parse("x".repeat(MAX_EVENT_CHARS + 1)), RangeError);
    const parser = new SseParser();
    assert.throws(() => {
      for (let i = 0; i < 2000; i++) parser.push(`data: ${"y".repeat(1000)}\n`);
    }, RangeError);
  });
});
