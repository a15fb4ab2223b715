// Calls of a wallet that end before their time: given up by the caller, by their clock, or by a storage that fails.
// Each says what may still happen, and what was never sent binds nothing. And what a call tells while it works.
import assert from "node:assert/strict";
import {
  memoryStorage,
  PaymentInterrupted,
  type Prover,
  type ProveOptions,
  type Standing,
  type StepEvent,
  type Wallet,
} from "../../../shared/client/index.ts";
import { USDC, WETH } from "./chain.ts";
import { withHeldLimit } from "./held-limit.ts";
import type { TestService } from "./service.ts";
import { account, give, refusal, standInProver } from "./stand-in.ts";
import { until } from "../../support/until.ts";
import { startWallets, type OpenWallet, type WalletWishes } from "./wallets.ts";

const NEVER = new Promise<never>(() => undefined);
const HELD = 10_000_000n;

type Ended = Error & Partial<Standing> & { readonly code?: string };

/** What the call ended with. */
async function endOf(call: Promise<unknown>): Promise<Ended> {
  return call.then(
    () => assert.fail("it did not end early"),
    (error: unknown) => error as Ended,
  );
}

describe("calls that end early", () => {
  let service: TestService;
  let open: OpenWallet;

  beforeEach(async () => {
    ({ service, open } = await startWallets());
  });
  afterEach(() => service.close());

  async function funded(wishes: WalletWishes = {}): Promise<Wallet> {
    const wallet = await open(wishes);
    give(service, wallet.address, USDC, [HELD]);
    await wallet.sync();
    return wallet;
  }
  const posted = (): number => service.requests.filter(({ method }) => method === "POST").length;
  /** A stream was asked for after the payment was sent: not that of the reading before it, which may still close. */
  const awaitsTheChain = (): boolean => {
    const sent = service.requests.findLastIndex(({ method }) => method === "POST");
    return sent !== -1 && service.requests.slice(sent).some(({ url }) => url.startsWith("/events/stream"));
  };

  /** Proves until it is told to stop, and remembers that it was. */
  function endlessProver(): Prover & { proving: number; stopped: number } {
    const prover = {
      ...standInProver,
      proving: 0,
      stopped: 0,
      prove: (_statement: unknown, _witness: unknown, { signal }: ProveOptions = {}) => {
        prover.proving += 1;
        signal?.addEventListener("abort", () => (prover.stopped += 1));
        return NEVER;
      },
    };
    return prover;
  }
  /** Lets everything through but the answer to a payment. */
  const unanswered: typeof fetch = async (input, init) => {
    const isPayment = (input as string).includes("/sequence/");
    const answer = await fetch(input, isPayment ? { ...init, signal: null } : init);
    if (!isPayment) return answer;
    return new Promise((_, reject) => {
      const leave = (): void => reject(init?.signal?.reason as Error);
      if (init?.signal?.aborted === true) leave();
      init?.signal?.addEventListener("abort", leave);
    });
  };

  for (const [how, reason] of [
    ["a reason of the caller's own", "the person went elsewhere"],
    ["none", undefined],
    ["an error", new TypeError("closed")],
  ] as const) {
    it(`aborted while it proves, with ${how}: AbortError, the proving ends, nothing is bound`, async () => {
      const prover = endlessProver();
      const wallet = await funded({ prover });
      const leaving = new AbortController();
      const paying = endOf(wallet.pay(wallet.address, 1_000_000n, { signal: leaving.signal }));
      await until(() => prover.proving === 1);
      leaving.abort(reason);
      const error = await paying;
      assert.equal(error.name, "AbortError");
      assert.equal(error.code, "ABORTED");
      assert.equal(error.cause, leaving.signal.reason);
      assert.deepEqual([error.sent, error.statement, error.ticket], [false, undefined, undefined]);
      assert.equal(prover.stopped, 1);
      assert.equal(wallet.balance().spendable, HELD);
      assert.equal(posted(), 0);
    });
  }

  it("aborted before it begins, it does nothing at all", async () => {
    const wallet = await funded();
    const before = service.requests.length;
    const signal = AbortSignal.abort("too late");
    const calls = [
      wallet.pay(wallet.address, 1n, { signal }),
      wallet.consolidate({ signal }),
      wallet.sync({ signal }),
      wallet.rescan({ signal }),
      wallet.waitForTicket("any", "confirmed", { signal }),
      wallet.depositPlain(1_000_000n, account(service), { signal }),
      wallet.quote({ tokenIn: USDC, tokenOut: WETH, amount: 1_000_000n, toleranceBps: 50 }, { signal }),
    ];
    for (const call of calls) {
      const error = await endOf(call);
      assert.deepEqual([error.name, error.cause, error.sent], ["AbortError", "too late", false]);
    }
    assert.equal(service.requests.length, before);
  });

  it("aborted while it waits for its turn, it ends at once and never begins", async () => {
    const prover = endlessProver();
    const wallet = await funded({ prover });
    const [first, second] = [new AbortController(), new AbortController()];
    const one = endOf(wallet.pay(wallet.address, 1_000_000n, { signal: first.signal }));
    await until(() => prover.proving === 1);
    const two = endOf(wallet.pay(wallet.address, 1_000_000n, { signal: second.signal }));
    second.abort();
    assert.equal((await two).sent, false);
    first.abort();
    await one;
    await wallet.sync();
    assert.equal(prover.proving, 1);
  });

  it("aborted before the answer to a payment: the error carries the statement, and the notes stay promised", async () => {
    const wallet = await funded({ fetch: unanswered });
    service.automine = false;
    const leaving = new AbortController();
    const paying = endOf(wallet.pay(wallet.address, 1_000_000n, { signal: leaving.signal }));
    await until(() => service.tickets.size === 1);
    leaving.abort();
    const error = await paying;
    const [ticket] = service.tickets.values();
    assert.deepEqual([error.name, error.sent, error.ticket], ["AbortError", true, undefined]);
    assert.equal(error.statement, ticket!.statement);
    assert.equal(wallet.balance().inFlight, HELD);
  });

  it("aborted while it waits for the chain: the error carries the ticket as last heard of", async () => {
    const wallet = await funded();
    service.automine = false;
    const leaving = new AbortController();
    const paying = endOf(wallet.pay(wallet.address, 1_000_000n, { signal: leaving.signal }));
    await until(awaitsTheChain);
    leaving.abort();
    const error = await paying;
    const [ticket] = service.tickets.values();
    assert.deepEqual([error.name, error.sent], ["AbortError", true]);
    assert.equal(error.ticket?.ticket_id, ticket!.ticket_id);
    assert.equal(error.statement, ticket!.statement);
    // It goes on without the caller, who can wait for it again.
    service.automine = true;
    service.mine();
    assert.equal((await wallet.waitForTicket(ticket!.ticket_id)).state, "confirmed");
  });

  describe("timeoutMs", () => {
    /** The call whose limit runs out once it `hangs`, which it is asked with the clocks that were set meanwhile. */
    async function timedOut(
      call: (timeoutMs: number) => Promise<unknown>,
      hangs: (clocks: readonly number[]) => boolean,
    ): Promise<Ended> {
      return withHeldLimit(async ({ timeoutMs, clocks, runOut }) => {
        const state = { hasEnded: false };
        const ended = endOf(call(timeoutMs).finally(() => (state.hasEnded = true)));
        await until(() => state.hasEnded || hangs(clocks));
        if (state.hasEnded) throw new Error("it ended before its limit", { cause: await ended });
        runOut();
        const error = await ended;
        assert.equal(error.code, "TIMED_OUT");
        // Not by a clock of one of its parts.
        assert.ok(error instanceof PaymentInterrupted);
        return error;
      });
    }

    it("ends proving", async () => {
      const prover = endlessProver();
      const wallet = await funded({ prover });
      const error = await timedOut(
        (timeoutMs) => wallet.pay(wallet.address, 1_000_000n, { timeoutMs }),
        () => prover.proving === 1,
      );
      assert.equal(error.sent, false);
      assert.match(error.message, /during prove; nothing was sent/);
      assert.equal(prover.stopped, 1);
      assert.equal(wallet.balance().spendable, HELD);
    });

    it("ends the wait for an answer", async () => {
      const wallet = await funded({ fetch: unanswered });
      const error = await timedOut(
        (timeoutMs) => wallet.pay(wallet.address, 1_000_000n, { timeoutMs }),
        () => service.tickets.size === 1,
      );
      assert.deepEqual([error.sent, error.ticket], [true, undefined]);
      assert.ok(error.statement !== undefined && error.message.includes(error.statement));
    });

    it("ends the wait for the chain", async () => {
      const wallet = await funded();
      service.automine = false;
      // It asks for the ticket itself when it has heard nothing for so long; this clock is set when it has the ticket.
      const hangs = (clocks: readonly number[]): boolean => clocks.includes(15_000);
      const error = await timedOut(
        (timeoutMs) => wallet.pay(wallet.address, 1_000_000n, { timeoutMs }),
        hangs,
      );
      assert.equal(error.ticket?.state, "queued");
      const { ticket_id: id } = error.ticket;
      assert.match(error.message, new RegExp(`during confirm; sent, ticket ${id} is queued`));
      const again = await timedOut(
        (timeoutMs) => wallet.waitForTicket(id, "confirmed", { timeoutMs }),
        hangs,
      );
      assert.equal(again.ticket?.ticket_id, id);
    });

    it("ends the wait for change", async () => {
      const wallet = await funded();
      service.automine = false;
      await wallet.pay(wallet.address, 1_000_000n, { until: "queued" });
      const error = await timedOut(
        (timeoutMs) => wallet.pay(wallet.address, 1_000_000n, { timeoutMs }),
        // A wallet's `changeTimeoutMs`.
        (clocks) => clocks.includes(120_000),
      );
      assert.equal(error.sent, false);
    });

    it("ends the wait for a person who does not sign, and for an account that does not send", async () => {
      const wallet = await open();
      let isAsked = false;
      const person = {
        getAddress: () => account(service).getAddress(),
        signTypedData: () => {
          isAsked = true;
          return NEVER;
        },
      };
      const unsigned = await timedOut(
        (timeoutMs) => wallet.deposit(1_000_000n, person, { timeoutMs }),
        () => isAsked,
      );
      assert.equal(unsigned.sent, false);

      const sender = account(service);
      const asked: unknown[] = [];
      const silent = {
        ...sender,
        sendTransaction: (transaction: Parameters<typeof sender.sendTransaction>[0]) => {
          asked.push(transaction);
          return asked.length === 1 ? sender.sendTransaction(transaction) : NEVER;
        },
      };
      const unsent = await timedOut(
        (timeoutMs) => wallet.depositPlain(1_000_000n, silent, { asset: WETH, timeoutMs }),
        () => asked.length === 2,
      );
      assert.deepEqual(
        [unsent.sent, unsent.transactionHash],
        [true, undefined],
        "the account may still do it",
      );

      const slow = account(service);
      let isWaitedFor = false;
      const wait = (): Promise<never> => {
        isWaitedFor = true;
        return NEVER;
      };
      const unmined = {
        ...slow,
        sendTransaction: async (transaction: Parameters<typeof slow.sendTransaction>[0]) => {
          const sent = await slow.sendTransaction(transaction);
          return slow.sent.length === 1 ? sent : { ...sent, wait };
        },
      };
      const waiting = await timedOut(
        (timeoutMs) => wallet.depositPlain(1_000_000n, unmined, { asset: WETH, timeoutMs }),
        () => isWaitedFor,
      );
      assert.equal(waiting.transactionHash, `0x${"2".padStart(64, "0")}`);
    });

    it("that is longer than a timer can be is refused, and does not fire at once", async () => {
      const wallet = await funded();
      for (const long of [Infinity, 2 ** 31, 2 ** 40])
        await assert.rejects(wallet.pay(wallet.address, 1_000n, { timeoutMs: long }), {
          code: "OPTIONS_INVALID",
        });
      await wallet.pay(wallet.address, 1_000n, { timeoutMs: 2 ** 31 - 1 });
    });
  });

  it("says no outcome is known of a deposit whose answer never came, and its statement", async () => {
    const wallet = await open();
    service.faults.push(({ url }) => (url === "/sequence/deposit-shield" ? "hang-up" : undefined));
    const { Wallet: EthereumWallet } = await import("ethers");
    const error = await endOf(wallet.deposit(1_000_000n, EthereumWallet.createRandom()));
    assert.deepEqual([error.code, error.sent], ["OUTCOME_UNKNOWN", true]);
    assert.match(error.statement ?? "", /^0x[0-9a-f]{64}$/);
  });

  describe("a storage that fails", () => {
    const broken = new Error("the disk is full");

    it("at load: STORAGE_FAILED with its cause", async () => {
      const storage = { ...memoryStorage(), load: () => Promise.reject(broken) };
      const error = await endOf(open({ storage }));
      assert.deepEqual([error.code, error.cause], ["STORAGE_FAILED", broken]);
    });

    it("before a payment is sent: nothing is sent, and nothing is bound", async () => {
      const storage = memoryStorage();
      let isBroken = false;
      const { save } = storage;
      storage.save = (...args) => (isBroken ? Promise.reject(broken) : save(...args));
      const prover: Prover = {
        ...standInProver,
        prove: (...args) => {
          isBroken = true;
          return standInProver.prove(...args);
        },
      };
      const wallet = await funded({ storage, prover });
      const error = await endOf(wallet.pay(wallet.address, 1_000_000n));
      assert.deepEqual([error.code, error.cause], ["STORAGE_FAILED", broken]);
      assert.equal(posted(), 0);
      assert.equal(wallet.balance().spendable, HELD);
      await assert.rejects(wallet.sync(), refusal("STORAGE_FAILED"));
      isBroken = false;
      await wallet.sync();
      await (await open({ storage })).pay(wallet.address, 1_000_000n);
    });

    it("after a payment was sent: the error carries its ticket", async () => {
      const storage = memoryStorage();
      const { save } = storage;
      storage.save = (...args) => (posted() > 0 ? Promise.reject(broken) : save(...args));
      const wallet = await funded({ storage });
      const error = await endOf(wallet.pay(wallet.address, 1_000_000n));
      assert.deepEqual([error.code, error.sent], ["STORAGE_FAILED", true]);
      assert.ok(service.tickets.has(error.ticket?.ticket_id ?? ""));
      assert.equal((await open({ storage })).balance().inFlight, HELD);
    });
  });

  it("tells what begins, how far it is, and what has ended", async () => {
    const prover: Prover = {
      ...standInProver,
      prove: (statement, witness, { progress } = {}) => {
        for (const phase of ["download", "load", "prove"] as const)
          for (const fraction of [0, 0.5, 1]) progress?.({ phase, fraction });
        return standInProver.prove(statement, witness);
      },
    };
    const wallet = await funded({ prover });
    const told: StepEvent[] = [];
    await wallet.pay(wallet.address, 1_000_000n, { progress: (event) => told.push(event) });
    const working = (step: string): string[] => [`${step} 0`, `${step} 0.5`, `${step} 1`];
    const inner = (step: string): string[] => [`${step} begin`, ...working(step), `${step} end`];
    const plain = (step: string): string[] => [`${step} begin`, `${step} end`];
    assert.deepEqual(
      told.map(({ step, state, fraction }) => `${step} ${fraction ?? state}`),
      [
        ...plain("sync"),
        ...plain("prepare"),
        ...["prove begin", ...inner("download"), ...inner("load"), ...working("prove"), "prove end"],
        ...plain("submit"),
        ...plain("confirm"),
        ...plain("deliver"),
      ],
    );
    for (const { state, ms } of told) assert.equal(typeof ms, state === "end" ? "number" : "undefined");
  });
});
