/** The token on the other blockchain and the account in which an owner holds it. */
import { findAssociatedTokenPda, TOKEN_PROGRAM_ADDRESS } from "@solana-program/token";
import { isAddress, type Address } from "@solana/kit";
import { AltchainRefusal } from "./refusals.ts";

export { TOKEN_PROGRAM_ADDRESS as TOKEN_PROGRAM } from "@solana-program/token";
export type { Address as AltchainAddress } from "@solana/kit";

export interface AltchainToken {
  readonly mint: Address;
  readonly decimals: number;
}

/** Reads an address in base58; throws NOT_AN_ADDRESS. */
export function parseAltchainAddress(text: unknown): Address {
  if (typeof text !== "string" || !isAddress(text)) throw new AltchainRefusal("NOT_AN_ADDRESS");
  return text;
}

/** Where wallets and exchanges send the token to when they are told `owner`. Follows from both, so it needs no node. */
export async function tokenAccountOf(owner: Address, mint: Address): Promise<Address> {
  const [account] = await findAssociatedTokenPda({ owner, mint, tokenProgram: TOKEN_PROGRAM_ADDRESS });
  return account;
}
