/** Merkle data, the event stream and public balances. */
import * as z from "./zod.ts";
import { bridgeStatus } from "./bridge-status.ts";
import { MAX_SESSION_TOKEN } from "./credentials.ts";
import { ticket } from "./transactions.ts";
import { address, amount, bytes32, count, decimals, fieldElement } from "./values.ts";

export const merkleRoot = z
  .object({
    root: fieldElement.describe("The newest root that the pool has recorded"),
    leaf_count: count.describe("Leaves under it, void ones included"),
    depth: count.describe("Levels between a leaf and the root: 16"),
    arity: count.describe("Children of an inner node: 4"),
    block_number: count.describe("Block that this was read at"),
    block_hash: bytes32.describe("Its hash"),
    pending: count.meta({ description: "Leaves of the queue that no root covers yet" }),
  })
  .meta({ id: "MerkleRoot", description: "The tree of SPEC, section 4, as it stands" });
export type MerkleRoot = z.infer<typeof merkleRoot>;

/** Query numbers arrive as text: plain decimal only. */
const queryCount = z
  .string()
  .regex(/^(0|[1-9][0-9]{0,14})$/, "a decimal integer")
  .transform(Number);

export const MAX_PAGE_NODES = 65_536;
export const merkleTreeQuery = z.strictObject({
  level: queryCount
    .pipe(z.int().min(0).max(16))
    .optional()
    .describe("0: leaves, 1 to 15: inner nodes, 16: the root. Default 0"),
  from: queryCount.optional().describe("Index of the first node, from 0, on that level. Default 0"),
  limit: queryCount
    .pipe(z.int().min(1).max(MAX_PAGE_NODES))
    .optional()
    .describe("Most nodes of the page, 1 to 65,536, which is the default"),
});

export const merkleTree = z
  .object({
    root: fieldElement.describe("Root of the tree that the nodes are of; pages of another root do not fit"),
    leaf_count: count.describe("Leaves under it"),
    level: count.describe("As asked"),
    from: count.describe("As asked"),
    nodes: z
      .array(fieldElement)
      .describe("In order. Beyond the last one every node is the empty node of its level (SPEC, section 4)"),
    next: count.nullable().meta({ description: "`from` of the next page, null at the end" }),
  })
  .meta({ id: "MerkleTree", description: "A page of one level" });
export type MerkleTree = z.infer<typeof merkleTree>;

/** `<block>-<8 digits of its hash>-<log>.<part>`: an event's place on the chain. */
export const EVENT_ID = /^(0|[1-9][0-9]{0,14})-([0-9a-f]{8})-(0|[1-9][0-9]{0,8})\.(0|[1-9][0-9]{0,8})$/;

/** Outputs of a chunk: see ./history-chunk.ts. */
export const CHUNK_OUTPUTS = 4_096;
/** Some 8 MB. */
export const MAX_PAGE_CHUNKS = 16;

export const history = z
  .object({
    outputs_per_chunk: count.describe("Outputs in every chunk: 4,096"),
    chunks: z
      .array(
        z.object({
          sha256: bytes32.describe("Of the chunk's bytes"),
          bytes: count.describe("How many they are"),
        }),
      )
      .meta({
        description:
          "From the first output on, without a gap. A chunk is listed once the block that it ends in is final, and then stays as it is",
      }),
    outputs: count.describe("Outputs in all of them"),
    block_number: count
      .nullable()
      .meta({ description: "Block that the last chunk ends in; null while there is none" }),
    last_event_id: z.string().regex(EVENT_ID).nullable().meta({
      description:
        "Event that the last chunk ends with: the stream goes on from it without gap or overlap. null while there is none",
    }),
    voids: z
      .array(
        z.object({
          first_leaf_index: count.describe("First void leaf"),
          count: count.describe("How many, from there on"),
        }),
      )
      .meta({
        description:
          "Every void leaf that the index knows of, also of refutations behind the last chunk: whoever keeps nodes in the place of leaves keeps these leaves",
      }),
  })
  .meta({ id: "History", description: "What of the pool's history can be had in chunks" });
export type History = z.infer<typeof history>;

export const historyChunksQuery = z.strictObject({
  from: queryCount.describe("Number of the first chunk, from 0"),
  limit: queryCount
    .pipe(z.int().min(1).max(MAX_PAGE_CHUNKS))
    .describe("How many chunks, 1 to 16; all of them have to be there"),
  last: bytes32.meta({
    description:
      "`sha256` of the last one of them. It names all that is before it as well, so that this address has one answer for ever",
  }),
});

export const balanceQuery = z.strictObject({
  address: address.describe("The public account that is asked about"),
});
export const balance = z
  .object({
    address: address.describe("As asked"),
    token: address.describe("The USDC contract"),
    balance: amount.describe("What the account holds, smallest units"),
    decimals: decimals.describe("The token's decimals: 6"),
    block_number: count.describe("Block that this was read at"),
  })
  .meta({ id: "Balance", description: "Public money of an account; nothing of it is private" });
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

