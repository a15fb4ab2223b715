import assert from "node:assert/strict";
import { quoted } from "../../../../scripts/base/quoted.ts";

describe("words of others for a terminal", () => {
  it("are in quotes, and leave what is printable as it is", () => {
    assert.equal(quoted("v1.2 --reproducible"), '"v1.2 --reproducible"');
    assert.equal(quoted('a"b\\c'), '"a\\"b\\\\c"');
  });

  it("reach no terminal as something that steers it", () => {
    for (const steering of [
      "\n",
      "\r",
      "\u001b[2K",
      "\u007f",
      "\u009b1A",
      "\u2028",
      "\u202e",
      "\u{e0041}",
      "\ud800",
    ]) {
      const text = quoted(`a${steering}b`);
      assert.match(text, /^[\x20-\x7e]+$/);
      assert.equal(JSON.parse(text), `a${steering}b`);
    }
  });
});
