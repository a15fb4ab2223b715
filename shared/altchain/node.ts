/**
 * A node of the other blockchain, by its public JSON-RPC. Its answers are read like anybody's: what does not have the
 * documented form is refused, and what it says is only as true as the node.
 */
import { createSolanaRpc, type Rpc, type SolanaRpcApi } from "@solana/kit";
import { z } from "zod";
import { AltchainRefusal } from "./refusals.ts";

export type AltchainNode = Rpc<SolanaRpcApi>;
/** What of the chain is looked at: `finalized` cannot be taken back, `confirmed` hardly, `processed` easily. */
export type Commitment = "processed" | "confirmed" | "finalized";
/** Without `processed`: history is not kept of it. */
export type HistoryCommitment = Exclude<Commitment, "processed">;

export function altchainNode(url: string): AltchainNode {
  return createSolanaRpc(url);
}

export function readAnswer<T>(schema: z.ZodType<T>, untrusted: unknown): T {
  const parsed = schema.safeParse(untrusted);
  if (!parsed.success) throw new AltchainRefusal("ANSWER_UNREADABLE", { cause: parsed.error });
  return parsed.data;
}

/** The client library makes some integers `bigint` and leaves others. */
export const integer = z
  .union([z.bigint(), z.number().int().nonnegative()])
  .transform((value) => BigInt(value));
export const index = integer.transform(Number);
/** Decimal, as token amounts are written. */
export const decimal = z
  .string()
  .regex(/^(0|[1-9][0-9]{0,19})$/)
  .transform((text) => BigInt(text));
