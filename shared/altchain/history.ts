/**
 * What was on the chain before one began to follow it: a block by its slot, and the transactions of one account. Whether
 * an account was ever used is asked for a hundred of them at a time.
 */
import { isSolanaError, type Address, type Signature } from "@solana/kit";
import { z } from "zod";
import { ACCOUNTS_A_CALL } from "./balances.ts";
import { balancesBothSides, movementsOf, type Movement } from "./movements.ts";
import { integer, readAnswer, type AltchainNode, type HistoryCommitment } from "./node.ts";
import { AltchainRefusal } from "./refusals.ts";
import type { AltchainToken } from "./token.ts";

export interface BlockHead {
  readonly hash: string;
  /** Seconds. */
  readonly time: bigint | null;
  /** Of its transactions, in order. */
  readonly signatures: readonly string[];
}

/** JSON-RPC codes of nodes: the slot was skipped, by the leader or in long-term storage, or is not there (yet). */
const NO_BLOCK = new Set([-32_004, -32_007, -32_009]);
const SIGNATURES_A_CALL = 1_000;
const NO_BYTES = { offset: 0, length: 0 };

const head = z
  .object({ blockhash: z.string(), blockTime: integer.nullable(), signatures: z.array(z.string()) })
  .nullable();
const existing = z.object({ context: z.object({ slot: integer }), value: z.array(z.unknown()) });
const signatures = z.array(z.object({ signature: z.string(), slot: integer, err: z.unknown() }));
const transaction = z
  .object({
    meta: balancesBothSides
      .extend({
        err: z.unknown(),
        loadedAddresses: z
          .object({ writable: z.array(z.string()), readonly: z.array(z.string()) })
          .optional(),
      })
      .nullable(),
    transaction: z.object({ message: z.object({ accountKeys: z.array(z.string()) }) }),
  })
  .nullable();

/** Undefined for a slot without a block. */
export async function blockAt(
  node: AltchainNode,
  slot: bigint,
  commitment: HistoryCommitment,
): Promise<BlockHead | undefined> {
  const config = { commitment, rewards: false, transactionDetails: "signatures" } as const;
  let said: unknown;
  try {
    said = await node.getBlock(slot, { ...config, maxSupportedTransactionVersion: 0 }).send();
  } catch (error) {
    if (isSolanaError(error) && NO_BLOCK.has(error.context.__code)) return undefined;
    throw error;
  }
  const read = readAnswer(head, said);
  return read === null
    ? undefined
    : { hash: read.blockhash, time: read.blockTime, signatures: read.signatures };
}

/** Those accounts that exist, so may have a history; as of a slot that is not before `least`. */
export async function usedAccounts(
  node: AltchainNode,
  accounts: readonly string[],
  least: bigint,
  commitment: HistoryCommitment,
): Promise<string[]> {
  const used: string[] = [];
  for (let from = 0; from < accounts.length; from += ACCOUNTS_A_CALL) {
    const page = accounts.slice(from, from + ACCOUNTS_A_CALL);
    const said = await node
      .getMultipleAccounts(page as Address[], { commitment, encoding: "base64", dataSlice: NO_BYTES })
      .send();
    const { context, value } = readAnswer(existing, said);
    // A node that lags behind would not know the youngest.
    if (value.length !== page.length || context.slot < least) throw new AltchainRefusal("ANSWER_UNREADABLE");
    used.push(...page.filter((_, at) => value[at] !== null));
  }
  return used;
}

/** Successful ones that name the account, in no order, none before the slot `since`. */
export async function transactionsOf(
  node: AltchainNode,
  account: string,
  since: bigint,
  commitment: HistoryCommitment,
): Promise<{ readonly signature: string; readonly slot: bigint }[]> {
  const found: { signature: string; slot: bigint }[] = [];
  let before: Signature | undefined;
  for (;;) {
    const config = { commitment, limit: SIGNATURES_A_CALL, ...(before === undefined ? {} : { before }) };
    const page = readAnswer(
      signatures,
      await node.getSignaturesForAddress(account as Address, config).send(),
    );
    for (const { signature, slot, err } of page)
      if (err === null && slot >= since) found.push({ signature, slot });
    const last = page.at(-1);
    if (last === undefined || last.slot < since || page.length < SIGNATURES_A_CALL) return found;
    before = last.signature as Signature;
  }
}

/** Undefined when it is not there (any more), or has failed. */
export async function movementsIn(
  node: AltchainNode,
  token: AltchainToken,
  signature: string,
  commitment: HistoryCommitment,
): Promise<readonly Movement[] | undefined> {
  const config = { commitment, encoding: "json", maxSupportedTransactionVersion: 0 } as const;
  const said = readAnswer(transaction, await node.getTransaction(signature as Signature, config).send());
  if (said?.meta?.err !== null) return undefined;
  const { writable = [], readonly = [] } = said.meta.loadedAddresses ?? {};
  return movementsOf(said.meta, [...said.transaction.message.accountKeys, ...writable, ...readonly], token);
}
