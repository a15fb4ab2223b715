/** The primitive shapes of the HTTP interface. Each parser is the one place where its text becomes a value. */
import * as z from "zod";
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
    description: "Decimal integer string in the token's smallest units, below 2^128",
    examples: ["30000000"],
  });

/** 0x and 40 hex digits. Output is EIP-55 checksummed; a wrong mixed-case checksum is refused. */
export const address = z
  .string()
  .regex(/^0x[0-9a-fA-F]{40}$/, "0x and 40 hex digits")
  .refine(hasGoodChecksum, "wrong EIP-55 checksum")
  .meta({ id: "Address", description: "0x and 40 hex digits, EIP-55 checksummed in answers" });

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
  .meta({ id: "FieldElement", description: "Canonical BN254 scalar as 0x and 64 lower-case hex digits" });

/** A public signal as snarkjs prints it. Range is checked by the statement rules, so that it has its own code. */
export const signal = z
  .string()
  .max(77)
  .regex(/^(0|[1-9][0-9]*)$/, "a decimal integer without sign or leading zero")
  .meta({ id: "Signal", description: "Public signal, decimal, as snarkjs prints it; below the group order" });

/** Integer Unix seconds. */
export const unixSeconds = z
  .int()
  .min(0)
  .max(MAX_INT64)
  .meta({ id: "UnixSeconds", description: "Integer Unix seconds" });

/** RFC 3339, UTC. */
export const timestamp = z.iso.datetime().meta({ id: "Timestamp", description: "RFC 3339, UTC" });

/** UUID version 7. */
export const ticketId = z.uuid().meta({ id: "TicketId", description: "UUID version 7" });

/** UUID version 7, of a bridge request. */
export const bridgeId = z.uuid().meta({ id: "BridgeId", description: "UUID version 7" });

/** Block numbers, leaf indexes and counts. */
export const count = z.int().min(0).max(MAX_INT64);
