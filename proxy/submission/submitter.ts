/**
 * The only owner of the gas wallet's nonce. Every waiting ticket goes, in order of acceptance, into one
 * `execute` with a root update; what became of it is read from the indexed events, never from a receipt.
 * Bytes are stored before they are sent, so a crash at any instruction loses nothing: the next start sends
 * the same bytes or finds them mined. One transaction is in flight at a time, so a nonce is never a hole.
 */
import { compressProof, decodeProof } from "../../shared/protocol/proof.ts";
import type { SignedBy } from "../../shared/protocol/attestation.ts";
import type { Address, Field } from "../../shared/protocol/brands.ts";
import { checkStatement, decodeExt, readSignals, type Statement } from "../../shared/protocol/statements.ts";
import { MAX_UPDATE_LEAVES } from "../../shared/protocol/tree.ts";
import { ChainAway, ChainRefused, type Chain, type Header } from "../chain/provider.ts";
import type { AttestedRootUpdate, Pool, PoolReason, PoolTransaction } from "../chain/pool.ts";
import type { Tokens } from "../chain/token.ts";
import type { Attestor } from "../enclave-link/attestor.ts";
import { ApiError } from "../http/errors.ts";
import type { Logger } from "../logging.ts";
import type { ChainDataStore, IndexedBlock } from "../store/chain-data.ts";
import type {
  Outgoing,
  SignedAttempt,
  TicketChange,
  TicketError,
  TicketRecord,
  TicketStore,
} from "../store/tickets.ts";
import { firstFees, higherFees, type GasWallet } from "./gas-wallet.ts";
import { judge, TICKET_ERRORS } from "./reasons.ts";
import { planRootUpdate } from "./root-update.ts";
import { dropped, isWaiting, refused, sent, settle, withError, type Findings } from "./ticket.ts";
import type { Tickets } from "./tickets.ts";

/** What holds every waiting ticket and the operator can mend. */
export type Blocked = "chain" | "enclave" | "gas";

export interface SubmitterState {
  readonly blockedBy: Blocked | undefined;
  /** Milliseconds since 1970 of the last turn that ended well. */
  readonly lastTurnAt: number | undefined;
}

export interface Submitter {
  start(): void;
  /** Something may be to do; returns at once. */
  wake(): void;
  /** Ends the turn under way; stored bytes are adopted by the next start. */
  stop(): Promise<void>;
  state(): SubmitterState;
}

