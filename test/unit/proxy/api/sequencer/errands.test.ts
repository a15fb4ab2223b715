/** Errands among payments: a token's transfers of the gas wallet's own, on a real chain with the real pool and sequencer. */
import assert from "node:assert/strict";
import { Interface, Wallet } from "ethers";
import { ChainUnreachable } from "../../../../../proxy/base/chain/json-rpc.ts";
import type { Errand, Errands } from "../../../../../proxy/base/chain/errands.ts";
import { outgoingForm } from "../../../../../proxy/base/store/tickets.ts";
import type { Address } from "../../../../../shared/protocol/brands.ts";
import { asAddress } from "../../../../../shared/protocol/host/text.ts";
import { Money } from "../../../../support/money.ts";
import { until } from "../../../../support/until.ts";

const TOKEN = new Interface(["function transfer(address to, uint256 amount)"]);

/** Offers each transfer as long as the chain shows that it is needed. */
class Transfers implements Errands {
  readonly to: Address[];
  readonly refusals: Errand[] = [];
  readonly sendings: string[] = [];
  isBroken = false;
  readonly #on: Money;
  #amount: bigint;

  constructor(on: Money, count: number, amount = 1n) {
    this.#on = on;
    this.#amount = amount;
    this.to = Array.from({ length: count }, () => asAddress(Wallet.createRandom().address)!);
  }

  async received(to: Address): Promise<bigint> {
    return this.#on.tokens.balanceOf(this.#on.usdcAddress, to);
  }

