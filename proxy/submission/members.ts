/**
 * Chooses, in order of acceptance, the waiting tickets that the pool would execute now. A simulation of the
 * whole call decides; each ticket left out is told why it waits. Trusts the node's simulation for nothing
 * but gas: the pool isolates its members.
 */
import type { SignedBy } from "../../shared/protocol/attestation.ts";
import { KINDS } from "../../shared/protocol/statements.ts";
import { MAX_UPDATE_LEAVES } from "../../shared/protocol/tree.ts";
import type { Pool, PoolTransaction } from "../chain/pool.ts";
import type { Tokens } from "../chain/token.ts";
import type { Attestor } from "../enclave-link/attestor.ts";
import { ApiError } from "../http/errors.ts";
import type { Logger } from "../logging.ts";
import type { IndexedBlock } from "../store/chain-data.ts";
import type { TicketRecord } from "../store/tickets.ts";
import type { Backoff } from "./backoff.ts";
import type { Blockage } from "./blocked.ts";
import type { GasWallet } from "./gas-wallet.ts";
import { explainRefusal } from "./refusals.ts";
import { inSendingOrder, isSwap } from "./sending-order.ts";
import { memberOf, proofOf, statementOf } from "./stored-ticket.ts";
import { isWaiting, withError } from "./ticket.ts";
import type { Tickets } from "./tickets.ts";

/** A ticket and what the pool would be given for it. */
export interface Candidate {
  readonly ticket: TicketRecord;
  readonly member: PoolTransaction;
}

export interface MembersParts {
  readonly pool: Pool;
  readonly tokens: Tokens;
  readonly attestor: Attestor;
  readonly tickets: Tickets;
  readonly wallet: Pick<GasWallet, "address">;
  readonly backoff: Backoff;
  readonly blockage: Blockage;
  readonly logger: Logger;
  readonly maxBatch: number;
}

export interface Members {
  /** In order of acceptance. */
  choose(tip: IndexedBlock): Promise<Candidate[]>;
}

export function createMembers(parts: MembersParts): Members {
  const { pool, tokens, attestor, tickets, wallet, backoff, blockage, logger, maxBatch } = parts;

  async function nextCandidates(
    tip: IndexedBlock,
    chosen: readonly Candidate[],
    put: Set<string>,
    canSwap: () => Promise<boolean>,
  ): Promise<Candidate[]> {
    const batch: Candidate[] = [];
    let leaves = chosen.reduce((sum, { member }) => sum + KINDS[member.kind].leaves, 0);
    for (const ticket of await tickets.open()) {
      if (chosen.length + batch.length >= maxBatch) break;
      if (!isWaiting(ticket.status) || put.has(ticket.id)) continue;
      if (ticket.transaction.kind === "private-swap" && !(await canSwap())) continue;
      if (backoff.isWaiting(ticket.id, tip.number)) continue;
      const attestations = (await standing(ticket.transaction.attestations)) ?? (await attestAgain(ticket));
      put.add(ticket.id);
      if (attestations === undefined) continue;
      const member = memberOf(ticket, attestations);
      leaves += KINDS[member.kind].leaves;
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
    const calldata = pool.encodeExecute(inSendingOrder([...chosen, ...more]).map(({ member }) => member));
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
      // Markets move with blocks: a swap that fails is not simulated again and again, nor in every block.
      if (isSwap(candidate)) backoff.wouldBeRefused(ticket.id, tip.number);
      const error = await explainRefusal(tokens, ticket, pool.readReason(reason), tip.timestamp);
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

  /** Without one every swap would be refused; they wait, and their tickets say for what. */
  async function hasExecutor(): Promise<boolean> {
    const isThere = (await pool.executor()) !== undefined;
    blockage.reportExecutor(isThere);
    return isThere;
  }

  async function attestAgain(ticket: TicketRecord): Promise<readonly SignedBy[] | undefined> {
    const statement = statementOf(ticket, pool.home);
    const proof = proofOf(ticket);
    try {
      return await attestor.attest(statement, proof);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      logger.warn({ ticket: ticket.id, code: error.code }, "a ticket could not be attested again");
      if (error.code === "ENCLAVE_UNAVAILABLE") blockage.report("enclave");
      return undefined;
    }
  }

  return {
    async choose(tip) {
      const chosen: Candidate[] = [];
      const put = new Set<string>();
      // Asked when the first swap waits, and once a turn.
      let executor: Promise<boolean> | undefined;
      const canSwap = (): Promise<boolean> => (executor ??= hasExecutor());
      // Those that the pool would refuse make room for the ones behind them.
      for (;;) {
        const more = await nextCandidates(tip, chosen, put, canSwap);
        if (more.length === 0) return chosen;
        chosen.push(...(await executable(chosen, more, tip)));
      }
    },
  };
}
