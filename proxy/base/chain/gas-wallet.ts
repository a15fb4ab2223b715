/** The wallet that pays gas: signs, prices and re-prices transactions. It owns no user's money, only coins for gas. */
import { RLP } from "@ethereumjs/rlp";
import { Wallet } from "ethers";
import type { Address, Bytes32 } from "../../../shared/protocol/brands.ts";
import { asAddress } from "../../../shared/protocol/host/text.ts";
import { concatBytes, mustFromHex } from "../../../shared/protocol/bytes.ts";
import { keccakHex } from "../../../shared/protocol/hash.ts";

export interface Fees {
  readonly maxFeePerGas: bigint;
  readonly maxPriorityFeePerGas: bigint;
}

export interface UnsignedTransaction extends Fees {
  readonly nonce: number;
  readonly to: Address;
  readonly data: string;
  readonly gasLimit: bigint;
}

export type GasWallet = ReturnType<typeof createGasWallet>;

/** EIP-2718: the transaction's type stands before its fields. */
const TYPE_2 = Uint8Array.of(2);
const NO_COINS = 0n;

/** `privateKey`: 0x and 64 hex digits. */
export function createGasWallet(privateKey: string, chainId: bigint) {
  const wallet = new Wallet(privateKey);
  const address = asAddress(wallet.address);
  if (address === undefined) throw new TypeError("the gas wallet has no address");
  return {
    address,
    sign(transaction: UnsignedTransaction): { raw: string; hash: Bytes32 } {
      const { nonce, maxPriorityFeePerGas, maxFeePerGas, gasLimit, to, data } = transaction;
      // EIP-1559. In bytes and once: the encoder of the wallet goes through hex digits, five times a call of 80 KiB.
      const call = [mustFromHex(to), NO_COINS, Buffer.from(data.slice(2), "hex"), []];
      const fields = [chainId, nonce, maxPriorityFeePerGas, maxFeePerGas, gasLimit, ...call];
      const { yParity, r, s } = wallet.signingKey.sign(keccakHex(TYPE_2, RLP.encode(fields)));
      const raw = concatBytes(TYPE_2, RLP.encode([...fields, yParity, BigInt(r), BigInt(s)]));
      return { raw: `0x${Buffer.from(raw).toString("hex")}`, hash: keccakHex(raw) };
    },
  };
}

/** Room for six full blocks in a row before the base fee passes it. */
export function firstFees(baseFee: bigint, tip: bigint, cap: bigint): Fees {
  const maxFeePerGas = least(2n * baseFee + tip, cap);
  return { maxFeePerGas, maxPriorityFeePerGas: least(tip, maxFeePerGas) };
}

/**
 * At least an eighth more of both, the replacement rule of geth's pool (other nodes ask for 10 %), and no
 * less than a new transaction would bid. Undefined when that would pass the cap.
 */
export function higherFees(old: Fees, baseFee: bigint, tip: bigint, cap: bigint): Fees | undefined {
  const fresh = firstFees(baseFee, tip, cap);
  const maxFeePerGas = most(anEighthMore(old.maxFeePerGas), fresh.maxFeePerGas);
  const maxPriorityFeePerGas = most(anEighthMore(old.maxPriorityFeePerGas), fresh.maxPriorityFeePerGas);
  if (maxFeePerGas > cap) return undefined;
  return { maxFeePerGas, maxPriorityFeePerGas: least(maxPriorityFeePerGas, maxFeePerGas) };
}

function anEighthMore(value: bigint): bigint {
  return (value * 9n + 7n) / 8n + 1n;
}
const least = (a: bigint, b: bigint): bigint => (a < b ? a : b);
const most = (a: bigint, b: bigint): bigint => (a > b ? a : b);
