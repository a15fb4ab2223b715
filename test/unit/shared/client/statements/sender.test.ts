import assert from "node:assert/strict";
import { eip1193Sender, type Eip1193Provider } from "../../../../../shared/client/index.ts";

const ACCOUNT = "0x00000000000000000000000000000000000000aa";
const OUTGOING = {
  to: "0x00000000000000000000000000000000000000bb",
  data: "0x12",
  value: 0n,
  chainId: 31_337,
};
const LOG = { address: ACCOUNT, topics: ["0x01"], data: "0x" };

function provider(answers: Readonly<Record<string, unknown[]>>): Eip1193Provider & { asked: unknown[] } {
  const asked: unknown[] = [];
  return {
    asked,
    request: (call) => {
      asked.push(call);
      return Promise.resolve(answers[call.method]?.shift());
    },
  };
}
const code = (expected: string) => (error: unknown) => (error as { code?: string }).code === expected;

describe("browser wallet as the depositor's account", () => {
  it("sends on the pinned chain and waits until the transaction is mined", async () => {
    const browser = provider({
      eth_chainId: ["0x7a69"],
      eth_sendTransaction: ["0x77"],
      eth_getTransactionReceipt: [null, { status: "0x1", logs: [LOG] }],
    });
    const sender = eip1193Sender(browser, ACCOUNT, { pollMs: 1 });
    assert.equal(await sender.getAddress(), ACCOUNT);
    const { hash, wait } = await sender.sendTransaction(OUTGOING);
    assert.equal(hash, "0x77");
    assert.deepEqual(await wait(), { status: 1, logs: [LOG] });
    assert.deepEqual(browser.asked[1], {
      method: "eth_sendTransaction",
      params: [{ from: ACCOUNT, to: OUTGOING.to, data: "0x12", value: "0x0", chainId: "0x7a69" }],
    });
  });

  it("asks for nothing on another chain", async () => {
    const browser = provider({ eth_chainId: ["0x1"] });
    await assert.rejects(eip1193Sender(browser, ACCOUNT).sendTransaction(OUTGOING), code("PIN_MISMATCH"));
    assert.equal(browser.asked.length, 1);
  });

  it("says when the wallet's answers have no form", async () => {
    const silent = provider({ eth_chainId: ["0x7a69"], eth_sendTransaction: [undefined] });
    await assert.rejects(eip1193Sender(silent, ACCOUNT).sendTransaction(OUTGOING), code("UNEXPECTED_ANSWER"));
    for (const receipt of [{}, { status: "0x1" }, { status: "0x1", logs: [{}] }, { status: 1, logs: [] }]) {
      const odd = provider({
        eth_chainId: ["0x7a69"],
        eth_sendTransaction: ["0x77"],
        eth_getTransactionReceipt: [receipt],
      });
      const { wait } = await eip1193Sender(odd, ACCOUNT, { pollMs: 1 }).sendTransaction(OUTGOING);
      await assert.rejects(wait(), code("UNEXPECTED_ANSWER"));
    }
  });
});
