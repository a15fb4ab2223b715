/**
 * Sends calls on another EVM chain, with a key of its own for gas. One call is in flight at a time, and a stuck one is
 * replaced for a higher fee. Nothing is stored: what it sends may be done by anybody any number of times, so after a
 * crash the chain's nonce and the facts say where to go on.
 */
import { ChainRefused } from "../../base/chain/json-rpc.ts";
import type { Chain } from "../../base/chain/provider.ts";
import type { Bytes32 } from "../../../shared/protocol/brands.ts";
import type { Logger } from "../../base/logging.ts";
import type { Errand } from "../../base/chain/errands.ts";
import { firstFees, higherFees, type Fees, type GasWallet } from "../../base/chain/gas-wallet.ts";

export interface ChainSenderParts {
  readonly chain: Pick<
    Chain,
    "nonce" | "header" | "priorityFee" | "balance" | "call" | "broadcast" | "knows"
  >;
  readonly wallet: GasWallet;
  readonly stuckAfterMs: number;
  /** Wei; never bid above it. */
  readonly maxFeePerGas: bigint;
  readonly logger: Logger;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

interface Flight {
  readonly call: Errand;
  readonly nonce: number;
  readonly fees: Fees;
  readonly raw: string;
  readonly hash: Bytes32;
  readonly signedAt: number;
}

/** `busy`: one is in flight. `no-gas`: the wallet cannot pay for it. */
export type SendOutcome = "sent" | "busy" | "refused" | "no-gas";

export type ChainSender = ReturnType<typeof createChainSender>;

export function createChainSender(parts: ChainSenderParts) {
  const { chain, wallet, stuckAfterMs, maxFeePerGas: cap, logger, now } = parts;
  let flight: Flight | undefined;
  /** Nothing is decided on facts that are older than the block in which the last call may be. */
  let seenFrom = 0;

  /** False when something else of this wallet, that a crash made us forget, waits under the nonce and pays as much. */
  async function broadcast(next: Flight): Promise<boolean> {
    try {
      await chain.broadcast(next.raw);
      return true;
    } catch (error) {
      if (!(error instanceof ChainRefused)) throw error;
      if (/already (known|imported)/i.test(error.message)) return true;
      logger.warn({ nonce: next.nonce, code: error.code }, "the node did not take a transaction");
      return !/underpriced/i.test(error.message);
    }
  }

  function sign(call: Errand, nonce: number, fees: Fees): Flight {
    const { to, data, gasLimit } = call;
    const signed = wallet.sign({ nonce, to, data, gasLimit, ...fees });
    return { ...{ call, nonce, fees }, ...signed, signedAt: now() };
  }

  /** At a higher fee until the node takes it, or the cap is reached. */
  async function launch(first: Flight, baseFee: bigint): Promise<void> {
    for (let next = first; ;) {
      flight = next;
      if (await broadcast(next)) return;
      const fees = higherFees(next.fees, baseFee, next.fees.maxPriorityFeePerGas, cap);
      if (fees === undefined) return;
      next = sign(next.call, next.nonce, fees);
    }
  }

  /** Whether one of ours is in flight still. Repeats what the node has dropped, and pays more for what is stuck. */
  async function tend(mined: number): Promise<boolean> {
    if (flight === undefined) return false;
    const head = await chain.header("latest");
    if (head === undefined) return true;
    if (flight.nonce < mined) {
      seenFrom = Math.max(seenFrom, head.number);
      flight = undefined;
      return false;
    }
    if (flight.nonce > mined) {
      // A reorganisation took back what was before it. Whatever is needed still will be planned again.
      flight = undefined;
      return false;
    }
    if (!(await chain.knows(flight.hash))) await broadcast(flight);
    if (now() - flight.signedAt < stuckAfterMs) return true;
    const fees = higherFees(flight.fees, head.baseFee, await chain.priorityFee(), cap);
    if (fees === undefined) {
      logger.error({ nonce: flight.nonce }, "a transaction is stuck at the highest fee that is allowed");
      await broadcast(flight);
      return true;
    }
    logger.info({ nonce: flight.nonce, step: flight.call.label }, "a stuck transaction is replaced");
    await launch(sign(flight.call, flight.nonce, fees), head.baseFee);
    return true;
  }

  return {
    address: wallet.address,
    /** Looks after what is in flight. True while something is, or the facts (of the block `tip`) do not show it yet. */
    async isBusy(tip: number): Promise<boolean> {
      // Asked with every look at a chain, where mostly nothing is under way: that must ask the node nothing.
      if (flight !== undefined && (await tend(await chain.nonce(wallet.address)))) return true;
      return tip < seenFrom;
    },

    async send(call: Errand): Promise<SendOutcome> {
      const nonce = await chain.nonce(wallet.address);
      if (await tend(nonce)) return "busy";
      const { to, data, gasLimit, label } = call;
      try {
        await chain.call({ from: wallet.address, to, data, gas: gasLimit });
      } catch (error) {
        if (!(error instanceof ChainRefused)) throw error;
        logger.warn(
          { step: label, to, code: error.code, reason: error.data.slice(0, 10) },
          "a step would fail",
        );
        return "refused";
      }
      const [head, tip, balance] = await Promise.all([
        chain.header("latest"),
        chain.priorityFee(),
        chain.balance(wallet.address),
      ]);
      if (head === undefined) return "busy";
      const fees = firstFees(head.baseFee, tip, cap);
      if (balance < gasLimit * fees.maxFeePerGas) {
        logger.error({ sender: wallet.address }, "the wallet of another chain cannot pay the next step");
        return "no-gas";
      }
      await launch(sign(call, nonce, fees), head.baseFee);
      logger.info({ nonce, step: label, to, tx: flight?.hash }, "a step is sent");
      return "sent";
    },
  };
}
