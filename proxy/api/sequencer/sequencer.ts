/**
 * The loop that carries every accepted ticket to its end, and the only owner of the gas wallet's nonce, as long as it
 * has the lease. A turn reads outcomes, tends what was sent, then puts what waits into one `execute`, in order of
 * acceptance. Several calls may be in flight, each under the nonce behind the one before, so the chain keeps their order:
 * behind one that is in no block yet another goes when it is full, or when a block has come. Outcomes are read from the
 * indexed events.
 */
import type { Bytes32 } from "../../../shared/protocol/brands.ts";
import type { Kind } from "../../../shared/protocol/statements.ts";
import { ChainUnreachable } from "../../base/chain/json-rpc.ts";
import type { IndexedBlock } from "../../base/store/chain-data.ts";
import { LeaseLost, type Fence } from "../../base/store/lease.ts";
import { StoreUnavailable } from "../../base/store/unavailable.ts";
import { createAdvances } from "./advance.ts";
import { Backoff } from "./backoff.ts";
import { Batches, type Batch } from "./batch.ts";
import { Blockage } from "./blockage.ts";
import { CallsInFlight } from "./calls-in-flight.ts";
import { createErrandLine, type WaitingErrand } from "./errand-line.ts";
import { LeaseKeeper } from "../../base/lease-keeper.ts";
import { Members } from "./members.ts";
import { Outcomes, finalBlockOf } from "./outcomes.ts";
import { OutgoingCalls } from "./outgoing.ts";
import { Queue } from "./queue.ts";
import { logSteps } from "./reporting.ts";
import { Sending } from "./sending.ts";
import type { SequencerLimits, SequencerParts, TermParts } from "./term.ts";

export interface SequencerOptions extends Partial<SequencerLimits> {
  readonly confirmations: number;
  readonly pollIntervalMs: number;
  /** How long the lease outlives a holder that has died or is cut off. */
  readonly leaseMs?: number;
}

type Brakes = Awaited<ReturnType<SequencerParts["pool"]["brakes"]>>;

/** The index may be so many blocks behind: where they come faster than a question is answered it always is. */
const MOST_BEHIND = 2;
/** A proxy that has been without an enclave for so long lets another one submit. */
const STEP_DOWN_AFTER_MS = 5_000;
const LEASE_MS = 5_000;
const LIMITS: SequencerLimits = {
  stuckAfterMs: 30_000,
  maxFeePerGas: 500_000_000_000n,
  // So many transfers are just within the calldata of one call; larger members make it fewer.
  maxBatch: 64,
  // Of any transaction on Ethereum: EIP-7825.
  maxGas: 2n ** 24n,
  maxInFlight: 4,
};

/** What works from taking the lease to losing it. Nothing remembered from before an interruption decides. */
async function openTerm(parts: SequencerParts, limits: SequencerLimits, blockage: Blockage, fence: Fence) {
  const { store, metrics, logger } = parts;
  const queue = await Queue.read(store, logSteps(metrics, logger));
  const backoff = new Backoff((id) => queue.get(id) !== undefined);
  const writes = store.underLease(fence);
  const inFlight = new CallsInFlight(parts.data, parts.tree);
  const shared: TermParts = { ...parts, ...limits, queue, writes, backoff, blockage, inFlight };
  const sending = new Sending(shared);
  return {
    ...{ fence, queue, writes, backoff, inFlight, sending, limits },
    /** The newest block when something was sent last. */
    sentOn: undefined as Bytes32 | undefined,
    outcomes: new Outcomes(shared),
    outgoing: new OutgoingCalls(shared, sending),
    batches: new Batches(shared, new Members(shared)),
    advances: createAdvances(shared),
    errands: createErrandLine(parts.errands, shared),
  };
}
type Term = Awaited<ReturnType<typeof openTerm>>;

/** Of what one turn may send. */
interface Next {
  readonly tip: IndexedBlock;
  readonly errand: WaitingErrand | undefined;
  readonly maySendTickets: boolean;
}

type Header = Awaited<ReturnType<SequencerParts["chain"]["header"]>>;

/** Whether the index, at `tip`, is as far as it has to be for sending on `head`. */
function isNear(head: Header, tip: IndexedBlock): head is NonNullable<Header> {
  if (head === undefined) return false;
  const behind = head.number - tip.number;
  return behind <= MOST_BEHIND && (behind > 0 || head.hash === tip.hash);
}

