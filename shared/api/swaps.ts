/** Quotes of private swaps. */
import * as z from "zod";
import { address, amount, count, timestamp } from "./values.ts";

/** Half of what is quoted: beyond that a floor protects nobody. */
export const MAX_TOLERANCE_BPS = 5_000;

const bps = z.int().min(0).max(10_000);

export const swapQuoteRequest = z
  .strictObject({
    token_in: address,
    token_out: address,
    shares_in: amount.meta({
      description: "Gross amount of token_in, not zero: fees come out of it, the rest goes to the venue",
    }),
    tolerance_bps: z
      .int()
      .min(0)
      .max(MAX_TOLERANCE_BPS)
      .meta({ description: "How far below the quoted output the floor lies, in basis points" }),
  })
  .meta({
    id: "SwapQuoteRequest",
    examples: [
      {
        token_in: "0xe7f1725E7734CE288F8367e1Bb143E90bb3F0512",
        token_out: "0x5FbDB2315678afecb367f032d93F642f64180aa3",
        shares_in: "50000000",
        tolerance_bps: 100,
      },
    ],
  });
export type SwapQuoteRequest = z.infer<typeof swapQuoteRequest>;

/** Nothing is reserved or kept: a quote says what the venue would have given at one block. */
export const swapQuote = z
  .object({
    quote_id: z.uuid().meta({ description: "UUID version 7; names this answer in logs and questions" }),
    token_in: address,
    token_out: address,
    shares_in: amount,
    amount_out: amount.meta({
      description: "What shares_in less its fees would have brought at block_number, in units of token_out",
    }),
    floor: amount.meta({
      description: "amount_out × (10000 − tolerance_bps) / 10000, rounded down; for ext.min_amount_out",
    }),
    price_impact_bps: bps.meta({
      description:
        "How far amount_out is below the mid prices of the route's pools, the pools' own fees not counted; rounded up",
    }),
    route: z
      .array(
        z.object({
          pool: address,
          fee_bps: bps.meta({ description: "The pool's own fee: 1, 5, 30 or 100" }),
          token_in: address,
          token_out: address,
        }),
      )
      .min(1)
      .max(2),
    path: z.string().meta({ description: "The route as ext.path takes it: Uniswap v3's packed path, hex" }),
    fees: z.object({
      service: z.object({ bps, amount }),
      developer: z.object({ flat: amount, bps, amount }),
      asset: address.meta({ description: "Always token_in" }),
    }),
    block_number: count,
    expires_at: timestamp.meta({ description: "When to ask again; what protects the caller is the floor" }),
  })
  .meta({ id: "SwapQuote" });
export type SwapQuote = z.infer<typeof swapQuote>;
