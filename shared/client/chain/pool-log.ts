/** The pool's other logs that say something about leaves and roots. */
import { asField, type Address, type Bytes32, type Field } from "../../protocol/brands.ts";
import { asAddress, asBytes32 } from "../../protocol/host/text.ts";
import { EXECUTED_TOPIC, readExecuted, type Executed } from "../../protocol/host/executed-log.ts";
import { POOL } from "../statements/execute-call.ts";
import { doubted, type PoolLog } from "./nodes.ts";

const topicOf = (name: string): string => POOL.getEvent(name)!.topicHash;

export const ROOT_UPDATED = topicOf("RootUpdated");
export const ROOTS_REVOKED = topicOf("RootsRevoked");
export const LEAVES_VOIDED = topicOf("LeavesVoided");
export const LEAVES_SUSPENDED = topicOf("LeavesSuspended");
export const NOTE_HASHED = topicOf("NoteHashed");
export const CLAIM_ADDED = topicOf("ClaimAdded");

/** The note that the pool made of what a swap brought. */
export interface NoteHashed {
  readonly statement: Bytes32;
  readonly leafIndex: number;
  readonly commitment: Field;
  readonly npk: Field;
  readonly asset: Address;
  readonly value: bigint;
}

/** A note that the pool made of money that a contract brought. */
export interface Credited extends Omit<NoteHashed, "statement"> {
  readonly ephemeralKey: string;
  readonly ciphertext: string;
}

export type PoolEntry =
  | { readonly type: "executed"; readonly executed: Executed }
  | { readonly type: "note-hashed"; readonly note: NoteHashed }
  | { readonly type: "credited"; readonly note: Credited }
  | { readonly type: "root"; readonly root: Field; readonly leafCount: number; readonly sequence: number }
  | {
      readonly type: "voided";
      readonly statement: Bytes32;
      readonly first: number;
      readonly count: number;
    }
  | { readonly type: "suspended"; readonly first: number; readonly count: number }
  | { readonly type: "revoked"; readonly first: number; readonly last: number };

/** Undefined for what is about neither leaves nor roots. Throws CHAIN_DOUBTED for what the pool would not write. */
export function readEntry(log: PoolLog): PoolEntry | undefined {
  const executed = readExecuted(log);
  if (executed !== undefined) return { type: "executed", executed };
  if (log.topics[0] === EXECUTED_TOPIC)
    throw doubted(`a statement in block ${log.block} that no pool executes`);
  let event;
  try {
    event = POOL.parseLog({ topics: [...log.topics], data: log.data });
  } catch {
    throw doubted(`a log of block ${log.block} that no pool writes`);
  }
  const args = event?.args;
  switch (event?.name) {
    case "NoteHashed": {
      return { type: "note-hashed", note: { statement: asBytes32(args!["statementHash"])!, ...opened() } };
    }
    case "Credited": {
      const [ephemeralKey, ciphertext] = [args!["ephemeralKey"] as string, args!["ciphertext"] as string];
      return { type: "credited", note: { ...opened(), ephemeralKey, ciphertext } };
    }
    case "RootUpdated": {
      const root = asField(args!["root"] as bigint);
      if (root === undefined) throw doubted("a root that is no field element");
      return { type: "root", root, leafCount: number("leafCount"), sequence: number("sequence") };
    }
    case "LeavesVoided":
      return {
        ...{ type: "voided", statement: asBytes32(args!["statementHash"])! },
        ...{ first: number("firstLeafIndex"), count: number("count") },
      };
    case "LeavesSuspended":
      return { type: "suspended", first: number("firstLeafIndex"), count: number("count") };
    case "RootsRevoked":
      return { type: "revoked", first: number("first"), last: number("last") };
    case undefined:
    default:
      return undefined;
  }

  function number(name: string): number {
    return Number(args![name]);
  }

  /** A note whose value the pool said. */
  function opened(): Omit<NoteHashed, "statement"> {
    const [commitment, npk] = [asField(args!["commitment"] as bigint), asField(args!["npk"] as bigint)];
    if (commitment === undefined || npk === undefined) throw doubted("a note that is no field element");
    const [asset, value] = [asAddress(args!["asset"])!, args!["value"] as bigint];
    return { leafIndex: number("leafIndex"), commitment, npk, asset, value };
  }
}

export interface ClaimAdded {
  readonly asset: Address;
  readonly id: bigint;
  readonly recipient: Address;
}

/** Of a log with the topic CLAIM_ADDED. */
export function readClaim({ topics, data }: PoolLog): ClaimAdded {
  const event = POOL.parseLog({ topics: [...topics], data });
  if (event?.name !== "ClaimAdded") throw doubted("a log that was not asked for");
  const { asset, id, recipient } = event.args as unknown as {
    asset: unknown;
    id: bigint;
    recipient: unknown;
  };
  return { asset: asAddress(asset)!, id, recipient: asAddress(recipient)! };
}
