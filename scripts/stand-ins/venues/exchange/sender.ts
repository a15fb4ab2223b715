// The exchange's transactions on one chain: each signed once, with its own number, and on disk before it is sent, so
// that a restart sends the same one again and never a second one.
import { Transaction } from "ethers";
import { z } from "zod";
import type { Address } from "../../../../shared/protocol/brands.ts";
import { asBytes32 } from "../../../../shared/protocol/host/text.ts";
import { RpcError, quantity, type JsonRpc } from "../json-rpc.ts";
import type { VenueKey } from "../key-file.ts";
import type { Sent } from "./state.ts";

export interface Call {
  readonly to: Address;
  readonly data: string;
}

/** Where a transaction stands, from the chain. */
export type Standing = "missing" | "mined" | "done" | "reverted";

const GAS = 500_000n;
/** Far above what a local chain asks for. */
const MOST_PER_GAS = 100_000_000_000n;

const receiptShape = z.object({ blockNumber: quantity, status: z.enum(["0x0", "0x1"]) }).nullable();

export function signCall(key: VenueKey, chainId: number, nonce: number, call: Call): Sent {
  const transaction = Transaction.from({
    type: 2,
    chainId,
    nonce,
    gasLimit: GAS,
    maxFeePerGas: MOST_PER_GAS,
    maxPriorityFeePerGas: 1_000_000_000n,
    ...call,
  });
  transaction.signature = key.key.sign(transaction.unsignedHash);
  const hash = asBytes32(transaction.hash);
  if (hash === undefined) throw new TypeError("no transaction's hash");
  return { raw: transaction.serialized, hash, nonce };
}

export function firstNonce(rpc: JsonRpc, address: Address): Promise<number> {
  return rpc.call(quantity, "eth_getTransactionCount", [address, "latest"]);
}

/** "done" and "reverted" only when so many blocks stand on it that it stays so. */
export async function standingOf(rpc: JsonRpc, hash: string, finalBlocks: number): Promise<Standing> {
  const block = await rpc.call(quantity, "eth_blockNumber", []);
  const receipt = await rpc.call(receiptShape, "eth_getTransactionReceipt", [hash]);
  if (receipt === null) return "missing";
  if (block - receipt.blockNumber < finalBlocks) return "mined";
  return receipt.status === "0x1" ? "done" : "reverted";
}

/** Again and again is harmless: the chain knows it already, and says so. */
export async function broadcast(rpc: JsonRpc, { raw, hash }: Sent): Promise<void> {
  try {
    await rpc.call(z.string(), "eth_sendRawTransaction", [raw]);
  } catch (error) {
    const known = await rpc.call(z.unknown(), "eth_getTransactionByHash", [hash]);
    if (!(error instanceof RpcError) || known === null) throw error;
  }
}