  async next(): Promise<Errand | undefined> {
    if (this.isBroken) throw new Error("a venue is away");
    for (const to of this.to) {
      if ((await this.received(to)) > 0n || this.refusals.some(({ label }) => label === to)) continue;
      const data = TOKEN.encodeFunctionData("transfer", [to, this.#amount]);
      return { to: this.#on.usdcAddress, data, gasLimit: 100_000n, label: to };
    }
    return undefined;
  }

  sent({ label }: Errand): void {
    this.sendings.push(label);
  }

  refused(errand: Errand): void {
    this.refusals.push(errand);
  }
}

describe("sequencer: errands among payments", function () {
  let on: Money;
  let errands: Transfers;

  /** A chain with something rooted, and a sequencer with these errands, not yet started. */
  async function prepare(count: number, options: Parameters<typeof Money.start>[0] = {}): Promise<void> {
    on = await Money.start(options);
    await on.seed();
    await (await (on.usdc["mint"]!(on.sender, 100n) as Promise<{ wait(): Promise<unknown> }>)).wait();
    await on.mine(3);
    await until("the deposit's bytes to be forgotten", async () => (await on.store.outgoing()).length === 0);
    errands = new Transfers(on, count);
    on.errands = errands;
    await on.restart();
  }
  afterEach(() => on.stop());

  /** Mined calls of ours since the seed, in order of nonce. */
  async function ours(): Promise<{ nonce: number; isErrand: boolean; succeeded: boolean }[]> {
    const found = [];
    for (let number = on.deploymentBlock; number <= (await on.provider.getBlockNumber()); number++) {
      const block = (await on.provider.getBlock(number, true))!;
      for (const { from, to, nonce, hash } of block.prefetchedTransactions) {
        if (from.toLowerCase() !== on.sender || nonce === 0) continue;
        const receipt = (await on.provider.getTransactionReceipt(hash))!;
        const isErrand = to!.toLowerCase() === on.usdcAddress;
        found.push({ nonce, isErrand, succeeded: receipt.status === 1 });
      }
    }
    return found;
  }
  const orderOf = async (): Promise<string> =>
    (await ours()).map(({ isErrand }) => (isErrand ? "e" : "p")).join("");

  const allDone = (): Promise<unknown> =>
    until("every transfer to be made", async () => {
      for (const to of errands.to) if ((await errands.received(to)) === 0n) return false;
      return true;
    });

  async function assertOnce(): Promise<void> {
    for (const to of errands.to) assert.equal(await errands.received(to), 1n);
    const calls = await ours();
    assert.deepEqual(
      calls.map(({ nonce }) => nonce),
      calls.map((_, at) => at + 1),
    );
  }

  it("sends one after the other when no payment waits, and counts them", async () => {
    await prepare(3);
    await on.run();
    await allDone();
    await assertOnce();
    assert.equal(await orderOf(), "eee");
    assert.deepEqual(errands.sendings, errands.to);
    assert.match(await on.metrics.text(), /cloister_transactions_total\{event="errand"\} 3/);
    await on.mine(3);
    await until("their bytes to be forgotten", async () => (await on.store.outgoing()).length === 0);
  });

  it("lets payments go first, and at most one batch of them before each errand", async () => {
    await prepare(3, { maxBatch: 1 });
    const tickets = [];
    for (let i = 0; i < 5; i++) tickets.push(await on.accept(on.spend(on.rooted().root)));
    await on.run();
    for (const ticket of tickets) await on.isDone(ticket);
    await allDone();
    await assertOnce();
    assert.equal(await orderOf(), "pepepepp");
  });

  it("sends none that the chain would refuse, says so once, and goes on with the next and with payments", async () => {
    await prepare(2);
    const data = TOKEN.encodeFunctionData("transfer", [errands.to[0]!, 101n]);
    const good = errands.next.bind(errands);
    const tooMuch: Errand = { to: on.usdcAddress, data, gasLimit: 100_000n, label: "too much" };
    errands.next = async () => (errands.refusals.length === 0 ? tooMuch : good());
    const ticket = await on.accept(on.spend(on.rooted().root));
    await on.run();
    await on.isDone(ticket);
    await allDone();
    await assertOnce();
    assert.deepEqual(errands.refusals, [tooMuch]);
    assert.equal(await orderOf(), "pee");
  });

  it("goes on with payments where the source of errands fails", async () => {
    await prepare(1);
    errands.isBroken = true;
    const ticket = await on.accept(on.spend(on.rooted().root));
    await on.run();
    await on.isDone(ticket);
    assert.equal(await errands.received(errands.to[0]!), 0n);
    errands.isBroken = false;
    await allDone();
  });

  it("goes on with payments where an errand is too dear for the wallet, and blames no ticket's delay on it", async () => {
    await prepare(1);
    const good = errands.next.bind(errands);
    errands.next = async () => {
      const errand = await good();
      return errand && { ...errand, gasLimit: 10_000_000n };
    };
    await on.indexer.start();
    // Enough for a payment and not for ten million gas, at the fees of a chain that has just begun.
    await on.fund(10n ** 16n);
    on.sequencer.start();
    for (let i = 0; i < 2; i++) await on.isDone(await on.accept(on.spend(on.rooted().root)));
    assert.equal(await orderOf(), "pp");
    assert.equal(on.sequencer.state().blockedBy, undefined);
    await on.fund(10n ** 21n);
    await allDone();
  });

  it("pays more for one that is stuck, under the same nonce and to the same contract", async () => {
    await prepare(1, { stuckAfterMs: 150 });
    await on.rpc("evm_setAutomine", [false]);
    await on.run();
    const entry = await until("a replacement", async () =>
      (await on.store.outgoing()).find(({ attempts }) => attempts.length >= 2),
    );
    assert.equal(entry.to, on.usdcAddress);
    assert.ok(entry.attempts[1]!.maxFeePerGas * 8n >= entry.attempts[0]!.maxFeePerGas * 9n);
    await on.rpc("evm_setAutomine", [true]);
    await on.mine();
    await allDone();
    await assertOnce();
  });

  /** Asked in an errand's way to its block, and killed there; false: before the question is asked. */
  const STEPS = [
    ["call", false],
    ["priorityFee", false],
    ["broadcast", false],
    ["broadcast", true],
    ["receipt", false],
    ["receipt", true],
  ] as const;
  for (const [method, isAsked] of STEPS) {
    it(`sends one once where it was killed ${isAsked ? "after" : "before"} ${method}`, async () => {
      await prepare(1);
      const real = on.chain[method] as (...args: readonly unknown[]) => Promise<unknown>;
      let isKilled = false;
      Object.assign(on.chain, {
        async [method](...args: readonly unknown[]) {
          const [request] = args;
          const isPools = typeof request === "object" && (request as { to?: string }).to !== on.usdcAddress;
          if (method === "call" && (isPools || !("gas" in (request as object)))) return real(...args);
          if (isAsked) await real(...args);
          isKilled = true;
          throw new ChainUnreachable("killed");
        },
      });
      await on.run();
      await until("it to be there", () => isKilled);
      await on.halt();
      Object.assign(on.chain, { [method]: real });
      // What the node had not mined it has forgotten, too.
      await on.rpc("anvil_dropAllTransactions");
      await on.reopen();
      await on.run();
      await allDone();
      await assertOnce();
      assert.equal(await orderOf(), "e");
    });
  }

  it("sends one again that a reorganisation took back, with the payment that stood behind it", async () => {
    await prepare(1);
    await on.run();
    await allDone();
    const made = on.spend(on.rooted().root);
    const ticket = await on.reaches(await on.accept(made), "confirmed");
    await on.rpc("anvil_reorg", [2, []]);
    await allDone();
    await on.reaches(ticket, "finalized", () => on.mine());
    await assertOnce();
    assert.equal(await on.executions(made), 1);
  });

  it("is offered again where a reorganisation took it back after its bytes were forgotten, and fills its own nonce", async () => {
    await prepare(1);
    await on.run();
    await allDone();
    await on.mine(3);
    await until("the bytes to be forgotten", async () => (await on.store.outgoing()).length === 0);
    const made = on.spend(on.rooted().root);
    const ticket = await on.reaches(await on.accept(made), "confirmed");
    await on.rpc("anvil_reorg", [5, []]);
    await allDone();
    await on.reaches(ticket, "finalized", () => on.mine());
    await assertOnce();
    assert.equal(await on.executions(made), 1);
  });

  it("fills a nonce with the errand behind it where nobody offers what was under it", async () => {
    await prepare(2);
    await on.run();
    await allDone();
    await on.mine(1);
    await until("the first's bytes to be forgotten", async () => (await on.store.outgoing()).length === 1);
    const [entry] = await on.store.outgoing();
    errands.next = () => Promise.resolve(undefined);
    const behind = errands.to[1]!;
    await on.rpc("anvil_reorg", [3, []]);
    await until("the one behind to be made", async () => (await errands.received(behind)) > 0n);
    assert.equal(entry?.to, on.usdcAddress);
    assert.match(await on.metrics.text(), /cloister_transactions_total\{event="filled"\} 1/);
    assert.equal(await errands.received(errands.to[0]!), 0n);
  });
});

describe("sequencer: stored errands", () => {
  const OLD =
    '{"sender":"0x2222222222222222222222222222222222222222","nonce":4,"ticketIds":[],"gasLimit":"5","data":"0x","attempts":[{"hash":"0x0000000000000000000000000000000000000000000000000000000000000384","raw":"0x02","maxFeePerGas":"7","maxPriorityFeePerGas":"1","signedAt":0}]}';

  it("reads a record of before there were errands, and writes it as it was", () => {
    const read = outgoingForm.read(OLD, "4");
    assert.ok(!("to" in read));
    assert.equal(outgoingForm.write(read, "4"), OLD);
  });

  it("reads what it wrote of one", () => {
    const errand = {
      ...outgoingForm.read(OLD, "4"),
      to: `0x${"33".repeat(20)}` as Address,
    };
    assert.deepEqual(outgoingForm.read(outgoingForm.write(errand, "4"), "4"), errand);
    assert.throws(() =>
      outgoingForm.read(outgoingForm.write({ ...errand, to: "0x12" as Address }, "4"), "4"),
    );
  });
});
