/**
 * Burns that ask for a message to another chain. The amount is what really left the supply; the memo says only where it
 * goes. A transaction gives one message at most: with two orders, or tokens of two owners, nobody could say whose it is.
 */
import { getBase58Encoder, type Signature } from "@solana/kit";
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
