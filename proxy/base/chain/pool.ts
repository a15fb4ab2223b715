/**
 * The pool contract in domain types: what it says, the calldata it takes, its events and its reasons.
 * Trusts the ABI that the compiler wrote; what a node answers is decoded strictly or refused.
 */
import { Interface } from "ethers";
import { POOL_ABI } from "../../../shared/contracts/abi.ts";
import {
  mustField,
  ZERO_ADDRESS,
  type Address,
  type Bytes32,
  type Field,
} from "../../../shared/protocol/brands.ts";
import { asAddress } from "../../../shared/protocol/host/text.ts";
import { mustFromHex } from "../../../shared/protocol/bytes.ts";
import { EXECUTED_TOPIC, readExecuted, type Executed } from "../../../shared/protocol/host/executed-log.ts";
import { KIND_NAMES, KINDS, type Kind } from "../../../shared/protocol/statements.ts";
import { encodeExecute } from "./execute-call.ts";
import { ChainUnreachable } from "./json-rpc.ts";
import type { BlockTag, Chain, LogData, LogRange } from "./provider.ts";

export type PoolEvent =
  | { readonly kind: "executed"; readonly executed: Executed }
  /** The note that the pool made of what a swap brought, in the same call and behind its `executed`. */
  | {
      readonly kind: "note-hashed";
      readonly statement: Bytes32;
      readonly leafIndex: number;
      readonly commitment: Field;
      readonly npk: Field;
      readonly asset: Address;
      readonly value: bigint;
    }
  /** A note that the pool made of money that a contract brought. */
  | {
      readonly kind: "credited";
      readonly leafIndex: number;
      readonly commitment: Field;
      readonly npk: Field;
      readonly asset: Address;
      readonly value: bigint;
      readonly ephemeralKey: Uint8Array;
      readonly ciphertext: Uint8Array;
    }
  | { readonly kind: "rejected"; readonly statement: Bytes32; readonly reason: string }
  | { readonly kind: "root"; readonly root: Field; readonly leafCount: number; readonly sequence: number }
  /** The statement that made these leaves is refuted. */
  | {
      readonly kind: "voided";
      readonly statement: Bytes32;
      readonly firstLeafIndex: number;
      readonly leafCount: number;
    }
  /** What made these leaves was proved on a root that is revoked. */
  | { readonly kind: "suspended"; readonly firstLeafIndex: number; readonly leafCount: number }
  /** The statement that is executed next is the suspended `earlier` one. */
  | { readonly kind: "confirmed"; readonly statement: Bytes32; readonly earlier: Bytes32 }
  /** The roots numbered so are none any more; the tree goes on from `root`. */
  | {
      readonly kind: "revoked";
      readonly first: number;
      readonly last: number;
      readonly root: Field;
      readonly leafCount: number;
    }
  | {
      readonly kind: "root-skipped";
      readonly fromIndex: number;
      readonly toIndex: number;
      readonly reason: string;
    };

export type PoolRefusal = Extract<PoolEvent, { kind: "rejected" | "root-skipped" }>;

/** An error of the pool by name, `Unknown` when its selector is none of ours. `inner` is a token's own revert data. */
export interface PoolReason {
  readonly name: string;
  readonly inner: string;
  /** Of CapReached: Unix seconds from which there is room, at the earliest; 0 where the amount is more than ever at once. */
  readonly fitsFrom?: number;
}

/** An `execute` on the newest block. */
export interface SimulatedCall {
  /** Which members the pool would refuse and why, and the update. */
  readonly refusals: readonly PoolRefusal[];
  /** Undefined when the node does not say. */
  readonly gasUsed: bigint | undefined;
}

/** `reverted`: the call would fail as a whole. Undefined: the node cannot simulate. */
export type Simulated = SimulatedCall | "reverted" | undefined;

/** As Refutations.sol writes it. */
export const PATH_CLOSED_FOR_EVER = 2 ** 40 - 1;

/** Nothing stands at the pool's address: in that block it is not deployed yet, or the node does not know. */
export class PoolAbsent extends ChainUnreachable {}

export class Pool {
  readonly #chain: Chain;
  readonly address: Address;
  readonly #abi = new Interface(POOL_ABI);
  readonly #refusals: Set<string | undefined>;
  readonly home: { chainId: bigint; pool: Address };
  // Immutable in the contract, so it is read once.
  readonly threshold: () => Promise<number>;
  readonly verifyingKeyHash: (kind: Kind) => Promise<Bytes32>;
  /** What a transaction of this kind may use when it moves tokens, whatever tokens and venue do. */
  readonly memberGas: (kind: Kind) => Promise<bigint>;
  readonly encodeExecute = encodeExecute;

