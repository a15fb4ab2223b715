/**
 * Burns on the other blockchain. What arrived lies under the user's own key, so all that can be done here is to write the
 * transaction that its device signs, and to pay the network's fee of just that. It is written again once it can no longer
 * land; which amount it burns is read from the chain.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { burnTransaction } from "../../../shared/altchain/burn.ts";
import type { ExpectedBurn } from "../../../shared/altchain/checking.ts";
import type { AltchainNode } from "../../../shared/altchain/node.ts";
import { AltchainRefusal } from "../../../shared/altchain/refusals.ts";
import { recentBlock, sendTransaction, type RecentBlock } from "../../../shared/altchain/sending.ts";
import { payForBurn, type AltchainKey } from "../../../shared/altchain/signing.ts";
import { parseAltchainAddress, type AltchainToken } from "../../../shared/altchain/token.ts";
import { paddedAddress } from "../../../shared/protocol/host/forwarders.ts";
import type { Logger } from "../../base/logging.ts";
import type { BridgeRecord } from "../../base/store/bridge-records.ts";
import type { BurnDesk } from "../requests.ts";
import type { SignedOutcome } from "../../base/store/relay.ts";
import type { WatchingBook } from "../chain-book.ts";
import { burnTerms } from "./burn-terms.ts";
import type { FeeTable } from "./steps.ts";

export interface BurnDeskParts {
  readonly node: AltchainNode;
  readonly token: AltchainToken;
  readonly bounds: { readonly minimum: bigint; readonly feeCeiling: bigint };
  /** Of the pool's chain. */
  readonly homeDomain: number;
  readonly feePayer: AltchainKey;
  readonly book: Pick<WatchingBook, "active" | "recordOf" | "factsOf" | "remark" | "tipOf" | "onChange">;
  /** Of burns there towards the pool's chain. Asking never waits. */
  readonly fees: () => FeeTable | "asking" | undefined;
  readonly pollIntervalMs: number;
  readonly logger: Logger;
}

export interface OpenBurnDesk extends BurnDesk {
  start(): void;
  stop(): Promise<void>;
}

const CHAIN = "altchain";
/** A transaction lives for 150 blocks after its own; a device that looks at it needs some of them. */
const LIFETIME = 150;
const LEAST_LEFT = 60;

type Way = Extract<BridgeRecord["way"], { kind: "from-altchain" }>;
interface Held {
  readonly burn: Omit<ExpectedBurn, "feePayer">;
  readonly amount: bigint;
}
interface HeldBlock extends RecentBlock {
  /** Newest slot that was looked at before it was asked for; undefined where the node was away from the book then. */
  readonly slot: number | undefined;
}
interface Written {
  readonly amount: bigint;
  readonly block: HeldBlock;
}

class Desk implements OpenBurnDesk {
  readonly #parts: BurnDeskParts;
  readonly #waiting = new Map<string, Held>();
  readonly #written = new Map<string, Written>();
  readonly #stopping = new AbortController();
  #block: HeldBlock | undefined;
  #running: Promise<void> | undefined;
  #unfollow: (() => void) | undefined;

  constructor(parts: BurnDeskParts) {
    this.#parts = parts;
  }

  async submit({ id }: BridgeRecord, transaction: Uint8Array): Promise<SignedOutcome> {
    const held = this.#heldBy(id);
    if (held === undefined) return "refused";
    const encoded = Buffer.from(transaction).toString("base64");
    try {
      const signature = await sendTransaction(
        this.#parts.node,
        await payForBurn(encoded, held.burn, this.#parts.feePayer),
      );
      this.#parts.logger.info({ bridge: id, signature }, "a burn on the other blockchain is sent");
      return "sent";
    } catch (error) {
      if (error instanceof AltchainRefusal) {
        this.#parts.logger.warn(
          { bridge: id, code: error.code },
          "a burn was given back signed that is not the one asked for",
        );
        return "refused";
      }
      this.#parts.logger.warn({ bridge: id, err: error }, "the other blockchain did not take a burn");
      // It may be that the chain has taken the block back, and would take no burn with it any more.
      this.#block = undefined;
      return "away";
    }
  }

