/** Statements as clients send them, tickets, and attestations. */
import * as z from "./zod.ts";
import type { Kind } from "../protocol/statements.ts";
import { TICKET_ERROR_CODES, TICKET_ERROR_TEXTS } from "./errors.ts";
import { depositExt, feeOpening, proof, spendExt, swapExt } from "./statement-parts.ts";
import {
  address,
  bytes32,
  count,
  fieldElement,
  kindName,
  signal,
  ticketId,
  timestamp,
  unixSeconds,
} from "./values.ts";

/** r ‖ s ‖ v. */
const SIGNATURE = /^0x([0-9a-fA-F]{2}){65}$/;
const SIGNATURE_FORM = "0x and 65 bytes of hex";
/** A key's 65 bytes, or what a smart account takes; none that is known comes near the bound. */
const AUTHORIZATION = /^0x([0-9a-fA-F]{2}){1,4096}$/;
const signature = z
  .string()
  .regex(SIGNATURE, SIGNATURE_FORM)
  .describe("r[32] ‖ s[32] ‖ v[1] over EIP-712's Attestation (SPEC, section 8), hex");
const signer = address.describe("Whose signature it is; one of `enclaves` in GET /info");

const common = {
  proof,
  public_signals: z.array(signal).min(1).max(32).meta({
    description:
      "In snarkjs's order, which is that of the table in SPEC, section 5; how many there are follows from the kind",
  }),
  deadline: unixSeconds.meta({
    description:
      "Last second in which it may be executed: chosen by the user, bound by `context`, at most 24 h ahead",
  }),
  fees: z
    .array(feeOpening)
    .max(4)
    .describe("An opening for each fee that GET /whoami says is enforced; empty where there is none"),
};
/** Where the proxy is to send a deposit, it needs the depositor's word: only the depositor's own transaction does without. */
const authorization = z
  .string({
    error: ({ input }) =>
      input === undefined
        ? "is needed: this service is not the depositor (POST /attest/deposit-shield does without, and the depositor sends the transaction)"
        : undefined,
  })
  .regex(AUTHORIZATION, "0x and 1 to 4096 bytes of hex")
  .meta({
    description:
      "The depositor's EIP-3009 signature; its nonce is the statement hash. 65 bytes, or any other length that a smart account's own check (EIP-1271) takes",
  });

/** Of a statement that was executed on a root that is revoked: SPEC, section 8.3. */
const earlier = z
  .strictObject({
    deadline: unixSeconds.describe("Its deadline"),
    root: signal.describe("The root that it was proved on"),
  })
  .optional()
  .meta({
    id: "EarlierStatement",
    description:
      "Only where this statement was executed before, on a root that was revoked since, and so is suspended: what was different then. Nullifiers, amount, commitments and `ext` are the same. Its outputs come again, and nothing moves",
  });

const depositParts = { ...common, ext: depositExt, authorization };
const spendParts = { ...common, ext: spendExt, earlier };
const swapParts = { ...common, ext: swapExt, earlier };

export const depositBody = z
  .strictObject(depositParts)
  .meta({ id: "DepositShieldRequest", description: "Public tokens become notes" });
/** `/attest/deposit-shield` only: without an authorization the depositor approves the pool and sends the transaction itself. */
const attestDepositBody = z.strictObject({ ...depositParts, authorization: authorization.optional() }).meta({
  id: "AttestDepositShieldRequest",
  description: "A deposit that the depositor may send itself: then without an authorization",
});
export const spendBody = z.strictObject(spendParts).meta({
  id: "SpendRequest",
  description: "Notes become other notes (a transfer) or public tokens (a withdrawal)",
});
const swapBody = z
  .strictObject(swapParts)
  .meta({ id: "PrivateSwapRequest", description: "Notes of one token become a note of another" });
export type DepositBody = z.infer<typeof depositBody>;
export type AttestDepositBody = z.infer<typeof attestDepositBody>;
export type SpendBody = z.infer<typeof spendBody>;
export type SwapBody = z.infer<typeof swapBody>;

/** What `/sequence/<kind>` takes. */
export const SEQUENCE_BODIES = {
  "deposit-shield": depositBody,
  spend: spendBody,
  spend9: spendBody,
  "private-swap": swapBody,
} as const satisfies Readonly<Record<Kind, z.ZodType>>;

/** What `/attest/<kind>` takes. */
export const ATTEST_BODIES = {
  ...SEQUENCE_BODIES,
  "deposit-shield": attestDepositBody,
} as const satisfies Readonly<Record<Kind, z.ZodType>>;

const attestations = z
  .array(z.strictObject({ signer, signature }))
  .min(1)
  .max(16)
  .describe("As /attest gave them: at least `threshold` of GET /info, by distinct signers");
