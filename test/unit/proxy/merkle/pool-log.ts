// Logs of a pool as a node would give them, encoded by the compiler's ABI.
import { Interface } from "ethers";
import { createPool, type Pool } from "../../../../proxy/chain/pool.ts";
import type { Chain, RawLog } from "../../../../proxy/chain/provider.ts";
import { POOL_ABI } from "../../../../shared/contracts/abi.ts";
import type { Address, Bytes32 } from "../../../../shared/protocol/brands.ts";
import { concatBytes, toHex, word } from "../../../../shared/protocol/bytes.ts";
import { CIPHERTEXT_BYTES, KINDS, type Kind } from "../../../../shared/protocol/statements.ts";

export const POOL_ADDRESS = `0x${"aa".repeat(20)}` as Address;
const abi = new Interface(POOL_ABI);

export const hash = (n: number): Bytes32 => toHex(word(BigInt(n))) as Bytes32;
/** Every byte is `n`. */
export const ciphertext = (n: number): Uint8Array => new Uint8Array(CIPHERTEXT_BYTES).fill(n);

/** Reads logs; asks no chain. */
export function logReader(): Pool {
  return createPool({ chainId: 1n } as Chain, POOL_ADDRESS);
}

interface Where {
  readonly block?: number;
  readonly logIndex: number;
  readonly tx?: number;
}

function log(name: string, args: readonly unknown[], { block = 1, logIndex, tx = 1 }: Where): RawLog {
  const { topics, data } = abi.encodeEventLog(name, args);
  return {
    address: POOL_ADDRESS,
    topics,
    data,
    blockNumber: block,
    blockHash: hash(1_000 + block),
    txHash: hash(2_000 + tx),
    logIndex,
  };
}

/** Commitments are 100 + index, nullifiers 500 + index, ciphertexts filled with index + 1. */
export function executed(kind: Kind, statement: number, first: number, where: Where): RawLog {
  const { id, inputs, outputs, leaves } = KINDS[kind];
  const numbers = (count: number, from: number): number[] =>
    Array.from({ length: count }, (_, i) => from + i);
  const ciphertexts = concatBytes(...numbers(leaves, first + 1).map(ciphertext));
  const nullifiers = numbers(inputs, 500 + 10 * statement);
  const commitments = numbers(outputs, 100 + first);
  return log("Executed", [hash(statement), id, first, nullifiers, commitments, toHex(ciphertexts)], where);
}

export function noteHashed(
  statement: number,
  index: number,
  asset: Address,
  value: bigint,
  where: Where,
): RawLog {
  return log("NoteHashed", [hash(statement), index, 100 + index, 7, asset, value], where);
}
