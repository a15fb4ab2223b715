/**
 * Accepted transactions and what was sent for them, as records: JSON, read strictly. What is written is all that is
 * needed to have a transaction attested again and sent, so a restart asks the client for nothing.
 */
import { z } from "zod";
import { TICKET_ERROR_CODES } from "../../../shared/api/errors.ts";
import { KIND_NAMES } from "../../../shared/protocol/statements.ts";
import { jsonForm, type RecordOf } from "./records.ts";
import {
  storedAddress,
  storedBigint,
  storedBytes,
  storedBytes32,
  storedField,
  toStoredBytes,
} from "./values.ts";

/** Why a ticket is not executed (yet). `retryable`: a new statement over the same notes may succeed. */
const error = z.strictObject({
  code: z.enum(TICKET_ERROR_CODES),
  detail: z.string(),
  retryable: z.boolean(),
});
export type TicketError = RecordOf<typeof error>;

/** Where and how a statement was executed, whoever carried it. */
const outcome = z.strictObject({
  txHash: storedBytes32,
  block: z.int(),
  leafIndexes: z.array(z.int()),
});
export type Outcome = RecordOf<typeof outcome>;

/**
 * `error` on a waiting ticket is provisional. `carrier` is the nonce of the transaction of ours that carries
 * it now; a submitted ticket without one waits to be sent again.
 */
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
export type TicketStatus = RecordOf<typeof status>;

const owner = z
  .strictObject({
    developerId: z.string(),
    /** Undefined: accepted with an API key. */
    sub: z.string().exactOptional(),
  })
  .transform(({ developerId, sub }) => ({ developerId, sub }));
export type TicketOwner = RecordOf<typeof owner>;

const transaction = z.strictObject({
  kind: z.enum(KIND_NAMES),
  /** Unix seconds. */
  deadline: storedBigint,
  signals: z.array(storedField),
  ext: storedBytes,
  /** 256 bytes uncompressed, as the enclave takes it. */
  proof: storedBytes,
  authorization: storedBytes,
  attestations: z.array(z.strictObject({ signer: storedAddress, signature: storedBytes })),
});
export type TicketTransaction = RecordOf<typeof transaction>;

/** Without its place in the order, which its first step gives. */
const unplaced = z.strictObject({
  id: z.string(),
  owner,
  /** Of the request that made it, for the log. Absent in records of before it was kept. */
  requestId: z.string().exactOptional(),
  statement: storedBytes32,
  nullifiers: z.array(storedField),
  /** The suspended statement that it is, proved again. */
  confirms: storedBytes32.exactOptional(),
  transaction,
  status,
  /** Milliseconds since 1970. */
  createdAt: z.int(),
  updatedAt: z.int(),
});
export type UnplacedTicket = RecordOf<typeof unplaced>;

export interface TicketRecord extends UnplacedTicket {
  /** Place in the pool's order of acceptance; strictly increasing. */
  readonly sequence: number;
}

export type TicketDraft = Omit<UnplacedTicket, "status" | "updatedAt"> & {
  /** Of a statement that is executed already: its ticket begins as `confirmed`. */
  readonly outcome?: Outcome;
};

export interface TicketChange extends Pick<TicketRecord, "id" | "status"> {
  /** Present when it was attested again. */
  readonly attestations?: TicketTransaction["attestations"];
}

export const ticketForm = jsonForm<UnplacedTicket>(
  unplaced,
  ({ id, requestId, statement, nullifiers, confirms, createdAt, updatedAt, ...ticket }) => ({
    id,
    owner: ticket.owner,
    requestId,
    statement,
    nullifiers: nullifiers.map(String),
    ...(confirms === undefined ? {} : { confirms }),
    transaction: writeTransaction(ticket.transaction),
    status: ticket.status,
    createdAt,
    updatedAt,
  }),
);

function writeTransaction(made: TicketTransaction): unknown {
  const { kind, deadline, signals, ext, proof, authorization, attestations } = made;
  return {
    kind,
    deadline: String(deadline),
    signals: signals.map(String),
    ext: toStoredBytes(ext),
    proof: toStoredBytes(proof),
    authorization: toStoredBytes(authorization),
    attestations: attestations.map(({ signer, signature }) => ({
      signer,
      signature: toStoredBytes(signature),
    })),
  };
}

/** One signed transaction for a nonce; a replacement adds another under the same nonce. */
const attempt = z.strictObject({
  hash: storedBytes32,
  raw: z.string(),
  maxFeePerGas: storedBigint,
  maxPriorityFeePerGas: storedBigint,
  signedAt: z.int(),
});
export type SignedAttempt = RecordOf<typeof attempt>;

/** What occupies a nonce of the gas wallet. */
const outgoing = z.strictObject({
  sender: storedAddress,
  nonce: z.int(),
  ticketIds: z.array(z.string()),
  /** The pool where it is not said: records of before there were errands, and all that carries tickets. */
  to: storedAddress.exactOptional(),
  gasLimit: storedBigint,
  data: z.string(),
  /** Oldest first, never empty. */
  attempts: z.array(attempt).min(1),
  /** Block in which one attempt was seen mined. */
  minedIn: z.int().exactOptional(),
});
export type Outgoing = RecordOf<typeof outgoing>;

export const outgoingForm = jsonForm<Outgoing>(outgoing, (entry) => ({
  ...entry,
  gasLimit: String(entry.gasLimit),
  attempts: entry.attempts.map((one) => ({
    ...one,
    maxFeePerGas: String(one.maxFeePerGas),
    maxPriorityFeePerGas: String(one.maxPriorityFeePerGas),
  })),
}));
