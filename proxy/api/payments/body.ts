/** What a caller posts to `/sequence/<kind>`, `/attest/<kind>` and `/relay`. */
import type { z } from "zod";
import {
  ATTEST_BODIES,
  relayBody,
  SEQUENCE_BODIES,
  type AttestDepositBody,
  type RelayBody,
  type SpendBody,
  type SwapBody,
} from "../../../shared/api/transactions.ts";
import type { Kind } from "../../../shared/protocol/statements.ts";
import { parse } from "../../base/http/parse.ts";

/** After its schema, which looked at forms only. */
export type Body =
  | (AttestDepositBody & { readonly kind: "deposit-shield" })
  | (SpendBody & { readonly kind: "spend" | "spend9" })
  | (SwapBody & { readonly kind: "private-swap" });

/** For a transaction that we are to send. Throws INVALID_REQUEST, as do the others. */
export function readSequenceBody(kind: Kind, json: unknown): Body {
  return read(SEQUENCE_BODIES, kind, json);
}

/** For one that somebody else may send: a deposit may come without an authorization. */
export function readAttestBody(kind: Kind, json: unknown): Body {
  return read(ATTEST_BODIES, kind, json);
}

/** For one that comes with its attestations. */
export function readRelayBody(json: unknown): RelayBody {
  return parse(relayBody, json, "body");
}

function read(bodies: typeof SEQUENCE_BODIES | typeof ATTEST_BODIES, kind: Kind, json: unknown): Body {
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