const kindOf = { "deposit-shield": "A deposit", "private-swap": "A private swap" } as const;
const kindIs = <K extends keyof typeof kindOf>(kind: K) =>
  z
    .literal(kind)
    .meta({ description: "Kind of the statement", "x-enumDescriptions": { [kind]: kindOf[kind] } });

/** `/relay`: the same as `/sequence/<kind>`, with its kind and attestations. */
export const relayBody = z
  .discriminatedUnion("kind", [
    z.strictObject({ kind: kindIs("deposit-shield"), ...depositParts, attestations }),
    z.strictObject({
      kind: z.enum(["spend", "spend9"]).meta({
        description: "Kind of the statement",
        "x-enumDescriptions": { spend: "Of up to two notes", spend9: "Of up to nine notes" },
      }),
      ...spendParts,
      attestations,
    }),
    z.strictObject({ kind: kindIs("private-swap"), ...swapParts, attestations }),
  ])
  .meta({ id: "RelayRequest", description: "The body of /sequence/{kind}, with its kind and attestations" });
export type RelayBody = z.infer<typeof relayBody>;

export const ticketState = z
  .enum(["queued", "submitted", "confirmed", "finalized", "failed", "expired"])
  .meta({
    description: "Where the payment is. See Life of a ticket",
    "x-enumDescriptions": {
      queued: "Verified, attested and durable; waits for its turn. Next: submitted, failed or expired",
      submitted:
        "In a transaction that was sent. Next: confirmed; queued, when it was dropped; failed, when it can never be executed",
      confirmed: "Executed in a block; may still be reorganised out. Next: finalized, or submitted again",
      finalized: "Executed, with `confirmations` of GET /info. The end",
      failed: "Can never be executed; its notes are free again. The end",
      expired: "Its deadline passed before it was ever sent; its notes are free again. The end",
    },
  });
export type TicketState = z.infer<typeof ticketState>;

export const ticket = z
  .object({
    ticket_id: ticketId,
    kind: kindName,
    state: ticketState,
    statement: bytes32.meta({
      description: "Statement hash: the EIP-3009 nonce of a deposit, and what success events carry",
    }),
    position: count.optional().meta({ description: "While queued: how many tickets are before it" }),
    created_at: timestamp.describe("When it was accepted"),
    updated_at: timestamp.describe("When it last changed"),
    tx_hash: bytes32
      .nullable()
      .describe("Transaction that executed it, whoever sent that; while submitted the one that was sent"),
    block_number: count.nullable().describe("Block that executed it; null until then"),
    confirmations: count.describe("Blocks since, that one counted; 0 until then"),
    leaf_index: z.array(count).describe("Leaves of its outputs, in their order; empty until it is executed"),
    nullifiers: z.array(fieldElement).describe("Of the notes it spends; dummies included; none of a deposit"),
    blocked_by: z.string().optional().meta({
      description:
        "What holds it and the operator can fix: `chain`, `enclave`, `gas`, `pause`, or of swaps `executor`; new ones may come. See What holds a ticket",
    }),
    error: z
      .object({
        code: z
          .enum(TICKET_ERROR_CODES)
          .meta({ description: "Why", "x-enumDescriptions": TICKET_ERROR_TEXTS }),
        detail: z.string().describe("The same in words, for people"),
        retryable: z.boolean().describe("Whether a statement made anew may succeed"),
      })
      .nullable()
      .describe(
        "While queued or submitted: why the last try failed, provisional, it is tried again. After failed or expired: why it ended. Else null",
      ),
  })
  .meta({ id: "Ticket", description: "A payment that the service has accepted, from then to its end" });
export type Ticket = z.infer<typeof ticket>;

export const attestResponse = z
  .object({
    kind: kindName,
    statement: bytes32.describe("Statement hash (SPEC, section 5)"),
    deadline: unixSeconds.describe("As sent"),
    attestations: z
      .array(
        z.object({ signer, signature: z.string().describe("r ‖ s ‖ v, 65 bytes of hex (SPEC, section 8)") }),
      )
      .describe("As many as the pool asks for, by distinct signers"),
    transaction: z
      .object({
        to: address.describe("The pool"),
        data: z.string().describe("Calldata of `execute`, hex"),
        chain_id: count.describe("The pool's chain"),
      })
      .meta({ description: "Anyone may send this; nothing is reserved" }),
  })
  .meta({
    id: "AttestResponse",
    description: "What the pool needs to execute the statement, whoever sends it",
  });
export type AttestResponse = z.infer<typeof attestResponse>;

export const ticketPath = z.strictObject({
  ticket_id: z
    .union([ticketId, bytes32], { error: "is no ticket's id, and no statement hash" })
    .meta({ description: "The ticket's id, or the hash of its statement, for who has lost the answer" }),
});
