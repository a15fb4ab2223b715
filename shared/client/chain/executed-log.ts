/**
 * The pool's `Executed` log, read here and nowhere else in this library: what it looks like is known to this file alone.
 * The pool is what was deployed, the node is not: whatever does not fit is refused.
 */
import { asBytes32, asField, type Bytes32, type Field } from "../../protocol/brands.ts";
import { toHex } from "../../protocol/bytes.ts";
import { CIPHERTEXT_BYTES, kindById, KINDS, type Kind } from "../../protocol/statements.ts";
import { mustFromHex } from "../../protocol/bytes.ts";
import { POOL } from "../execute-call.ts";

export interface Executed {
  readonly statement: Bytes32;
  readonly kind: Kind;
  readonly firstLeafIndex: number;
  readonly nullifiers: readonly Field[];
  /** Of a swap one less than there are leaves. */
  readonly commitments: readonly Field[];
  /** By leaf, in the words of the stream's `leaf` event. */
  readonly sealed: readonly { readonly ciphertext: string }[];
}

const EVENT = POOL.getEvent("Executed")!;

/** Undefined for any other log, and for one that the pool would not write. */
export function readExecuted({
  topics,
  data,
}: {
  readonly topics: readonly string[];
  readonly data: string;
}): Executed | undefined {
  const [topic, statementTopic, kindTopic] = topics;
  const statement = asBytes32(statementTopic);
  const kind = kindTopic === undefined ? undefined : kindById(Number(kindTopic));
  if (topic !== EVENT.topicHash || statement === undefined || kind === undefined) return undefined;
  let args;
  try {
    args = POOL.decodeEventLog(EVENT, data, topics);
  } catch {
    return undefined;
  }
  const { inputs, outputs, leaves } = KINDS[kind];
  const nullifiers = fields(args["nullifiers"] as Iterable<bigint>, inputs);
  const commitments = fields(args["commitments"] as Iterable<bigint>, outputs);
  const bytes = mustFromHex(String(args["ciphertexts"]));
  const firstLeafIndex = Number(args["firstLeafIndex"]);
  if (nullifiers === undefined || commitments === undefined || bytes.length !== leaves * CIPHERTEXT_BYTES)
    return undefined;
  const sealed = Array.from({ length: leaves }, (_, at) => ({
    ciphertext: toHex(bytes.slice(at * CIPHERTEXT_BYTES, (at + 1) * CIPHERTEXT_BYTES)),
  }));
  return { statement, kind, firstLeafIndex, nullifiers, commitments, sealed };
}

/** Undefined for another number of them, and when one is not below the field order. */
function fields(untrusted: Iterable<bigint>, count: number): Field[] | undefined {
  const values = [...untrusted].map(asField);
  return values.length === count && values.every((value) => value !== undefined) ? values : undefined;
}
