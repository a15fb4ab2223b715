/** What a scenario saw from outside, as data: the checker knows nothing else. */
import type { TicketState } from "../../../shared/api/transactions.ts";

/** What the execution of a statement moves, in smallest units. */
export interface Effects {
  readonly pool: bigint;
  readonly accounts: Readonly<Record<string, bigint>>;
  readonly wallets: Readonly<Record<string, bigint>>;
}

export interface TicketView {
  readonly id: string;
  readonly state: TicketState;
  readonly statement: string;
  readonly txHash: string | null;
  readonly block: number | null;
  readonly leaves: readonly number[];
  readonly error: string | null;
}

export interface StoredTicket {
  readonly sequence: number;
  readonly statement: string;
  readonly state: TicketState;
}

/** One request and what came back. */
export type Answer =
  | { readonly is: "ticket"; readonly id: string; readonly sentAt: number; readonly answeredAt: number }
  | { readonly is: "refused"; readonly status: number; readonly code: string }
  | { readonly is: "lost" };

/** A transaction that was put to the service at least once. */
export interface Asked {
  readonly name: string;
  readonly statement: string;
  readonly rivals: readonly string[];
  readonly effects: Effects;
  /** Unix seconds. */
  readonly deadline: number;
  /** In order; the last one is of a healthy service, after everything was final. */
  readonly answers: readonly Answer[];
  /** As the service shows it at the end; undefined when it never had one. */
  readonly ticket: TicketView | undefined;
}

/** What strangers and owners sent to the pool themselves, or may have. */
export interface Foreign {
  readonly name: string;
  readonly statement: string;
  readonly rivals: readonly string[];
  readonly effects: Effects;
  /** What of it its owner proved himself; undefined where a signer vouches for it. */
  readonly proved?: "transfer" | "withdrawal" | "deposit";
}

export interface Execution {
  readonly statement: string;
  readonly txHash: string;
  readonly from: string;
  readonly block: number;
  readonly logIndex: number;
  readonly firstLeaf: number;
  readonly commitments: readonly string[];
  readonly nullifiers: readonly string[];
}

/** `leaf INDEX COMMITMENT TX BLOCK EPHEMERAL_KEY OUTPUT CIPHERTEXT`, `nullifier N TX`, `root ROOT LEAVES`, `void FIRST COUNT NULLIFIERS TX BLOCK`: what an event says, in one line. */
export type EventLine = string;

export interface StreamedState {
  readonly ticket: string;
  readonly state: TicketState;
}

export interface Observations {
  /** Of the plan, what may excuse something. */
  readonly excuses: {
    /** The chain's clock at the end, Unix seconds: what had to be executed before may be too late. */
    readonly time: number;
    /** Blocks were reorganised out, or a node answered for an older one. */
    readonly wentBack: boolean;
    /** A node hid receipts: our nonce then looks as if a stranger had used it, and what it carried waits again. */
    readonly hidReceipts: boolean;
  };
  readonly asked: readonly Asked[];
  /** Whether they were mined or not. */
  readonly foreign: readonly Foreign[];
  /** What only a thief's key vouched for. */
  readonly forged: readonly { readonly name: string; readonly statement: string }[];
  /** Leaves that the pool calls void. */
  readonly voids: ReadonlySet<number>;
  /** Of the canonical chain since the snapshot, in its order. */
  readonly executions: readonly Execution[];
  /** Statements that the pool refused in some block, canonical at the end or not. */
  readonly rejected: ReadonlySet<string>;
  /** Statements that some block executed before blocks were taken back, itself perhaps among them. */
  readonly executedBefore: ReadonlySet<string>;
  readonly sender: string;
  /** The whole log of the pool, in order. */
  readonly chainEvents: readonly EventLine[];
  /** The whole stream of a reader that comes at the end. */
  readonly streamEvents: readonly EventLine[];
  /** What stands for a reader that was there all the time and did what `reorg` says. */
  readonly followedEvents: readonly EventLine[];
  readonly streamedStates: readonly StreamedState[];
  readonly balances: {
    readonly before: { readonly pool: bigint; readonly accounts: Readonly<Record<string, bigint>> };
    readonly after: { readonly pool: bigint; readonly accounts: Readonly<Record<string, bigint>> };
  };
  readonly wallets: {
    readonly before: Readonly<Record<string, bigint>>;
    readonly after: Readonly<Record<string, bigint>>;
  };
  readonly tree: {
    readonly leaves: number;
    readonly covered: number;
    /** The pool's newest root, what its leaves give with the void ones empty, and what the service names. */
    readonly root: bigint;
    readonly shouldBe: bigint;
    readonly told: bigint;
  };
  readonly nonces: { readonly mined: number; readonly pending: number };
  readonly outgoing: readonly number[];
  readonly stored: ReadonlyMap<string, StoredTicket>;
  /** Tickets of which a proxy's log says that they were accepted. */
  readonly acceptedInLogs: readonly string[];
}
