/** What a scenario of bridges saw from outside, as data: the checker knows nothing else. Amounts are in smallest units, addresses in lower case. */
import type { BridgeState } from "../../../../shared/api/bridge-status.ts";
import type { PlaceName } from "./world.ts";
import type { AccountKind } from "./world-exchange.ts";

export const NOBODY = `0x${"00".repeat(20)}`;
/** Who brings tokens to the other blockchain: what comes there comes from it. */
export const ISSUER = "issuer";

/** A token's transfer. */
export interface Moved {
  readonly from: string;
  readonly to: string;
  readonly amount: bigint;
  readonly tx: string;
}

/** A message from one token messenger to the other that stands on the chain where it was burned. */
export interface Burned {
  /** As the attesters name it, whatever block it is in. */
  readonly nonce: string;
  readonly recipient: string;
  readonly amount: bigint;
  readonly tx: string;
}

export interface Minted {
  readonly nonce: string;
  readonly recipient: string;
  /** With the fee. */
  readonly amount: bigint;
  readonly fee: bigint;
  readonly tx: string;
}

/** What the forwarders' contract says that it did with a vault. */
export interface Act {
  readonly kind: "Swept" | "Forwarded" | "Flushed" | "Refunded" | "Returned";
  readonly vault: string;
  /** Undefined where it is the awaited one. */
  readonly token: string | undefined;
  /** Of a refund. */
  readonly to: string | undefined;
  readonly amount: bigint;
  readonly fees: bigint;
  readonly leafIndex: number | undefined;
  readonly tx: string;
}

/** A note that the pool made of money that it received. */
export interface Credit {
  readonly leafIndex: number;
  readonly npk: bigint;
  readonly value: bigint;
  readonly tx: string;
}

/** What the contract of the exchange says on its chain: so much is an account's. */
export interface Named {
  readonly nonce: string;
  readonly account: string;
  readonly isPerps: boolean;
  readonly amount: bigint;
  readonly tx: string;
}

/** Of the canonical chain since the snapshot, in its order. */
export interface ChainSeen {
  readonly transfers: readonly Moved[];
  /** Of the token that no bridge knows. */
  readonly wrong: readonly Moved[];
  readonly burns: readonly Burned[];
  readonly mints: readonly Minted[];
  readonly acts: readonly Act[];
  readonly credits: readonly Credit[];
  /** On the exchange's chain. */
  readonly named: readonly Named[];
}

export interface ChainTotals {
  readonly supply: bigint;
  /** Of each address that a request has there. */
  readonly vaults: ReadonlyMap<string, bigint>;
  /** Of the wallet that sends for the service; the other blockchain has no such thing. */
  readonly nonces: { readonly mined: number; readonly pending: number };
}

export type Answer =
  | {
      readonly is: "made";
      readonly status: number;
      readonly id: string;
      readonly addresses: readonly string[];
    }
  | { readonly is: "refused"; readonly status: number; readonly code: string }
  | { readonly is: "lost" };

export interface StatusView {
  readonly id: string;
  readonly state: BridgeState;
  readonly received: bigint;
  readonly credited: bigint;
  readonly refunded: bigint;
  /** Of each deposit. */
  readonly deposits: readonly BridgeState[];
}

interface Common {
  readonly name: string;
  readonly npk: bigint;
  /** On the pool's chain. */
  readonly home: Vault;
  /** In order; the last one is of a healthy service, after everything was over. */
  readonly answers: readonly Answer[];
  /** At the end; undefined where the service knows none. */
  readonly status: StatusView | undefined;
}
interface Vault {
  readonly address: string;
  readonly minimum: bigint;
  readonly ceiling: bigint;
}

export interface AskedIn extends Common {
  readonly direction: "in";
  readonly refund: string;
  /** On the other chain, or the deposit account on the other blockchain. */
  readonly source: Vault & { readonly on: "other" | "alt" };
  /** What the service answered to signatures of the device. */
  readonly given: readonly Given[];
}
export interface Given {
  /** Undefined where the answer was lost. */
  readonly status: number | undefined;
  readonly code: string;
}
export interface AskedOut extends Common {
  readonly direction: "out";
  readonly on: "other" | "exchange";
  /** On that chain; of what goes to the exchange, the contract that is paid for the account. */
  readonly recipient: string;
  /** On the exchange. */
  readonly account: { readonly kind: AccountKind; readonly address: string } | undefined;
}
export type Asked = AskedIn | AskedOut;

/** The exchange's own books. */
export interface Books {
  readonly ledger: ReadonlyMap<string, bigint>;
  /** In their order, from the first on. */
  readonly deposits: readonly { readonly account: string; readonly amount: bigint; readonly tx: string }[];
  readonly withdrawals: readonly Withdrawn[];
}
export interface Withdrawn {
  readonly user: string;
  readonly recipient: string;
  /** What leaves, and what the exchange takes for it. */
  readonly amount: bigint;
  readonly fee: bigint;
  readonly state: "open" | "paid" | "returned";
  /** Hash of its burn. */
  readonly sent: string | undefined;
}
export interface ExchangeSeen {
  readonly before: Books;
  readonly after: Books;
  /** Dollars that lie for it on its own chain. */
  readonly held: bigint;
  /** What its API tells of each account. */
  readonly told: ReadonlyMap<string, bigint>;
  /** What it takes from an account that it does not know (any more). */
  readonly newAccount: bigint;
  /** Of whose account it has forgotten that it is there. */
  readonly forgotten: ReadonlySet<string>;
}

export interface Observations {
  /** Blocks of some chain were taken back, a node answered for an older one, or a proxy began to look again. */
  readonly excuses: { readonly wentBack: boolean; readonly lookedAgain: boolean };
  readonly asked: readonly Asked[];
  readonly chains: Readonly<Record<PlaceName, ChainSeen>>;
  /** Undefined where the scenario has none. */
  readonly exchange: ExchangeSeen | undefined;
  readonly before: Readonly<Record<PlaceName, bigint>>;
  readonly after: Readonly<Record<PlaceName, ChainTotals>>;
  readonly pool: { readonly before: bigint; readonly after: bigint };
  /** Nonces of burns that stood in blocks which were taken back: what the attesters had vouched for is their loss. */
  readonly orphaned: ReadonlySet<string>;
  /** A wallet restored from its key: by request, what it has become; and all of it. */
  readonly wallet: { readonly found: ReadonlyMap<string, bigint>; readonly total: bigint };
  /** The wallet that gets the service's fees; undefined where it was not looked at. */
  readonly serviceTotal: bigint | undefined;
  /** What was told of each request, in its order. */
  readonly streamed: readonly { readonly id: string; readonly state: BridgeState }[];
  readonly outgoing: readonly number[];
  /** Leaves that are not under the newest root. */
  readonly pendingLeaves: number;
}
