/**
 * What the local chain begins with: the token's mint, its authority and a faucet. Their keys are public and worth
 * nothing outside it. The authority is what a bridge's minter is on the real chain.
 */
import { createHash } from "node:crypto";
import { getMintEncoder, TOKEN_PROGRAM_ADDRESS } from "@solana-program/token";
import {
  createKeyPairSignerFromPrivateKeyBytes,
  getBase58Decoder,
  lamports,
  none,
  some,
  type Address,
  type EncodedAccount,
  type KeyPairSigner,
  type ReadonlyUint8Array,
} from "@solana/kit";
import { SYSTEM_PROGRAM } from "./bank.ts";

export const TOKEN_DECIMALS = 6;
const COINS = 1_000_000_000n;

export interface Genesis {
  readonly mint: Address;
  readonly mintAuthority: KeyPairSigner;
  readonly faucet: KeyPairSigner;
  readonly accounts: readonly EncodedAccount[];
}

export async function genesis(): Promise<Genesis> {
  const mintAuthority = await keyOf("mint authority");
  const faucet = await keyOf("faucet");
  const mint = getBase58Decoder().decode(seedOf("mint")) as Address;
  const data = getMintEncoder().encode({
    mintAuthority: some(mintAuthority.address),
    supply: 0n,
    decimals: TOKEN_DECIMALS,
    isInitialized: true,
    freezeAuthority: none(),
  });
  return {
    mint,
    mintAuthority,
    faucet,
    accounts: [
      account(mint, COINS, TOKEN_PROGRAM_ADDRESS, data),
      account(mintAuthority.address, 1_000_000n * COINS, SYSTEM_PROGRAM),
      account(faucet.address, 100_000_000n * COINS, SYSTEM_PROGRAM),
    ],
  };
}

function account(
  address: Address,
  coins: bigint,
  programAddress: Address,
  data: ReadonlyUint8Array = new Uint8Array(),
): EncodedAccount {
  return {
    ...{ address, programAddress, executable: false, lamports: lamports(coins) },
    ...{ data: Uint8Array.from(data), space: BigInt(data.length) },
  };
}

function keyOf(name: string): Promise<KeyPairSigner> {
  return createKeyPairSignerFromPrivateKeyBytes(seedOf(name));
}

function seedOf(name: string): Uint8Array {
  return createHash("sha256").update(`cloister local altchain/${name}/public and worth nothing`).digest();
}
