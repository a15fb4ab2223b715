/** Sends a signed transaction and tells what became of it, always from the chain. */
import { z } from "zod";
import {
  isSolanaError,
  SOLANA_ERROR__JSON_RPC__SERVER_ERROR_SEND_TRANSACTION_PREFLIGHT_FAILURE,
  SOLANA_ERROR__TRANSACTION_ERROR__ALREADY_PROCESSED,
  type Base64EncodedWireTransaction,
  type Blockhash,
  type Signature,
} from "@solana/kit";
import type { EncodedTransaction } from "./burn.ts";
import { integer, readAnswer, type AltchainNode, type Commitment } from "./node.ts";
import { signatureOf } from "./signing.ts";

export interface RecentBlock {
  readonly blockhash: string;
  /** Height of the last block in which a transaction with this hash can land. */
  readonly lastValidBlockHeight: bigint;
}

export type Outcome =
  /** Not seen: on its way, dropped, or taken back by a reorganisation. `canLand` is false when it has expired. */
  | { readonly state: "absent"; readonly canLand: boolean }
  | {
      readonly state: "landed";
      readonly slot: bigint;
      readonly commitment: Commitment;
      readonly failed: boolean;
    };

const statuses = z.object({
  value: z
    .array(
      z
        .object({
          slot: integer,
          err: z.unknown(),
          confirmationStatus: z.enum(["processed", "confirmed", "finalized"]).nullable(),
        })
        .nullable(),
    )
    .length(1),
});

export async function recentBlock(node: AltchainNode): Promise<RecentBlock> {
  const { value } = await node.getLatestBlockhash({ commitment: "confirmed" }).send();
  return value;
}

/** Sending the same bytes again is harmless: the network takes a signature once. */
export async function sendTransaction(node: AltchainNode, transaction: EncodedTransaction): Promise<string> {
  const config = { encoding: "base64", preflightCommitment: "confirmed" } as const;
  try {
    await node.sendTransaction(transaction as Base64EncodedWireTransaction, config).send();
  } catch (error) {
    if (!isThereAlready(error)) throw error;
  }
  return signatureOf(transaction);
}

function isThereAlready(error: unknown): boolean {
  return (
    isSolanaError(error, SOLANA_ERROR__JSON_RPC__SERVER_ERROR_SEND_TRANSACTION_PREFLIGHT_FAILURE) &&
    isSolanaError(error.cause, SOLANA_ERROR__TRANSACTION_ERROR__ALREADY_PROCESSED)
  );
}

export async function outcomeOf(node: AltchainNode, signature: string, blockhash: string): Promise<Outcome> {
  // Asked first: if it has expired by now and is then not there, it never will be.
  const { value: canLand } = await node
    .isBlockhashValid(blockhash as Blockhash, { commitment: "confirmed" })
    .send();
  const said = await node
    .getSignatureStatuses([signature as Signature], { searchTransactionHistory: true })
    .send();
  const [status] = readAnswer(statuses, said).value;
  if (status === null || status === undefined) return { state: "absent", canLand };
  const { slot, err, confirmationStatus } = status;
  return { state: "landed", slot, commitment: confirmationStatus ?? "processed", failed: err !== null };
}
