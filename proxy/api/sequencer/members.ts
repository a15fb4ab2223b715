/**
 * Chooses, in order of acceptance, the waiting tickets that the pool would execute now. A simulation of the
 * whole call decides; each ticket left out is marked with why it waits. Trusts the node's simulation for nothing
 * but gas: the pool isolates its members.
 */
import type { SignedBy } from "../../../shared/protocol/host/signed-by.ts";
import type { Address } from "../../../shared/protocol/brands.ts";
import { KINDS } from "../../../shared/protocol/statements.ts";
import { MAX_UPDATE_LEAVES } from "../../../shared/protocol/tree.ts";
import type { PoolTransaction } from "../../base/chain/execute-call.ts";
import { EnclaveContradicts } from "../enclave-link/attestor.ts";
import { ApiError } from "../../base/http/errors.ts";
import type { IndexedBlock } from "../../base/store/chain-data.ts";
import type { TicketChange, TicketRecord } from "../../base/store/tickets.ts";
import type { OpenTicket } from "./queue.ts";
import { explainRefusal, PATH_SHUT, TICKET_ERRORS } from "./refusals.ts";
import { memberOf, proofOf, statementOf, UnreadableTicket } from "./pool-transaction.ts";
import type { TermParts } from "./term.ts";
import { withError } from "./transitions.ts";

/** Simulations of one turn. Whoever is refused in them waits for later blocks, so the next turn gets further. */
const MAX_ROUNDS = 8;

/** A ticket and what the pool would be given for it. */
export interface Candidate {
  readonly ticket: OpenTicket;
  readonly member: PoolTransaction;
}

export function isSwap({ member }: Candidate): boolean {
  return member.kind === "private-swap";
}

/**
 * Swaps last, and otherwise as they were accepted, which is how they are given. The last leaf of a swap is known only
 * once it is executed, so whatever stands before the first swap can be put into the tree by the same call.
 */
export function inSendingOrder(accepted: readonly Candidate[]): Candidate[] {
  return [...accepted.filter((each) => !isSwap(each)), ...accepted.filter(isSwap)];
}

export type Members = ReturnType<typeof createMembers>;

