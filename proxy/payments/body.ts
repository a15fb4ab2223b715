/** A statement as a caller posts it, with its kind: what `/sequence/<kind>`, `/attest/<kind>` and `/relay` have in common. */
import type { z } from "zod";
import {
  ATTEST_BODIES,
  SEQUENCE_BODIES,
  type AttestDepositBody,
  type SpendBody,
  type SwapBody,
} from "../../shared/api/transactions.ts";
import type { Kind } from "../../shared/protocol/statements.ts";
import { parse } from "../http/parse.ts";

/** After its schema, which looked at forms only. */
export type Submission =
  | (AttestDepositBody & { readonly kind: "deposit-shield" })
  | (SpendBody & { readonly kind: "spend" | "spend9" })
  | (SwapBody & { readonly kind: "private-swap" });

type Bodies = typeof SEQUENCE_BODIES | typeof ATTEST_BODIES;

/** For a statement that we are to send. Throws INVALID_REQUEST. */
export function toSequence(kind: Kind, json: unknown): Submission {
  return read(SEQUENCE_BODIES, kind, json);
}

/** For one that somebody else may send: a deposit may come without an authorization. Throws INVALID_REQUEST. */
export function toAttest(kind: Kind, json: unknown): Submission {
  return read(ATTEST_BODIES, kind, json);
}

function read(bodies: Bodies, kind: Kind, json: unknown): Submission {
  switch (kind) {
    case "deposit-shield":
      return { kind, ...parse<z.ZodType<AttestDepositBody>>(bodies[kind], json, "body") };
    case "spend":
    case "spend9":
      return { kind, ...parse(bodies[kind], json, "body") };
    case "private-swap":
      return { kind, ...parse(bodies[kind], json, "body") };
  }
}
