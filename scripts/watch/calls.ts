/**
 * What was handed to the pool in a transaction: every call of `execute` and `advance` that took effect, taken from the
 * transaction's own calldata, or from a trace when another contract made the call. Trusts the compiler's ABI.
 */
import { Interface } from "ethers";
import { ChainBusy, ChainRefused, ChainUnreachable } from "../../proxy/base/chain/json-rpc.ts";
import { POOL_ABI } from "../../shared/contracts/abi.ts";
import type { Address, Bytes32 } from "../../shared/protocol/brands.ts";
import { mustFromHex } from "../../shared/protocol/bytes.ts";
import { kindById, statementHashOf } from "../../shared/protocol/statements.ts";
import type { ChainNode, ChainTransaction, Frame, Log } from "./node.ts";

export const poolInterface = new Interface(POOL_ABI);
const EXECUTE = poolInterface.getFunction("execute")!.selector;
const ADVANCE = poolInterface.getFunction("advance")!.selector;

/** One transaction of a batch. Nothing of it has been checked. */
export interface Member {
  readonly type: "member";
  readonly kindId: number;
  readonly deadline: bigint;
  readonly signals: readonly bigint[];
  readonly ext: Uint8Array;
  readonly proof: Uint8Array;
  readonly authorization: Uint8Array;
  readonly attestations: Uint8Array;
}

export interface Update {
  readonly type: "update";
  readonly oldRoot: bigint;
  readonly newRoot: bigint;
  readonly fromIndex: bigint;
  readonly toIndex: bigint;
  readonly headBefore: Bytes32;
  readonly headAfter: Bytes32;
  readonly attestations: Uint8Array;
}

/** A call that needs no signer: the pool computes the root itself. */
export interface Advance {
  readonly type: "advance";
}

/** What the pool answers with one event each, in this order: the members, then the update if there is one. */
export type Handed = Member | Update | Advance;

/** Whether judging needs what was handed to the pool. What it refused may still be false and signed; the owner signs nothing. */
export function needsCalldata(logs: readonly Log[], pool: Address): boolean {
  return logs.some(({ address, topics }) => address === pool && HANDED_IN.has(topics[0] ?? ""));
}
const HANDED_IN = new Set(
  ["Executed", "Rejected", "RootUpdated"].map((name) => poolInterface.getEvent(name)!.topicHash),
);

/** Undefined for a kind that is not in the table, which no pool executes. */
export function hashOf({ kindId, deadline, signals, ext }: Member): Bytes32 | undefined {
  const kind = kindById(kindId);
  return kind === undefined ? undefined : statementHashOf(kind, deadline, signals, ext);
}

/** A text says why it cannot be known. */
export async function handedTo(
  pool: Address,
  transaction: ChainTransaction,
  node: ChainNode,
): Promise<Handed[] | string> {
  // The pool's lock keeps a second `execute` out while one runs, so a direct call is the only one.
  if (transaction.to === pool) return decode([transaction.input]);
  let root: Frame;
  try {
    root = await node.trace(transaction.hash);
  } catch (error) {
    const isNoAnswer = error instanceof ChainRefused || error instanceof ChainUnreachable;
    if (!isNoAnswer || error instanceof ChainBusy) throw error;
    // Some cut the connection where others refuse: who answers another question is there, and does not trace.
    if (error instanceof ChainUnreachable) await node.chainId();
    return `another contract called the pool, and the node does not trace (${error.message})`;
  }
  return decode(inputsTo(pool, root));
}

/** In order of execution. A delegated or static call runs elsewhere or changes nothing; a reverted one is undone. */
function inputsTo(pool: Address, frame: Frame): string[] {
  if (frame.isReverted) return [];
  const own = frame.type === "CALL" && frame.to === pool ? [frame.input] : [];
  return [...own, ...frame.calls.flatMap((call) => inputsTo(pool, call))];
}

function decode(inputs: readonly string[]): Handed[] | string {
  try {
    // The pool does not ask for the padding of the last bytes, so anyone may leave it out.
    const padded = inputs.map((input) => input + "00".repeat(32));
    return padded.flatMap((input) =>
      input.startsWith(EXECUTE) ? decodeExecute(input) : input.startsWith(ADVANCE) ? [ADVANCED] : [],
    );
  } catch {
    return "the calldata does not decode";
  }
}

const ADVANCED: Advance = { type: "advance" };

/** As ethers decodes it. */
type Raw<T> = { readonly [Name in keyof T]: T[Name] extends Uint8Array ? string : T[Name] };
type RawMember = Raw<Omit<Member, "type" | "kindId" | "signals">> & {
  readonly kind: bigint;
  readonly signals: Iterable<bigint>;
};
type RawUpdate = Raw<Omit<Update, "type">>;

function decodeExecute(input: string): Handed[] {
  const [members, update] = poolInterface.decodeFunctionData("execute", input) as unknown as [
    Iterable<RawMember>,
    RawUpdate,
  ];
  const handed: Handed[] = [...members].map(
    ({ kind, deadline, signals, ext, proof, authorization, attestations }) => ({
      type: "member",
      kindId: Number(kind),
      deadline,
      signals: [...signals],
      ext: mustFromHex(ext),
      proof: mustFromHex(proof),
      authorization: mustFromHex(authorization),
      attestations: mustFromHex(attestations),
    }),
  );
  const { oldRoot, newRoot, fromIndex, toIndex, headBefore, headAfter } = update;
  const attestations = mustFromHex(update.attestations);
  // What the pool takes for no update at all, it answers with no event.
  if (toIndex === 0n && fromIndex === 0n && attestations.length === 0) return handed;
  const fields = { oldRoot, newRoot, fromIndex, toIndex, headBefore, headAfter, attestations };
  return [...handed, { type: "update", ...fields }];
}