export class Sequencer {
  readonly #parts: SequencerParts;
  readonly #options: SequencerOptions;
  readonly #confirmations: number;
  readonly #blockage = new Blockage();
  readonly #keeper: LeaseKeeper;
  #term: Term | undefined;
  /** What was said last in this term of what holds tickets. */
  #reported: string | undefined;
  #isStopped = false;
  #isWanted = false;
  #running: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** Milliseconds since 1970 of the last turn that ended well. */
  #lastTurnAt: number | undefined;
  #withoutEnclaveSince: number | undefined;
  #isStoreUnreachable = false;
  /** Something of the pool's was sent since the last errand: one that waits goes next. */
  #isErrandsTurn = false;
  /** Only a block, or time, or so many tickets waiting change what can be done. */
  #quietBelow = 0;

  constructor(parts: SequencerParts, options: SequencerOptions) {
    this.#parts = parts;
    this.#options = options;
    this.#confirmations = Math.max(options.confirmations, 1);
    this.#keeper = new LeaseKeeper(parts.lease, {
      leaseMs: options.leaseMs ?? LEASE_MS,
      onChange: (fence) => {
        this.#parts.metrics.lease(fence === undefined ? "lost" : "taken");
        if (fence === undefined) this.#parts.logger.warn("another proxy submits, or none that we know of");
        else this.#parts.logger.info({ fence }, "this proxy submits");
        this.wake();
      },
      onFault: (error) => {
        this.#parts.metrics.lease("unanswered");
        this.#parts.logger.error({ err: error }, "the sequencer's lease could not be asked for");
      },
    });
  }

  start(): void {
    this.#keeper.start();
    this.#timer = setInterval(() => this.wake(), this.#options.pollIntervalMs);
    this.wake();
  }

  /** Something may be to do; returns at once. */
  wake(): void {
    this.#isWanted = true;
    if (this.#isStopped) return;
    this.#running ??= this.#run().finally(() => (this.#running = undefined));
  }

  /** A ticket came. Behind calls that are under way nothing is done for it before the next block, or enough others. */
  wakeForTicket(): void {
    if ((this.#term?.queue.waiting().length ?? 0) >= this.#quietBelow) this.wake();
  }

  /** Ends the turn under way; stored bytes are adopted by the next start. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearInterval(this.#timer);
    await this.#running;
    this.#endTerm();
    await this.#keeper.stop();
  }

  state() {
    const fence = this.#keeper.current();
    /** Whether this proxy is the one that submits. */
    const hasLease = fence !== undefined;
    /** Undefined while another proxy submits, or this one has not read the queue yet. */
    const current = hasLease && this.#term?.fence === fence ? this.#term : undefined;
    const [queue, callsInFlight] = [current?.queue.counts(), current?.inFlight.waiting.length];
    return { blockedBy: this.#blockage.by, lastTurnAt: this.#lastTurnAt, hasLease, queue, callsInFlight };
  }

  /** Under which this proxy may write; undefined while another one submits. */
  fence(): Fence | undefined {
    return this.#keeper.current();
  }

  /** What holds waiting tickets of this kind and the operator can fix. */
  blockedBy(kind: Kind) {
    return this.#blockage.of(kind);
  }

  #endTerm(): void {
    this.#term?.queue.close();
    this.#term = this.#reported = undefined;
  }

  async #turn(): Promise<void> {
    const fence = this.#keeper.current();
    if (this.#term?.fence !== fence) this.#endTerm();
    if (fence === undefined) {
      this.#blockage.adopt(await this.#parts.lease.report());
      return;
    }
    this.#term ??= await openTerm(this.#parts, { ...LIMITS, ...this.#options }, this.#blockage, fence);
    const tip = await this.#newestBlock(this.#term);
    const finalBlock = finalBlockOf(tip, this.#confirmations);
    await this.#term.outcomes.settleAll(tip, finalBlock);
    const isBusy = await this.#term.outgoing.tend(tip, finalBlock);
    const awaited = isBusy ? Infinity : this.#ticketsAwaited(this.#term, tip);
    this.#quietBelow = awaited === 0 ? 0 : this.#term.queue.waiting().length + awaited;
    if (awaited === Infinity) return;
    const errand = await this.#nextErrand(this.#term, tip);
    if (awaited > 0 && errand === undefined) return;
    if (!this.#hasWork(this.#term) && errand === undefined) this.#blockage.clear();
    else if ((await this.#sendNext(this.#term, { tip, errand, maySendTickets: awaited === 0 })) !== "nothing")
      return;
    await this.#fillHole(this.#term, tip);
  }

  #hashAt(number: number): Bytes32 | undefined {
    return this.#parts.data.blockAtOrBelow(number)?.hash;
  }

  /** What was refused on blocks that are gone is forgotten with them. */
  async #newestBlock({ backoff }: Term): Promise<IndexedBlock> {
    await this.#parts.sync();
    const tip = this.#parts.data.tip();
    if (tip === undefined) throw new ChainUnreachable("nothing is indexed yet");
    backoff.reach(tip, (number) => this.#hashAt(number));
    return tip;
  }

  /** Whether anything could go into a call; read here, so that an idle proxy asks its node for nothing. */
  #hasWork({ queue }: Term): boolean {
    return (
      queue.waiting().length > 0 || this.#parts.data.currentRoot()?.leafCount !== this.#parts.data.leafCount()
    );
  }

  /**
   * How many more have to wait before another call goes behind those in flight; Infinity where none goes now. Where a block
   * has come since the last was sent, any that wait are enough: that one will wait for the next block in any case.
   */
  #ticketsAwaited({ inFlight, queue, backoff, batches, sentOn, limits }: Term, tip: IndexedBlock): number {
    if (inFlight.waiting.length === 0) return 0;
    if (inFlight.waiting.length >= limits.maxInFlight) return Infinity;
    const full = batches.full();
    let ready = 0;
    for (const { id } of queue.waiting()) {
      if (ready >= full) break;
      if (!backoff.isWaiting(id, tip.number)) ready++;
    }
    return ready > 0 && tip.hash !== sentOn ? 0 : full - ready;
  }

  /** None while one is in flight: which is next is known only when the newest block has the one before. */
  async #nextErrand({ inFlight, errands }: Term, tip: IndexedBlock): Promise<WaitingErrand | undefined> {
    return inFlight.waiting.some(({ to }) => to !== undefined) ? undefined : errands.waiting(tip);
  }

  /**
   * Tickets and an attested root, or an `advance` where the pool takes no attested root, or nobody signs one. While void
   * leaves wait it goes first, and alone: every payment behind it makes leaves that no root can cover. An errand goes when
   * none of these is to be sent, and once after each: it never waits for more than one batch of payments.
   */
  async #nextBatch(
    term: Term,
    { tip, errand, maySendTickets }: Next,
    brakes: Brakes | undefined,
  ): Promise<Batch | undefined> {
    if (brakes === undefined) return errand?.checked();
    const isBehind = term.inFlight.waiting.length > 0;
    const { attestedFrom, advanceableFrom } = brakes;
    const isShut = attestedFrom > Math.max(tip.timestamp, Math.floor(this.#parts.now() / 1000));
    // Nothing attested is taken: what waits goes on by itself afterwards.
    if (isShut) this.#blockage.report("pause");
    if (!isBehind && (this.#parts.data.awaitsAdvance() || (isShut && term.advances.isDue(tip)))) {
      const advance = await term.advances.next();
      if (advance !== undefined) return advance;
    }
    if (this.#isErrandsTurn || isShut || !maySendTickets) {
      const next = await errand?.checked();
      if (next !== undefined || isShut || !maySendTickets) return next;
    }
    if (isBehind && this.#parts.data.awaitsAdvance()) return errand?.checked();
    const batch = await term.batches.next(tip, term.outgoing.oldestBehindHole());
    // A root alone can wait until nothing is under way.
    if (batch !== undefined && !(isBehind && batch.candidates.length === 0)) return batch;
    if (
      !isBehind &&
      this.#blockage.by === "enclave" &&
      tip.timestamp >= advanceableFrom &&
      term.advances.isDue(tip)
    ) {
      const advance = await term.advances.next();
      if (advance !== undefined) return advance;
    }
    return errand?.checked();
  }

  /** "again": the chain went on or back meanwhile, so what can be sent is not known. */
  async #sendNext(term: Term, next: Next): Promise<"sent" | "again" | "nothing"> {
    const { tip } = next;
    const { chain, pool, wallet } = this.#parts;
    // Side by side: on a quick chain each answer that is waited for is a block.
    const [head, used, brakes] = await Promise.all([
      chain.header("latest"),
      chain.nonce(wallet.address),
      this.#hasWork(term) ? pool.brakes() : undefined,
    ]);
    // Built on older blocks, a batch would meet a queue that it does not expect.
    if (!isNear(head, tip)) return this.#again();
    this.#blockage.clear();
    const batch = await this.#nextBatch(term, next, brakes);
    if (batch === undefined) return "nothing";
    const last = term.inFlight.waiting.at(-1);
    const nonce = last === undefined ? used : last.nonce + 1;
    // Whom it leaves out was refused on blocks that are gone, perhaps, and those behind him must not go first. The
    // nonce, too, may be one that was reorganised out, with what was sent later still to come; or somebody has used it.
    if (!(await this.#standsOn(term, [tip, head])) || used > nonce) return this.#again();
    // Also where the wallet cannot pay for the errand: what needs less goes in the next turn.
    this.#isErrandsTurn = batch.errand === undefined;
    const isSent = await term.sending.send(batch, nonce, head);
    if (!isSent) return "nothing";
    term.sentOn = tip.hash;
    if (batch.errand !== undefined) this.#parts.errands?.sent(batch.errand);
    this.#isWanted = true;
    return "sent";
  }

  #again(): "again" {
    this.#isWanted = true;
    return "again";
  }

  /** Whether these blocks are still the chain's. */
  async #standsOn(term: Term, blocks: readonly Pick<IndexedBlock, "number" | "hash">[]): Promise<boolean> {
    await this.#newestBlock(term);
    return blocks.every(({ number, hash }) => this.#hashAt(number) === hash);
  }

  /**
   * Only where nothing can be sent: what a deep reorganisation took back was accepted before what stands behind the hole,
   * and goes under its nonce first. A node that is behind shows holes that are none.
   */
  async #fillHole(term: Term, tip: IndexedBlock): Promise<void> {
    if (!term.outgoing.hasHole()) return;
    const head = await this.#parts.chain.header("latest");
    if (isNear(head, tip) && (await this.#standsOn(term, [tip, head]))) await term.outgoing.fillHole(head);
    else this.#again();
  }

  /** What holds tickets, for the proxies that show them and do not submit. */
  async #reportBlockage(): Promise<void> {
    const text = String(this.#blockage);
    if (this.#term === undefined || this.#reported === text) return;
    await this.#term.writes.report(text);
    this.#reported = text;
  }

  /** Whether the store did what it could not answer, or will, is not known: everything is read again, under a new fence. */
  #abandonTerm(fault: unknown): void {
    this.#endTerm();
    if (fault instanceof StoreUnavailable) this.#keeper.invalidate();
  }

  /** Without an enclave payments go on, but no root covers their leaves. Another proxy may reach one. */
  #stepDownWithoutEnclave(): void {
    if (this.#term === undefined || this.#blockage.by !== "enclave" || !this.#parts.lease.isShared) {
      this.#withoutEnclaveSince = undefined;
      return;
    }
    this.#withoutEnclaveSince ??= this.#parts.now();
    if (this.#parts.now() - this.#withoutEnclaveSince < STEP_DOWN_AFTER_MS) return;
    this.#withoutEnclaveSince = undefined;
    this.#parts.logger.warn("no enclave answers this proxy; another one may submit");
    this.#endTerm();
    this.#keeper.stepDown();
  }

  async #run(): Promise<void> {
    while (this.#isWanted && !this.#isStopped) {
      this.#isWanted = false;
      this.#quietBelow = 0;
      try {
        await this.#turn();
        this.#lastTurnAt = this.#parts.now();
        if (this.#term !== undefined) this.#blockage.clear("chain");
        await this.#reportBlockage();
        this.#isStoreUnreachable = false;
        this.#stepDownWithoutEnclave();
      } catch (error) {
        if (error instanceof ChainUnreachable) {
          this.#blockage.report("chain");
          this.#parts.logger.warn({ reason: error.message }, "the sequencer waits for the chain");
          await this.#reportBlockage().catch((fault: unknown) => {
            this.#abandonTerm(fault);
            this.#parts.logger.error({ err: fault }, "what blocks could not be reported");
          });
          return;
        }
        this.#abandonTerm(error);
        if (error instanceof LeaseLost) {
          this.#parts.metrics.lease("fenced");
          this.#parts.logger.warn("another proxy has the lease; this one had not noticed");
        } else if (!(error instanceof StoreUnavailable && this.#isStoreUnreachable))
          this.#parts.logger.error({ err: error }, "a turn of the sequencer failed");
        // Said once, and not at every turn until it is back.
        this.#isStoreUnreachable = error instanceof StoreUnavailable;
        return;
      }
    }
  }
}