export function createMembers(term: TermParts) {
  const { pool, tokens, attestor, store, queue, writes, wallet, backoff, blockage, logger, now } = term;

  /** Of these tickets, those that can go: readable, attested by signers that stand, within one root update. */
  async function candidatesOf(
    tickets: readonly OpenTicket[],
    chosen: readonly Candidate[],
    { put, isAccepted }: Choice,
  ): Promise<Candidate[]> {
    const records = new Map((await store.list(tickets.map(({ id }) => id))).map((one) => [one.id, one]));
    const batch: Candidate[] = [];
    let leaves = chosen.reduce((sum, { member }) => sum + KINDS[member.kind].leaves, 0);
    for (const ticket of tickets) {
      put.add(ticket.id);
      const record = records.get(ticket.id);
      if (record === undefined) {
        // The store has set it aside and logged it; the others go on.
        queue.forget(ticket.id);
        continue;
      }
      leaves += KINDS[ticket.kind].leaves;
      if (leaves > MAX_UPDATE_LEAVES) break;
      try {
        const attestations =
          (await standing(record.transaction.attestations, isAccepted)) ?? (await attestAgain(record));
        if (attestations !== undefined) batch.push({ ticket, member: memberOf(record, attestations) });
      } catch (error) {
        if (!(error instanceof UnreadableTicket)) throw error;
        logger.fatal({ ticket: ticket.id }, "a stored ticket cannot be read and is set aside");
        queue.forget(ticket.id);
      }
    }
    return batch;
  }

  async function nextTickets({ tip, before, put, canSwap }: Choice, most: number): Promise<OpenTicket[]> {
    const found: OpenTicket[] = [];
    for (const ticket of queue.waiting()) {
      if (found.length >= most || ticket.sequence >= before) break;
      if (put.has(ticket.id) || backoff.isWaiting(ticket.id, tip.number)) continue;
      if (ticket.kind === "private-swap" && !(await canSwap())) continue;
      found.push(ticket);
    }
    return found;
  }

  /** Which of `more` the pool would execute after `chosen`, in a simulation of the whole call. */
  async function executable(
    chosen: readonly Candidate[],
    more: readonly Candidate[],
    tip: IndexedBlock,
  ): Promise<Executable> {
    const calldata = pool.encodeExecute(inSendingOrder([...chosen, ...more]).map(({ member }) => member));
    const simulated = await pool.simulate(calldata, wallet.address);
    if (simulated === "reverted") {
      // Together they need more gas than a block has: half of them first.
      if (more.length > 1) return executable(chosen, more.slice(0, Math.ceil(more.length / 2)), tip);
      if (chosen.length === 0)
        logger.error({ ticket: more[0]?.ticket.id }, "a call with one member would fail as a whole");
      return { good: [], isShut: false };
    }
    // A node that cannot simulate: the pool isolates its members, so a bad one costs us gas and no neighbour.
    if (simulated === undefined) return { good: more, isShut: false };
    const reasons = new Map(
      simulated.refusals.flatMap((event) =>
        event.kind === "rejected" ? [[event.statement, event.reason] as const] : [],
      ),
    );
    const good: Candidate[] = [];
    const changes: TicketChange[] = [];
    let isShut = false;
    for (const candidate of more) {
      const { ticket } = candidate;
      const reason = reasons.get(ticket.statement);
      if (reason === undefined) {
        good.push(candidate);
        continue;
      }
      const why = pool.readReason(reason);
      if (why.name === PATH_SHUT) {
        blockage.report("pause");
        isShut = true;
        continue;
      }
      // What the pool says changes with blocks only: nobody is simulated again and again, nor in every block.
      backoff.wouldBeRefused(ticket.id, tip.number);
      const error = await explainRefusal(tokens, ticket, why, tip.timestamp);
      const status = error === undefined ? ticket.status : withError(ticket.status, error);
      if (status !== ticket.status) changes.push({ id: ticket.id, status });
    }
    if (changes.length > 0) {
      const at = now();
      await writes.change(changes, at);
      queue.apply(changes, at);
    }
    return { good, isShut };
  }

  /** As many of the attestations as the pool needs, all by signers that it accepts now; it refuses any other. */
  async function standing(
    attestations: readonly SignedBy[],
    isAccepted: Choice["isAccepted"],
  ): Promise<readonly SignedBy[] | undefined> {
    const needed = await pool.threshold();
    const accepted: SignedBy[] = [];
    for (const attestation of attestations) {
      if (accepted.length < needed && (await isAccepted(attestation.signer))) accepted.push(attestation);
    }
    return accepted.length >= needed ? accepted : undefined;
  }

  /** Without one every swap would be refused; they wait, and their tickets say for what. */
  async function hasExecutor(): Promise<boolean> {
    const isThere = (await pool.executor()) !== undefined;
    blockage.reportExecutor(isThere);
    return isThere;
  }

  /** Its proof is worth nothing: who attested it at first was wrong, or lied. */
  async function setAside({ id, status }: TicketRecord): Promise<void> {
    backoff.refused(id, term.data.tip()?.number ?? 0);
    const next = withError(status, TICKET_ERRORS.proofInvalid);
    if (next === status) return;
    const at = now();
    await writes.change([{ id, status: next }], at);
    queue.apply([{ id, status: next }], at);
  }

  async function attestAgain(ticket: TicketRecord): Promise<readonly SignedBy[] | undefined> {
    const statement = statementOf(ticket, pool.home);
    const proof = proofOf(ticket);
    try {
      return await attestor.attest(statement, proof);
    } catch (error) {
      // One that no enclave signs again holds no other.
      if (error instanceof EnclaveContradicts)
        logger.error({ ticket: ticket.id, err: error }, "an enclave refuses to attest a ticket again");
      else if (error instanceof ApiError)
        logger.warn({ ticket: ticket.id, code: error.code }, "a ticket could not be attested again");
      else throw error;
      if (!(error instanceof ApiError) || error.code === "ENCLAVE_UNAVAILABLE") blockage.report("enclave");
      if (error instanceof ApiError && error.code === "PROOF_INVALID") await setAside(ticket);
      return undefined;
    }
  }

  return {
    /** In order of acceptance; `before`: only tickets whose acceptance number is smaller. */
    async choose(tip: IndexedBlock, before: number): Promise<Candidate[]> {
      const chosen: Candidate[] = [];
      // Each is asked when it is first needed, and once a turn.
      let executor: Promise<boolean> | undefined;
      const signers = new Map<Address, Promise<boolean>>();
      const choice: Choice = {
        tip,
        before,
        put: new Set(),
        canSwap: () => (executor ??= hasExecutor()),
        isAccepted(signer) {
          const known = signers.get(signer) ?? pool.isSigner(signer);
          signers.set(signer, known);
          return known;
        },
      };
      for (let round = 0; round < MAX_ROUNDS; round++) {
        const had = chosen.length;
        const tickets = await nextTickets(choice, term.maxBatch - chosen.length);
        if (tickets.length === 0) break;
        const more = await candidatesOf(tickets, chosen, choice);
        if (more.length > 0) {
          const { good, isShut } = await executable(chosen, more, tip);
          chosen.push(...good);
          // So it is for all that come behind, unless a block opens the path this moment: then they would pass those before.
          if (isShut) break;
        }
        // Those that were left out make room for the ones behind them. What came meanwhile goes with the next call:
        // each look at the rest is a simulation of the whole.
        if (chosen.length === had + tickets.length) break;
      }
      return chosen;
    },
  };
}

interface Executable {
  /** In their order. */
  readonly good: readonly Candidate[];
  /** The pool takes nothing attested after them. */
  readonly isShut: boolean;
}

/** What one choosing remembers. */
interface Choice {
  readonly tip: IndexedBlock;
  /** Acceptance number; nobody from it on is looked at. */
  readonly before: number;
  /** Looked at already. */
  readonly put: Set<string>;
  readonly canSwap: () => Promise<boolean>;
  readonly isAccepted: (signer: Address) => Promise<boolean>;
}
