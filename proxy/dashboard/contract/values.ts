/** Small shapes that the dashboard's requests and answers share. Amounts are decimal strings in smallest units, times RFC 3339. */
import * as z from "../../../shared/api/zod.ts";
import { timestamp } from "../../../shared/api/values.ts";

/** Visible text of one line, for names that people give. */
export const givenName = z
  .string()
  .trim()
  .min(1, "give it a name")
  .max(100, "at most 100 characters")
  .regex(/^[^\p{C}\p{Zl}\p{Zp}]*$/u, "printable characters only");

/** Made by the page for one press of a button (a random UUID). A second request with it makes nothing new. */
export const clientId = z.uuid();

export const developerId = z
  .string()
  .regex(/^[a-z0-9][a-z0-9_-]{1,62}$/, "2 to 63 lower-case letters, digits, - and _");

/** A page of a list: `cursor` is `next` of the page before; without it the newest come first. */
export const pageQuery = z.strictObject({
  cursor: z.string().min(1).max(200).optional(),
  limit: z.coerce.number<string | number>().int().min(1).max(200).default(50),
});
/** Null on the last page. */
export const nextCursor = z.string().nullable();

export const maybeTime = timestamp.nullable();
/** A request that says nothing. Every POST has a JSON body, for a form of another site cannot send one. */
export const nothing = z.strictObject({});
export const done = z.object({ ok: z.literal(true) });
export type Done = z.infer<typeof done>;

export const role = z.enum(["developer", "operator"]);
export type Role = z.infer<typeof role>;

/** A call or command that its reader signs or runs elsewhere; the dashboard never does. */
export const instruction = z.object({
  title: z.string(),
  /** What happens, and what cannot be undone. */
  effect: z.string(),
  /** For a shell in the project's folder; null where there is none. */
  command: z.string().nullable(),
  /** For the owner's wallet, which signs and sends it; null where a command does it. */
  transaction: z
    .object({ to: z.string(), data: z.string(), value: z.string(), chain_id: z.int() })
    .nullable(),
});
export type Instruction = z.infer<typeof instruction>;
