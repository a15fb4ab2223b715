// Quotes as a wallet takes them: an honest one is an order, and every way to bend one is refused before anything
// is made of it.
import assert from "node:assert/strict";
import { type QuoteRequest } from "../../../shared/client/index.ts";
import type { SwapQuote } from "../../../shared/api/swaps.ts";
import { encodeUniswapPath } from "../../../shared/api/uniswap-path.ts";
import { ZERO_ADDRESS, type Address } from "../../../shared/protocol/brands.ts";
import { POOL, USDC, WETH } from "./chain.ts";
import type { TestService } from "./service.ts";
import { give, refusal } from "./stand-in.ts";
import { startWallets, type OpenWallet } from "./wallets.ts";

const OTHER = "0x00000000000000000000000000000000000000dd" as Address;
const WANTED: QuoteRequest = { tokenIn: USDC, tokenOut: WETH, amount: 4_000_001n, toleranceBps: 100 };

describe("quotes of a wallet", () => {
  let service: TestService;
  let open: OpenWallet;
  beforeEach(async () => {
    ({ service, open } = await startWallets());
  });
  afterEach(() => service.close());

  /** Of an honest quote with some members changed. */
  const bend = (change: (quote: SwapQuote) => object): void => {
    service.quote = (request) => {
      const quote = service.honestQuote(request);
      return { ...quote, ...change(quote) };
    };
  };

  it("are orders: what was quoted is what is swapped, fees and floor included", async () => {
    const wallet = await open();
    service.developerFee = { flat: "7", bps: 1, sink: service.serviceAddress, enforced: true };
    give(service, wallet.address, USDC, [5_000_000n]);
    const offer = await wallet.quote(WANTED);
    const fees = 6_000n + 407n;
    assert.deepEqual(
      [offer.tokenIn, offer.tokenOut, offer.amount, offer.fees, offer.amountOut],
      [USDC, WETH, WANTED.amount, fees, 3n * (WANTED.amount - fees)],
    );
    assert.deepEqual(offer.feeParts, { service: 6_000n, developer: 407n });
    assert.equal(offer.floor, (offer.amountOut * 99n) / 100n);
    assert.deepEqual(offer.route, [{ pool: POOL, feeBps: 30, tokenIn: USDC, tokenOut: WETH }]);
    assert.deepEqual([offer.priceImpactBps, offer.blockNumber], [3, 7]);
    assert.equal(offer.expiresAt.toISOString(), "2030-01-01T00:00:00.000Z");
    const swap = await wallet.swap(offer);
    assert.deepEqual([swap.received, swap.fees], [offer.amountOut, fees]);
  });

  it("shows both pools of a longer path", async () => {
    const path = encodeUniswapPath({
      tokenIn: USDC,
      path: { feeFirst: 100, middle: OTHER, feeSecond: 10_000 },
      tokenOut: WETH,
    });
    const route = [
      { pool: POOL, fee_bps: 1, token_in: USDC, token_out: OTHER },
      { pool: POOL, fee_bps: 100, token_in: OTHER, token_out: WETH },
    ];
    bend(() => ({ path, route }));
    const wallet = await open();
    assert.deepEqual((await wallet.quote(WANTED)).route, [
      { pool: POOL, feeBps: 1, tokenIn: USDC, tokenOut: OTHER },
      { pool: POOL, feeBps: 100, tokenIn: OTHER, tokenOut: WETH },
    ]);
    bend(() => ({ path, route: route.toReversed() }));
    await assert.rejects(wallet.quote(WANTED), refusal("QUOTE_REFUSED"));
    bend(() => ({ path, route: route.slice(0, 1) }));
    await assert.rejects(wallet.quote(WANTED), refusal("QUOTE_REFUSED"));
  });

  it("are made by the caller's own tolerance, whatever the service would like", async () => {
    const wallet = await open();
    for (const toleranceBps of [0, 1, 5_000]) {
      const { amountOut, floor } = await wallet.quote({ ...WANTED, toleranceBps });
      assert.equal(floor, (amountOut * BigInt(10_000 - toleranceBps)) / 10_000n);
    }
    service.quote = (request) => service.honestQuote({ ...request, tolerance_bps: 101 });
    await assert.rejects(wallet.quote(WANTED), refusal("QUOTE_REFUSED"));
  });

  it("are held against a price of the caller's own", async () => {
    const wallet = await open();
    const { floor } = await wallet.quote(WANTED);
    assert.equal((await wallet.quote({ ...WANTED, atLeast: floor })).floor, floor);
    // The whole quote is bent alike, so nothing but an own price can tell.
    service.chain.venue = (amountIn) => 2n * amountIn;
    await assert.rejects(wallet.quote({ ...WANTED, atLeast: floor }), refusal("PRICE_TOO_LOW"));
    assert.ok((await wallet.quote(WANTED)).floor < floor);
  });

  const pathTo = (tokenOut: Address, feeFirst = 3_000): string =>
    encodeUniswapPath({ tokenIn: USDC, path: { feeFirst, middle: ZERO_ADDRESS, feeSecond: 0 }, tokenOut });
  const lies: [string, (quote: SwapQuote) => object][] = [
    ["another token_in", () => ({ token_in: WETH })],
    ["another token_out", () => ({ token_out: OTHER })],
    ["another amount", () => ({ shares_in: "4000000" })],
    ["a path to another token", () => ({ path: pathTo(OTHER) })],
    ["a path of another tier than shown", () => ({ path: pathTo(WETH, 10_000) })],
    ["a path that is none", ({ path }) => ({ path: `${path}00` })],
    ["a path of no hex", () => ({ path: "0xzz" })],
    ["a tier that is shown and not meant", ({ route }) => ({ route: [{ ...route[0], fee_bps: 1 }] })],
    ["a hop too many", ({ route }) => ({ route: [...route, ...route] })],
    ["a floor one too low", ({ floor }) => ({ floor: String(BigInt(floor) - 1n) })],
    ["a floor one too high", ({ floor }) => ({ floor: String(BigInt(floor) + 1n) })],
    ["nothing for it", () => ({ amount_out: "0", floor: "0" })],
    ["so little that the floor is zero", () => ({ amount_out: "1", floor: "0" })],
    ["fees in another token", ({ fees }) => ({ fees: { ...fees, asset: WETH } })],
    [
      "a service fee below its own rate",
      ({ fees }) => ({ fees: { ...fees, service: { bps: 15, amount: "5999" } } }),
    ],
    [
      "a developer fee above its own rule",
      ({ fees }) => ({ fees: { ...fees, developer: { flat: "7", bps: 0, amount: "8" } } }),
    ],
  ];
  for (const [what, change] of lies) {
    it(`refuses ${what}`, async () => {
      const wallet = await open();
      bend(change);
      await assert.rejects(wallet.quote(WANTED), refusal("QUOTE_REFUSED"));
    });
  }

  it("refuses fees above the pinned ceiling, each by itself and both together", async () => {
    const fees =
      (service: string, developer: string) =>
      ({ fees: quoted }: SwapQuote) => ({
        fees: {
          ...quoted,
          service: { bps: 15, amount: service },
          developer: { flat: developer, bps: 0, amount: developer },
        },
      });
    const wallet = await open();
    // 2,000 and 20 basis points of 4,000,001.
    bend(fees("10000", "0"));
    assert.equal((await wallet.quote(WANTED)).fees, 10_000n);
    for (const [service, developer] of [
      ["10001", "0"],
      ["6000", "4001"],
      ["4000001", "0"],
    ] as const) {
      bend(fees(service, developer));
      await assert.rejects(wallet.quote(WANTED), refusal("FEE_ABOVE_CEILING"));
    }
    const generous = await open({ pins: { feeCeiling: { swap: { flat: 1n << 100n, bps: 0 } } } });
    bend(fees("4000001", "0"));
    await assert.rejects(generous.quote(WANTED), refusal("QUOTE_REFUSED"));
  });

  it("asks nothing that it was not configured for, or that cannot be meant", async () => {
    const wallet = await open();
    for (const [change, code] of [
      [{ tokenIn: OTHER }, "PIN_MISMATCH"],
      [{ tokenOut: OTHER }, "PIN_MISMATCH"],
      [{ tokenOut: USDC }, "PATH_INVALID"],
      [{ amount: 0n }, "AMOUNT_INVALID"],
      [{ amount: 1n << 128n }, "AMOUNT_INVALID"],
      [{ toleranceBps: 5_001 }, "AMOUNT_INVALID"],
      [{ toleranceBps: -1 }, "AMOUNT_INVALID"],
      [{ toleranceBps: 0.5 }, "AMOUNT_INVALID"],
      [{ toleranceBps: NaN }, "AMOUNT_INVALID"],
    ] as const) {
      await assert.rejects(wallet.quote({ ...WANTED, ...change }), refusal(code), code);
    }
    service.features.swaps = false;
    const late = await open();
    await assert.rejects(late.quote(WANTED), refusal("FEATURE_OFF"));
    assert.ok(!service.requests.some(({ method }) => method === "POST"), "nothing was asked");
  });

  it("are asked again when the chain is unreachable, and not where there is no route", async () => {
    const posts = () => service.requests.filter(({ method }) => method === "POST").length;
    const wallet = await open();
    service.faults.push(({ method }) =>
      method === "POST" && posts() === 1 ? "CHAIN_UNAVAILABLE" : undefined,
    );
    assert.equal((await wallet.quote(WANTED)).amount, WANTED.amount);
    assert.equal(posts(), 2);
    service.faults.push(({ method }) => (method === "POST" ? "ROUTE_UNAVAILABLE" : undefined));
    await assert.rejects(wallet.quote(WANTED), refusal("ROUTE_UNAVAILABLE"));
    assert.equal(posts(), 3);
  });

  it("of another form than documented are no answer", async () => {
    service.hasHonestForm = false;
    service.quote = (request) => ({ ...service.honestQuote(request), amount_out: "1e9" });
    await assert.rejects((await open()).quote(WANTED), refusal("UNEXPECTED_ANSWER"));
  });
});
