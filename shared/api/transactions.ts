/** Statements as clients send them, tickets, and attestations. */
import * as z from "zod";
import type { Kind } from "../protocol/statements.ts";
import { TICKET_ERROR_CODES } from "./errors.ts";
import {
  address,
  amount,
  bytes32,
  count,
  fieldElement,
  signal,
  ticketId,
  timestamp,
  unixSeconds,
} from "./values.ts";

/** snarkjs's own Groth16 proof object; coordinates are decimal strings. */
const coordinate = z
  .string()
  .max(77)
  .regex(/^(0|[1-9][0-9]*)$/, "a decimal integer without sign or leading zero");
const fp2 = z.tuple([coordinate, coordinate]);
export const proof = z
  .strictObject({
    pi_a: z.tuple([coordinate, coordinate, coordinate]),
    pi_b: z.tuple([fp2, fp2, fp2]),
    pi_c: z.tuple([coordinate, coordinate, coordinate]),
    protocol: z.literal("groth16"),
    curve: z.literal("bn128").optional(),
  })
  .meta({ id: "Groth16Proof" });

/** 53 bytes: view tag 1, sealed note 36, authentication tag 16. */
export const ciphertext = z.string().regex(/^0x([0-9a-fA-F]{2}){53}$/, "0x and 53 bytes of hex");
export const ephemeralKey = z
  .string()
  .regex(/^0x([0-9a-fA-F]{2}){32}$/, "0x and 32 bytes of hex")
  .meta({ description: "X25519 public key of the sender, under which all ciphertexts stand" });

export const depositExt = z
  .strictObject({
    depositor: address,
    valid_after: unixSeconds,
    valid_before: unixSeconds,
    ephemeral_key: ephemeralKey,
    ciphertexts: z.array(ciphertext).length(3),
  })
  .meta({ id: "DepositExt" });

export const spendExt = z
  .strictObject({
    recipient: address.meta({ description: "The zero address for a transfer" }),
    ephemeral_key: ephemeralKey,
    ciphertexts: z.array(ciphertext).length(4),
  })
  .meta({ id: "SpendExt" });

const swapExt = z
  .strictObject({
    token_out: address,
    min_amount_out: amount.meta({
      description: "The floor, not zero: with less than this the swap fails and the notes stay unspent",
    }),
    path: z
      .string()
      .regex(
        /^0x([0-9a-fA-F]{86}|[0-9a-fA-F]{132})$/,
        "0x and the 43 or 66 bytes of a path of one or two pools",
      )
      .meta({
        description:
          "Uniswap v3's packed path (token 20 bytes, fee 3, token 20 …): begins with the statement's asset, ends with token_out",
      }),
    npk_out: fieldElement.meta({ description: "Whose note the bought tokens become: H(owner, blinding)" }),
    ephemeral_key: ephemeralKey,
    ciphertexts: z.array(ciphertext).length(4).meta({
      description:
        "Of change, service fee, developer fee, and of the note that the pool makes of what it received",
    }),
  })
  .meta({ id: "SwapExt" });

/** Opens a fee note: commitments[output] must be H(H(owner of the sink, blinding), asset, value). */
export const feeOpening = z
  .strictObject({
    output: z.int().min(0).max(15),
    asset: address,
    blinding: fieldElement,
    value: amount,
  })
  .meta({ id: "FeeOpening" });

/** r ‖ s ‖ v. */
const SIGNATURE = /^0x([0-9a-fA-F]{2}){65}$/;
const SIGNATURE_FORM = "0x and 65 bytes of hex";
/** A key's 65 bytes, or what a smart account takes; none that is known comes near the bound. */
const AUTHORIZATION = /^0x([0-9a-fA-F]{2}){1,4096}$/;
const signature = z.string().regex(SIGNATURE, SIGNATURE_FORM);

const common = {
  proof,
  public_signals: z.array(signal).min(1).max(32).meta({ description: "In snarkjs's order" }),
  deadline: unixSeconds.meta({ description: "Chosen and bound by the user; at most 24 h ahead" }),
  fees: z.array(feeOpening).max(4),
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

const depositParts = { ...common, ext: depositExt, authorization };
const spendParts = { ...common, ext: spendExt };
const swapParts = { ...common, ext: swapExt };

export const depositBody = z.strictObject(depositParts).meta({ id: "DepositShieldRequest" });
/** `/attest/deposit-shield` only: without an authorization the depositor approves the pool and sends the transaction itself. */
const attestDepositBody = z
  .strictObject({ ...depositParts, authorization: authorization.optional() })
  .meta({ id: "AttestDepositShieldRequest" });
export const spendBody = z.strictObject(spendParts).meta({ id: "SpendRequest" });
const swapBody = z.strictObject(swapParts).meta({ id: "PrivateSwapRequest" });
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
  .array(z.strictObject({ signer: address, signature }))
  .min(1)
  .max(16);

/** `/relay`: the same as `/sequence/<kind>`, with its kind and attestations. */
export const relayBody = z
  .discriminatedUnion("kind", [
    z.strictObject({ kind: z.literal("deposit-shield"), ...depositParts, attestations }),
    z.strictObject({ kind: z.enum(["spend", "spend9"]), ...spendParts, attestations }),
    z.strictObject({ kind: z.literal("private-swap"), ...swapParts, attestations }),
  ])
  .meta({ id: "RelayRequest" });
export type RelayBody = z.infer<typeof relayBody>;

export const ticketState = z.enum(["queued", "submitted", "confirmed", "finalized", "failed", "expired"]);
export type TicketState = z.infer<typeof ticketState>;

export const ticket = z
  .object({
    ticket_id: ticketId,
    kind: z.string(),
    state: ticketState,
    statement: bytes32.meta({
      description: "Statement hash: the EIP-3009 nonce of a deposit, and what success events carry",
    }),
    position: count.optional().meta({ description: "While queued: how many tickets are before it" }),
    created_at: timestamp,
    updated_at: timestamp,
    tx_hash: bytes32.nullable(),
    block_number: count.nullable(),
    confirmations: count,
    leaf_index: z.array(count),
    nullifiers: z.array(fieldElement),
    blocked_by: z.string().optional().meta({ description: "What holds it and the operator can fix" }),
    error: z
      .object({ code: z.enum(TICKET_ERROR_CODES), detail: z.string(), retryable: z.boolean() })
      .nullable(),
  })
  .meta({ id: "Ticket" });
export type Ticket = z.infer<typeof ticket>;

export const attestResponse = z
  .object({
    kind: z.string(),
    statement: bytes32,
    deadline: unixSeconds,
    attestations: z.array(z.object({ signer: address, signature: z.string() })),
    transaction: z
      .object({ to: address, data: z.string(), chain_id: count })
      .meta({ description: "Anyone may send this; nothing is reserved" }),
  })
  .meta({ id: "AttestResponse" });
export type AttestResponse = z.infer<typeof attestResponse>;

export const ticketPath = z.strictObject({
  ticket_id: z
    .union([ticketId, bytes32], { error: "is no ticket's id, and no statement hash" })
    .meta({ description: "The ticket's id, or the hash of its statement, for who has lost the answer" }),
});
