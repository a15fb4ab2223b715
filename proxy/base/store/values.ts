/** How the values of our records stand in JSON. Read strictly: what a store holds may have been touched by other hands. */
import { hash } from "node:crypto";
import { z } from "zod";
import { asAddress, asBytes32, parseField } from "../../../shared/protocol/host/text.ts";

function branded<T>(read: (text: string) => T | undefined) {
  return z.string().transform((text, context) => {
    const value = read(text);
    if (value !== undefined) return value;
    context.addIssue({ code: "custom", message: "not canonical" });
    return z.NEVER;
  });
}

export const storedAddress = branded(asAddress);
export const storedBytes32 = branded(asBytes32);
export const storedField = branded(parseField);
/** As decimal text: JSON's numbers end at 2^53. */
export const storedBigint = z
  .string()
  .regex(/^(0|-?[1-9]\d{0,99})$/)
  .transform(BigInt);
export const storedBytes = z
  .string()
  .regex(/^([0-9a-f]{2})*$/)
  .transform((hex): Uint8Array => new Uint8Array(Buffer.from(hex, "hex")));
export const storedOperation = z.enum(["transfer", "swap", "deposit", "withdraw"]);

/** As a part of a key: of fixed length whatever a caller sent, and no user's name. */
export const hashed = (text: string): string => hash("sha256", text, "base64url");

export const toStoredBytes = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");
