/**
 * Accepted transactions and what was sent for them. Everything here must survive a crash: a promise of
 * this store resolves when the change is on disk, and not before. Reads are asynchronous, because another
 * implementation asks a server.
 */
import type { TicketErrorCode } from "../../shared/api/errors.ts";
import type { SignedBy } from "../../shared/protocol/attestation.ts";
import type { Address, Bytes32, Field } from "../../shared/protocol/brands.ts";
import type { Kind } from "../../shared/protocol/statements.ts";

export interface TicketOwner {
  readonly developerId: string;
  /** Undefined: accepted with an API key. */
  readonly sub: string | undefined;
}

/** Why a ticket is not executed (yet). `retryable`: a new statement over the same notes may succeed. */
export interface TicketError {
  readonly code: TicketErrorCode;
  readonly detail: string;
  readonly retryable: boolean;
}

/** Where and how a statement was executed, whoever carried it. */
export interface Outcome {
  readonly txHash: Bytes32;
  readonly block: number;
  readonly leafIndexes: readonly number[];
}

/**
 * `error` on a waiting ticket is provisional. `carrier` is the nonce of the transaction of ours that carries
 * it now; a submitted ticket without one waits to be sent again.
 */
export type TicketStatus =
  | { readonly state: "queued"; readonly error?: TicketError }
  | {
      readonly state: "submitted";
      readonly carrier?: number;
      readonly txHash: Bytes32;
      readonly error?: TicketError;
    }
  | { readonly state: "confirmed"; readonly outcome: Outcome }
  | { readonly state: "finalized"; readonly outcome: Outcome }
  | { readonly state: "failed"; readonly error: TicketError }
  | { readonly state: "expired"; readonly error: TicketError };

/** All that is needed to have it attested again and sent, so a restart asks the client for nothing. */
export interface TicketTransaction {
  readonly kind: Kind;
  /** Unix seconds. */
  readonly deadline: bigint;
  readonly signals: readonly Field[];
  readonly ext: Uint8Array;
  /** 256 bytes uncompressed, as the enclave takes it. */
  readonly proof: Uint8Array;
  readonly authorization: Uint8Array;
  readonly attestations: readonly SignedBy[];
}

export interface TicketRecord {
  readonly id: string;
  /** Place in the pool's order of acceptance; strictly increasing. */
  readonly sequence: number;
  readonly owner: TicketOwner;
  /** Of the request that made it, for the log. Absent in records of before it was kept. */
  readonly requestId?: string;
  readonly statement: Bytes32;
  readonly nullifiers: readonly Field[];
  readonly transaction: TicketTransaction;
  readonly status: TicketStatus;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  readonly updatedAt: number;
}

export type TicketDraft = Omit<TicketRecord, "sequence" | "status" | "updatedAt"> & {
  /** Of a statement that is executed already: its ticket begins as `confirmed`. */
  readonly outcome?: Outcome;
};

export type Acceptance =
  | { readonly kind: "accepted"; readonly ticket: TicketRecord }
  /** The same statement of the same owner is under way or done. */
  | { readonly kind: "same"; readonly ticket: TicketRecord }
  /** A nullifier (or this statement) is reserved by another ticket. */
  | { readonly kind: "reserved" }
  | { readonly kind: "full" };

/** One signed transaction for a nonce; a replacement adds another under the same nonce. */
export interface SignedAttempt {
  readonly hash: Bytes32;
  readonly raw: string;
  readonly maxFeePerGas: bigint;
  readonly maxPriorityFeePerGas: bigint;
  readonly signedAt: number;
}

/** What occupies a nonce of the gas wallet. */
export interface Outgoing {
  readonly sender: Address;
  readonly nonce: number;
  readonly ticketIds: readonly string[];
  readonly gasLimit: bigint;
  readonly data: string;
  /** Oldest first, never empty. */
  readonly attempts: readonly SignedAttempt[];
  /** Block in which one attempt was seen mined. */
  readonly minedIn?: number;
}

