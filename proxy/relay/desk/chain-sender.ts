/**
 * Sends calls on another EVM chain, with a key of its own for gas. One call is in flight at a time, and a stuck one is
 * replaced for a higher fee. Nothing is stored: what it sends may be done by anybody any number of times, so after a
 * crash the chain's nonce and the facts say where to go on.
 */
import { ChainRefused } from "../../base/chain/json-rpc.ts";
import type { Chain } from "../../base/chain/provider.ts";
import type { Address, Bytes32 } from "../../../shared/protocol/brands.ts";
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

/** `busy`: one is in flight. `no-gas`: the wallet cannot pay for it. `refused`: with this revert data. */
export type SendOutcome = "sent" | "busy" | "no-gas" | { readonly refused: string };

export class ChainSender {
  readonly #parts: ChainSenderParts;
  #flight: Flight | undefined;
  /** Nothing is decided on facts that are older than the block in which the last call may be. */
  #seenFrom = 0;
  readonly address: Address;

  constructor(parts: ChainSenderParts) {
    this.#parts = parts;
    this.address = parts.wallet.address;
  }

  /** Looks after what is in flight. True while something is, or the facts (of the block `tip`) do not show it yet. */
  async isBusy(tip: number): Promise<boolean> {
    // Asked with every look at a chain, where mostly nothing is under way: that must ask the node nothing.
    if (
      this.#flight !== undefined &&
      (await this.#tend(await this.#parts.chain.nonce(this.#parts.wallet.address)))
    )
      return true;
    return tip < this.#seenFrom;
  }

  async send(call: Errand): Promise<SendOutcome> {
    const nonce = await this.#parts.chain.nonce(this.#parts.wallet.address);
    if (await this.#tend(nonce)) return "busy";
    const { to, data, gasLimit, label } = call;
    try {
      await this.#parts.chain.call({ from: this.#parts.wallet.address, to, data, gas: gasLimit });
    } catch (error) {
      if (!(error instanceof ChainRefused)) throw error;
      this.#parts.logger.warn(
        { step: label, to, code: error.code, reason: error.data.slice(0, 10) },
        "a step would fail",
      );
      return { refused: error.data };
    }
    const [head, tip, balance] = await Promise.all([
      this.#parts.chain.header("latest"),
      this.#parts.chain.priorityFee(),
      this.#parts.chain.balance(this.#parts.wallet.address),
    ]);
    if (head === undefined) return "busy";
    const fees = firstFees(head.baseFee, tip, this.#parts.maxFeePerGas);
    if (balance < gasLimit * fees.maxFeePerGas) {
      this.#parts.logger.error(
        { sender: this.#parts.wallet.address },
        "the wallet of another chain cannot pay the next step",
      );
      return "no-gas";
    }
    await this.#launch(this.#sign(call, nonce, fees), head.baseFee);
    this.#parts.logger.info({ nonce, step: label, to, tx: this.#flight?.hash }, "a step is sent");
    return "sent";
  }

  /** False when something else of this wallet, that a crash made us forget, waits under the nonce and pays as much. */
  async #broadcast(next: Flight): Promise<boolean> {
    try {
      await this.#parts.chain.broadcast(next.raw);
      return true;
    } catch (error) {
      if (!(error instanceof ChainRefused)) throw error;
      if (/already (known|imported)/i.test(error.message)) return true;
      this.#parts.logger.warn({ nonce: next.nonce, code: error.code }, "the node did not take a transaction");
      return !/underpriced/i.test(error.message);
    }
  }

  #sign(call: Errand, nonce: number, fees: Fees): Flight {
    const { to, data, gasLimit } = call;
    const signed = this.#parts.wallet.sign({ nonce, to, data, gasLimit, ...fees });
    return { ...{ call, nonce, fees }, ...signed, signedAt: this.#parts.now() };
  }

  /** At a higher fee until the node takes it, or the cap is reached. */
  async #launch(first: Flight, baseFee: bigint): Promise<void> {
    for (let next = first; ;) {
      this.#flight = next;
      if (await this.#broadcast(next)) return;
      const fees = higherFees(next.fees, baseFee, next.fees.maxPriorityFeePerGas, this.#parts.maxFeePerGas);
      if (fees === undefined) return;
      next = this.#sign(next.call, next.nonce, fees);
    }
  }

  /** Whether one of ours is in flight still. Repeats what the node has dropped, and pays more for what is stuck. */
  async #tend(mined: number): Promise<boolean> {
    if (this.#flight === undefined) return false;
    const head = await this.#parts.chain.header("latest");
    if (head === undefined) return true;
    if (this.#flight.nonce < mined) {
      this.#seenFrom = Math.max(this.#seenFrom, head.number);
      this.#flight = undefined;
      return false;
    }
    if (this.#flight.nonce > mined) {
      // A reorganisation took back what was before it. Whatever is needed still will be planned again.
      this.#flight = undefined;
      return false;
    }
    if (!(await this.#parts.chain.knows(this.#flight.hash))) await this.#broadcast(this.#flight);
    if (this.#parts.now() - this.#flight.signedAt < this.#parts.stuckAfterMs) return true;
    const fees = higherFees(
      this.#flight.fees,
      head.baseFee,
      await this.#parts.chain.priorityFee(),
      this.#parts.maxFeePerGas,
    );
    if (fees === undefined) {
      this.#parts.logger.error(
        { nonce: this.#flight.nonce },
        "a transaction is stuck at the highest fee that is allowed",
      );
      await this.#broadcast(this.#flight);
      return true;
    }
    this.#parts.logger.info(
      { nonce: this.#flight.nonce, step: this.#flight.call.label },
      "a stuck transaction is replaced",
    );
    await this.#launch(this.#sign(this.#flight.call, this.#flight.nonce, fees), head.baseFee);
    return true;
  }
}
