/**
 * The memo that makes a burn a message to another chain: `cctp1:<domain>:<recipient>:<maxFee>:<finality>`. Every
 * order has one spelling, so that what was signed and what is read back can be compared as text.
 */
import { LEGACY_MEMO_PROGRAM_ADDRESS_V3 } from "@solana-program/memo";

/** The memo program that is in use; the newest address of the package is not deployed everywhere. */
export const MEMO_PROGRAM = LEGACY_MEMO_PROGRAM_ADDRESS_V3;

/** What a burn asks of the attester and of the chain that the money goes to. */
export interface BurnOrder {
  /** CCTP domain of the destination. */
  readonly domain: number;
  /** Who is minted to: `0x` and 64 lower-case hex digits, an address left-padded. */
  readonly recipient: string;
  /** Most that may be taken from the amount on the way, in units of the token. */
  readonly maxFee: bigint;
  /** Finality threshold: 1000 fast, 2000 final. */
  readonly finality: number;
}

const UINT32 = 1n << 32n;
const UINT256 = 1n << 256n;
const NUMBER = "(0|[1-9][0-9]{0,77})";
const MEMO = new RegExp(`^cctp1:${NUMBER}:(0x[0-9a-f]{64}):${NUMBER}:${NUMBER}$`);

/** True for every memo that claims to be an order, well formed or not. */
export function isOrder(memo: string): boolean {
  return memo.startsWith("cctp1:");
}

export function orderMemo(order: BurnOrder): string {
  const memo = `cctp1:${String(order.domain)}:${order.recipient}:${String(order.maxFee)}:${String(order.finality)}`;
  if (parseOrderMemo(memo) === undefined) throw new RangeError("not an order that a memo can hold");
  return memo;
}

/** Undefined for every other spelling: leading zeros, capitals, numbers that do not fit their field. */
export function parseOrderMemo(memo: string): BurnOrder | undefined {
  const [, domain, recipient, maxFee, finality] = MEMO.exec(memo) ?? [];
  if (domain === undefined || recipient === undefined || maxFee === undefined || finality === undefined)
    return undefined;
  if (BigInt(domain) >= UINT32 || BigInt(finality) >= UINT32 || BigInt(maxFee) >= UINT256) return undefined;
  return { domain: Number(domain), recipient, maxFee: BigInt(maxFee), finality: Number(finality) };
}
