/** Quotes of private swaps. */
import * as z from "./zod.ts";
import { address, amount, bps, count, timestamp } from "./values.ts";

/** Half of what is quoted: beyond that a floor protects nobody. */
export const MAX_TOLERANCE_BPS = 5_000;

export const swapQuoteRequest = z
  .strictObject({
    token_in: address.describe("Token that is given up; one of `assets` in GET /info"),
    token_out: address.describe("Token that is bought; another of them"),
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
    description: "What would a swap bring?",
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
    token_in: address.describe("As asked"),
    token_out: address.describe("As asked"),
    shares_in: amount.describe("As asked: gross, in the smallest units of token_in"),
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
          pool: address.describe("The venue's pool"),
          fee_bps: bps.meta({ description: "The pool's own fee: 1, 5, 30 or 100" }),
          token_in: address.describe("What goes into this pool"),
          token_out: address.describe("What comes out of it"),
        }),
      )
      .min(1)
      .max(2)
      .describe("The one or two pools that the tokens go through, in order"),
    path: z.string().meta({ description: "The route as ext.path takes it: Uniswap v3's packed path, hex" }),
    fees: z
      .object({
        service: z
          .object({
            bps: bps.describe("Basis points of shares_in"),
            amount: amount.describe("What it comes to, flat part included"),
          })
          .describe("The service's fee"),
        developer: z
          .object({
            flat: amount.describe("Flat part"),
            bps: bps.describe("Basis points of shares_in"),
            amount: amount.describe("What both come to"),
          })
          .describe("The developer's fee"),
        asset: address.meta({ description: "Always token_in" }),
      })
      .describe("Notes among the outputs of the swap, taken out of shares_in"),
    block_number: count.describe("Block at whose prices this was reckoned"),
    expires_at: timestamp.meta({ description: "When to ask again; what protects the caller is the floor" }),
  })
  .meta({
    id: "SwapQuote",
    description: "What the venue would have given at one block; nothing is reserved",
  });
export type SwapQuote = z.infer<typeof swapQuote>;
