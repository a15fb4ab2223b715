/**
 * Follows the chain block by block and tells what moved of the token: one call for the list of new blocks and one for
 * each block, however many addresses are watched. Every block names its parent, so a reorganisation cannot be missed.
 */
import { z } from "zod";
import { balancesBothSides, movementsOf, type Movement } from "./movements.ts";
import { integer, readAnswer, type AltchainNode, type HistoryCommitment } from "./node.ts";
import { AltchainRefusal } from "./refusals.ts";
import type { AltchainToken } from "./token.ts";

export interface BlockPlace {
  readonly slot: bigint;
  readonly hash: string;
}

export interface TokenBlock extends BlockPlace {
  /** Seconds, as the validators estimate it. */
  readonly time: bigint | null;
  readonly transactions: readonly { readonly signature: string; readonly movements: readonly Movement[] }[];
}

export type NewBlocks =
  | { readonly forked: false; readonly blocks: readonly TokenBlock[] }
  /** The place that was reached is not on the chain any more: begin again from a finalized one. */
  | { readonly forked: true };

/** Blocks of one call of `newBlocks`; more are there the next time. */
const MOST_BLOCKS = 64;
/** A slot can pass without a block; as many in a row cannot while the chain runs. */
const SEARCHED_SLOTS = 100n;
const slots = z.array(integer);
const block = z.object({
  blockhash: z.string(),
  previousBlockhash: z.string(),
  blockTime: integer.nullable(),
  transactions: z.array(
    z.object({
      meta: balancesBothSides.extend({ err: z.unknown() }).nullable(),
      transaction: z.object({
        accountKeys: z.array(z.object({ pubkey: z.string() })),
        signatures: z.tuple([z.string()]).rest(z.string()),
      }),
    }),
  ),
});

/** Where the chain is now: the place to follow it from. */
export async function placeNow(node: AltchainNode, commitment: HistoryCommitment): Promise<BlockPlace> {
  const reached = await node.getSlot({ commitment }).send();
  const from = reached > SEARCHED_SLOTS ? reached - SEARCHED_SLOTS : 0n;
  const slot = readAnswer(slots, await node.getBlocks(from, reached, { commitment }).send()).at(-1);
  if (slot === undefined) throw new AltchainRefusal("ANSWER_UNREADABLE");
  const config = { commitment, rewards: false, transactionDetails: "none" } as const;
  const place = await node.getBlock(slot, config).send();
  return { slot, hash: readAnswer(block.pick({ blockhash: true }), place).blockhash };
}

export async function newBlocks(
  node: AltchainNode,
  token: AltchainToken,
  after: BlockPlace,
  commitment: HistoryCommitment,
): Promise<NewBlocks> {
  const listed = await node.getBlocks(after.slot, undefined, { commitment }).send();
  const [first, ...following] = readAnswer(slots, listed);
  // The node may be behind the one that was asked before: then nothing is new, and nothing is known to be wrong.
  if (first === undefined) return { forked: false, blocks: [] };
  if (first !== after.slot) return { forked: true };
  const blocks: TokenBlock[] = [];
  let parent = after.hash;
  for (const slot of following.slice(0, MOST_BLOCKS)) {
    let found: Awaited<ReturnType<typeof readBlock>>;
    try {
      found = await readBlock(node, token, slot, commitment);
    } catch (error) {
      // What was read counts: asked for all together, a node that fails now and then would never let anybody catch up.
      if (blocks.length === 0) throw error;
      break;
    }
    if (found.parent !== parent) return { forked: true };
    blocks.push(found.block);
    parent = found.block.hash;
  }
  return { forked: false, blocks };
}

async function readBlock(
  node: AltchainNode,
  token: AltchainToken,
  slot: bigint,
  commitment: HistoryCommitment,
): Promise<{ parent: string; block: TokenBlock }> {
  const said = await node
    .getBlock(slot, {
      commitment,
      maxSupportedTransactionVersion: 0,
      rewards: false,
      transactionDetails: "accounts",
    })
    .send();
  const { blockhash, previousBlockhash, blockTime, transactions } = readAnswer(block, said);
  const moving = transactions.flatMap(({ meta, transaction }) => {
    if (meta === null || meta.err !== null) return [];
    const accounts = transaction.accountKeys.map(({ pubkey }) => pubkey);
    const movements = movementsOf(meta, accounts, token);
    return movements.length === 0 ? [] : [{ signature: transaction.signatures[0], movements }];
  });
  return {
    parent: previousBlockhash,
    block: { slot, hash: blockhash, time: blockTime, transactions: moving },
  };
}
