import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { drawEntropy, readUnseen } from "../../../../scripts/ceremony/entropy.ts";

class FakeTerminal extends PassThrough {
  readonly isTTY = true;
  readonly modes: boolean[] = [];

  setRawMode(mode: boolean): this {
    this.modes.push(mode);
    return this;
  }
}

describe("a party's own entropy", () => {
  it("is one line of a terminal, read without echo, which is switched on again afterwards", async () => {
    const terminal = new FakeTerminal();
    const modesWhenAsked: boolean[] = [];
    const read = readUnseen(terminal, () => modesWhenAsked.push(...terminal.modes));
    terminal.write("dice 3");
    terminal.write("51\x7f2\rnot this");
    assert.equal((await read)?.toString(), "dice 352");
    assert.deepEqual(modesWhenAsked, [true], "echo is off before the question");
    assert.deepEqual(terminal.modes, [true, false]);
  });

  it("is undefined when the party presses Ctrl-C", async () => {
    const terminal = new FakeTerminal();
    const read = readUnseen(terminal, () => undefined);
    terminal.write("half\x03");
    assert.equal(await read, undefined);
    assert.deepEqual(terminal.modes, [true, false]);
  });

  it("is everything that a pipe gives, its bytes as they are, without a question", async () => {
    const pipe = new PassThrough();
    pipe.end(Buffer.from([0, 3, 13, 127, 255]));
    const read = await readUnseen(pipe, () => assert.fail("nobody is there to ask"));
    assert.deepEqual([...(read ?? [])], [0, 3, 13, 127, 255]);
  });

  it("does not overflow, and leaves nothing in the chunks it came in", async () => {
    const chunk = Buffer.alloc(100_000, 7);
    const pipe = new PassThrough();
    pipe.end(chunk);
    assert.equal((await readUnseen(pipe, () => undefined))?.length, 65_536);
    assert.ok(chunk.every((byte) => byte === 0));
  });
});

describe("the randomness of a contribution", () => {
  it("is another for every circuit and every run, with and without the party's own", () => {
    const own = Buffer.from("the same");
    const drawn = [drawEntropy("spend", own), drawEntropy("spend", own), drawEntropy("spend", undefined)];
    assert.equal(new Set(drawn).size, 3);
    for (const text of drawn) assert.match(text, /^[0-9a-f]{128}$/);
  });
});
