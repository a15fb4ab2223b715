import assert from "node:assert/strict";
import { JsonRpcProvider } from "ethers";
import { SendingProvider } from "../../../../scripts/base/receipt-by-time.ts";
import { startAnvil, type Anvil } from "../../../support/chain.ts";

describe("waiting for a transaction that is mined between two looks, where no other block comes", () => {
  let chain: Anvil;
  before(async () => {
    chain = await startAnvil();
  });
  after(() => chain.stop());

  /** It says of a receipt that it is not there, the first two times. */
  async function isMined(provider: JsonRpcProvider): Promise<boolean> {
    const [send, late] = [provider.send.bind(provider), { looks: 2 }];
    provider.send = (method, params) =>
      method === "eth_getTransactionReceipt" && late.looks-- > 0
        ? Promise.resolve(null)
        : send(method, params);
    try {
      const sender = await provider.getSigner(0);
      const sent = await sender.sendTransaction({ to: sender.address, value: 1n });
      return (await sent.wait())?.hash === sent.hash;
    } finally {
      provider.destroy();
    }
  }
  const options = { staticNetwork: true, cacheTimeout: -1 };

  it("ends for a command that sends", async () => {
    assert.equal(await isMined(new SendingProvider(chain.url, chain.chainId, options)), true);
  });

  it("ends for the tests themselves", async () => {
    assert.equal(await isMined(new JsonRpcProvider(chain.url, chain.chainId, options)), true);
  });
});
