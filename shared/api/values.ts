/** The primitive shapes of the HTTP interface. Each parser is the one place where its text becomes a value. */
import * as z from "./zod.ts";
import { FIELD_ORDER, VALUE_LIMIT } from "../protocol/brands.ts";
import { hasGoodChecksum } from "./checksum.ts";

const FIELD = /^0x[0-9a-f]{64}$/;
const FIELD_ORDER_TEXT = `0x${FIELD_ORDER.toString(16)}`;
const MAX_INT64 = 9_007_199_254_740_991;

/** Decimal integer in the token's smallest units, 0 ≤ v < 2^128: no sign, leading zero or exponent. */
export const amount = z
  .string()
  .max(39)
  .regex(/^(0|[1-9][0-9]*)$/, "a decimal integer without sign, leading zero or exponent")
  .refine((text) => !/^[0-9]+$/.test(text) || BigInt(text) < VALUE_LIMIT, "must be below 2^128")
  .meta({
    id: "Amount",
    description:
      "Decimal integer string in the token's smallest units (of a token with 6 decimals, 30000000 is 30), 0 ≤ v < 2^128; no sign, leading zero or exponent",
    examples: ["30000000"],
  });

/** 0x and 40 hex digits. Output is EIP-55 checksummed; a wrong mixed-case checksum is refused. */
export const address = z
  .string()
  .regex(/^0x[0-9a-fA-F]{40}$/, "0x and 40 hex digits")
  .refine(hasGoodChecksum, "wrong EIP-55 checksum")
  .meta({
    id: "Address",
    description:
      "0x and 40 hex digits. EIP-55 checksummed in answers; in requests one case is taken as it is, and a mixed case must be the checksum",
    examples: ["0xe7f1725E7734CE288F8367e1Bb143E90bb3F0512"],
  });

/** 0x and 64 lower-case hex digits. */
export const bytes32 = z
  .string()
  .regex(FIELD, "0x and 64 lower-case hex digits")
  .meta({ id: "Bytes32", description: "0x and 64 lower-case hex digits" });

/** A field element below BN254's group order, as 0x and 64 lower-case hex digits. */
export const fieldElement = z
  .string()
  .regex(FIELD, "0x and 64 lower-case hex digits")
  // Equal length and one case: the order of the texts is the order of the numbers.
  .refine((text) => text < FIELD_ORDER_TEXT, "must be below the group order")
  .meta({
    id: "FieldElement",
    description:
      "Integer below r, the order of BN254's scalar field (SPEC, section 1), as 0x and 64 lower-case hex digits, big-endian; a value at or above r is refused",
  });

/** A public signal as snarkjs prints it. Range is checked by the statement rules, so that it has its own code. */
export const signal = z
  .string()
  .max(77)
  .regex(/^(0|[1-9][0-9]*)$/, "a decimal integer without sign or leading zero")
  .meta({
    id: "Signal",
    description:
      "Public signal as snarkjs prints it: decimal integer without sign or leading zero, below r (SPEC, section 1)",
  });

/** Integer Unix seconds. */
export const unixSeconds = z
  .int()
  .min(0)
  .max(MAX_INT64)
  .meta({ id: "UnixSeconds", description: "Integer seconds since 1970-01-01T00:00:00Z" });

/** RFC 3339, UTC. */
export const timestamp = z.iso
  .datetime()
  .meta({ id: "Timestamp", description: "Date and time by RFC 3339, in UTC, ending in Z" });

/** UUID version 7. */
export const ticketId = z
  .uuid()
  .toLowerCase()
  .meta({ id: "TicketId", description: "Id of a ticket: UUID version 7" });

/** UUID version 7, of a bridge request. */
export const bridgeId = z
  .uuid()
  .toLowerCase()
  .meta({ id: "BridgeId", description: "Id of a bridge request: UUID version 7" });

/** Block numbers, leaf indexes and counts. */
export const count = z.int().min(0).max(MAX_INT64);

/** Shares of an amount: 1 basis point is 1/10,000. */
export const bps = z.int().min(0).max(10_000);

/** What a token's whole unit is: 10^decimals of its smallest. */
export const decimals = z.int().min(0).max(255);

/** The word of a statement's kind in an answer. */
export const kindName = z.string().meta({
  description:
    "Kind of the statement: `deposit-shield`, `spend`, `spend9` or `private-swap`; new ones may come",
});
