/** What the pool itself answers, at one block. Whatever has another form than the pool's is not believed. */
import { mustField, type Address, type Bytes32, type Field } from "../../protocol/brands.ts";
import { asBytes32 } from "../../protocol/host/text.ts";
import { KINDS, type Home, type Kind } from "../../protocol/statements.ts";
import { ClientError } from "../base/errors.ts";
import { POOL } from "../statements/execute-call.ts";
import { NodeRefused } from "./json-rpc.ts";
import { Elsewhere, type Nodes } from "./nodes.ts";

export interface RootRecord {
  readonly leafCount: number;
  /** Unix seconds from which a proof may use it. */
  readonly provableFrom: number;
}

export class PoolView {
  readonly #nodes: Nodes;
  readonly #pool: Address;
  readonly #block: number;
  readonly #signal: AbortSignal | undefined;

  constructor(nodes: Nodes, { pool }: Home, block: number, signal?: AbortSignal) {
    this.#nodes = nodes;
    this.#pool = pool;
    this.#block = block;
    this.#signal = signal;
  }

  async queue(): Promise<{ leafCount: number; head: Bytes32 }> {
    const [leafCount, head] = await this.#ask("queue", []);
    return { leafCount: Number(leafCount), head: asBytes32(head)! };
  }

  async currentRoot(): Promise<{ root: Field; leafCount: number }> {
    const [root, leafCount] = await this.#ask("currentRoot", []);
    return { root: mustField(root as bigint), leafCount: Number(leafCount) };
  }

  /** Undefined for one that was never recorded, or is revoked. */
  async rootRecord(root: Field): Promise<RootRecord | undefined> {
    const [sequence, leafCount, provableFrom] = await this.#ask("rootRecord", [root]);
    return sequence === 0n ? undefined : { leafCount: Number(leafCount), provableFrom: Number(provableFrom) };
  }

  async brakes(): Promise<{ attestedFrom: number; isUnsound: boolean; advanceableFrom: number }> {
    const [attestedFrom, isUnsound, advanceableFrom] = await this.#ask("brakes", []);
    return {
      attestedFrom: Number(attestedFrom),
      isUnsound: isUnsound === true,
      advanceableFrom: Number(advanceableFrom),
    };
  }

  async checkpointTime(leafCount: number, head: Bytes32): Promise<number> {
    return Number((await this.#ask("checkpointTime", [leafCount, head]))[0]);
  }

  async verifyingKeyHash(kind: Kind): Promise<Bytes32> {
    return asBytes32((await this.#ask("verifyingKeyHash", [KINDS[kind].id]))[0])!;
  }

  async memberGas(kind: Kind): Promise<bigint> {
    return (await this.#ask("memberGas", [KINDS[kind].id]))[0] as bigint;
  }

  /** What may leave by proofs now. */
  async provedRoom(asset: Address): Promise<bigint> {
    return (await this.#ask("room", [asset]))[1] as bigint;
  }

  /** How many were ever made. */
  async claimCount(asset: Address): Promise<bigint> {
    return (await this.#ask("claimTotals", [asset]))[0] as bigint;
  }

  /** What is owed of it, and of that what can be paid now. Nothing is paid while its root is revoked. */
  async claim(asset: Address, id: bigint): Promise<{ amount: bigint; due: bigint; isRevoked: boolean }> {
    const [, amount, due, isRevoked] = await this.#ask("claim", [asset, id]);
    return { amount: amount as bigint, due: due as bigint, isRevoked: isRevoked === true };
  }

  async #ask(name: string, args: readonly unknown[]): Promise<readonly unknown[]> {
    let answer: string;
    try {
      answer = await this.#nodes.call(
        this.#pool,
        POOL.encodeFunctionData(name, args),
        this.#block,
        this.#signal,
      );
    } catch (error) {
      if (!(error instanceof NodeRefused)) throw error;
      if (error.isRevert) throw this.#noPool(name);
      // It has forgotten the state of that block, say.
      throw new ClientError("NODE_UNREACHABLE", `${name} at block ${this.#block}: ${error.message}`, {
        cause: error,
      });
    }
    try {
      return POOL.decodeFunctionResult(name, answer);
    } catch {
      // No contract at all answers nothing.
      throw this.#noPool(name);
    }
  }

  #noPool(name: string): ClientError {
    return new Elsewhere(`no pool of this version answers ${name} at ${this.#pool}`);
  }
}
