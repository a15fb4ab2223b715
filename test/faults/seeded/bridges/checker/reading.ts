/** How a rule reads what was seen, and says what is wrong with it. */
import type { BridgeState } from "../../../../../shared/api/bridge-status.ts";
import { NOBODY, type Act, type Asked, type ChainSeen, type Minted } from "../observations.ts";

export interface Violation {
  readonly code:
    | "NOT_SETTLED"
    | "REQUEST_LOST"
    | "REQUEST_TWICE"
    | "REFUSED"
    | "ADDRESS_WRONG"
    | "BALANCE_WRONG"
    | "NOT_MOVED"
    | "NOTE_WRONG"
    | "CREDITED_UNASKED"
    | "FEE_WRONG"
    | "BURN_WRONG"
    | "NOT_DELIVERED"
    | "MINTED_TWICE"
    | "MINTED_UNBACKED"
    | "SUPPLY_WRONG"
    | "REFUND_WRONG"
    | "WALLET_WRONG"
    | "STATUS_WRONG"
    | "STATE_WENT_BACK"
    | "STREAM_DIFFERS"
    | "NONCE_HOLE"
    | "OUTGOING_LEFT"
    | "TREE_BEHIND"
    | "SIGNATURE_REFUSED"
    | "ACCOUNT_TAKEN"
    | "NOT_CREDITED"
    | "NOT_PAID"
    | "LEDGER_WRONG"
    | "STOP_FAILED";
  readonly text: string;
}

export type Say = (code: Violation["code"], text: string) => void;

export const sum = (amounts: readonly bigint[]): bigint => amounts.reduce((all, one) => all + one, 0n);
export const amountsOf = (of: readonly { readonly amount: bigint }[]): bigint[] =>
  of.map(({ amount }) => amount);

export const idsOf = ({ answers }: Asked): string[] => [
  ...new Set(answers.flatMap((answer) => (answer.is === "made" ? [answer.id] : []))),
];
export const addressesOf = (asked: Asked): string[] =>
  asked.direction === "in" ? [asked.home.address, asked.source.address] : [asked.home.address];

export const actsOf = ({ acts }: ChainSeen, vault: string): Act[] =>
  acts.filter((act) => act.vault === vault);
export const isOfDollars = ({ token }: Act): boolean => token === undefined;

export const isNobody = (address: string): boolean => address === NOBODY;

export const arrivedAt = ({ transfers }: ChainSeen, address: string): bigint =>
  sum(amountsOf(transfers.filter(({ to }) => to === address)));
export const actedAt = (chain: ChainSeen, vault: string, kind: Act["kind"]): Act[] =>
  actsOf(chain, vault).filter((act) => act.kind === kind && isOfDollars(act));

/** What reached them. */
export const broughtBy = (
  mints: readonly Minted[],
  nonces: ReadonlySet<string>,
  recipient: string,
): bigint[] =>
  mints
    .filter((mint) => nonces.has(mint.nonce) && mint.recipient === recipient)
    .map(({ amount, fee }) => amount - fee);

export const ENDS: ReadonlySet<BridgeState> = new Set(["completed", "refunded", "failed"]);
