/**
 * Signs with the gas wallet and sends. Bytes are stored, together with the tickets they carry, before they
 * are sent: a crash at any instruction leaves either nothing or bytes that the next start finds again.
 */
import { ChainUnreachable, ChainRefused } from "../../base/chain/json-rpc.ts";
import type { Header } from "../../base/chain/provider.ts";
import type { Outgoing, SignedAttempt, TicketChange } from "../../base/store/tickets.ts";
import type { Batch } from "./batch.ts";
import type { CallEffect } from "./calls-in-flight.ts";
import type { Errand } from "../../base/chain/errands.ts";
import { firstFees, higherFees, type Fees } from "../../base/chain/gas-wallet.ts";
import { isSwap } from "./members.ts";
import { commitmentsOf } from "./pool-transaction.ts";
import type { OpenTicket } from "./queue.ts";
import { traceOf } from "./reporting.ts";
import type { TermParts } from "./term.ts";
import { sent } from "./transitions.ts";

export class Sending {
  readonly #term: TermParts;

  constructor(term: TermParts) {
    this.#term = term;
  }

  /** The last bytes of an entry, once more. */
  async repeat(entry: Outgoing): Promise<void> {
    this.#term.metrics.transaction("repeated");
    await this.#repeat(entry);
  }

  /** A batch under `nonce`, the wallet's next one on the chain for which it was chosen. False when there is no gas for it. */
  async send(batch: Batch, nonce: number, head: Header): Promise<boolean> {
    const { candidates, calldata, gasLimit, advancesTo, errand } = batch;
    const [priorityFee, balance] = await Promise.all([
      this.#term.chain.priorityFee(),
      this.#term.chain.balance(this.#term.wallet.address),
    ]);
    const fees = firstFees(head.baseFee, priorityFee, this.#term.maxFeePerGas);
    const cost = gasLimit * fees.maxFeePerGas;
    // What was sent before is paid first, and then there may be enough.
    if (balance >= cost && balance < this.#term.inFlight.owed + cost) return false;
    if (balance < cost) {
      // Of an errand it says nothing about the tickets: a payment may need less.
      if (errand === undefined) this.#term.blockage.report("gas");
      this.#term.logger.error(
        { sender: this.#term.wallet.address },
        "the gas wallet cannot pay the next transaction",
      );
      return false;
    }
    await this.#requireFree(nonce);
    const ticketIds = candidates.map(({ ticket }) => ticket.id);
    const carried = candidates.map(({ ticket, member: { attestations } }) => ({
      ...stateOf(ticket),
      attestations,
    }));
    const call = { nonce, data: calldata, gasLimit, ticketIds, attempts: [], ...placeOf(errand) };
    const attempt = await this.#sign(call, fees, carried);
    if (attempt === undefined) throw new Error("an entry came under a nonce that was free a moment ago");
    this.#term.inFlight.sent(nonce, effectOf(batch));
    this.#term.metrics.sent(candidates.length);
    const carries = candidates.map(({ ticket }) => traceOf(ticket));
    if (errand !== undefined) {
      this.#term.metrics.transaction("errand");
      this.#term.logger.info(
        { nonce, errand: errand.label, to: errand.to, tx: attempt.hash },
        "an errand is sent",
      );
    } else if (advancesTo !== undefined) {
      this.#term.metrics.transaction("advance");
      this.#term.logger.info(
        { nonce, leaves: advancesTo, tx: attempt.hash },
        "an advance of the tree is sent",
      );
    } else
      this.#term.logger.info(
        { nonce, members: candidates.length, tx: attempt.hash, carries },
        "a batch is sent",
      );
    await this.#broadcast(attempt, nonce);
    return true;
  }

  /** The call of an entry under a nonce before its own that nothing of ours has, so that the entry can be mined at all. */
  async fill(nonce: number, entry: Outgoing, carried: readonly OpenTicket[], head: Header): Promise<void> {
    const fees = firstFees(head.baseFee, await this.#term.chain.priorityFee(), this.#term.maxFeePerGas);
    const attempt = await this.#sign({ ...entry, nonce, attempts: [] }, fees, carried.map(stateOf));
    if (attempt === undefined) return;
    this.#term.metrics.transaction("filled");
    this.#term.logger.error(
      { nonce, tx: attempt.hash },
      "a nonce was free before one that is in use; it is filled",
    );
    await this.#broadcast(attempt, nonce);
  }

  /** The same call under the same nonce for a higher fee. */
  async replace(entry: Outgoing, carried: readonly OpenTicket[], head: Header): Promise<void> {
    const { nonce } = entry;
    const fees = higherFees(
      entry.attempts.at(-1)!,
      head.baseFee,
      await this.#term.chain.priorityFee(),
      this.#term.maxFeePerGas,
    );
    if (fees === undefined) {
      this.#term.metrics.transaction("at-fee-cap");
      this.#term.logger.error({ nonce }, "a transaction is stuck at the highest fee that is allowed");
      await this.#repeat(entry);
      return;
    }
    const attempt = await this.#sign(entry, fees, carried.map(stateOf));
    if (attempt === undefined) return;
    this.#term.metrics.transaction("replaced");
    this.#term.logger.info(
      { nonce, attempts: entry.attempts.length + 1, tx: attempt.hash, carries: carried.map(traceOf) },
      "a stuck transaction is replaced",
    );
    await this.#broadcast(attempt, nonce);
  }

  /**
   * One more attempt at a call, stored with those that it carries: they go with the new bytes from now on, and what has
   * moved on meanwhile stays. Undefined, and nothing is stored, where another call has its nonce.
   */
  async #sign(
    { nonce, to, data, gasLimit, ticketIds, attempts }: Omit<Outgoing, "sender" | "minedIn">,
    fees: Fees,
    carried: readonly TicketChange[],
  ): Promise<SignedAttempt | undefined> {
    const at = this.#term.now();
    const signed = this.#term.wallet.sign({
      nonce,
      to: to ?? this.#term.pool.address,
      data,
      gasLimit,
      ...fees,
    });
    const attempt = { ...signed, ...fees, signedAt: at };
    const changes = carried.flatMap(({ status, ...rest }): TicketChange[] => {
      const moved = sent(status, nonce, attempt.hash);
      return moved === undefined ? [] : [{ ...rest, status: moved }];
    });
    const place = to === undefined ? {} : { to };
    const call = { sender: this.#term.wallet.address, nonce, ticketIds, ...place, gasLimit, data };
    const entry: Outgoing = { ...call, attempts: [...attempts, attempt] };
    if (!(await this.#term.writes.putOutgoing(entry, attempts.length, changes, at))) return undefined;
    this.#term.queue.apply(changes, at);
    return attempt;
  }

  /** A refusal is no verdict: the bytes are stored, and the next turn looks for their outcome. */
  async #broadcast({ raw }: SignedAttempt, nonce: number): Promise<void> {
    try {
      await this.#term.chain.broadcast(raw);
    } catch (error) {
      if (!(error instanceof ChainRefused)) throw error;
      if (/insufficient funds/i.test(error.message)) this.#term.blockage.report("gas");
      this.#term.logger.warn({ nonce, code: error.code }, "the node did not take a transaction");
    }
  }

  async #repeat(entry: Outgoing): Promise<void> {
    await this.#broadcast(entry.attempts.at(-1)!, entry.nonce);
  }

  /** An entry under a nonce that the chain calls unused is one that a reorganisation took back and that is sent again as it is: never overwritten. */
  async #requireFree(nonce: number): Promise<void> {
    if ((await this.#term.store.outgoing()).some((entry) => entry.nonce === nonce)) {
      throw new ChainUnreachable("the node's view of the nonce moved during a turn");
    }
  }
}

/** An errand, or an `advance`, is nobody's to foresee. */
function effectOf({ candidates, update, advancesTo, errand }: Batch): CallEffect {
  const isForeseen = errand === undefined && advancesTo === undefined && !candidates.some(isSwap);
  return {
    statements: candidates.map(({ ticket }) => ticket.statement),
    commitments: isForeseen ? candidates.map(({ member }) => commitmentsOf(member)) : undefined,
    update,
  };
}

const placeOf = (errand: Errand | undefined): Pick<Outgoing, "to"> =>
  errand === undefined ? {} : { to: errand.to };

const stateOf = ({ id, status }: OpenTicket): TicketChange => ({ id, status });
