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
import { createBatches, type Batch } from "./batch.ts";
import { Blockage } from "./blockage.ts";
import { CallsInFlight } from "./calls-in-flight.ts";
import { createErrandLine, type WaitingErrand } from "./errand-line.ts";
import { createLeaseKeeper } from "../../base/lease-keeper.ts";
import { createMembers } from "./members.ts";
import { createOutcomes, finalBlockOf } from "./outcomes.ts";
import { createOutgoing } from "./outgoing.ts";
import { Queue } from "./queue.ts";
import { logSteps } from "./reporting.ts";
import { createSending } from "./sending.ts";
import type { SequencerLimits, SequencerParts, TermParts } from "./term.ts";

export interface SequencerOptions extends Partial<SequencerLimits> {
  readonly confirmations: number;
  readonly pollIntervalMs: number;
  /** How long the lease outlives a holder that has died or is cut off. */
  readonly leaseMs?: number;
}

/** A proxy that has been without an enclave for so long lets another one submit. */
const STEP_DOWN_AFTER_MS = 5_000;
const LEASE_MS = 5_000;
const LIMITS: SequencerLimits = {
  stuckAfterMs: 30_000,
  maxFeePerGas: 500_000_000_000n,
  // So many transfers are just within the calldata of one call; larger members make it fewer.
  maxBatch: 64,
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
  const sending = createSending(shared);
  return {
    ...{ fence, queue, writes, backoff, inFlight, sending, limits },
    /** The newest block when something was sent last. */
    sentOn: undefined as Bytes32 | undefined,
    outcomes: createOutcomes(shared),
    outgoing: createOutgoing(shared, sending),
    batches: createBatches(shared, createMembers(shared)),
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

export type Sequencer = ReturnType<typeof createSequencer>;

export function createSequencer(parts: SequencerParts, options: SequencerOptions) {
  const { chain, data, logger, metrics, now } = parts;
  const confirmations = Math.max(options.confirmations, 1);

  const blockage = new Blockage();
  const keeper = createLeaseKeeper(parts.lease, {
    leaseMs: options.leaseMs ?? LEASE_MS,
    onChange(fence) {
      metrics.lease(fence === undefined ? "lost" : "taken");
      if (fence === undefined) logger.warn("another proxy submits, or none that we know of");
      else logger.info({ fence }, "this proxy submits");
      wake();
    },
    onFault(error) {
      metrics.lease("unanswered");
      logger.error({ err: error }, "the sequencer's lease could not be asked for");
    },
  });

  let term: Term | undefined;
  /** What was said last in this term of what holds tickets. */
  let reported: string | undefined;
  let isStopped = false;
  let isWanted = false;
  let running: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;
  /** Milliseconds since 1970 of the last turn that ended well. */
  let lastTurnAt: number | undefined;
  let withoutEnclaveSince: number | undefined;
  let isStoreUnreachable = false;
  /** Something of the pool's was sent since the last errand: one that waits goes next. */
  let isErrandsTurn = false;
  /** Only a block, or time, or so many tickets waiting change what can be done. */
  let quietBelow = 0;

  function endTerm(): void {
    term?.queue.close();
    term = reported = undefined;
  }

  async function turn(): Promise<void> {
    const fence = keeper.current();
    if (term?.fence !== fence) endTerm();
    if (fence === undefined) {
      blockage.adopt(await parts.lease.report());
      return;
    }
    term ??= await openTerm(parts, { ...LIMITS, ...options }, blockage, fence);
    const tip = await newestBlock(term);
    const finalBlock = finalBlockOf(tip, confirmations);
    await term.outcomes.settleAll(tip, finalBlock);
    const isBusy = await term.outgoing.tend(tip, finalBlock);
    const awaited = isBusy ? Infinity : ticketsAwaited(term, tip);
    quietBelow = awaited === 0 ? 0 : term.queue.waiting().length + awaited;
    if (awaited === Infinity) return;
    const errand = await nextErrand(term, tip);
    if (awaited > 0 && errand === undefined) return;
    if (!hasWork(term) && errand === undefined) blockage.clear();
    else if (await sendNext(term, { tip, errand, maySendTickets: awaited === 0 })) return;
    await term.outgoing.fillHole(tip);
  }

  const hashAt = (number: number): Bytes32 | undefined => data.blockAtOrBelow(number)?.hash;

  /** What was refused on blocks that are gone is forgotten with them. */
  async function newestBlock({ backoff }: Term): Promise<IndexedBlock> {
    await parts.sync();
    const tip = data.tip();
    if (tip === undefined) throw new ChainUnreachable("nothing is indexed yet");
    backoff.reach(tip, hashAt);
    return tip;
  }

  /** Whether anything could go into a call; read here, so that an idle proxy asks its node for nothing. */
  function hasWork({ queue }: Term): boolean {
    return queue.waiting().length > 0 || data.currentRoot()?.leafCount !== data.leafCount();
  }

  /**
   * How many more have to wait before another call goes behind those in flight; Infinity where none goes now. Where a block
   * has come since the last was sent, any that wait are enough: that one will wait for the next block in any case.
   */
  function ticketsAwaited(
    { inFlight, queue, backoff, batches, sentOn, limits }: Term,
    tip: IndexedBlock,
  ): number {
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
  async function nextErrand(
    { inFlight, errands }: Term,
    tip: IndexedBlock,
  ): Promise<WaitingErrand | undefined> {
    return inFlight.waiting.some(({ to }) => to !== undefined) ? undefined : errands.waiting(tip);
  }

  /**
   * Tickets and an attested root, or an `advance` where the pool takes no attested root, or nobody signs one. While void
   * leaves wait it goes first, and alone: every payment behind it makes leaves that no root can cover. An errand goes when
   * none of these is to be sent, and once after each: it never waits for more than one batch of payments.
   */
  async function nextBatch(term: Term, { tip, errand, maySendTickets }: Next): Promise<Batch | undefined> {
    if (!hasWork(term)) return errand?.checked();
    const isBehind = term.inFlight.waiting.length > 0;
    const { attestedFrom, advanceableFrom } = await parts.pool.brakes();
    const isShut = attestedFrom > Math.max(tip.timestamp, Math.floor(now() / 1000));
    // Nothing attested is taken: what waits goes on by itself afterwards.
    if (isShut) blockage.report("pause");
    if (!isBehind && (data.awaitsAdvance() || (isShut && term.advances.isDue(tip)))) {
      const advance = await term.advances.next();
      if (advance !== undefined) return advance;
    }
    if (isErrandsTurn || isShut || !maySendTickets) {
      const next = await errand?.checked();
      if (next !== undefined || isShut || !maySendTickets) return next;
    }
    if (isBehind && data.awaitsAdvance()) return errand?.checked();
    const batch = await term.batches.next(tip, term.outgoing.oldestBehindHole());
    // A root alone can wait until nothing is under way.
    if (batch !== undefined && !(isBehind && batch.candidates.length === 0)) return batch;
    if (
      !isBehind &&
      blockage.by === "enclave" &&
      tip.timestamp >= advanceableFrom &&
      term.advances.isDue(tip)
    ) {
      const advance = await term.advances.next();
      if (advance !== undefined) return advance;
    }
    return errand?.checked();
  }

  /** Whether something was sent. */
  async function sendNext(term: Term, next: Next): Promise<boolean> {
    const { tip } = next;
    const head = await chain.header("latest");
    // Built on anything but the newest block, a batch would meet a queue it does not expect.
    if (head?.hash !== tip.hash) {
      isWanted = true;
      return false;
    }
    blockage.clear();
    const batch = await nextBatch(term, next);
    if (batch === undefined) return false;
    const used = await chain.nonce(parts.wallet.address);
    const last = term.inFlight.waiting.at(-1);
    const nonce = last === undefined ? used : last.nonce + 1;
    await newestBlock(term);
    // Whom it leaves out was refused on blocks that are gone, perhaps, and those behind him must not go first. The
    // nonce, too, may be one that was reorganised out, with what was sent later still to come; or somebody has used it.
    if (hashAt(tip.number) !== tip.hash || used > nonce) {
      isWanted = true;
      return false;
    }
    // Also where the wallet cannot pay for the errand: what needs less goes in the next turn.
    isErrandsTurn = batch.errand === undefined;
    const isSent = await term.sending.send(batch, nonce, head);
    if (!isSent) return false;
    term.sentOn = tip.hash;
    if (batch.errand !== undefined) parts.errands?.sent(batch.errand);
    isWanted = true;
    return true;
  }

  /** What holds tickets, for the proxies that show them and do not submit. */
  async function reportBlockage(): Promise<void> {
    const text = String(blockage);
    if (term === undefined || reported === text) return;
    await term.writes.report(text);
    reported = text;
  }

  /** Whether the store did what it could not answer, or will, is not known: everything is read again, under a new fence. */
  function abandonTerm(fault: unknown): void {
    endTerm();
    if (fault instanceof StoreUnavailable) keeper.invalidate();
  }

  /** Without an enclave payments go on, but no root covers their leaves. Another proxy may reach one. */
  function stepDownWithoutEnclave(): void {
    if (term === undefined || blockage.by !== "enclave" || !parts.lease.isShared) {
      withoutEnclaveSince = undefined;
      return;
    }
    withoutEnclaveSince ??= now();
    if (now() - withoutEnclaveSince < STEP_DOWN_AFTER_MS) return;
    withoutEnclaveSince = undefined;
    logger.warn("no enclave answers this proxy; another one may submit");
    endTerm();
    keeper.stepDown();
  }

  async function run(): Promise<void> {
    while (isWanted && !isStopped) {
      isWanted = false;
      quietBelow = 0;
      try {
        await turn();
        lastTurnAt = now();
        if (term !== undefined) blockage.clear("chain");
        await reportBlockage();
        isStoreUnreachable = false;
        stepDownWithoutEnclave();
      } catch (error) {
        if (error instanceof ChainUnreachable) {
          blockage.report("chain");
          logger.warn({ reason: error.message }, "the sequencer waits for the chain");
          await reportBlockage().catch((fault: unknown) => {
            abandonTerm(fault);
            logger.error({ err: fault }, "what blocks could not be reported");
          });
          return;
        }
        abandonTerm(error);
        if (error instanceof LeaseLost) {
          metrics.lease("fenced");
          logger.warn("another proxy has the lease; this one had not noticed");
        } else if (!(error instanceof StoreUnavailable && isStoreUnreachable))
          logger.error({ err: error }, "a turn of the sequencer failed");
        // Said once, and not at every turn until it is back.
        isStoreUnreachable = error instanceof StoreUnavailable;
        return;
      }
    }
  }

  function wake(): void {
    isWanted = true;
    if (isStopped) return;
    running ??= run().finally(() => (running = undefined));
  }

  return {
    start(): void {
      keeper.start();
      timer = setInterval(wake, options.pollIntervalMs);
      wake();
    },
    /** Something may be to do; returns at once. */
    wake,
    /** A ticket came. Behind calls that are under way nothing is done for it before the next block, or enough others. */
    wakeForTicket(): void {
      if ((term?.queue.waiting().length ?? 0) >= quietBelow) wake();
    },
    /** Ends the turn under way; stored bytes are adopted by the next start. */
    async stop(): Promise<void> {
      isStopped = true;
      clearInterval(timer);
      await running;
      endTerm();
      await keeper.stop();
    },
    state: () => {
      const fence = keeper.current();
      /** Whether this proxy is the one that submits. */
      const hasLease = fence !== undefined;
      /** Undefined while another proxy submits, or this one has not read the queue yet. */
      const current = hasLease && term?.fence === fence ? term : undefined;
      const [queue, callsInFlight] = [current?.queue.counts(), current?.inFlight.waiting.length];
      return { blockedBy: blockage.by, lastTurnAt, hasLease, queue, callsInFlight };
    },
    /** Under which this proxy may write; undefined while another one submits. */
    fence: () => keeper.current(),
    /** What holds waiting tickets of this kind and the operator can fix. */
    blockedBy: (kind: Kind) => blockage.of(kind),
  };
}
