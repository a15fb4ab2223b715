/** What an application does with bridges, in its words. The work is in ./live.ts, which is loaded when it is first needed. */
import type { BridgeState, BridgeStatus } from "../../api/bridge-status.ts";
import type { RefundKey } from "../../notes/bridge-keys.ts";
import type { WaitOptions } from "../service/feed.ts";
import type { Payment, Progress, SpendOptions } from "../paying/payment.ts";

export interface BridgeInOptions extends WaitOptions {
  /**
   * Gets the money back that cannot become a note, on whichever EVM chain it is; so an account that you hold on each of
   * them. Default: an account of this wallet's key, a new one for each address (`refundKey`). Another is a part of the
   * address that no key tells: who restores the wallet needs it, and addresses that share one are seen to belong together.
   */
  readonly refundAddress?: string;
  /** Token of the pool that the money becomes. Default: the first pinned. */
  readonly asset?: string;
  readonly progress?: Progress;
}

export interface BridgeOutOptions extends WaitOptions {
  readonly asset?: string;
  readonly progress?: Progress;
}

export interface BridgeWithdrawOptions extends Omit<SpendOptions, "until"> {
  readonly asset?: string;
  /** `sent`: the withdrawal is on chain. Default `completed`: the service says that the other side has it. */
  readonly until?: "sent" | "completed";
  readonly onStatus?: (status: BridgeProgress) => void;
}

export interface BridgeWaitOptions extends WaitOptions {
  /** `detected`: something has arrived at the address. Default `completed`. */
  readonly until?: "detected" | "completed";
  readonly onStatus?: (status: BridgeProgress) => void;
}

interface Shown {
  readonly bridgeId: string;
  /** Computed by this wallet. */
  readonly address: string;
  readonly asset: string;
  /** Less than this is not moved on. */
  readonly minimum: bigint;
  /** The most that all fees of one arrival together may be. */
  readonly feeCeiling: bigint;
  /** As the service reckons them now, for one arrival of `minimum`. */
  readonly fees: { readonly service: bigint; readonly developer: bigint };
  readonly venueFees: readonly { readonly chain: string; readonly fee: bigint; readonly of: string }[];
  /** After so long anybody may send the money back. */
  readonly timeoutSecs: number;
  readonly estimatedSecs: number;
  readonly watchedUntil: string;
}

export interface BridgeDeposit extends Shown {
  readonly refundAddress: string;
  /** One address that is good on each of these chains; undefined where the service has none. */
  readonly source: { readonly address: string; readonly chainIds: readonly number[] } | undefined;
  /** Of the other blockchain: the account of `address` for the token, as wallets and exchanges derive it by themselves. */
  readonly tokenAccount: string | undefined;
}

export interface BridgeExit extends Shown {
  readonly payee: string;
  /** Undefined for the exchange. */
  readonly chainId: number | undefined;
}

export interface BridgeWithdrawal extends Payment {
  readonly bridge: BridgeExit;
  /** As last told; undefined with `until: "sent"`. */
  readonly status: BridgeProgress | undefined;
}

/** The service's word, and beside it what this wallet has seen itself. */
export interface BridgeProgress extends BridgeStatus {
  /** What the address has become in notes of this wallet, by its own reading of the stream. */
  readonly inWallet: bigint;
}

/** An address that this wallet has made, from its own storage. */
export interface BridgeEntry {
  readonly bridgeId: string | undefined;
  readonly venue: "perpvenue" | "altchain" | "chain";
  readonly direction: "in" | "out";
  readonly address: string;
  readonly source: string | undefined;
  readonly asset: string;
  readonly createdAt: number;
  readonly inWallet: bigint;
}

/** What a restored wallet cannot know from its key. `refundAddresses` are those that the application named itself. */
export interface BridgeHints extends WaitOptions {
  readonly refundAddresses?: readonly string[];
  readonly accounts?: readonly string[];
  readonly recipients?: readonly { readonly chainId: number; readonly address: string }[];
}

/**
 * A new address each time: whoever sees two payments to one address knows that they are one person's. None is shown before
 * this wallet has computed it itself, from its pins and its key.
 */
export interface Bridges {
  /** Of the pool's own chain: the exchange pays to it, and so may anybody. */
  fromExchange(options?: BridgeInOptions): Promise<BridgeDeposit>;
  /** As `fromExchange`, for who wants to send on another chain: `source` is there. Throws FEATURE_OFF when it is not. */
  fromChain(options?: BridgeInOptions): Promise<BridgeDeposit>;
  /** What arrives is burned with this wallet's signature: `wait`, or `sign`, has to run once on a device that has its key. */
  fromOtherBlockchain(options?: BridgeInOptions): Promise<BridgeDeposit>;
  toExchange(account: string, options?: BridgeOutOptions): Promise<BridgeExit>;
  toChain(chainId: number, recipient: string, options?: BridgeOutOptions): Promise<BridgeExit>;
  /** A new address and a private withdrawal of `amount` to it. */
  withdrawToExchange(
    account: string,
    amount: bigint,
    options?: BridgeWithdrawOptions,
  ): Promise<BridgeWithdrawal>;
  withdrawToChain(
    chainId: number,
    recipient: string,
    amount: bigint,
    options?: BridgeWithdrawOptions,
  ): Promise<BridgeWithdrawal>;
  /** By the service's id, or by an address that this wallet has made. Throws BRIDGE_UNKNOWN for another's. */
  status(idOrAddress: string, options?: WaitOptions): Promise<BridgeProgress>;
  /**
   * Signs what there is to sign. Money that comes in counts as `completed` when this wallet has the note, whatever the
   * service says: BRIDGE_UNPROVEN where it says so and the note does not come; BRIDGE_FAILED for another end.
   */
  wait(idOrAddress: string, options?: BridgeWaitOptions): Promise<BridgeProgress>;
  /** Checks and signs the burn that the status asks for. Throws BURN_REFUSED for anything else. */
  sign(idOrAddress: string, options?: WaitOptions): Promise<BridgeProgress>;
  list(): Promise<BridgeEntry[]>;
  /** After a restore from the key: asks the service about the next 20 addresses behind the last known one, until none is known. */
  find(hints?: BridgeHints): Promise<BridgeEntry[]>;
  /**
   * The key of the account that gets a refund, where no other was named: by that account, by the address that was paid, or
   * by the service's id. The account holds money only after a refund, on the chain where that happened. Asks nobody.
   * Throws BRIDGE_UNKNOWN for any other address.
   */
  refundKey(address: string): Promise<RefundKey>;
}

/** States behind which nothing more comes. */
export const ENDED: ReadonlySet<BridgeState> = new Set(["completed", "refunded", "failed"]);
