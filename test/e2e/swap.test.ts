/**
 * Private swaps on the second network: real proofs, a real Uniswap v3, strangers who move its price in the same
 * block, and a proxy that dies in between. Whatever the venue does, money is a note before or a note after.
 */
import assert from "node:assert/strict";
import type { Ticket } from "../../shared/api/transactions.ts";
import { TicketFailed, type SwapOrder, type Wallet } from "../../shared/client/index.ts";
import { feeOf } from "../../shared/protocol/host/fees.ts";
import type { TestStack } from "../support/stack.ts";
import { FLAT, startTrading, usd, type Trading } from "../support/trading.ts";
import { until } from "../support/until.ts";
import { ETHER_TIER, EURO_TIER, type LocalVenue } from "../support/venue.ts";

/** Of a swap of 50 dollars. */
const SWAP_FEE = feeOf({ flat: 0n, bps: 15 }, usd(50));
const PUBLIC = "0x00000000000000000000000000000000000000cd";
const DEADLINE_SECS = 600;

describe("private swap", function () {
  this.timeout(300_000);
  let on: TestStack;
  let venue: LocalVenue;
  let walletWith: Trading["walletWith"];

  before(async () => {
    ({ on, venue, walletWith } = await startTrading());
  });
  after(() => on.stop());
  afterEach(() => on.setMining(true));

  /** 50 dollars along a path, for at least what the venue offers now. */
  async function order(path: string, tokenOut: string): Promise<SwapOrder & { quoted: bigint }> {
    const quoted = await venue.quote(path, usd(50) - SWAP_FEE);
    return { tokenIn: venue.usdc, tokenOut, amount: usd(50), floor: quoted, path, quoted };
  }

  const forEther = (): Promise<SwapOrder & { quoted: bigint }> =>
    order(venue.path(venue.usdc, ETHER_TIER, venue.weth), venue.weth);

  /** A swap under way: its ticket as soon as there is one, and what becomes of it. */
  async function start(
    wallet: Wallet,
    wanted: SwapOrder,
  ): Promise<{ ticket: Ticket; ended: Promise<unknown> }> {
    const known = new Set((await openTickets()).map(({ ticket_id }) => ticket_id));
    const ended = wallet.swap(wanted, { deadlineSecs: DEADLINE_SECS }).then(
      () => "swapped",
      (error: unknown) => error,
    );
    const ticket = await until("the swap's ticket", async () =>
      (await openTickets()).find(({ kind, ticket_id }) => kind === "private-swap" && !known.has(ticket_id)),
    );
    return { ticket, ended };
  }

  async function now({ ticket_id }: Ticket): Promise<Ticket> {
    return on.client.ticket(ticket_id);
  }

  async function openTickets(): Promise<Ticket[]> {
    const abort = new AbortController();
    const seen: Ticket[] = [];
    const types = ["ready", "ticket", "synced"] as const;
    for await (const event of on.client.events({ types: [...types], signal: abort.signal })) {
      if (event.kind === "ticket") seen.push(event.data);
      if (event.kind === "synced") break;
    }
    abort.abort();
    return seen;
  }

  /** Asserts that none of the swap happened, lets its deadline pass, and spends the notes on something else. */
  async function requireNotesBack(wallet: Wallet, ticket: Ticket, ended: Promise<unknown>): Promise<void> {
    await on.passTime(DEADLINE_SECS + 10);
    const error = await ended;
    assert.ok(error instanceof TicketFailed, String(error));
    assert.ok(["failed", "expired"].includes(error.ticket.state), error.ticket.state);
    assert.deepEqual(await on.executions(ticket.statement), []);

    await wallet.sync();
    const { total, spendable } = wallet.balance();
    assert.equal(total, usd(50));
    assert.equal(spendable, total);
    const before = await on.usdc.balanceOf(PUBLIC);
    await wallet.withdraw(PUBLIC, total - FLAT);
    assert.equal((await on.usdc.balanceOf(PUBLIC)) - before, total - FLAT);
    assert.equal(wallet.balance().total, 0n);
  }

  it("gives exactly what the venue gives, and the bought note is money like any other", async () => {
    const trader = await walletWith(60);
    const friend = await on.wallet();
    const poolBefore = await venue.balanceOf(venue.weth, on.entry.pool);
    const wanted = await forEther();
    const swap = await trader.swap(wanted);
    assert.equal(swap.received, wanted.quoted);
    assert.equal(swap.fees, SWAP_FEE);
    assert.equal(swap.ticket.kind, "private-swap");
    assert.equal(swap.ticket.leaf_index.length, 4);
    assert.equal(trader.balance(venue.usdc).total, usd(10));
    assert.equal(trader.balance(venue.weth).total, wanted.quoted);
    assert.equal((await venue.balanceOf(venue.weth, on.entry.pool)) - poolBefore, wanted.quoted);
    assert.equal((await on.executions(swap.statement)).length, 1);

    const paid = wanted.quoted / 2n;
    await trader.pay(friend.address, paid, { asset: venue.weth });
    await friend.sync();
    assert.equal(friend.balance(venue.weth).total, paid);
    const withdrawn = paid / 2n;
    await friend.withdraw(PUBLIC, withdrawn, { asset: venue.weth });
    assert.equal(await venue.balanceOf(venue.weth, PUBLIC), withdrawn);
  });

  it("goes through two pools", async () => {
    const trader = await walletWith(50);
    const path = venue.path(venue.usdc, EURO_TIER, venue.eurc, 3_000, venue.weth);
    const wanted = await order(path, venue.weth);
    const swap = await trader.swap(wanted);
    assert.equal(swap.received, wanted.quoted);
    assert.equal(trader.balance(venue.weth).total, wanted.quoted);
    assert.equal(trader.balance(venue.usdc).total, 0n);
    assert.equal(await venue.balanceOf(venue.eurc, on.entry.pool), 0n);
  });

  it("below its floor does not happen: its ticket says why, and its notes come back", async () => {
    const trader = await walletWith(50);
    const wanted = await forEther();
    const { ticket, ended } = await start(trader, { ...wanted, floor: wanted.quoted + 1n });
    const waiting = await until("the ticket to say why it waits", async () => {
      const seen = await now(ticket);
      return seen.error === null ? undefined : seen;
    });
    assert.deepEqual([waiting.error?.code, waiting.error?.retryable], ["SLIPPAGE_EXCEEDED", true]);
    assert.ok(["queued", "submitted"].includes(waiting.state));
    await requireNotesBack(trader, ticket, ended);
  });

  it("whose price a stranger takes in the same block fails alone: its neighbours are executed", async () => {
    const starter = await walletWith(10);
    const trader = await walletWith(50);
    const payer = await walletWith(20);
    const [payee, depositing, depositor] = [
      await on.wallet(),
      await on.wallet(),
      await on.depositor(usd(10)),
    ];
    const stranger = await venue.buyer(usd(200_000), ETHER_TIER, venue.weth);
    const wanted = await forEther();

    await on.setMining(false);
    // Alone in flight until there is a block, so that what comes now waits for one batch.
    const first = await starter.pay(starter.address, usd(1), { until: "queued" });
    await until("the first to be sent", async () => (await now(first.ticket)).state === "submitted");
    const { ticket, ended } = await start(trader, wanted);
    const payment = await payer.pay(payee.address, usd(5), { until: "queued" });
    const deposit = await depositing.deposit(usd(10), depositor, { until: "queued" });
    await on.mine();
    await until("the batch to be sent", async () => {
      const states = await Promise.all([ticket, payment.ticket, deposit.ticket].map(now));
      return states.every(({ state }) => state === "submitted");
    });
    await stranger.strike();
    await on.mine();
    await on.setMining(true);

    const neighbours = await until("the neighbours", async () => {
      const found = await Promise.all([payment.ticket, deposit.ticket].map(now));
      return found.every(({ state }) => state === "confirmed" || state === "finalized") ? found : undefined;
    });
    const [batch] = await on.executions(payment.statement);
    assert.deepEqual(
      neighbours.map(({ tx_hash }) => tx_hash),
      [batch, batch],
    );
    const refused = await until("the ticket to say why", async () => {
      const seen = await now(ticket);
      return seen.error === null ? undefined : seen;
    });
    assert.equal(refused.error?.code, "SLIPPAGE_EXCEEDED");
    await payee.sync();
    assert.equal(payee.balance().total, usd(5));
    await requireNotesBack(trader, ticket, ended);
  });

  it("over a pool that a stranger emptied does not happen, and says that there is no route", async () => {
    await venue.thinPool(10_000, usd(100));
    const trader = await walletWith(50);
    const wanted = await order(venue.path(venue.usdc, 10_000, venue.eurc), venue.eurc);
    await (await venue.buyer(usd(80), 10_000, venue.eurc)).strike();
    const { ticket, ended } = await start(trader, wanted);
    const waiting = await until("the ticket to say why it waits", async () => {
      const seen = await now(ticket);
      return seen.error === null ? undefined : seen;
    });
    assert.equal(waiting.error?.code, "ROUTE_UNAVAILABLE");
    await requireNotesBack(trader, ticket, ended);
  });

  it("survives the death of the proxy between its answer and its block, and happens once", async () => {
    const trader = await walletWith(50);
    const wanted = await forEther();
    await on.setMining(false);
    const swap = await trader.swap(wanted, { until: "queued" });
    assert.equal(swap.received, undefined);
    await on.local.proxy().kill();
    assert.deepEqual(await on.executions(swap.statement), []);
    await on.local.restartProxy();
    await on.setMining(true);
    const final = await until("the swap to become final", async () => {
      const seen = await now(swap.ticket);
      return seen.state === "finalized" ? seen : undefined;
    });
    assert.deepEqual(await on.executions(swap.statement), [final.tx_hash]);
    await trader.sync();
    assert.equal(trader.balance(venue.weth).total, wanted.quoted);
    assert.equal(trader.balance(venue.usdc).total, 0n);
  });
});
