/** JSON-RPC: slots, heights, block hashes and blocks. */
import { z } from "zod";
import type { Json } from "./json.ts";
import { LIFETIME_BLOCKS, type Block, type Ledger } from "./ledger.ts";
import { inContext, method, mustHaveReached, type Methods } from "./method.ts";
import {
  blockhash,
  commitmentLevel,
  context,
  historyContext,
  newestVersion,
  slotNumber,
  transactionEncoding,
} from "./params.ts";
import { transactionJson } from "./rendering.ts";
import { invalidParams, noBlock, skippedSlot, versionUnsupported } from "./rpc-errors.ts";

const MOST_SLOTS = 500_000n;

const blockContext = z
  .looseObject({
    commitment: commitmentLevel,
    encoding: transactionEncoding,
    transactionDetails: z.enum(["full", "accounts", "signatures", "none"]).default("full"),
    rewards: z.boolean().default(true),
    maxSupportedTransactionVersion: newestVersion,
  })
  .prefault({});
type BlockContext = z.output<typeof blockContext>;

export const blockMethods: Methods = {
  getHealth: method(z.array(z.unknown()), () => "ok"),
  getVersion: method(z.array(z.unknown()), () => ({ "feature-set": 0, "solana-core": "2.3.0" })),

  getSlot: method(z.tuple([context]), ({ ledger }, [config]) => {
    mustHaveReached(ledger, config);
    return ledger.slotAt(config.commitment);
  }),

  getBlockHeight: method(z.tuple([context]), ({ ledger }, [config]) => {
    mustHaveReached(ledger, config);
    return ledger.heightAt(config.commitment);
  }),

  getLatestBlockhash: method(z.tuple([context]), ({ ledger }, [config]) => {
    const { hash, height } = ledger.blockAt(config.commitment);
    return inContext(ledger, config, { blockhash: hash, lastValidBlockHeight: height + LIFETIME_BLOCKS });
  }),

  isBlockhashValid: method(z.tuple([blockhash, context]), ({ ledger }, [hash, config]) =>
    inContext(ledger, config, ledger.isRecent(hash)),
  ),

  getBlocks: method(
    z.tuple([slotNumber, slotNumber.optional(), historyContext]),
    ({ ledger }, [from, to, config]) => {
      const newest = ledger.slotAt(config.commitment);
      const last = to !== undefined && to < newest ? to : newest;
      if (last - from > MOST_SLOTS) throw invalidParams(`Slot range too large; max ${String(MOST_SLOTS)}`);
      return ledger.slotsBetween(from, last);
    },
  ),

  getBlock: method(z.tuple([slotNumber, blockContext]), ({ ledger }, [slot, config]) => {
    if (config.commitment === "processed")
      throw invalidParams("Method does not support commitment below `confirmed`");
    if (slot > ledger.slotAt(config.commitment)) throw noBlock(slot);
    const block = ledger.block(slot);
    if (block === undefined) throw skippedSlot(slot);
    return blockJson(ledger, block, config);
  }),
};

function blockJson(ledger: Ledger, block: Block, config: BlockContext): Json {
  const { transactionDetails: details, encoding, maxSupportedTransactionVersion: newest } = config;
  const head = {
    blockHeight: block.height,
    blockTime: block.timeSecs,
    blockhash: block.hash,
    parentSlot: block.parentSlot,
    previousBlockhash: block.parentHash,
    ...(config.rewards ? { rewards: [] } : {}),
  };
  if (details === "none") return head;
  if (details === "signatures")
    return { ...head, signatures: block.landed.map(({ signature }) => signature) };
  const transactions = block.landed.map((landed) => {
    const { version } = landed.message;
    if (newest === undefined && version !== "legacy") throw versionUnsupported();
    const shown = transactionJson(ledger, landed, details === "accounts" ? "accounts" : encoding);
    return newest === undefined ? shown : { ...shown, version };
  });
  return { ...head, transactions };
}
