/**
 * Burns that ask for a message to another chain. The amount is what really left the supply; the memo says only where it
 * goes. A transaction gives one message at most: with two orders, or tokens of two owners, nobody could say whose it is.
 */
import { getBase58Encoder, type Address, type Signature } from "@solana/kit";
import { z } from "zod";
import { isOrder, MEMO_PROGRAM, parseOrderMemo, type BurnOrder } from "./memo.ts";
import { balancesBothSides, burntIn, movementsOf } from "./movements.ts";
import { index, integer, readAnswer, type AltchainNode, type HistoryCommitment } from "./node.ts";
import type { AltchainToken } from "./token.ts";

export interface FoundBurn {
  readonly signature: string;
  readonly slot: bigint;
  readonly order: BurnOrder;
  readonly amount: bigint;
  /** Whose tokens were burnt. */
  readonly owner: string;
}

/** Most that a node answers in one call. */
const SIGNATURES_A_CALL = 1000;
const history = z.array(
  z.object({ signature: z.string(), slot: integer, err: z.unknown(), memo: z.string().nullable() }),
);
const found = z
  .object({
    slot: integer,
    meta: balancesBothSides
      .extend({
        err: z.unknown(),
        loadedAddresses: z
          .object({ writable: z.array(z.string()), readonly: z.array(z.string()) })
          .optional(),
      })
      .nullable(),
    transaction: z.object({
      message: z.object({
        accountKeys: z.array(z.string()),
        instructions: z.array(z.object({ programIdIndex: index, data: z.string() })),
      }),
    }),
  })
  .nullable();

/**
 * All after the transaction `after`, oldest first; every one from the beginning when it is undefined, or when a
 * reorganisation has taken it away: so the same burn can come twice, under the same signature.
 */
export async function burnsSince(
  node: AltchainNode,
  token: AltchainToken,
  after: string | undefined,
  commitment: HistoryCommitment,
): Promise<FoundBurn[]> {
  const signatures = await orderedSignatures(node, token.mint, after, commitment);
  const burns: FoundBurn[] = [];
  for (const signature of signatures) {
    const burn = await burnIn(node, token, signature, commitment);
    if (burn !== undefined) burns.push(burn);
  }
  return burns;
}

/** Undefined when the transaction is not there, has failed, or is no burn with exactly one order. */
export async function burnIn(
  node: AltchainNode,
  token: AltchainToken,
  signature: string,
  commitment: HistoryCommitment,
): Promise<FoundBurn | undefined> {
  const config = { commitment, encoding: "json", maxSupportedTransactionVersion: 0 } as const;
  const said = readAnswer(found, await node.getTransaction(signature as Signature, config).send());
  if (said?.meta?.err !== null) return undefined;
  const { meta, slot, transaction } = said;
  const { accountKeys, instructions } = transaction.message;
  const { writable = [], readonly = [] } = meta.loadedAddresses ?? {};
  const accounts = [...accountKeys, ...writable, ...readonly];

  const memos = instructions
    .filter(({ programIdIndex }) => accounts[programIdIndex] === MEMO_PROGRAM)
    .map(({ data }) => new TextDecoder().decode(Uint8Array.from(getBase58Encoder().encode(data))))
    .filter(isOrder);
  const [memo] = memos;
  const order = memo === undefined || memos.length > 1 ? undefined : parseOrderMemo(memo);
  const movements = movementsOf(meta, accounts, token);
  const amount = burntIn(movements);
  const givers = movements.filter(({ before, after }) => after < before);
  const owner = givers.length === 1 ? givers[0]?.owner : undefined;
  if (order === undefined || owner === undefined || amount <= 0n) return undefined;
  return { signature, slot, order, amount, owner };
}

/** Every burn names its mint, so the mint's history has them all; only what carries an order is looked at. */
async function orderedSignatures(
  node: AltchainNode,
  mint: Address,
  after: string | undefined,
  commitment: HistoryCommitment,
): Promise<string[]> {
  const signatures: string[] = [];
  let before: string | undefined;
  for (;;) {
    const config = {
      commitment,
      limit: SIGNATURES_A_CALL,
      ...(after === undefined ? {} : { until: after as Signature }),
      ...(before === undefined ? {} : { before: before as Signature }),
    };
    const page = readAnswer(history, await node.getSignaturesForAddress(mint, config).send());
    for (const { signature, err, memo } of page) {
      if (err === null && memo?.includes("cctp1:") === true) signatures.push(signature);
    }
    before = page.at(-1)?.signature;
    if (before === undefined || page.length < SIGNATURES_A_CALL) return signatures.reverse();
  }
}