export const eventsQuery = z.strictObject({
  session: z.string().max(MAX_SESSION_TOKEN).optional().describe("Session token, where no header can be set"),
  from: z
    .string()
    .regex(EVENT_ID, "the id of an event")
    .optional()
    .describe("Resume after this event id; Last-Event-ID wins. Without either all is replayed"),
  types: z
    .string()
    .max(256)
    .optional()
    .describe(
      `Comma-separated kinds, of ${EVENT_KINDS.map((kind) => `\`${kind}\``).join(", ")}; default all`,
    ),
});

const inTransaction = {
  tx_hash: bytes32.describe("Transaction on the chain that did it"),
  block_number: count.describe("Its block"),
};

/** Payloads (the `data:` line) by event kind (the `event:` line). */
export const EVENTS = {
  ready: z
    .object({
      chain_id: count.describe("The pool's chain"),
      pool: address.describe("The pool"),
      block_number: count.describe("Newest block that the index knows"),
      leaf_count: count.describe("Leaves that the index knows, waiting ones included"),
    })
    .describe("First on every connection"),
  leaf: z
    .object({
      index: count.describe("The leaf's index, from 0: goes into the nullifier"),
      commitment: fieldElement.describe("The leaf: H3(npk, asset, value)"),
      ephemeral_key: z.string().meta({
        description:
          "0x and 32 bytes. Of the sender's transaction, the same for all its leaves: one X25519 serves them all; of a note from a forwarder its own",
      }),
      output: count.meta({
        description:
          "The leaf's place among those of its transaction, from 0, for the keys of its ciphertext; 0 of a note from a forwarder",
      }),
      ciphertext: z.string().meta({ description: "0x and 53 bytes: view tag 1, sealed note 36, tag 16" }),
      source: z.enum(["deposit", "spend", "swap", "forwarder"]).meta({
        description: "What brought the leaf",
        "x-enumDescriptions": {
          deposit: "deposit-shield",
          spend: "spend or spend9",
          swap: "private-swap",
          forwarder: "Money that a bridge's forwarder brought (SPEC, section 8.5)",
        },
      }),
      npk: fieldElement.optional().meta({
        description:
          "With asset and value where the pool itself made the note: the last leaf of a swap, and what came by a forwarder",
      }),
      asset: address.optional().describe("Token of such a note"),
      value: amount.optional().describe("Value of such a note, smallest units; the ciphertext says 0"),
      ...inTransaction,
    })
    .describe("A new leaf. Try every one with your viewing key (SPEC, section 3)"),
  nullifier: z
    .object({
      nullifier: fieldElement.describe("The note behind it is spent"),
      ...inTransaction,
    })
    .describe("A note was spent; whose, only its owner can tell"),
  root: z
    .object({
      root: fieldElement.describe("The newest root"),
      leaf_count: count.describe("Leaves that it covers: those can be spent against it"),
      block_number: count.describe("Block that recorded it"),
    })
    .meta({
      description: "The newest root. With fewer leaves than the one before, those behind it are revoked",
    }),
  void: z
    .object({
      first_leaf_index: count.describe("First void leaf"),
      count: count.describe("How many, from there on; in the tree they stand as 0"),
      nullifiers: z.array(fieldElement).meta({
        description:
          "Of the refuted statement that made the leaves: unspent again. None of one that is suspended",
      }),
      ...inTransaction,
    })
    .describe("A statement was refuted or suspended (SPEC, section 8.3): forget these leaves"),
  reorg: z
    .object({
      from_id: z
        .string()
        .nullable()
        .describe("Id of the last event that still holds; forget all after it. null: forget everything"),
    })
    .describe("The chain went back; what holds now follows"),
  synced: z
    .object({
      block_number: count.describe("Block up to which everything was sent"),
      leaf_count: count.describe("Leaves sent so far, waiting ones included"),
    })
    .describe("The past is told; from here on events come as they happen"),
  ticket: ticket.describe("A ticket of the caller as it stands now"),
  bridge: bridgeStatus.describe("A bridge request of the caller as it stands now"),
  session_expired: z.object({}).describe("The session is over; the stream ends. Open one with a new token"),
  credential_revoked: z
    .object({
      code: z.literal("INVALID_CREDENTIAL").meta({
        description: "What a request with this credential is answered",
        "x-enumDescriptions": { INVALID_CREDENTIAL: "401, for good" },
      }),
    })
    .describe("The credential was revoked; the stream ends"),
} as const satisfies Record<EventKind, z.ZodType>;

export type StreamEvent = {
  [K in EventKind]: {
    readonly kind: K;
    readonly id: string | undefined;
    readonly data: z.infer<(typeof EVENTS)[K]>;
  };
}[EventKind];