export interface SubmitterParts {
  readonly chain: Chain;
  readonly pool: Pool;
  readonly tokens: Tokens;
  readonly attestor: Attestor;
  readonly tickets: Tickets;
  readonly store: TicketStore;
  readonly data: ChainDataStore;
  /** Complete siblings of a prefix of the queue. */
  readonly frontierAt: (leafCount: number) => Field[];
  /** Brings `data` to the chain's head. */
  readonly sync: () => Promise<void>;
  readonly wallet: GasWallet;
  readonly logger: Logger;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

export interface SubmitterOptions {
  readonly confirmations: number;
  readonly pollIntervalMs: number;
  /** A transaction that waits longer is replaced by one that pays more. */
  readonly stuckAfterMs?: number;
  /** Wei; never bid above it. */
  readonly maxFeePerGas?: bigint;
  readonly maxBatch?: number;
}

const DEFAULT_STUCK_AFTER_MS = 30_000;
const DEFAULT_MAX_FEE = 500_000_000_000n;
/** Sixteen-member batches measure far below; this bounds calldata at 100 KiB and gas at 12M with room to spare. */
const DEFAULT_MAX_BATCH = 32;
const MAX_DATA_CHARS = 2 + 2 * 100 * 1024;
const MAX_GAS = 12_000_000n;
/** Turns in a row that must miss our transaction under a used nonce before we believe it is gone. */
const MISSES_BEFORE_DROPPED = 3;
/** A ticket that the pool keeps refusing although a simulation passes waits 1, 2, 4 … blocks. */
const MAX_BACKOFF_BLOCKS = 64;

interface Candidate {
  readonly ticket: TicketRecord;
  readonly member: PoolTransaction;
}

export function createSubmitter(parts: SubmitterParts, options: SubmitterOptions): Submitter {
  const { chain, pool, tokens, attestor, tickets, store, data, wallet, logger, now } = parts;
  const confirmations = Math.max(options.confirmations, 1);
  const stuckAfterMs = options.stuckAfterMs ?? DEFAULT_STUCK_AFTER_MS;
  const feeCap = options.maxFeePerGas ?? DEFAULT_MAX_FEE;
  const maxBatch = options.maxBatch ?? DEFAULT_MAX_BATCH;

  let isStopped = false;
  let isWanted = false;
  let running: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let blockedBy: Blocked | undefined;
  let lastTurnAt: number | undefined;
  /** Forgotten by a restart, which only costs a try. */
  const misses = new Map<number, number>();
  const backoff = new Map<string, { readonly refusals: number; readonly untilBlock: number }>();

  // ---------------------------------------------------------------- one turn

  async function turn(): Promise<void> {
    await parts.sync();
    const tip = data.tip();
    if (tip === undefined) throw new ChainAway("nothing is indexed yet");
    await settleAll(tip);
    if (await tendOutgoing(tip)) return;
    await sendNext(tip);
  }

  const finalBlockOf = (tip: IndexedBlock): number => tip.number - confirmations + 1;

  /** Reads every open ticket's outcome from the index. */
  async function settleAll(tip: IndexedBlock): Promise<void> {
    const finalBlock = finalBlockOf(tip);
    const finalTime = data.blockAtOrBelow(finalBlock)?.timestamp ?? 0;
    const changes: TicketChange[] = [];
    for (const ticket of await tickets.open()) {
      const findings: Findings = {
        execution: data.execution(ticket.statement),
        finalBlock,
        finalTime,
        ...expiryOf(ticket),
        takenBy: await takenBy(ticket, finalBlock),
      };
      const status = settle(ticket.status, findings);
      if (status !== ticket.status) changes.push({ id: ticket.id, status });
    }
    await tickets.change(changes);
  }

  /** Another statement that took what this one needs, and the block in which it did. */
  async function takenBy(ticket: TicketRecord, finalBlock: number): Promise<Findings["takenBy"]> {
    for (const nullifier of ticket.nullifiers) {
      const spender = data.spender(nullifier);
      if (spender !== undefined && spender.statement !== ticket.statement) {
        return { block: spender.block, error: TICKET_ERRORS.nullifierSpent };
      }
    }
    const { status } = ticket;
    const isSuspect = "error" in status && status.error.code === "AUTHORIZATION_USED";
    if (!isSuspect || (status.state !== "queued" && status.state !== "submitted")) return undefined;
    const deposit = depositOf(ticket);
    if (deposit === undefined || finalBlock < 0) return undefined;
    // Used in a final block, and no final block executed this statement: cancelled, or used elsewhere.
    const isFinal = await tokens.isAuthorizationUsed(
      deposit.token,
      deposit.depositor,
      ticket.statement,
      finalBlock,
    );
    return isFinal ? { block: finalBlock, error: TICKET_ERRORS.authorizationUsed } : undefined;
  }

  // ---------------------------------------------------------------- what was sent

  /** True while a nonce of ours is not mined: nothing new is sent then. */
  async function tendOutgoing(tip: IndexedBlock): Promise<boolean> {
    const outgoing = await store.outgoing();
    if (outgoing.length === 0) return false;
    const minedCount = await chain.nonce(wallet.address);
    let isBusy = false;
    for (const entry of outgoing) {
      if (entry.sender !== wallet.address) {
        // The gas wallet was exchanged: its predecessor's bytes may still be mined, but not by us.
        logger.warn({ nonce: entry.nonce }, "a transaction of another gas wallet is given up");
        await giveUp(entry);
      } else if (entry.nonce < minedCount) isBusy = (await tendMined(entry, tip)) || isBusy;
      else {
        await tendWaiting(entry);
        isBusy = true;
      }
    }
    return isBusy;
  }

  /** The nonce is used. True until the index has the block that used it. */
  async function tendMined(entry: Outgoing, tip: IndexedBlock): Promise<boolean> {
    const block = await minedIn(entry);
    if (block === undefined) {
      const count = (misses.get(entry.nonce) ?? 0) + 1;
      misses.set(entry.nonce, count);
      if (count < MISSES_BEFORE_DROPPED) return true;
      // Somebody else has the wallet's key, or the wallet serves two proxies. Outcomes are read by
      // statement, so whatever that transaction did is seen; what it did not do is sent again.
      logger.fatal(
        { nonce: entry.nonce },
        "the gas wallet's nonce was used by a transaction that is not ours",
      );
      await giveUp(entry);
      return false;
    }
    misses.delete(entry.nonce);
    if (entry.minedIn !== block) await store.markMined(entry.nonce, block);
    if (block > tip.number) return true;
    await releaseRefused(entry, tip);
    if (block <= finalBlockOf(tip)) await store.dropOutgoing(entry.nonce, [], now());
    return false;
  }

  async function minedIn(entry: Outgoing): Promise<number | undefined> {
    for (const attempt of entry.attempts) {
      const receipt = await chain.receipt(attempt.hash);
      if (receipt !== undefined) return receipt.blockNumber;
    }
    return undefined;
  }

  /** Members that the pool refused, or that a failed call never reached, wait to be sent again. */
  async function releaseRefused(entry: Outgoing, tip: IndexedBlock): Promise<void> {
    const changes: TicketChange[] = [];
    for (const ticket of await carriedBy(entry)) {
      const rejection = data.rejection(ticket.statement);
      const reason: PoolReason | undefined =
        rejection === undefined ? undefined : pool.readReason(rejection.reason);
      const error = reason === undefined ? TICKET_ERRORS.rejected : await errorOf(ticket, reason, tip);
      const status = refused(ticket.status, error ?? TICKET_ERRORS.rejected);
      if (status === undefined) continue;
      const refusals = (backoff.get(ticket.id)?.refusals ?? 0) + 1;
      const wait = Math.min(2 ** (refusals - 1), MAX_BACKOFF_BLOCKS);
      backoff.set(ticket.id, { refusals, untilBlock: tip.number + wait - 1 });
      logger.warn({ ticket: ticket.id, reason: reason?.name }, "the pool refused a member of a batch");
      changes.push({ id: ticket.id, status });
    }
    await tickets.change(changes);
  }

  /** Tickets that were in this transaction and were not executed. */
  async function carriedBy(entry: Outgoing): Promise<TicketRecord[]> {
    const open = await tickets.open();
    return open.filter(
      ({ id, status, statement }) =>
        entry.ticketIds.includes(id) &&
        status.state === "submitted" &&
        status.carrier === entry.nonce &&
        data.execution(statement) === undefined,
    );
  }

  async function giveUp(entry: Outgoing): Promise<void> {
    misses.delete(entry.nonce);
    const changes: TicketChange[] = [];
    for (const { id, status } of await carriedBy(entry)) {
      const next = dropped(status);
      if (next !== undefined) changes.push({ id, status: next });
    }
    await store.dropOutgoing(entry.nonce, changes, now());
    await tickets.announce(changes.map(({ id }) => id));
  }

  /** Sends dropped bytes again, and pays more for stuck ones. */
  async function tendWaiting(entry: Outgoing): Promise<void> {
    const last = entry.attempts.at(-1)!;
    if (entry.minedIn !== undefined) await store.markMined(entry.nonce, undefined);
    if (!(await chain.knows(last.hash))) await broadcast(last, entry.nonce);
    const head = await chain.header("latest");
    if (head === undefined) return;
    if (now() - last.signedAt < stuckAfterMs) return;
    const fees = higherFees(last, head.baseFee, await chain.priorityFee(), feeCap);
    if (fees === undefined) {
      logger.error({ nonce: entry.nonce }, "a transaction is stuck at the highest fee that is allowed");
      await broadcast(last, entry.nonce);
      return;
    }
    const { nonce, data: calldata, gasLimit } = entry;
    const signed = wallet.sign({ nonce, to: pool.address, data: calldata, gasLimit, ...fees });
    const attempt: SignedAttempt = { ...signed, ...fees, signedAt: now() };
    const { minedIn: _old, ...rest } = entry;
    const next: Outgoing = { ...rest, attempts: [...entry.attempts, attempt] };
    const changes = (await carriedBy(entry)).flatMap(({ id, status }) => {
      const replaced = sent(status, nonce, attempt.hash);
      return replaced === undefined ? [] : [{ id, status: replaced }];
    });
    if (!(await store.putOutgoing(next, entry.attempts.length, changes, now()))) return;
    logger.info({ nonce, attempts: next.attempts.length }, "a stuck transaction is replaced");
    await tickets.announce(changes.map(({ id }) => id));
    await broadcast(attempt, nonce);
  }

  /** A refusal is no verdict: the bytes are stored, and the next turn looks what became of them. */
  async function broadcast(attempt: SignedAttempt, nonce: number): Promise<void> {
    try {
      await chain.broadcast(attempt.raw);
    } catch (error) {
      if (!(error instanceof ChainRefused)) throw error;
      if (/insufficient funds/i.test(error.message)) blockedBy = "gas";
      logger.warn({ nonce, code: error.code }, "the node did not take a transaction");
    }
  }

  // ---------------------------------------------------------------- what to send

  async function sendNext(tip: IndexedBlock): Promise<void> {
    const head = await chain.header("latest");
    // Built on anything but the newest block, a batch would meet a queue it does not expect.
    if (head?.hash !== tip.hash) {
      isWanted = true;
      return;
    }
    blockedBy = undefined;
    let batch = await chooseBatch(tip);
    const avoid = new Set<number>();
    for (;;) {
      const update = await attestedUpdate(batch, avoid);
      if (batch.length === 0 && update === undefined) return;
      const calldata = pool.encodeExecute(membersOf(batch), update);
      const gasLimit = await gasFor(calldata);
      const isTooBig = calldata.length > MAX_DATA_CHARS || gasLimit > MAX_GAS;
      if (isTooBig && batch.length > 1) {
        batch = batch.slice(0, Math.ceil(batch.length / 2));
        continue;
      }
      if (batch.length === 0 && update !== undefined && (await wouldSkip(calldata))) {
        // Not one of the pool's checkpoints: the next lower end is tried.
        avoid.add(Number(update.toIndex));
        continue;
      }
      await send(batch, calldata, gasLimit, head);
      return;
    }
  }

  async function wouldSkip(calldata: string): Promise<boolean> {
    const events = await pool.simulate(calldata, wallet.address);
    return Array.isArray(events) && events.some(({ kind }) => kind === "root-skipped");
  }

  /** Waiting tickets that the pool would execute now, in order; each other one is told why it waits. */
  async function chooseBatch(tip: IndexedBlock): Promise<Candidate[]> {
    const chosen: Candidate[] = [];
    const put = new Set<string>();
    // Those that the pool would refuse make room for the ones behind them.
    for (;;) {
      const more = await nextCandidates(tip, chosen, put);
      if (more.length === 0) return chosen;
      chosen.push(...(await executable(chosen, more, tip)));
    }
  }

  async function nextCandidates(
    tip: IndexedBlock,
    chosen: readonly Candidate[],
    put: Set<string>,
  ): Promise<Candidate[]> {
    const batch: Candidate[] = [];
    let leaves = chosen.reduce((sum, { member }) => sum + commitmentsOf(member).length, 0);
    for (const ticket of await tickets.open()) {
      if (chosen.length + batch.length >= maxBatch) break;
      if (!isWaiting(ticket.status) || put.has(ticket.id)) continue;
      if ((backoff.get(ticket.id)?.untilBlock ?? -1) >= tip.number) continue;
      const attestations = (await standing(ticket.transaction.attestations)) ?? (await attestAgain(ticket));
      put.add(ticket.id);
      if (attestations === undefined) continue;
      const member = memberOf(ticket, attestations);
      leaves += commitmentsOf(member).length;
      if (leaves > MAX_UPDATE_LEAVES) break;
      batch.push({ ticket, member });
    }
    return batch;
  }

  /** Which of `more` the pool would execute after `chosen`, in a simulation of the whole call. */
  async function executable(
    chosen: readonly Candidate[],
    more: readonly Candidate[],
    tip: IndexedBlock,
  ): Promise<Candidate[]> {
    const calldata = pool.encodeExecute(membersOf([...chosen, ...more]));
    const events = await pool.simulate(calldata, wallet.address);
    if (events === "reverted") {
      // Together they need more gas than a block has: half of them first.
      if (more.length > 1) return executable(chosen, more.slice(0, Math.ceil(more.length / 2)), tip);
      if (chosen.length === 0)
        logger.error({ ticket: more[0]?.ticket.id }, "a call with one member would fail as a whole");
      return [];
    }
    // A node that cannot simulate: the pool isolates its members, so a bad one costs us gas and no neighbour.
    if (events === undefined) return [...more];
    const reasons = new Map(
      events.flatMap((event) =>
        event.kind === "rejected" ? [[event.statement, event.reason] as const] : [],
      ),
    );
    const good: Candidate[] = [];
    for (const candidate of more) {
      const { ticket } = candidate;
      const reason = reasons.get(ticket.statement);
      if (reason === undefined) {
        good.push(candidate);
        continue;
      }
      const error = await errorOf(ticket, pool.readReason(reason), tip);
      const status = error === undefined ? ticket.status : withError(ticket.status, error);
      if (status !== ticket.status) await tickets.change([{ id: ticket.id, status }]);
    }
    return good;
  }

  /** As many of the attestations as the pool needs, all by signers that it accepts now; it refuses any other. */
  async function standing(attestations: readonly SignedBy[]): Promise<readonly SignedBy[] | undefined> {
    const needed = await pool.threshold();
    const accepted: SignedBy[] = [];
    for (const attestation of attestations) {
      if (accepted.length < needed && (await pool.isSigner(attestation.signer))) accepted.push(attestation);
    }
    return accepted.length >= needed ? accepted : undefined;
  }

  async function attestAgain(ticket: TicketRecord): Promise<readonly SignedBy[] | undefined> {
    const statement = statementOf(ticket);
    const proof = decodeProof(ticket.transaction.proof);
    if (statement === undefined || proof === undefined) throw new TypeError("a stored ticket cannot be read");
    try {
      return await attestor.attest(statement, proof);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      logger.warn({ ticket: ticket.id, code: error.code }, "a ticket could not be attested again");
      if (error.code === "ENCLAVE_UNAVAILABLE") blockedBy = "enclave";
      return undefined;
    }
  }

  /** What the ticket says about a refusal of the pool; undefined when the attestation is to blame. */
  async function errorOf(
    ticket: TicketRecord,
    reason: PoolReason,
    tip: IndexedBlock,
  ): Promise<TicketError | undefined> {
    const verdict = judge(reason);
    switch (verdict.kind) {
      case "hold":
        return verdict.error;
      case "attest-again":
        return undefined;
      case "ask-token": {
        const deposit = depositOf(ticket);
        if (deposit === undefined) return TICKET_ERRORS.transferRefused;
        const { token, depositor, amount, validBefore } = deposit;
        if (await tokens.isAuthorizationUsed(token, depositor, ticket.statement))
          return TICKET_ERRORS.authorizationUsed;
        if (validBefore <= BigInt(tip.timestamp)) return TICKET_ERRORS.authorizationExpired;
        if ((await tokens.balanceOf(token, depositor)) < amount) return TICKET_ERRORS.insufficientFunds;
        return TICKET_ERRORS.transferRefused;
      }
    }
  }

  /** Over what waits in the queue and what the batch will add; undefined when there is nothing or nobody to sign. */
  async function attestedUpdate(
    batch: readonly Candidate[],
    avoid: ReadonlySet<number>,
  ): Promise<AttestedRootUpdate | undefined> {
    const plan = planRootUpdate(
      data,
      parts.frontierAt,
      batch.map(({ member }) => commitmentsOf(member)),
      avoid,
    );
    if (plan === undefined) return undefined;
    try {
      return { ...plan.expected, attestations: await attestor.attestRoot(plan) };
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      // Payments go on without it; the leaves follow when an enclave is back.
      logger.warn({ code: error.code }, "no enclave signs the root update");
      if (error.code === "ENCLAVE_UNAVAILABLE") blockedBy = "enclave";
      return undefined;
    }
  }

  async function gasFor(calldata: string): Promise<bigint> {
    const estimate = await chain.estimateGas({ from: wallet.address, to: pool.address, data: calldata });
    // The queue may be longer by then and slots colder; what is not used is not paid.
    return estimate + estimate / 8n + 100_000n;
  }

  async function send(
    batch: readonly Candidate[],
    calldata: string,
    gasLimit: bigint,
    head: Header,
  ): Promise<void> {
    const fees = firstFees(head.baseFee, await chain.priorityFee(), feeCap);
    if ((await chain.balance(wallet.address)) < gasLimit * fees.maxFeePerGas) {
      blockedBy = "gas";
      logger.error({ sender: wallet.address }, "the gas wallet cannot pay the next transaction");
      return;
    }
    const nonce = await chain.nonce(wallet.address);
    const signed = wallet.sign({ nonce, to: pool.address, data: calldata, gasLimit, ...fees });
    const attempt: SignedAttempt = { ...signed, ...fees, signedAt: now() };
    const changes = batch.flatMap(({ ticket, member }): TicketChange[] => {
      const status = sent(ticket.status, nonce, attempt.hash);
      return status === undefined ? [] : [{ id: ticket.id, status, attestations: member.attestations }];
    });
    const ticketIds = batch.map(({ ticket }) => ticket.id);
    const entry: Outgoing = {
      sender: wallet.address,
      nonce,
      ticketIds,
      gasLimit,
      data: calldata,
      attempts: [attempt],
    };
    if (!(await store.putOutgoing(entry, await attemptsAt(nonce), changes, now()))) {
      throw new Error("another writer uses this store's gas wallet");
    }
    await tickets.announce(ticketIds);
    logger.info({ nonce, members: batch.length, tx: attempt.hash }, "a batch is sent");
    await broadcast(attempt, nonce);
    isWanted = true;
  }

  /** An entry under a nonce that the chain calls unused is one that a reorganisation took back and `tendOutgoing` sends: never overwritten. */
  async function attemptsAt(nonce: number): Promise<number> {
    if ((await store.outgoing()).some((entry) => entry.nonce === nonce)) {
      throw new ChainAway("the node's view of the nonce moved during a turn");
    }
    return 0;
  }

  // ---------------------------------------------------------------- stored tickets, read

  function statementOf(ticket: TicketRecord): Statement | undefined {
    const { kind, deadline, signals, ext } = ticket.transaction;
    const statement = checkStatement(pool.home, kind, deadline, signals, ext);
    return typeof statement === "string" ? undefined : statement;
  }

  function memberOf(ticket: TicketRecord, attestations: readonly SignedBy[]): PoolTransaction {
    const { kind, deadline, signals, ext, proof, authorization } = ticket.transaction;
    const decoded = decodeProof(proof);
    if (decoded === undefined) throw new TypeError("a stored proof cannot be read");
    return {
      statement: ticket.statement,
      kind,
      deadline,
      signals,
      ext,
      proof: compressProof(decoded),
      authorization,
      attestations,
    };
  }

  // ---------------------------------------------------------------- the loop

  async function run(): Promise<void> {
    while (isWanted && !isStopped) {
      isWanted = false;
      try {
        await turn();
        lastTurnAt = now();
        if (blockedBy === "chain") blockedBy = undefined;
      } catch (error) {
        if (error instanceof ChainAway) {
          blockedBy = "chain";
          logger.warn({ reason: error.message }, "submission waits for the chain");
        } else logger.error({ err: error }, "a turn of the submitter failed");
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
    start() {
      timer = setInterval(wake, options.pollIntervalMs);
      wake();
    },
    wake,
    async stop() {
      isStopped = true;
      clearInterval(timer);
      await running;
    },
    state: () => ({ blockedBy, lastTurnAt }),
  };
}

function membersOf(batch: readonly Candidate[]): PoolTransaction[] {
  return batch.map(({ member }) => member);
}

function commitmentsOf(member: PoolTransaction): readonly Field[] {
  const facts = readSignals(member.kind, member.signals);
  return typeof facts === "string" ? [] : facts.commitments;
}

interface DepositTerms {
  readonly token: Address;
  readonly depositor: Address;
  readonly amount: bigint;
  readonly validBefore: bigint;
}

function depositOf(ticket: TicketRecord): DepositTerms | undefined {
  const { kind, signals, ext } = ticket.transaction;
  const terms = decodeExt(kind, ext);
  const facts = readSignals(kind, signals);
  if (terms?.kind !== "deposit-shield" || typeof facts === "string") return undefined;
  const token = `0x${facts.asset.toString(16).padStart(40, "0")}` as Address;
  return { token, depositor: terms.depositor, amount: facts.amount, validBefore: terms.validBefore };
}

/** The last second at which the statement can execute, and what is said afterwards. */
function expiryOf(ticket: TicketRecord): Pick<Findings, "lastSecond" | "expiry"> {
  const { deadline } = ticket.transaction;
  const deposit = depositOf(ticket);
  // EIP-3009 is valid strictly before; the pool takes the deadline's own second.
  if (deposit !== undefined && deposit.validBefore - 1n < deadline) {
    return { lastSecond: deposit.validBefore - 1n, expiry: TICKET_ERRORS.authorizationExpired };
  }
  return { lastSecond: deadline, expiry: TICKET_ERRORS.deadlinePassed };
}
