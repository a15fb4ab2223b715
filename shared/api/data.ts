/** Merkle data, the event stream and public balances. */
import * as z from "zod";
import { bridgeStatus } from "./bridges.ts";
import { MAX_SESSION_TOKEN } from "./credentials.ts";
import { ticket } from "./transactions.ts";
import { address, amount, bytes32, count, fieldElement } from "./values.ts";

export const merkleRoot = z
  .object({
    root: fieldElement,
    leaf_count: count,
    depth: z.int(),
    arity: z.int(),
    block_number: count,
    block_hash: bytes32,
    pending: count.meta({ description: "Leaves of the queue that no root covers yet" }),
  })
  .meta({ id: "MerkleRoot" });
export type MerkleRoot = z.infer<typeof merkleRoot>;

/** Query numbers arrive as text: plain decimal only. */
const queryCount = z
  .string()
  .regex(/^(0|[1-9][0-9]{0,14})$/, "a decimal integer")
  .transform(Number);

export const MAX_PAGE_NODES = 65_536;
export const merkleTreeQuery = z.strictObject({
  level: queryCount.pipe(z.int().min(0).max(16)).optional(),
  from: queryCount.optional(),
  limit: queryCount.pipe(z.int().min(1).max(MAX_PAGE_NODES)).optional(),
});

export const merkleTree = z
  .object({
    root: fieldElement,
    leaf_count: count,
    level: z.int(),
    from: count,
    nodes: z.array(fieldElement),
    next: count.nullable().meta({ description: "`from` of the next page, null at the end" }),
  })
  .meta({ id: "MerkleTree" });
export type MerkleTree = z.infer<typeof merkleTree>;

export const balanceQuery = z.strictObject({ address });
export const balance = z
  .object({ address, token: address, balance: amount, decimals: z.int(), block_number: count })
  .meta({ id: "Balance" });
export type Balance = z.infer<typeof balance>;

export const EVENT_KINDS = [
  "ready",
  "leaf",
  "nullifier",
  "root",
  "void",
  "reorg",
  "synced",
  "ticket",
  "bridge",
  "session_expired",
  "credential_revoked",
] as const;
export const eventKind = z.enum(EVENT_KINDS);
export type EventKind = z.infer<typeof eventKind>;

/** `<block>-<8 digits of its hash>-<log>.<part>`: an event's place on the chain. */
export const EVENT_ID = /^(0|[1-9][0-9]{0,14})-([0-9a-f]{8})-(0|[1-9][0-9]{0,8})\.(0|[1-9][0-9]{0,8})$/;

export const eventsQuery = z.strictObject({
  session: z.string().max(MAX_SESSION_TOKEN).optional(),
  from: z
    .string()
    .regex(EVENT_ID, "the id of an event")
    .optional()
    .meta({ description: "Resume after this event id; Last-Event-ID wins. Without either all is replayed" }),
  types: z.string().max(256).optional().meta({ description: "Comma-separated kinds; default all" }),
});

/** Payloads (the `data:` line) by event kind (the `event:` line). */
export const EVENTS = {
  ready: z.object({ chain_id: count, pool: address, block_number: count, leaf_count: count }),
  leaf: z.object({
    index: count,
    commitment: fieldElement,
    ephemeral_key: z.string().meta({
      description:
        "Of the sender's transaction, the same for all its leaves: one X25519 serves them all; of a note from a forwarder its own",
    }),
    output: count.meta({
      description: "The leaf's place among those of its transaction, from 0; 0 of a note from a forwarder",
    }),
    ciphertext: z.string().meta({ description: "0x and 53 bytes: view tag 1, sealed note 36, tag 16" }),
    source: z.enum(["deposit", "spend", "swap", "forwarder"]),
    npk: fieldElement.optional().meta({
      description:
        "With asset and value where the pool itself made the note: the last leaf of a swap, and what came by a forwarder",
    }),
    asset: address.optional(),
    value: amount.optional(),
    tx_hash: bytes32,
    block_number: count,
  }),
  nullifier: z.object({ nullifier: fieldElement, tx_hash: bytes32, block_number: count }),
  root: z.object({ root: fieldElement, leaf_count: count, block_number: count }).meta({
    description: "The newest root. With fewer leaves than the one before, those behind it are revoked",
  }),
  void: z.object({
    first_leaf_index: count,
    count,
    nullifiers: z
      .array(fieldElement)
      .meta({ description: "Of the refuted statement that made the leaves: unspent again" }),
    tx_hash: bytes32,
    block_number: count,
  }),
  reorg: z.object({ from_id: z.string().nullable() }),
  synced: z.object({ block_number: count, leaf_count: count }),
  ticket,
  bridge: bridgeStatus,
  session_expired: z.object({}),
  credential_revoked: z.object({
    code: z
      .literal("INVALID_CREDENTIAL")
      .meta({ description: "What a request with this credential is answered" }),
  }),
} as const satisfies Record<EventKind, z.ZodType>;

export type StreamEvent = {
  [K in EventKind]: {
    readonly kind: K;
    readonly id: string | undefined;
    readonly data: z.infer<(typeof EVENTS)[K]>;
  };
}[EventKind];
