/**
 * A transaction's receipt, looked for by time. ethers looks when it is asked to wait, and then whenever a block comes that is
 * newer than the newest was when it began to look. On a chain that mines only what is sent, a transaction that is mined
 * between these two looks is waited for without end.
 */
import { JsonRpcProvider, type JsonRpcApiProvider, type Subscriber, type Subscription } from "ethers";

const EVERY_MS = 500;

export class ReceiptByTime implements Subscriber {
  readonly #provider: JsonRpcApiProvider;
  readonly #hash: string;
  readonly #everyMs: number;
  #timer: NodeJS.Timeout | undefined;
  #isLooking = false;

  constructor(provider: JsonRpcApiProvider, hash: string, everyMs: number) {
    this.#provider = provider;
    this.#hash = hash;
    this.#everyMs = everyMs;
  }

  async #look(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    // A node that does not answer is asked again, as by ethers.
    const receipt = await this.#provider.getTransactionReceipt(this.#hash).catch(() => null);
    this.#isLooking = false;
    if (receipt !== null && this.#timer !== undefined) await this.#provider.emit(this.#hash, receipt);
  }

  start(): void {
    if (this.#timer !== undefined) return;
    this.#timer = setInterval(() => void this.#look(), this.#everyMs);
    void this.#look();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  pause(): void {
    this.stop();
  }

  resume(): void {
    this.start();
  }
}

/** The node of a command that sends. */
export class SendingProvider extends JsonRpcProvider {
  override _getSubscriber(subscription: Subscription): Subscriber {
    return subscription.type === "transaction"
      ? new ReceiptByTime(this, subscription.hash, EVERY_MS)
      : super._getSubscriber(subscription);
  }
}
