// What the operator's commands about a pool are given: a node, the pool, a key from the environment.
import { isAddress, Wallet, type Provider } from "ethers";
import type { Address } from "../../shared/protocol/brands.ts";
import { asAddress } from "../../shared/protocol/host/text.ts";
import { UsageError, wholeNumber } from "../base/command.ts";
import { SendingProvider } from "../base/receipt-by-time.ts";
import { need, type POOL_OPTIONS, type Result } from "./command-line.ts";

type PoolValues = { readonly [Option in keyof typeof POOL_OPTIONS]?: string | undefined };

export interface PoolAt {
  readonly provider: SendingProvider;
  readonly pool: Address;
  readonly fromBlock: number;
}

export async function withPool(values: PoolValues, act: (at: PoolAt) => Promise<Result>): Promise<Result> {
  const from = values["from-block"] ?? "0";
  const fromBlock = wholeNumber("--from-block", from, 0, Number.MAX_SAFE_INTEGER);
  const pool = addressOf(need(values.pool, "--pool ADDRESS"), "--pool");
  const provider = new SendingProvider(need(values.rpc, "--rpc URL"), undefined, { cacheTimeout: -1 });
  try {
    return await act({ provider, pool, fromBlock });
  } finally {
    provider.destroy();
  }
}

/**
 * From the environment and never from the command line, where other users of the machine could see it. The first of
 * these that is set.
 */
export function walletIn(provider: Provider, ...variables: readonly [string, ...string[]]): Wallet {
  const key = variables.map((name) => process.env[name]).find((text) => text !== undefined && text !== "");
  const name = `${variables.join(" or ")} in the environment`;
  try {
    return new Wallet(need(key, name), provider);
  } catch (error) {
    if (error instanceof UsageError) throw error;
    // The library's own words may hold the key.
    throw new UsageError(`${name} is no key`);
  }
}

/** Typed by a person, and what stands there is paid or believed: capitals have to be the checksum's (EIP-55). */
export function addressOf(text: string, name: string): Address {
  const address = asAddress(text);
  if (address === undefined) throw new UsageError(`${name} is no address`);
  if (!isAddress(text)) throw new UsageError(`${name} is mistyped: its capitals are not its checksum`);
  return address;
}