  start() {
    this.#unfollow ??= this.#parts.book.onChange((bridgeId) => this.#look(bridgeId));
    for (const id of this.#parts.book.active()) this.#look(id);
    this.#running ??= this.#run();
  }

  async stop() {
    this.#unfollow?.();
    this.#stopping.abort();
    await this.#running;
  }

  #expected({ address }: BridgeRecord, way: Way): Omit<ExpectedBurn, "feePayer"> {
    return {
      ...{ token: this.#parts.token, ...this.#parts.bounds, domain: this.#parts.homeDomain },
      owner: parseAltchainAddress(way.depositKey),
      recipient: paddedAddress(address),
    };
  }

  /** What lies there and may be burned; undefined below the minimum. */
  #heldBy(bridgeId: string): Held | undefined {
    const record = this.#parts.book.recordOf(bridgeId);
    if (record?.way.kind !== "from-altchain") return undefined;
    const [account] = this.#parts.book.factsOf(bridgeId)?.before ?? [];
    if (account === undefined || account.balance < this.#parts.bounds.minimum) return undefined;
    return { burn: this.#expected(record, record.way), amount: account.balance };
  }

  async #write(bridgeId: string, { burn, amount }: Held, block: HeldBlock): Promise<void> {
    const terms = burnTerms(amount, this.#parts.bounds.feeCeiling, this.#parts.fees(), 0n);
    if (typeof terms !== "object") return;
    const { owner, recipient, domain } = burn;
    const transaction = await burnTransaction({
      ...{
        token: this.#parts.token,
        owner,
        amount,
        feePayer: this.#parts.feePayer.address,
        blockhash: block.blockhash,
      },
      ...{ domain, recipient, maxFee: terms.maxFee, finality: terms.finality },
    });
    const sign = { transaction, expiresAfterSlot: Number(block.lastValidBlockHeight) };
    this.#written.set(bridgeId, { amount, block });
    this.#parts.book.remark(bridgeId, { sign });
  }

  /** By the book's news alone, so that what lies still costs a pass nothing, however many requests are open. */
  #look(bridgeId: string): void {
    const held = this.#heldBy(bridgeId);
    if (held !== undefined) {
      this.#waiting.set(bridgeId, held);
      return;
    }
    this.#waiting.delete(bridgeId);
    if (this.#written.delete(bridgeId)) this.#parts.book.remark(bridgeId, { sign: undefined });
  }

  /**
   * Slots are never fewer than the blocks in which a transaction can land, so one that is young by them is good. The
   * chain is asked no more often than that: a burn may wait for its device for weeks. A node that is away from the book, since
   * it often answers wrongly, may still have one: without it a burn that has expired would be given out to be signed again.
   */
  async #goodBlock(slot: number | undefined): Promise<HeldBlock> {
    const held = this.#block;
    if (held !== undefined && (slot === undefined || isYoung(slot, held.slot))) return held;
    return (this.#block = { ...(await recentBlock(this.#parts.node)), slot });
  }

  /** All that waits for a signature, however many they are, with one block. */
  async #pass(): Promise<void> {
    const tip = this.#parts.book.tipOf(CHAIN);
    if (this.#waiting.size === 0) return;
    const good = await this.#goodBlock(tip?.number);
    for (const [id, held] of [...this.#waiting]) {
      const before = this.#written.get(id);
      if (before?.amount !== held.amount || before.block !== good) await this.#write(id, held, good);
    }
  }

  async #run(): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      await this.#pass().catch((error: unknown) =>
        this.#parts.logger.warn({ err: error }, "burns on the other blockchain could not be prepared"),
      );
      await sleep(this.#parts.pollIntervalMs, undefined, { signal: this.#stopping.signal }).catch(
        () => undefined,
      );
    }
  }
}

const isYoung = (slot: number, since: number | undefined): boolean =>
  since !== undefined && slot >= since && slot - since < LIFETIME - LEAST_LEFT;

export function createBurnDesk(parts: BurnDeskParts): OpenBurnDesk {
  return new Desk(parts);
}
