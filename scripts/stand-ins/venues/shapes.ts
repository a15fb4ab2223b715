// What several venues read from outside, each shape written once. Every one of them parses what it does not trust.
import { z } from "zod";
import { asAddress, asBytes32, fromHex } from "../../../shared/protocol/host/text.ts";

const notNull = <T>(value: T | undefined, context: z.RefinementCtx, what: string): T => {
  if (value !== undefined) return value;
  context.addIssue({ code: "custom", message: `not ${what}` });
  return z.NEVER;
};

/** In any case of letters; lower case from here on. */
export const addressShape = z
  .string()
  .transform((text, context) => notNull(asAddress(text), context, "an address"));
export const bytes32Shape = z
  .string()
  .transform((text, context) => notNull(asBytes32(text.toLowerCase()), context, "32 bytes"));
export const bytesShape = z
  .string()
  .transform((text, context) => notNull(fromHex(text), context, "bytes in hex"));
export const portShape = z
  .string()
  .regex(/^[0-9]{1,5}$/)
  .transform(Number)
  .pipe(z.int().max(65_535));
export const httpShape = z.url({ protocol: /^https?$/ });
