/**
 * Signs with the gas wallet and sends. Bytes are stored, together with the tickets they carry, before they
 * are sent: a crash at any instruction leaves either nothing or bytes that the next start finds again.
 */
import { ChainUnreachable, ChainRefused } from "../chain/json-rpc.ts";
import type { Chain, Header } from "../chain/provider.ts";
import type { Pool } from "../chain/pool.ts";
import type { Logger } from "../logging.ts";
import type { Metrics } from "../observe/metrics.ts";
import type { TicketStore, TicketWrites } from "../store/ticket-store.ts";
import type { Outgoing, SignedAttempt, TicketChange } from "../store/tickets.ts";
import type { Batch } from "./batch.ts";
import type { Blockage } from "./blockage.ts";
import { firstFees, higherFees, type Fees, type GasWallet } from "./gas-wallet.ts";
import type { OpenTicket, Queue } from "./queue.ts";
import { sent } from "./transitions.ts";
import { traceOf } from "./reporting.ts";

export interface SendingParts {
  readonly chain: Chain;
  readonly pool: Pool;
  readonly store: Pick<TicketStore, "outgoing">;
  readonly queue: Queue;
  readonly writes: Pick<TicketWrites, "putOutgoing">;
  readonly wallet: GasWallet;
  readonly blockage: Blockage;
  readonly logger: Logger;
  readonly metrics: Pick<Metrics, "sent" | "transaction">;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Wei; never bid above it. */
  readonly maxFeePerGas: bigint;
}

export interface Sending {
  /** A batch under `nonce`, the wallet's next one on the chain for which it was chosen. False when there is no gas for it. */
  send(batch: Batch, nonce: number, head: Header): Promise<boolean>;
  /** The same call under the same nonce for a higher fee. */
  replace(entry: Outgoing, carried: readonly OpenTicket[], head: Header): Promise<void>;
  /** The call of an entry under a nonce before its own that nothing of ours has, so that the entry can be mined at all. */
  fill(nonce: number, entry: Outgoing, carried: readonly OpenTicket[], head: Header): Promise<void>;
  /** The last bytes of an entry, once more. */
  repeat(entry: Outgoing): Promise<void>;
}

export function createSending(parts: SendingParts): Sending {
  const { chain, pool, store, queue, writes, wallet, blockage, logger, metrics, now } = parts;
  const { maxFeePerGas: feeCap } = parts;

  function sign(nonce: number, data: string, gasLimit: bigint, fees: Fees): SignedAttempt {
    const signed = wallet.sign({ nonce, to: pool.address, data, gasLimit, ...fees });
    return { ...signed, ...fees, signedAt: now() };
  }

  /** A refusal is no verdict: the bytes are stored, and the next turn looks for their outcome. */
  async function broadcast({ raw }: SignedAttempt, nonce: number): Promise<void> {
    try {
      await chain.broadcast(raw);
    } catch (error) {
      if (!(error instanceof ChainRefused)) throw error;
      if (/insufficient funds/i.test(error.message)) blockage.report("gas");
      logger.warn({ nonce, code: error.code }, "the node did not take a transaction");
    }
  }

  /** What is carried under this nonce goes with the new bytes from now on; what has moved on meanwhile stays. */
  function movedTo(nonce: number, { hash }: SignedAttempt, carried: readonly OpenTicket[]): TicketChange[] {
    return carried.flatMap(({ id, status }) => {
      const moved = sent(status, nonce, hash);
      return moved === undefined ? [] : [{ id, status: moved }];
    });
  }

  async function repeat(entry: Outgoing): Promise<void> {
    await broadcast(entry.attempts.at(-1)!, entry.nonce);
  }

  /** An entry under a nonce that the chain calls unused is one that a reorganisation took back and that is sent again as it is: never overwritten. */
  async function requireFree(nonce: number): Promise<void> {
    if ((await store.outgoing()).some((entry) => entry.nonce === nonce)) {
      throw new ChainUnreachable("the node's view of the nonce moved during a turn");
    }
  }

  return {
    async repeat(entry) {
      metrics.transaction("repeated");
      await repeat(entry);
    },

    async send({ candidates, calldata, gasLimit }, nonce, head) {
      const [priorityFee, balance] = await Promise.all([chain.priorityFee(), chain.balance(wallet.address)]);
      const fees = firstFees(head.baseFee, priorityFee, feeCap);
      if (balance < gasLimit * fees.maxFeePerGas) {
        blockage.report("gas");
        logger.error({ sender: wallet.address }, "the gas wallet cannot pay the next transaction");
        return false;
      }
      const attempt = sign(nonce, calldata, gasLimit, fees);
      const changes = candidates.flatMap(({ ticket, member }): TicketChange[] => {
        const status = sent(ticket.status, nonce, attempt.hash);
        return status === undefined ? [] : [{ id: ticket.id, status, attestations: member.attestations }];
      });
      const ticketIds = candidates.map(({ ticket }) => ticket.id);
      const entry: Outgoing = {
        sender: wallet.address,
        nonce,
        ticketIds,
        gasLimit,
        data: calldata,
        attempts: [attempt],
      };
      await requireFree(nonce);
      const at = now();
      if (!(await writes.putOutgoing(entry, 0, changes, at))) {
        throw new Error("an entry came under a nonce that was free a moment ago");
      }
      queue.apply(changes, at);
      metrics.sent(candidates.length);
      const carries = candidates.map(({ ticket }) => traceOf(ticket));
      logger.info({ nonce, members: candidates.length, tx: attempt.hash, carries }, "a batch is sent");
      await broadcast(attempt, nonce);
      return true;
    },

    async fill(nonce, { data, gasLimit, ticketIds }, carried, head) {
      const attempt = sign(nonce, data, gasLimit, firstFees(head.baseFee, await chain.priorityFee(), feeCap));
      const changes = movedTo(nonce, attempt, carried);
      const filler: Outgoing = {
        sender: wallet.address,
        nonce,
        ticketIds,
        gasLimit,
        data,
        attempts: [attempt],
      };
      const at = now();
      if (!(await writes.putOutgoing(filler, 0, changes, at))) return;
      queue.apply(changes, at);
      metrics.transaction("filled");
      logger.error({ nonce, tx: attempt.hash }, "a nonce was free before one that is in use; it is filled");
      await broadcast(attempt, nonce);
    },

    async replace(entry, carried, head) {
      const { nonce, data, gasLimit } = entry;
      const fees = higherFees(entry.attempts.at(-1)!, head.baseFee, await chain.priorityFee(), feeCap);
      if (fees === undefined) {
        metrics.transaction("at-fee-cap");
        logger.error({ nonce }, "a transaction is stuck at the highest fee that is allowed");
        await repeat(entry);
        return;
      }
      const attempt = sign(nonce, data, gasLimit, fees);
      const { minedIn: _old, ...rest } = entry;
      const next: Outgoing = { ...rest, attempts: [...entry.attempts, attempt] };
      const changes = movedTo(nonce, attempt, carried);
      const at = now();
      if (!(await writes.putOutgoing(next, entry.attempts.length, changes, at))) return;
      queue.apply(changes, at);
      metrics.transaction("replaced");
      logger.info(
        { nonce, attempts: next.attempts.length, tx: attempt.hash, carries: carried.map(traceOf) },
        "a stuck transaction is replaced",
      );
      await broadcast(attempt, nonce);
    },
  };
}
