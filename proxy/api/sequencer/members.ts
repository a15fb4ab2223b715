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
import { runsOwnCode } from "./strangers.ts";
import type { TermParts } from "./term.ts";
import { withError } from "./transitions.ts";

/** Simulations of one turn. Whoever is refused in them waits for later blocks, so the next turn gets further. */
const MAX_ROUNDS = 8;

/** A ticket and what the pool would be given for it. */
export interface Candidate {
  readonly ticket: OpenTicket;
  readonly member: PoolTransaction;
  /** See strangers.ts. */
  readonly runsOwnCode: boolean;
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

export class Members {
  readonly #term: TermParts;

  constructor(term: TermParts) {
    this.#term = term;
  }

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
      canSwap: () => (executor ??= this.#hasExecutor()),
      isAccepted: (signer) => {
        const known = signers.get(signer) ?? this.#term.pool.isSigner(signer);
        signers.set(signer, known);
        return known;
      },
    };
    for (let round = 0; round < MAX_ROUNDS; round++) {
      const had = chosen.length;
      const tickets = await this.#nextTickets(choice, this.#term.maxBatch - chosen.length);
      if (tickets.length === 0) break;
      const more = await this.#candidatesOf(tickets, chosen, choice);
      if (more.length > 0) {
        const { good, isShut } = await this.#executable(chosen, more, tip);
        chosen.push(...good);
        // So it is for all that come behind, unless a block opens the path this moment: then they would pass those before.
        if (isShut) break;
      }
      // Those that were left out make room for the ones behind them. What came meanwhile goes with the next call:
      // each look at the rest is a simulation of the whole.
      if (chosen.length === had + tickets.length) break;
    }
    return chosen;
  }

