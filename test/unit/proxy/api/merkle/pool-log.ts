// Logs of a pool as a node would give them, encoded by the compiler's ABI.
import { Interface } from "ethers";
import { Pool } from "../../../../../proxy/base/chain/pool.ts";
import type { Chain, RawLog } from "../../../../../proxy/base/chain/provider.ts";
import { POOL_ABI } from "../../../../../shared/contracts/abi.ts";
import type { Address, Bytes32 } from "../../../../../shared/protocol/brands.ts";
import { toHex, word } from "../../../../../shared/protocol/bytes.ts";
import { CIPHERTEXT_BYTES, KINDS, type Kind } from "../../../../../shared/protocol/statements.ts";
import { executedLog, type Said } from "../../../../support/oracle.ts";

export const POOL_ADDRESS = `0x${"aa".repeat(20)}` as Address;
const abi = new Interface(POOL_ABI);

export const hash = (n: number): Bytes32 => toHex(word(BigInt(n))) as Bytes32;
/** Every byte is `n`. */
export const ciphertext = (n: number): Uint8Array => new Uint8Array(CIPHERTEXT_BYTES).fill(n);

export const EPHEMERAL_KEY = new Uint8Array(32).fill(0xee);

/** Public only where a kind cannot hide it. */
const [asset, party] = [`0x${"33".repeat(20)}`, `0x${"44".repeat(20)}`];
const MOVED: Readonly<Record<Kind, Pick<Said, "moved">>> = {
  "deposit-shield": { moved: { asset, amount: 5n, party } },
  spend: {},
  spend9: {},
  "private-swap": { moved: { asset, amount: 5n } },
};

/** Reads logs; asks no chain. */
export function logReader(): Pool {
  return new Pool({ chainId: 1n } as Chain, POOL_ADDRESS);
}

interface Where {
  readonly block?: number;
  readonly logIndex: number;
  readonly tx?: number;
}

function rawLog(words: { topics: string[]; data: string }, { block = 1, logIndex, tx = 1 }: Where): RawLog {
  return {
    address: POOL_ADDRESS,
    ...words,
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
  const said = executedLog({
    ...{ statementHash: hash(statement), kindId: id, firstLeafIndex: first, proofHash: hash(9) },
    nullifiers: numbers(inputs, 500 + 10 * statement).map(BigInt),
    commitments: numbers(outputs, 100 + first).map(BigInt),
    ephemeralKey: toHex(EPHEMERAL_KEY),
    ciphertexts: numbers(leaves, first + 1).map((n) => toHex(ciphertext(n))),
    ...MOVED[kind],
  });
  return rawLog(said, where);
}

/** Its npk is 7, its ciphertext filled with index + 1. */
export function credited(index: number, asset: Address, value: bigint, where: Where): RawLog {
  const sealed = [toHex(EPHEMERAL_KEY), toHex(ciphertext(index + 1))];
  return rawLog(abi.encodeEventLog("Credited", [asset, index, 100 + index, 7, value, ...sealed]), where);
}

export function noteHashed(
  statement: number,
  index: number,
  asset: Address,
  value: bigint,
  where: Where,
): RawLog {
  const args = [hash(statement), index, 100 + index, 7, asset, value];
  return rawLog(abi.encodeEventLog("NoteHashed", args), where);
}
