// The order of steps on the pool's chain. Only the order: what each step does is played on real chains in worker.test.ts.
import assert from "node:assert/strict";
import { RefusalBackoff } from "../../../../../proxy/relay/refusal-backoff.ts";
import { createHomeLine } from "../../../../../proxy/relay/desk/home-line.ts";
import type { Step } from "../../../../../proxy/relay/desk/steps.ts";
import { createLogger } from "../../../../../proxy/base/logging.ts";
import { bridgeDraft, GAS_WALLET, madeAddress, madeHash } from "../../../../support/bridges.ts";

const TIP = { number: 1, hash: madeHash(1), timestamp: 1 };

const delivery = (n: number): Step => ({
  ...{ kind: "deliver", bridgeId: `in-${String(n)}`, chain: "home", key: `message ${String(n)}` },
  ...{ message: "0x01", attestation: "0x02", relay: undefined },
});

function sweep(n: number): Step {
  const { way } = bridgeDraft(n, {});
  assert.ok(way.direction === "in");
  return {
    ...{ kind: "sweep", bridgeId: `in-${String(n)}`, chain: "home", key: `home ${String(n)}` },
    ...{ terms: way.home, amount: 5_000_000n, developerId: "d" },
  };
}

describe("relay/desk: the order on the pool's chain", () => {
  it("takes eight deliveries before what they brought is swept in one call, and no kind waits for longer", async () => {
    const deliveries = Array.from({ length: 20 }, (_, n) => delivery(n));
    const arrived: Step[] = [sweep(100)];
    const line = createHomeLine({
      contracts: { forwarders: madeAddress(0xfac), transmitter: madeAddress(0x302) },
      chain: { call: () => Promise.resolve("0x") },
      steps: () => [...deliveries, ...arrived],
      refusals: new RefusalBackoff(),
      logger: createLogger("silent"),
      sender: GAS_WALLET,
      readSink: () => undefined,
      feesOf: () => Promise.resolve({ service: undefined, developer: undefined }),
    });
    const labels: string[] = [];
    while (deliveries.length > 0 || arrived.length > 0) {
      const errand = await line.next(TIP);
      assert.ok(errand);
      labels.push(errand.label);
      line.sent(errand);
      if (errand.label !== "delivery") arrived.length = 0;
      else if (deliveries.shift() !== undefined) arrived.push(sweep(200 + deliveries.length));
    }
    assert.deepEqual(labels, [
      "sweep of 1",
      ...Array<string>(8).fill("delivery"),
      "sweep of 8",
      ...Array<string>(8).fill("delivery"),
      "sweep of 8",
      ...Array<string>(4).fill("delivery"),
      "sweep of 4",
    ]);
  });
});