  /** Of these tickets, those that can go: readable, attested by signers that stand, within one root update. */
  async #candidatesOf(
    tickets: readonly OpenTicket[],
    chosen: readonly Candidate[],
    { put, isAccepted }: Choice,
  ): Promise<Candidate[]> {
    const records = new Map(
      (await this.#term.store.list(tickets.map(({ id }) => id))).map((one) => [one.id, one]),
    );
    const withOwnCode = await this.#withOwnCode([...records.values()]);
    let hasOwnCode = chosen.some(({ runsOwnCode }) => runsOwnCode);
    const batch: Candidate[] = [];
    let leaves = chosen.reduce((sum, { member }) => sum + KINDS[member.kind].leaves, 0);
    for (const ticket of tickets) {
      put.add(ticket.id);
      const record = records.get(ticket.id);
      if (record === undefined) {
        // The store has set it aside and logged it; the others go on.
        this.#term.queue.forget(ticket.id);
        continue;
      }
      const runsOwnCode = withOwnCode.has(ticket.id);
      // It waits for a call of its own, and nobody for it.
      if (runsOwnCode && hasOwnCode) continue;
      leaves += KINDS[ticket.kind].leaves;
      if (leaves > MAX_UPDATE_LEAVES) break;
      try {
        const attestations =
          (await this.#standing(record.transaction.attestations, isAccepted)) ??
          (await this.#attestAgain(record));
        if (attestations === undefined) continue;
        batch.push({ ticket, member: memberOf(record, attestations), runsOwnCode });
        hasOwnCode ||= runsOwnCode;
      } catch (error) {
        if (!(error instanceof UnreadableTicket)) throw error;
        this.#term.logger.fatal({ ticket: ticket.id }, "a stored ticket cannot be read and is set aside");
        this.#term.queue.forget(ticket.id);
      }
    }
    return batch;
  }

  /** Their ids. Asked side by side: on a quick chain each answer that is waited for is a block. */
  async #withOwnCode(records: readonly TicketRecord[]): Promise<ReadonlySet<string>> {
    const found = await Promise.all(records.map((record) => runsOwnCode(this.#term.tokens, record)));
    return new Set(records.flatMap(({ id }, i) => (found[i] === true ? [id] : [])));
  }

  async #nextTickets({ tip, before, put, canSwap }: Choice, most: number): Promise<OpenTicket[]> {
    const found: OpenTicket[] = [];
    for (const ticket of this.#term.queue.waiting()) {
      if (found.length >= most || ticket.sequence >= before) break;
      if (put.has(ticket.id) || this.#term.backoff.isWaiting(ticket.id, tip.number)) continue;
      // One that comes again was traded, and needs no venue.
      const trades = ticket.kind === "private-swap" && ticket.confirms === undefined;
      if (trades && !(await canSwap())) continue;
      found.push(ticket);
    }
    return found;
  }

  /** Which of `more` the pool would execute after `chosen`, in a simulation of the whole call. */
  async #executable(
    chosen: readonly Candidate[],
    more: readonly Candidate[],
    tip: IndexedBlock,
  ): Promise<Executable> {
    const calldata = this.#term.pool.encodeExecute(
      inSendingOrder([...chosen, ...more]).map(({ member }) => member),
    );
    const simulated = await this.#term.pool.simulate(calldata, this.#term.wallet.address);
    if (simulated === "reverted") {
      // Together they need more gas than a block has: half of them first.
      if (more.length > 1) return this.#executable(chosen, more.slice(0, Math.ceil(more.length / 2)), tip);
      if (chosen.length === 0)
        this.#term.logger.error(
          { ticket: more[0]?.ticket.id },
          "a call with one member would fail as a whole",
        );
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
      const why = this.#term.pool.readReason(reason);
      if (why.name === PATH_SHUT) {
        this.#term.blockage.report("pause");
        isShut = true;
        continue;
      }
      // What the pool says changes with blocks only: nobody is simulated again and again, nor in every block.
      this.#term.backoff.wouldBeRefused(ticket.id, tip.number);
      const error = await explainRefusal(this.#term.tokens, ticket, why, tip.timestamp);
      const status = error === undefined ? ticket.status : withError(ticket.status, error);
      if (status !== ticket.status) changes.push({ id: ticket.id, status });
    }
    if (changes.length > 0) {
      const at = this.#term.now();
      await this.#term.writes.change(changes, at);
      this.#term.queue.apply(changes, at);
    }
    return { good, isShut };
  }

  /** As many of the attestations as the pool needs, all by signers that it accepts now; it refuses any other. */
  async #standing(
    attestations: readonly SignedBy[],
    isAccepted: Choice["isAccepted"],
  ): Promise<readonly SignedBy[] | undefined> {
    const needed = await this.#term.pool.threshold();
    const accepted: SignedBy[] = [];
    for (const attestation of attestations) {
      if (accepted.length < needed && (await isAccepted(attestation.signer))) accepted.push(attestation);
    }
    return accepted.length >= needed ? accepted : undefined;
  }

  /** Without one every swap would be refused; they wait, and their tickets say for what. */
  async #hasExecutor(): Promise<boolean> {
    const isThere = (await this.#term.pool.executor()) !== undefined;
    this.#term.blockage.reportExecutor(isThere);
    return isThere;
  }

  /** Its proof is worth nothing: who attested it at first was wrong, or lied. */
  async #setAside({ id, status }: TicketRecord): Promise<void> {
    this.#term.backoff.refused(id, this.#term.data.tip()?.number ?? 0);
    const next = withError(status, TICKET_ERRORS.proofInvalid);
    if (next === status) return;
    const at = this.#term.now();
    await this.#term.writes.change([{ id, status: next }], at);
    this.#term.queue.apply([{ id, status: next }], at);
  }

  async #attestAgain(ticket: TicketRecord): Promise<readonly SignedBy[] | undefined> {
    const statement = statementOf(ticket, this.#term.pool.home);
    const proof = proofOf(ticket);
    try {
      return await this.#term.attestor.attest(statement, proof);
    } catch (error) {
      // One that no enclave signs again holds no other.
      if (error instanceof EnclaveContradicts)
        this.#term.logger.error(
          { ticket: ticket.id, err: error },
          "an enclave refuses to attest a ticket again",
        );
      else if (error instanceof ApiError)
        this.#term.logger.warn(
          { ticket: ticket.id, code: error.code },
          "a ticket could not be attested again",
        );
      else throw error;
      if (!(error instanceof ApiError) || error.code === "ENCLAVE_UNAVAILABLE")
        this.#term.blockage.report("enclave");
      if (error instanceof ApiError && error.code === "PROOF_INVALID") await this.#setAside(ticket);
      return undefined;
    }
  }
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