export interface TicketChange {
  readonly id: string;
  readonly status: TicketStatus;
  /** Present when it was attested again. */
  readonly attestations?: readonly SignedBy[];
}

/** One holder's time with the lease; every change of hands makes it greater. */
export type Fence = number;

/** A write under a lease that has changed hands since. Nothing of it was done. */
export class LeaseLost extends Error {
  constructor() {
    super("another process has the lease of the pool's submission");
    this.name = "LeaseLost";
  }
}

/**
 * Who submits for a pool. A holder that was paused past its time learns from the fence, at its next write, that
 * another has gone on without it.
 */
export interface SequencerLease {
  /** Whether there can be another proxy that takes it. */
  readonly isShared: boolean;
  /**
   * Takes the lease, or keeps it, for so long from now on. Undefined while another has it. `underNewFence`: with another
   * fence also for who keeps it, so that a write of its own that got no answer, and may still be on its way, is refused.
   */
  take(holder: string, forMs: number, underNewFence?: boolean): Promise<Fence | undefined>;
  /** So that the next one need not wait. */
  giveBack(holder: string): Promise<void>;
  /** What a holder last reported of itself; empty when none has. */
  report(): Promise<string>;
}

/** What the sequencer writes. Every call throws LeaseLost, and does nothing, when the lease has changed hands. */
export interface TicketWrites {
  /** One atomic durable write. Tickets that come to an end release their reservations. */
  change(changes: readonly TicketChange[], at: number): Promise<void>;
  /**
   * Stores signed bytes before they are broadcast, together with the changes of the tickets they carry.
   * False, and nothing written, unless the entry at that nonce still is `previous` (by number of attempts;
   * 0: there is none).
   */
  putOutgoing(
    entry: Outgoing,
    previousAttempts: number,
    changes: readonly TicketChange[],
    at: number,
  ): Promise<boolean>;
  markMined(nonce: number, block: number | undefined): Promise<void>;
  /** For the other proxies. */
  report(text: string): Promise<void>;
  /** With the changes of the tickets it carried. */
  dropOutgoing(nonce: number, changes: readonly TicketChange[], at: number): Promise<void>;
}

export interface TicketStore {
  /**
   * One atomic durable write: place in the order, ticket, and reservations of its nullifiers and statement.
   * A statement whose earlier ticket failed or expired gets a new one. Refuses with `full` when
   * `maxOpen` tickets are neither confirmed nor over. An executed one is in nobody's way: neither `full` nor
   * another's reservation refuses it, which stays the other's.
   */
  accept(draft: TicketDraft, maxOpen: number): Promise<Acceptance>;
  get(id: string): Promise<TicketRecord | undefined>;
  byStatement(statement: Bytes32): Promise<TicketRecord | undefined>;
  /** The statement of the ticket that has reserved a nullifier. */
  reservedBy(nullifier: Field): Promise<Bytes32 | undefined>;
  /** In the order asked, without those that are not there. One that cannot be read is set aside and left out. */
  list(ids: readonly string[]): Promise<TicketRecord[]>;
  /** Every ticket that is not final, failed or expired, in order of acceptance, in pages. */
  open(): AsyncIterable<readonly TicketRecord[]>;
  /** Those of one developer; with `sub`, of one user of it. */
  openOf(developerId: string, sub: string | undefined): Promise<TicketRecord[]>;
  /** How many tickets are queued in front of this place in the order. */
  queuedBefore(sequence: number): Promise<number>;
  /** In order of nonce. */
  outgoing(): Promise<Outgoing[]>;
  underLease(fence: Fence): TicketWrites;
  /**
   * Every ticket that is accepted or changed from now on, whoever wrote it, in order of the writes and once they
   * are durable. A state that was soon followed by another may be left out.
   */
  follow(listener: (ticket: TicketRecord) => void): () => void;
}
