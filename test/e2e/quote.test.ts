/**
 * Quotes of the running service on the second network, executed as they came by the client library with real
 * proofs: to the last unit when nobody traded in between, and not at all below the floor when somebody did.
 */
import assert from "node:assert/strict";
import { TestUsdc } from "../../scripts/dev/usdc.ts";
import type { SwapOffer, Wallet } from "../../shared/client/index.ts";
import { ApiProblem } from "../../shared/client/index.ts";
import { feeOf } from "../../shared/protocol/host/fees.ts";
import { startTestStack, type TestStack } from "../support/stack.ts";
import { until } from "../support/until.ts";
import { ETHER_TIER, LocalVenue } from "../support/venue.ts";

const usd = (dollars: number): bigint => BigInt(dollars) * TestUsdc.unit;
const FLAT = 50_000n;
const TOLERANCE = 50;

describe("quote of a private swap", function () {
  this.timeout(300_000);
  let on: TestStack;
  let venue: LocalVenue;
  before(async () => {
    on = await startTestStack({ networks: ["second"] });
    venue = new LocalVenue(on);
  });
  after(() => on.stop());

  async function walletWith(dollars: number): Promise<Wallet> {
    const wallet = await on.wallet();
    const amount = usd(dollars) + FLAT;
    await wallet.deposit(amount, await on.depositor(amount));
    return wallet;
  }
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
});
