/** Readers for the parameters of the JSON-RPC methods: what comes in is `unknown` until it has passed one of these. */
import { isAddress, isBlockhash, isSignature } from "@solana/kit";
import { z } from "zod";

export const address = z.string().refine(isAddress, "not an address");
export const signature = z.string().refine(isSignature, "not a signature");
export const blockhash = z.string().refine(isBlockhash, "not a block hash");
export const slotNumber = z
  .number()
  .int()
  .nonnegative()
  .transform((value) => BigInt(value));

const commitmentLevel = z.enum(["processed", "confirmed", "finalized"]).default("finalized");
/** Fields that are not ours are let through: a client may know more of them than this chain does. */
export const context = z
  .looseObject({ commitment: commitmentLevel, minContextSlot: slotNumber.optional() })
  .prefault({});
export const historyContext = z
  .looseObject({
    commitment: commitmentLevel.refine((level) => level !== "processed", {
      message: "Method does not support commitment below `confirmed`",
    }),
    minContextSlot: slotNumber.optional(),
  })
  .prefault({});

const slice = z.object({ offset: z.number().int().nonnegative(), length: z.number().int().nonnegative() });
export const accountContext = z
  .looseObject({
    commitment: commitmentLevel,
    minContextSlot: slotNumber.optional(),
    encoding: z.enum(["base58", "base64", "jsonParsed"]).optional(),
    dataSlice: slice.optional(),
  })
  .prefault({});

export const transactionEncoding = z.enum(["json", "jsonParsed", "base58", "base64"]).default("json");
export const wireEncoding = z.enum(["base58", "base64"]).default("base58");
/** Undefined: only transactions without a version can be shown. */
export const newestVersion = z.number().int().optional();
export { commitmentLevel };
