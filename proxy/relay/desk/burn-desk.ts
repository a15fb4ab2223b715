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
  /** Newest slot that was looked at before it was asked for. */
  readonly slot: number;
}
interface Written {
  readonly amount: bigint;
  readonly block: HeldBlock;
}

export function createBurnDesk(parts: BurnDeskParts): OpenBurnDesk {
  const { node, token, bounds, homeDomain, feePayer, book, logger } = parts;
  const waiting = new Map<string, Held>();
  const written = new Map<string, Written>();
  const stopping = new AbortController();
  let block: HeldBlock | undefined;
  let running: Promise<void> | undefined;
  let unfollow: (() => void) | undefined;

  const expected = ({ address }: BridgeRecord, way: Way): Omit<ExpectedBurn, "feePayer"> => ({
    ...{ token, ...bounds, domain: homeDomain },
    owner: parseAltchainAddress(way.depositKey),
    recipient: paddedAddress(address),
  });

  /** What lies there and may be burned; undefined below the minimum. */
  function heldBy(bridgeId: string): Held | undefined {
    const record = book.recordOf(bridgeId);
    const alt = book.factsOf(bridgeId)?.alt;
    if (record?.way.kind !== "from-altchain" || alt === undefined || alt.balance < bounds.minimum)
      return undefined;
    return { burn: expected(record, record.way), amount: alt.balance };
  }

  async function write(bridgeId: string, { burn, amount }: Held, block: HeldBlock): Promise<void> {
    const terms = burnTerms(amount, bounds.feeCeiling, parts.fees());
    if (terms === undefined) return;
    const { owner, recipient, domain } = burn;
    const transaction = await burnTransaction({
      ...{ token, owner, amount, feePayer: feePayer.address, blockhash: block.blockhash },
      ...{ domain, recipient, maxFee: terms.maxFee, finality: terms.finality },
    });
    const sign = { transaction, expiresAfterSlot: Number(block.lastValidBlockHeight) };
    written.set(bridgeId, { amount, block });
    book.remark(bridgeId, { sign });
  }

  /** By the book's news alone, so that what lies still costs a pass nothing, however many requests are open. */
  function look(bridgeId: string): void {
    const held = heldBy(bridgeId);
    if (held !== undefined) {
      waiting.set(bridgeId, held);
      return;
    }
    waiting.delete(bridgeId);
    if (written.delete(bridgeId)) book.remark(bridgeId, { sign: undefined });
  }

  /**
   * Slots are never fewer than the blocks in which a transaction can land, so one that is young by them is good. The
   * chain is asked no more often than that: a burn may wait for its device for weeks.
   */
  async function goodBlock(slot: number): Promise<HeldBlock> {
    const isGood = block !== undefined && slot >= block.slot && slot - block.slot < LIFETIME - LEAST_LEFT;
    return isGood ? block! : (block = { ...(await recentBlock(node)), slot });
  }

  /** All that waits for a signature, however many they are, with one block. */
  async function pass(): Promise<void> {
    const tip = book.tipOf(CHAIN);
    if (waiting.size === 0 || tip === undefined) return;
    const good = await goodBlock(tip.number);
    for (const [id, held] of [...waiting]) {
      const before = written.get(id);
      if (before?.amount !== held.amount || before.block !== good) await write(id, held, good);
    }
  }

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      await pass().catch((error: unknown) =>
        logger.warn({ err: error }, "burns on the other blockchain could not be prepared"),
      );
      await sleep(parts.pollIntervalMs, undefined, { signal: stopping.signal }).catch(() => undefined);
    }
  }

  return {
    async submit({ id }, transaction) {
      const held = heldBy(id);
      if (held === undefined) return "refused";
      const encoded = Buffer.from(transaction).toString("base64");
      try {
        const signature = await sendTransaction(node, await payForBurn(encoded, held.burn, feePayer));
        logger.info({ bridge: id, signature }, "a burn on the other blockchain is sent");
        return "sent";
      } catch (error) {
        if (error instanceof AltchainRefusal) {
          logger.warn(
            { bridge: id, code: error.code },
            "a burn was given back signed that is not the one asked for",
          );
          return "refused";
        }
        logger.warn({ bridge: id, err: error }, "the other blockchain did not take a burn");
        // It may be that the chain has taken the block back, and would take no burn with it any more.
        block = undefined;
        return "away";
      }
    },
    start() {
      unfollow ??= book.onChange(look);
      for (const id of book.active()) look(id);
      running ??= run();
    },
    async stop() {
      unfollow?.();
      stopping.abort();
      await running;
    },
  };
}
