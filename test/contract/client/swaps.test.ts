import assert from "node:assert/strict";
import { TicketFailed, type StepEvent, type SwapOrder } from "../../../shared/client/index.ts";
import { developmentProver } from "../../../shared/client/node/development.ts";
import { encodeUniswapPath } from "../../../shared/api/uniswap-path.ts";
import { ZERO_ADDRESS, type Address } from "../../../shared/protocol/brands.ts";
import { USDC, WETH } from "./chain.ts";
import { withHeldLimit } from "./held-limit.ts";
import type { TestService } from "./service.ts";
import { give, refusal } from "./stand-in.ts";
import { until } from "../../support/until.ts";
import { startWallets, type OpenWallet } from "./wallets.ts";

const OTHER = "0x00000000000000000000000000000000000000dd" as Address;
const ONE_HOP = { feeFirst: 3_000, middle: ZERO_ADDRESS, feeSecond: 0 };
const path = encodeUniswapPath({ tokenIn: USDC, path: ONE_HOP, tokenOut: WETH });
const ORDER: SwapOrder = { tokenIn: USDC, tokenOut: WETH, amount: 4_000_001n, floor: 1_000n, path };
/** Of a note that tells how far a wallet has read. */
const MARK = 1n;

describe("private swaps of a wallet", () => {
  let service: TestService;
  let open: OpenWallet;
  beforeEach(async () => {
    ({ service, open } = await startWallets());
  });
  afterEach(() => service.close());

  const swaps = () => [...service.tickets.values()].filter(({ kind }) => kind === "private-swap");

  it("with a real proof: gives, takes and pays fees, exact to the last unit, and a restored copy sees the same", async () => {
    service.verifiesProofs = true;
    const prover = await developmentProver();
    try {
      const sink = await open({ key: 7 });
      service.developerFee = { flat: "7", bps: 1, sink: sink.address, enforced: true };
      const wallet = await open({ prover });
      give(service, wallet.address, USDC, [3_000_000n, 2_000_000n]);
      const swap = await wallet.swap(ORDER);

      // 15 and 1 basis points of the gross amount, each rounded down, and a flat part.
      const serviceFee = 6_000n;
      const developerFee = 400n + 7n;
      const given = 4_000_001n - serviceFee - developerFee;
      assert.equal(swap.fees, serviceFee + developerFee);
      assert.equal(swap.received, 3n * given);
      assert.equal(swap.ticket.state, "confirmed");
      assert.equal(wallet.balance(USDC).total, 5_000_000n - 4_000_001n);
      assert.equal(wallet.balance(WETH).total, 3n * given);
      assert.equal(wallet.notes().find(({ asset }) => asset === WETH)?.source, "swap");

      await sink.sync();
      assert.equal(sink.balance(USDC).total, developerFee);
      const restored = await open();
      await restored.sync();
      assert.deepEqual(restored.notes(), wallet.notes());
    } finally {
      await prover.close();
    }
  });

  it("spends what it bought like any other note", async () => {
    const wallet = await open();
    give(service, wallet.address, USDC, [5_000_000n]);
    const { received } = await wallet.swap(ORDER);
    const back = encodeUniswapPath({ tokenIn: WETH, path: { ...ONE_HOP, feeFirst: 500 }, tokenOut: USDC });
    await wallet.swap({ ...ORDER, tokenIn: WETH, tokenOut: USDC, amount: received!, path: back });
    assert.equal(wallet.balance(WETH).total, 0n);
  });

  it("returns before it is on chain when asked to, with nothing received yet", async () => {
    const wallet = await open();
    give(service, wallet.address, USDC, [5_000_000n]);
    service.automine = false;
    const swap = await wallet.swap(ORDER, { until: "queued" });
    assert.equal(swap.received, undefined);
    assert.equal(wallet.balance(USDC).inFlight, 5_000_000n);
  });

  for (const [lie, bend] of [
    ["value", { value: "999999999" }],
    ["asset", { asset: USDC }],
    ["npk", { npk: `0x${"00".repeat(31)}05` }],
    ["commitment, so that all else fits", { commitment: `0x${"00".repeat(31)}05` }],
  ] as const) {
    it(`does not believe a service that lies about the bought note's ${lie}`, async () => {
      const wallet = await open();
      give(service, wallet.address, USDC, [5_000_000n]);
      service.chain.bendBought = (leaf) => ({ ...leaf, ...bend });
      const told: StepEvent[] = [];
      const progress = (event: StepEvent): unknown => told.push(event);
      await withHeldLimit(async ({ timeoutMs, runOut }) => {
        const ended = wallet.swap(ORDER, { timeoutMs, progress }).then(
          () => "it believed the service",
          (error: unknown) => error,
        );
        let hasEnded = false;
        void ended.then(() => (hasEnded = true));
        await until(() => hasEnded || swaps().some(({ state }) => state === "confirmed"));
        // The stream keeps its order: a wallet that knows of this note has looked at the swap's block.
        give(service, wallet.address, USDC, [MARK]);
        const hasLooked = (): boolean => wallet.balance(USDC).total === 5_000_000n - ORDER.amount + MARK;
        await until(() => hasEnded || (told.some(({ step }) => step === "deliver") && hasLooked()));
        runOut();
        assert.ok(refusal("TIMED_OUT")(await ended), String(await ended));
      });
      assert.equal(wallet.balance(WETH).total, 0n);
      assert.equal(wallet.balance(USDC).total, 5_000_000n - ORDER.amount + MARK);
    });
  }

  it("below its floor it waits, and is done when the price comes back", async () => {
    const wallet = await open();
    give(service, wallet.address, USDC, [5_000_000n]);
    const { venue } = service.chain;
    service.chain.venue = () => ORDER.floor - 1n;
    const swapping = wallet.swap(ORDER);
    await until(() => swaps().some(({ error }) => error?.code === "SLIPPAGE_EXCEEDED"));
    service.chain.venue = venue;
    service.mine();
    assert.equal((await swapping).ticket.state, "confirmed");
  });

  for (const code of ["SLIPPAGE_EXCEEDED", "ROUTE_UNAVAILABLE"] as const) {
    it(`${code}: the notes can be used again, and only in a payment that excludes the failed swap`, async () => {
      const wallet = await open();
      give(service, wallet.address, USDC, [5_000_000n]);
      service.automine = false;
      const swapping = wallet.swap(ORDER);
      swapping.catch(() => undefined);
      await until(() => swaps().length === 1);
      const [ticket] = swaps();
      // Newer notes that would do without the swap's.
      give(service, wallet.address, USDC, [4_500_000n, 4_600_000n]);
      service.failTicket(ticket!.ticket_id, code);
      await assert.rejects(swapping, (error) => error instanceof TicketFailed);
      await wallet.sync();
      assert.equal(wallet.balance(USDC).inFlight, 0n);
      service.automine = true;
      const again = await wallet.swap(ORDER);
      assert.ok(again.ticket.nullifiers.some((nullifier) => ticket!.nullifiers.includes(nullifier)));
      // The repetition is executed, so the first can never be: nothing is bound any more.
      await wallet.swap({ ...ORDER, amount: 4_200_000n });
    });
  }

  it("a refused swap binds payments in the given token, and none in the bought one", async () => {
    const wallet = await open();
    give(service, wallet.address, USDC, [1_000_000n]);
    let isRefusing = true;
    service.faults.push(({ url }) =>
      isRefusing && url === "/sequence/private-swap" ? "NULLIFIER_PENDING" : undefined,
    );
    await assert.rejects(wallet.swap({ ...ORDER, amount: 900_000n }), refusal("NULLIFIER_PENDING"));
    isRefusing = false;
    give(service, wallet.address, USDC, [4_000_000n, 4_000_000n]);
    give(service, wallet.address, WETH, [1_000_000n]);
    // Two other notes would pay it; with the refused swap's note no two are enough.
    await assert.rejects(wallet.swap({ ...ORDER, amount: 7_500_000n }), refusal("PAYMENT_UNRESOLVED"));
    await wallet.pay(wallet.address, 500_000n, { asset: WETH });
    // Three places are enough for a payment: the refused swap's note and both others.
    await wallet.pay(wallet.address, 7_500_000n);
    assert.deepEqual(
      [...service.tickets.values()].map(({ kind }) => kind),
      ["spend", "spend9"],
    );
  });

  it("merges first when the amount lies in more than two notes and the caller agrees", async () => {
    const wallet = await open();
    give(service, wallet.address, USDC, [2_000_000n, 2_000_000n, 2_000_000n]);
    await assert.rejects(wallet.swap(ORDER), refusal("NEEDS_CONSOLIDATION"));
    const swap = await wallet.swap(ORDER, { consolidate: true });
    assert.equal(swap.fees, 50_000n + 6_000n);
    assert.equal(wallet.balance(USDC).total, 6_000_000n - 50_000n - ORDER.amount);
  });

  it("refuses what it was not configured for or cannot mean, before anything is sent", async () => {
    const wallet = await open();
    give(service, wallet.address, USDC, [5_000_000n]);
    const other = encodeUniswapPath({ tokenIn: USDC, path: ONE_HOP, tokenOut: OTHER });
    for (const [order, code] of [
      [{ tokenOut: OTHER, path: other }, "PIN_MISMATCH"],
      [{ tokenIn: OTHER }, "PIN_MISMATCH"],
      [{ tokenOut: USDC }, "PATH_INVALID"],
      [{ path: other }, "PATH_INVALID"],
      [{ path: encodeUniswapPath({ tokenIn: WETH, path: ONE_HOP, tokenOut: USDC }) }, "PATH_INVALID"],
      [{ path: `${path.slice(0, 42)}000001${path.slice(48)}` }, "PATH_INVALID"],
      [{ path: `${path}00` }, "PATH_INVALID"],
      [{ floor: 0n }, "AMOUNT_INVALID"],
      [{ floor: 1n << 128n }, "AMOUNT_INVALID"],
      [{ amount: 0n }, "AMOUNT_INVALID"],
      [{ amount: 5_000_001n }, "INSUFFICIENT_FUNDS"],
    ] as const) {
      await assert.rejects(wallet.swap({ ...ORDER, ...order }), refusal(code), code);
    }
    const mean = await open({ pins: { feeCeiling: { swap: { flat: 0n, bps: 14 } } } });
    await assert.rejects(mean.swap(ORDER), refusal("FEE_ABOVE_CEILING"));
    service.features.swaps = false;
    const late = await open();
    await assert.rejects(late.swap(ORDER), refusal("FEATURE_OFF"));
    assert.ok(!service.requests.some(({ method }) => method === "POST"), "nothing was sent");
    // Asked again each time: the operator may turn swaps on.
    service.features.swaps = true;
    assert.equal((await late.swap(ORDER)).ticket.state, "confirmed");
  });
});
