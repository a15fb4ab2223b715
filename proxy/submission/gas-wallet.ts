/** The wallet that pays gas: signs, prices and re-prices transactions. It owns no user's money, only coins for gas. */
import { Transaction, Wallet } from "ethers";
import { asAddress, asBytes32, type Address, type Bytes32 } from "../../shared/protocol/brands.ts";

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

export interface GasWallet {
  readonly address: Address;
  sign(transaction: UnsignedTransaction): { raw: string; hash: Bytes32 };
}

/** `privateKey`: 0x and 64 hex digits. */
export function createGasWallet(privateKey: string, chainId: bigint): GasWallet {
  const wallet = new Wallet(privateKey);
  const address = asAddress(wallet.address);
  if (address === undefined) throw new TypeError("the gas wallet has no address");
  return {
    address,
    sign(fields) {
      const transaction = Transaction.from({ type: 2, chainId, value: 0n, accessList: [], ...fields });
      transaction.signature = wallet.signingKey.sign(transaction.unsignedHash);
      const hash = asBytes32(transaction.hash);
      if (hash === undefined) throw new TypeError("a signed transaction has a hash");
      return { raw: transaction.serialized, hash };
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
