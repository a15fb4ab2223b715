// Against a real node. What is sent, and what becomes of it, is played in worker.test.ts.
import assert from "node:assert/strict";
import { ChainSender } from "../../../../../proxy/relay/desk/chain-sender.ts";
import { createChain } from "../../../../../proxy/base/chain/provider.ts";
import { createLogger } from "../../../../../proxy/base/logging.ts";
import { createGasWallet } from "../../../../../proxy/base/chain/gas-wallet.ts";
import { startAnvil } from "../../../../../scripts/stand-ins/anvil.ts";
import { madeAddress, madeHash } from "../../../../support/bridges.ts";

/** The first account of an anvil, which has coins. */
const KEY = "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80";
import { until } from "../../../../support/until.ts";

describe("relay/desk: the sender of another chain", function () {
  it("asks the node nothing while nothing is in flight, and looks after what is", async () => {
    const anvil = await startAnvil();
    const asked: string[] = [];
    try {
      const chain = createChain(anvil.url, BigInt(anvil.chainId), {
        onAsked: (method) => asked.push(method),
      });
      const sender = new ChainSender({
        ...{
          chain,
          wallet: createGasWallet(KEY, chain.chainId),
          now: Date.now,
          logger: createLogger("silent"),
        },
        ...{ stuckAfterMs: 30_000, maxFeePerGas: 10n ** 12n },
      });
      for (let look = 0; look < 20; look++) assert.equal(await sender.isBusy(0), false);
      assert.equal(asked.length, 0);

      const to = madeAddress(0x77);
      assert.equal(await sender.send({ to, data: madeHash(1), gasLimit: 100_000n, label: "step" }), "sent");
      asked.length = 0;
      // In flight, or mined and not among the facts of block 0.
      assert.equal(await sender.isBusy(0), true);
      assert.ok(asked.includes("eth_getTransactionCount"));
      await until("it to be mined", async () => !(await sender.isBusy(1)));
    } finally {
      await anvil.stop();
    }
  });
});
