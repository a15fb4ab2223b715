/** How a JSON-RPC method is written: a schema for its parameters and a function of the chain. */
import { z } from "zod";
import type { Chain } from "./chain.ts";
import type { Json } from "./json.ts";
import type { Commitment, Ledger } from "./ledger.ts";
import { invalidParams, tooEarly } from "./rpc-errors.ts";

export interface Surroundings {
  readonly chain: Chain;
  readonly ledger: Ledger;
  /** Sends coins from the faucet; the transaction's signature. */
  readonly airdrop: (to: string, coins: bigint) => Promise<string>;
}

export type Method = (around: Surroundings, params: readonly unknown[]) => Json | Promise<Json>;
export type Methods = Readonly<Record<string, Method>>;

export interface Context {
  readonly commitment: Commitment;
  readonly minContextSlot?: bigint | undefined;
}

const API_VERSION = "2.3.0";

/** Parameters that are left out at the end are undefined, so a schema says by itself what is optional. */
export function method<T extends readonly unknown[]>(
  schema: z.ZodType<T>,
  answer: (around: Surroundings, params: T) => Json | Promise<Json>,
): Method {
  return (around, params) => {
    const length = schema instanceof z.ZodTuple ? schema.def.items.length : params.length;
    const filled = Array.from(
      { length: Math.max(length, params.length) },
      (_, at) => params[at] ?? undefined,
    );
    const parsed = schema.safeParse(filled);
    if (!parsed.success) throw invalidParams(parsed.error.issues[0]?.message ?? "unreadable");
    return answer(around, parsed.data);
  };
}

export function mustHaveReached(ledger: Ledger, { commitment, minContextSlot }: Context): void {
  const slot = ledger.slotAt(commitment);
  if (minContextSlot !== undefined && slot < minContextSlot) throw tooEarly(slot);
}

export function inContext(ledger: Ledger, config: Context, value: Json): Json {
  mustHaveReached(ledger, config);
  return { context: { apiVersion: API_VERSION, slot: ledger.slotAt(config.commitment) }, value };
}
