/**
 * Quotes of the running service on the second network, executed as they came by the client library with real
 * proofs: to the last unit when nobody traded in between, and not at all below the floor when somebody did.
 */
import assert from "node:assert/strict";
import { openStackWallet } from "../../scripts/stack/stack-wallet.ts";
import type { WhoAmI } from "../../shared/api/credentials.ts";
import {
  ApiProblem,
  memoryStorage,
  newSeed,
  SpendingKey,
  type Client,
  type SwapOffer,
  type Wallet,
} from "../../shared/client/index.ts";
import { developmentProver } from "../../shared/client/node/development.ts";
import { feeOf } from "../../shared/protocol/host/fees.ts";
import { addTestDeveloper } from "../support/developer.ts";
import type { TestStack } from "../support/stack.ts";
import { FLAT, startTrading, usd, type Trading } from "../support/trading.ts";
import { until } from "../support/until.ts";
import { ETHER_TIER, type LocalVenue } from "../support/venue.ts";

const TOLERANCE = 50;

describe("quote of a private swap", function () {
  this.timeout(300_000);
  let on: TestStack;
  let venue: LocalVenue;
  let walletWith: Trading["walletWith"];
  before(async () => {
    ({ on, venue, walletWith } = await startTrading());
  });
  after(() => on.stop());

  const tiersOf = ({ route }: SwapOffer): number[] => route.map(({ feeBps }) => feeBps);

  it("is what the swap brings, over one pool and then over two", async () => {
    const trader = await walletWith(50);
    const direct = await trader.quote({
      ...{ tokenIn: venue.usdc, tokenOut: venue.eurc, amount: usd(50), toleranceBps: TOLERANCE },
    });
    assert.deepEqual(tiersOf(direct), [1]);
    assert.equal(direct.fees, feeOf({ flat: 0n, bps: 15 }, usd(50)));
    const first = await trader.swap(direct);
    assert.deepEqual([first.received, first.fees], [direct.amountOut, direct.fees]);

    // The pool of euros and ether takes 0.3 %; by way of dollars it is 0.01 % and 0.05 %.
    const bought = direct.amountOut;
    const twoPools = await trader.quote({
      ...{ tokenIn: venue.eurc, tokenOut: venue.weth, amount: bought, toleranceBps: 0 },
    });
    assert.deepEqual(tiersOf(twoPools), [1, 5]);
    assert.equal(twoPools.route[0]?.tokenOut, venue.usdc);
    assert.equal(twoPools.floor, twoPools.amountOut);
    const second = await trader.swap(twoPools);
    assert.equal(second.received, twoPools.amountOut);
    assert.equal(trader.balance(venue.weth).total, twoPools.amountOut);
    assert.equal(trader.balance(venue.eurc).total, 0n);
    assert.equal(trader.balance(venue.usdc).total, 0n);
  });

  it("protects by its floor when a stranger moves the market before it is executed", async () => {
    const trader = await walletWith(50);
    const wanted = { tokenIn: venue.usdc, tokenOut: venue.weth, amount: usd(50), toleranceBps: TOLERANCE };
    const offer = await trader.quote(wanted);
    assert.deepEqual(tiersOf(offer), [5]);
    await (await venue.buyer(usd(200_000), ETHER_TIER, venue.weth)).strike();
    const { ticket, received } = await trader.swap(offer, { until: "queued" });
    assert.equal(received, undefined);
    const waiting = await until("the ticket to say why it waits", async () => {
      const seen = await on.client.ticket(ticket.ticket_id);
      return seen.error === null ? undefined : seen;
    });
    assert.deepEqual([waiting.error?.code, waiting.error?.retryable], ["SLIPPAGE_EXCEEDED", true]);
    // Round the pool that the stranger traded in.
    const now = await trader.quote(wanted);
    assert.deepEqual(tiersOf(now), [1, 30]);
    assert.ok(now.amountOut < offer.amountOut);
    assert.ok(now.blockNumber > offer.blockNumber);
    await assert.rejects(
      trader.quote({ ...wanted, atLeast: offer.amountOut }),
      (error) => error instanceof Error && error.message.startsWith("PRICE_TOO_LOW"),
    );
  });

  it("is refused where no route takes the amount, and says when to ask again", async () => {
    const request = {
      ...{ token_in: venue.usdc, token_out: venue.weth, tolerance_bps: TOLERANCE },
      shares_in: String((1n << 128n) - 1n),
    };
    await assert.rejects(on.client.quoteSwap(request), (error) => {
      assert.ok(error instanceof ApiProblem);
      assert.deepEqual([error.code, error.retryAfterMs], ["ROUTE_UNAVAILABLE", 10_000]);
      return true;
    });
    const { quote_id, price_impact_bps } = await on.client.quoteSwap({
      ...request,
      shares_in: String(usd(2_500_000)),
    });
    assert.match(quote_id, /^[0-9a-f-]{14}7/);
    assert.ok(price_impact_bps > 4_000, String(price_impact_bps));
  });

  it("under a developer's rule names both parts: what is swapped pays exactly these, and one unit less is refused", async () => {
    const developer = await addTestDeveloper(on, "desk");
    const { client } = developer;
    const prover = await developmentProver();
    const sinkSeed = newSeed();
    const developerSink = SpendingKey.fromSeed(sinkSeed).viewing.addressText(on.entry.address_prefix);
    const walletOf = (seed: Uint8Array, through: Client): Promise<Wallet> =>
      openStackWallet(on.entry, {
        ...{ seed, client: through, prover, storage: memoryStorage(), developerSink },
      });
    try {
      const rule = ["--flat", "13", "--bps", "30", "--sink", developerSink];
      // Long enough ago that nobody who was told of no fee is let through without.
      await developer.fees(["set", "desk", "USDC", "swap", ...rule], 20);
      /** What this wallet is told to pay, of what the service says. */
      let told = (said: WhoAmI): WhoAmI => said;
      const through = { ...client, whoami: async () => told(await client.whoami()) };
      const [trader, sink] = [await walletOf(newSeed(), through), await walletOf(sinkSeed, client)];
      // Not round, so that both parts are rounded.
      const gross = usd(50) + 4_321n;
      const parts = {
        service: feeOf({ flat: 0n, bps: 15 }, gross),
        developer: feeOf({ flat: 13n, bps: 30 }, gross),
      };
      await trader.deposit(gross + FLAT, await on.depositor(gross + FLAT));

      const wanted = { tokenIn: venue.usdc, tokenOut: venue.eurc, amount: gross, toleranceBps: TOLERANCE };
      const offer = await trader.quote(wanted);
      assert.deepEqual(offer.feeParts, parts);
      assert.equal(offer.fees, parts.service + parts.developer);
      assert.equal(offer.amountOut, await venue.quote(offer.path, gross - offer.fees));

      for (const party of ["service", "developer"] as const) {
        const less = { flat: String(parts[party] - 1n), bps: 0 };
        told = (said) => ({
          ...said,
          fees: said.fees.map((rules) => ({
            ...rules,
            [party]: rules[party] && { ...rules[party], ...less },
          })),
        });
        await assert.rejects(trader.swap(offer), (error) => {
          assert.ok(error instanceof ApiProblem);
          assert.equal(error.code, "FEE_TOO_LOW");
          return true;
        });
      }
      assert.deepEqual(await developer.received(), []);
      told = (said) => said;
      const swap = await trader.swap(offer);
      assert.deepEqual([swap.received, swap.fees], [offer.amountOut, offer.fees]);
      assert.equal(trader.balance(venue.usdc).total, 0n);

      await sink.sync();
      assert.deepEqual(
        sink.notes().map(({ asset, value }) => [asset, value]),
        [[venue.usdc, parts.developer]],
      );
      assert.deepEqual(
        (await developer.received()).map(({ value, statement }) => [value, statement]),
        [[String(parts.developer), swap.statement]],
      );
    } finally {
      await prover.close();
    }
  });
});
