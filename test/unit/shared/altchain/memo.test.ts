// One spelling an order, and nothing else is one.
import assert from "node:assert/strict";
import { isOrder, orderMemo, parseOrderMemo } from "../../../../shared/altchain/memo.ts";

const recipient = `0x${"00".repeat(12)}${"ab".repeat(20)}`;
const order = { domain: 3, recipient, maxFee: 20_000n, finality: 1000 };

describe("altchain: memo of a burn", () => {
  it("is read back as it was written", () => {
    const memo = orderMemo(order);
    assert.equal(memo, `cctp1:3:${recipient}:20000:1000`);
    assert.deepEqual(parseOrderMemo(memo), order);
    const largest = { domain: 2 ** 32 - 1, recipient, maxFee: 2n ** 256n - 1n, finality: 0 };
    assert.deepEqual(parseOrderMemo(orderMemo(largest)), largest);
  });

  it("has no second spelling", () => {
    for (const memo of [
      `cctp1:03:${recipient}:20000:1000`,
      `cctp1:3:${recipient.toUpperCase().replace("X", "x")}:20000:1000`,
      `cctp1:3:${recipient}:020000:1000`,
      `cctp1:3:${recipient}:20000:1000 `,
      `cctp1:3:${recipient}:20000:1000\n`,
      ` cctp1:3:${recipient}:20000:1000`,
      `cctp1:3:${recipient}:20000:1000:0`,
      `cctp1:3:${recipient}:-1:1000`,
      `cctp1:3:${recipient}:20000:`,
      `cctp1:4294967296:${recipient}:20000:1000`,
      `cctp1:3:${recipient}:20000:4294967296`,
      `cctp1:3:${recipient}:${String(2n ** 256n)}:1000`,
      `cctp1:3:${recipient.slice(0, -1)}:20000:1000`,
      `cctp2:3:${recipient}:20000:1000`,
    ])
      assert.equal(parseOrderMemo(memo), undefined, memo);
    assert.ok(isOrder("cctp1:3:x") && !isOrder("cctp2:3:x"));
  });

  it("is not written for what it cannot hold", () => {
    assert.throws(() => orderMemo({ ...order, maxFee: -1n }), RangeError);
    assert.throws(() => orderMemo({ ...order, domain: 1.5 }), RangeError);
    assert.throws(() => orderMemo({ ...order, recipient: `${recipient}:0` }), RangeError);
  });
});
