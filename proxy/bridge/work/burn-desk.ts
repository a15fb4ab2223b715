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
import { ApiError } from "../../http/errors.ts";
import type { Logger } from "../../logging.ts";
import type { BridgeRecord } from "../../store/bridge-records.ts";
import type { BurnDesk, Facts } from "../book.ts";
import type { WatchingBook } from "../watch/book.ts";
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
/** A transaction lives for 150 blocks; a device that looks at it needs some of them. */
const LEAST_BLOCKS_LEFT = 60n;

type Way = Extract<BridgeRecord["way"], { kind: "from-altchain" }>;
interface Held {
  readonly burn: Omit<ExpectedBurn, "feePayer">;
  readonly amount: bigint;
}
interface Written {
  readonly amount: bigint;
  readonly block: RecentBlock;
  readonly sign: NonNullable<Facts["sign"]>;
}

export function createBurnDesk(parts: BurnDeskParts): OpenBurnDesk {
  const { node, token, bounds, homeDomain, feePayer, book, logger } = parts;
  const waiting = new Map<string, Held>();
  const written = new Map<string, Written>();
  const stopping = new AbortController();
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

  async function write(bridgeId: string, { burn, amount }: Held, block: RecentBlock): Promise<void> {
    const terms = burnTerms(0, amount, bounds.feeCeiling, parts.fees());
    if (terms === undefined) return;
    const { owner, recipient, domain } = burn;
    const transaction = await burnTransaction({
      ...{ token, owner, amount, feePayer: feePayer.address, blockhash: block.blockhash },
      ...{ domain, recipient, maxFee: terms.maxFee, finality: terms.finality },
    });
    const sign = { transaction, expiresAfterSlot: Number(block.lastValidBlockHeight) };
    written.set(bridgeId, { amount, block, sign });
    book.remark(bridgeId, { trouble: undefined, sign });
  }

  /** By the book's news alone, so that what lies still costs a pass nothing, however many requests are open. */
  function look(bridgeId: string): void {
    const held = heldBy(bridgeId);
    if (held !== undefined) {
      waiting.set(bridgeId, held);
      return;
    }
    waiting.delete(bridgeId);
    if (written.delete(bridgeId)) book.remark(bridgeId, { trouble: undefined, sign: undefined });
  }

  /** All that waits for a signature. The chain is asked for one recent block, however many they are. */
  async function pass(): Promise<void> {
    if (waiting.size === 0 || book.tipOf(CHAIN) === undefined) return;
    const block = await recentBlock(node);
    for (const [id, held] of [...waiting]) {
      const before = written.get(id);
      const isGood =
        before?.amount === held.amount &&
        block.lastValidBlockHeight - before.block.lastValidBlockHeight < LEAST_BLOCKS_LEFT;
      if (!isGood) await write(id, held, block);
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
      if (held === undefined) return false;
      const encoded = Buffer.from(transaction).toString("base64");
      try {
        const signature = await sendTransaction(node, await payForBurn(encoded, held.burn, feePayer));
        logger.info({ bridge: id, signature }, "a burn on the other blockchain is sent");
        return true;
      } catch (error) {
        if (!(error instanceof AltchainRefusal))
          throw new ApiError(
            "VENUE_UNAVAILABLE",
            "the other blockchain did not take the burn; ask for its status",
            {
              cause: error,
            },
          );
        logger.warn(
          { bridge: id, code: error.code },
          "a burn was given back signed that is not the one asked for",
        );
        return false;
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
