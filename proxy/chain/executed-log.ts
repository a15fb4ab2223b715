/**
 * The pool's `Executed` log, read here and not by a general decoder: that one takes most of a millisecond, and holds up
 * every caller while a block's logs are read. The tests hold it against such a decoder.
 * Layout: Solidity, Contract ABI Specification, "Formal Specification of the Encoding" and "Events".
 */
import { Interface } from "ethers";
import { POOL_ABI } from "../../shared/contracts/abi.ts";
import { asBytes32, FIELD_ORDER, mustField, type Bytes32, type Field } from "../../shared/protocol/brands.ts";
import { kindById, type Kind } from "../../shared/protocol/statements.ts";
import type { LogData } from "./provider.ts";

/** A statement that the pool executed. */
export interface Executed {
  readonly kind: "executed";
  readonly statement: Bytes32;
  readonly statementKind: Kind;
  readonly firstLeafIndex: number;
  readonly nullifiers: readonly Field[];
  readonly commitments: readonly Field[];
  /** One a leaf: of a swap one more than `commitments`. */
  readonly ciphertexts: Uint8Array;
}

export const EXECUTED_TOPIC = new Interface(POOL_ABI).getEvent("Executed")!.topicHash;
const WORD_CHARS = 64;
const WORD_BYTES = 32;
/** firstLeafIndex, and the places of the three that have no fixed length. */
const HEAD_WORDS = 4;

/** Undefined for anything but what the compiler's encoder writes: the pool is what we deployed, the node is not. */
export function readExecuted({ topics, data }: LogData): Executed | undefined {
  if (topics.length !== 3 || !/^0x([0-9a-fA-F]{64})+$/.test(data)) return undefined;
  const words = (data.length - 2) / WORD_CHARS;
  const statement = asBytes32(topics[1]);
  const statementKind = kindById(Number(topics[2]));
  if (statement === undefined || statementKind === undefined) return undefined;

  /** NaN behind the end. */
  const small = (at: number): number => (at < words ? Number(`0x${wordAt(data, at)}`) : NaN);
  const fields = (at: number): Field[] | undefined => {
    const count = small(at);
    if (!(at + count < words)) return undefined;
    const values = Array.from({ length: count }, (_, i) => BigInt(`0x${wordAt(data, at + 1 + i)}`));
    return values.every((value) => value < FIELD_ORDER) ? values.map(mustField) : undefined;
  };

  const firstLeafIndex = small(0);
  const nullifiers = fields(HEAD_WORDS);
  if (nullifiers === undefined || !Number.isSafeInteger(firstLeafIndex)) return undefined;
  const second = HEAD_WORDS + 1 + nullifiers.length;
  const commitments = fields(second);
  if (commitments === undefined) return undefined;
  const third = second + 1 + commitments.length;
  const length = small(third);
  const places = [HEAD_WORDS, second, third];
  if (places.some((place, i) => small(1 + i) !== place * WORD_BYTES)) return undefined;
  if (words !== third + 1 + Math.ceil(length / WORD_BYTES)) return undefined;

  const begin = 2 + (third + 1) * WORD_CHARS;
  const end = begin + 2 * length;
  if (!/^0*$/.test(data.slice(end))) return undefined;
  const ciphertexts = Uint8Array.from(Buffer.from(data.slice(begin, end), "hex"));
  return { kind: "executed", statement, statementKind, firstLeafIndex, nullifiers, commitments, ciphertexts };
}

function wordAt(data: string, at: number): string {
  return data.slice(2 + at * WORD_CHARS, 2 + (at + 1) * WORD_CHARS);
}