  constructor(chain: Chain, address: Address) {
    this.#chain = chain;
    this.address = address;
    this.#refusals = new Set(
      ["Rejected", "RootUpdateSkipped"].map((name) => this.#abi.getEvent(name)?.topicHash),
    );
    this.home = { chainId: chain.chainId, pool: address };
    this.threshold = once(async () => Number((await this.#read("threshold", []))[0]));
    this.verifyingKeyHash = this.#byKind<Bytes32>("verifyingKeyHash");
    this.memberGas = this.#byKind<bigint>("memberGas");
  }

  async currentRoot(at?: BlockTag | Bytes32) {
    const [root, leafCount, sequence] = await this.#read("currentRoot", [], at);
    return { root: mustField(root as bigint), leafCount: Number(leafCount), sequence: Number(sequence) };
  }

  async queue(at?: BlockTag | Bytes32) {
    const [leafCount, head] = await this.#read("queue", [], at);
    return { leafCount: Number(leafCount), head: head as Bytes32 };
  }

  async isKnownRoot(root: Field, at?: BlockTag) {
    return (await this.#read("rootSequence", [root], at))[0] !== 0n;
  }

  /** Its number, as long as it is not revoked. */
  async rootSequence(root: Field, at?: BlockTag) {
    const plusOne = (await this.#read("rootSequence", [root], at))[0] as bigint;
    return plusOne === 0n ? undefined : Number(plusOne) - 1;
  }

  async isVoid(leafIndex: number, at?: BlockTag) {
    return (await this.#read("isVoid", [leafIndex], at))[0] === true;
  }

  async isSpent(nullifier: Field) {
    return (await this.#read("isSpent", [nullifier]))[0] === true;
  }

  async isSigner(signer: Address) {
    return (await this.#read("isSigner", [signer]))[0] === true;
  }

  /** Which verifier is in this signer's image, 1 or 2; undefined where its word does not count. */
  async signerKind(signer: Address): Promise<number | undefined> {
    const [[isBelieved], [image]] = await Promise.all([
      this.#read("isSigner", [signer]),
      this.#read("signerRecord", [signer]),
    ]);
    return isBelieved === true ? Number((await this.#read("imageRecord", [image]))[1]) : undefined;
  }

  /** Whether it may be deposited now, and swapped into or through. */
  async isAsset(asset: Address) {
    return (await this.#read("isAsset", [asset]))[0] === true;
  }

  /**
   * Until when the attested path is closed, Unix seconds: PATH_CLOSED_FOR_EVER once false statements were proved; and
   * from when `advance` is allowed although it is open and nothing was refuted.
   */
  async brakes() {
    const [attestedFrom, isUnsound, advanceableFrom] = await this.#read("brakes", []);
    return {
      attestedFrom: Number(attestedFrom),
      isUnsound: isUnsound === true,
      advanceableFrom: Number(advanceableFrom),
    };
  }

  /** Whether the pool can name that place in its queue. */
  async isCheckpoint(leafCount: number, head: Bytes32) {
    return (await this.#read("checkpointTime", [leafCount, head]))[0] !== 0n;
  }

  /** What may leave now, by attestations and by proofs. */
  async room(asset: Address) {
    const [attested, proved] = (await this.#read("room", [asset])) as readonly bigint[];
    return { attested: attested!, proved: proved! };
  }

  /** What is owed to claims: that there is room for and nobody has asked for, and that waits for room. */
  async claimed(asset: Address) {
    const [, owed, waiting] = (await this.#read("claimTotals", [asset])) as readonly bigint[];
    return { due: owed! - waiting!, waiting: waiting! };
  }

  /** The venue for swaps; undefined while there is none. */
  async executor() {
    const executor = asAddress((await this.#read("executor", []))[0]);
    return executor === ZERO_ADDRESS ? undefined : executor;
  }

  logs(range: LogRange) {
    return this.#chain.logs(this.address, range);
  }

  /** Undefined for an event that is no business of ours (signers). */
  parseLog(log: LogData) {
    return parseLog(this.#abi, log);
  }

  /**
   * All of these leaves into the tree, void ones as empty: `frontier` of what is in it, `headBefore` of the queue there,
   * `makers` as `makersOf` has them.
   */
  encodeAdvance(
    frontier: readonly Field[],
    headBefore: Bytes32,
    leaves: readonly Field[],
    makers: readonly Bytes32[],
  ) {
    return this.#abi.encodeFunctionData("advance", [frontier, leaves.length, headBefore, leaves, makers]);
  }

  async simulate(calldata: string, sender: Address): Promise<Simulated> {
    const simulated = await this.#chain.simulate({ from: sender, to: this.address, data: calldata });
    if (simulated === undefined || simulated === "reverted") return simulated;
    const { logs, gasUsed } = simulated;
    return {
      gasUsed,
      refusals: logs.flatMap((log) => {
        if (log.address.toLowerCase() !== this.address || !this.#refusals.has(log.topics[0])) return [];
        return (parseLog(this.#abi, log) as PoolRefusal | undefined) ?? [];
      }),
    };
  }

  readReason(data: string) {
    return readReason(this.#abi, data);
  }

  async #read(
    name: string,
    args: readonly unknown[],
    at: BlockTag | Bytes32 = "latest",
  ): Promise<readonly unknown[]> {
    const answer = await this.#chain.call(
      { to: this.address, data: this.#abi.encodeFunctionData(name, args) },
      at,
    );
    if (answer === "0x") throw new PoolAbsent(`there is no pool to answer ${name}`);
    try {
      return [...(this.#abi.decodeFunctionResult(name, answer) as Iterable<unknown>)];
    } catch (cause) {
      throw new ChainUnreachable(`the pool did not answer ${name}`, { cause });
    }
  }

  /** Asked by kind and immutable in the contract, so each answer is read once. */
  #byKind<T>(name: string): (kind: Kind) => Promise<T> {
    const answers = new Map(
      KIND_NAMES.map((kind) => [kind, once(async () => (await this.#read(name, [KINDS[kind].id]))[0] as T)]),
    );
    return (kind) => answers.get(kind)!();
  }
}

/** Remembers the first answer; a failure is asked again. */
function once<T>(question: () => Promise<T>): () => Promise<T> {
  let answer: Promise<T> | undefined;
  return () => {
    answer ??= question().catch((error: unknown) => {
      answer = undefined;
      throw error;
    });
    return answer;
  };
}

function parseLog(abi: Interface, log: LogData): PoolEvent | undefined {
  if (log.topics[0] === EXECUTED_TOPIC) {
    const executed = readExecuted(log);
    if (executed === undefined)
      throw new ChainUnreachable("a statement was executed in a way that this proxy cannot read");
    return { kind: "executed", executed };
  }
  const parsed = abi.parseLog({ topics: [...log.topics], data: log.data });
  if (parsed === null) return undefined;
  const { args } = parsed;
  switch (parsed.name) {
    case "NoteHashed": {
      const asset = asAddress(args["asset"]);
      if (asset === undefined) throw new ChainUnreachable("a note of the pool names no asset");
      return {
        kind: "note-hashed",
        statement: args["statementHash"] as Bytes32,
        leafIndex: Number(args["leafIndex"]),
        commitment: mustField(args["commitment"] as bigint),
        npk: mustField(args["npk"] as bigint),
        asset,
        value: args["value"] as bigint,
      };
    }
    case "Credited": {
      const asset = asAddress(args["asset"]);
      if (asset === undefined) throw new ChainUnreachable("a credited note names no asset");
      return {
        kind: "credited",
        leafIndex: Number(args["leafIndex"]),
        commitment: mustField(args["commitment"] as bigint),
        npk: mustField(args["npk"] as bigint),
        asset,
        value: args["value"] as bigint,
        ephemeralKey: mustFromHex(args["ephemeralKey"] as string),
        ciphertext: mustFromHex(args["ciphertext"] as string),
      };
    }
    case "Rejected":
      return {
        kind: "rejected",
        statement: args["statementHash"] as Bytes32,
        reason: args["reason"] as string,
      };
    case "RootUpdated":
      return {
        kind: "root",
        root: mustField(args["root"] as bigint),
        leafCount: Number(args["leafCount"]),
        sequence: Number(args["sequence"]),
      };
    case "LeavesVoided":
      return {
        kind: "voided",
        statement: args["statementHash"] as Bytes32,
        firstLeafIndex: Number(args["firstLeafIndex"]),
        leafCount: Number(args["count"]),
      };
    case "LeavesSuspended":
      return {
        kind: "suspended",
        firstLeafIndex: Number(args["firstLeafIndex"]),
        leafCount: Number(args["count"]),
      };
    case "Confirmed":
      return {
        kind: "confirmed",
        statement: args["statementHash"] as Bytes32,
        earlier: args["earlier"] as Bytes32,
      };
    case "RootsRevoked":
      return {
        kind: "revoked",
        first: Number(args["first"]),
        last: Number(args["last"]),
        root: mustField(args["root"] as bigint),
        leafCount: Number(args["leafCount"]),
      };
    case "RootUpdateSkipped":
      return {
        kind: "root-skipped",
        fromIndex: Number(args["fromIndex"]),
        toIndex: Number(args["toIndex"]),
        reason: args["reason"] as string,
      };
    default:
      return undefined;
  }
}

function readReason(abi: Interface, data: string): PoolReason {
  try {
    const error = abi.parseError(data);
    if (error === null) return { name: "Unknown", inner: "0x" };
    if (error.name === "CapReached")
      return { name: error.name, inner: "0x", fitsFrom: Number(error.args[2]) };
    const inner: unknown = error.name === "TransferRefused" ? error.args[0] : "0x";
    return { name: error.name, inner: typeof inner === "string" ? inner : "0x" };
  } catch {
    // Fewer than four bytes: only running out of gas leaves that.
    return { name: "Unknown", inner: "0x" };
  }
}
