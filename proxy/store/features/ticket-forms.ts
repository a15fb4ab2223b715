/** Tickets and outgoing transactions as JSON, read strictly. */
import { z } from "zod";
import { TICKET_ERROR_CODES } from "../../../shared/api/errors.ts";
import { KIND_NAMES } from "../../../shared/protocol/statements.ts";
import type { Outgoing, TicketRecord } from "../tickets.ts";
import { jsonForm } from "./records.ts";
import {
  storedAddress,
  storedBigint,
  storedBytes,
  storedBytes32,
  storedField,
  toStoredBytes,
} from "./values.ts";

const error = z.strictObject({
  code: z.enum(TICKET_ERROR_CODES),
  detail: z.string(),
  retryable: z.boolean(),
});
const outcome = z.strictObject({
  txHash: storedBytes32,
  block: z.int(),
  leafIndexes: z.array(z.int()),
});
const status = z.discriminatedUnion("state", [
  z.strictObject({ state: z.literal("queued"), error: error.exactOptional() }),
  z.strictObject({
    state: z.literal("submitted"),
    carrier: z.int().exactOptional(),
    txHash: storedBytes32,
    error: error.exactOptional(),
  }),
  z.strictObject({ state: z.literal("confirmed"), outcome }),
  z.strictObject({ state: z.literal("finalized"), outcome }),
  z.strictObject({ state: z.literal("failed"), error }),
  z.strictObject({ state: z.literal("expired"), error }),
]);
const ticket = z.strictObject({
  id: z.string(),
  owner: z
    .strictObject({ developerId: z.string(), sub: z.string().exactOptional() })
    .transform(({ developerId, sub }) => ({ developerId, sub })),
  requestId: z.string().exactOptional(),
  statement: storedBytes32,
  nullifiers: z.array(storedField),
  transaction: z.strictObject({
    kind: z.enum(KIND_NAMES),
    deadline: storedBigint,
    signals: z.array(storedField),
    ext: storedBytes,
    proof: storedBytes,
    authorization: storedBytes,
    attestations: z.array(z.strictObject({ signer: storedAddress, signature: storedBytes })),
  }),
  status,
  createdAt: z.int(),
  updatedAt: z.int(),
});

/** A ticket without its place in the order, which its first step gives. */
export const draftForm = jsonForm<Omit<TicketRecord, "sequence">>(
  ticket,
  ({ id, owner, requestId, statement, nullifiers, transaction, status, createdAt, updatedAt }) => ({
    id,
    owner,
    requestId,
    statement,
    nullifiers: nullifiers.map(String),
    transaction: {
      kind: transaction.kind,
      deadline: String(transaction.deadline),
      signals: transaction.signals.map(String),
      ext: toStoredBytes(transaction.ext),
      proof: toStoredBytes(transaction.proof),
      authorization: toStoredBytes(transaction.authorization),
      attestations: transaction.attestations.map(({ signer, signature }) => ({
        signer,
        signature: toStoredBytes(signature),
      })),
    },
    status,
    createdAt,
    updatedAt,
  }),
);

const attempt = z.strictObject({
  hash: storedBytes32,
  raw: z.string(),
  maxFeePerGas: storedBigint,
  maxPriorityFeePerGas: storedBigint,
  signedAt: z.int(),
});
const outgoing = z.strictObject({
  sender: storedAddress,
  nonce: z.int(),
  ticketIds: z.array(z.string()),
  gasLimit: storedBigint,
  data: z.string(),
  attempts: z.array(attempt).min(1),
  minedIn: z.int().exactOptional(),
});

export const outgoingForm = jsonForm<Outgoing>(outgoing, (entry) => ({
  ...entry,
  gasLimit: String(entry.gasLimit),
  attempts: entry.attempts.map((one) => ({
    ...one,
    maxFeePerGas: String(one.maxFeePerGas),
    maxPriorityFeePerGas: String(one.maxPriorityFeePerGas),
  })),
}));
