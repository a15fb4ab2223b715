/**
 * One EVM chain for a recovery: what is asked of its nodes, and what is sent to it. A call is tried before it is sent, so
 * that a step that cannot happen costs nothing.
 */
import { ZERO_ADDRESS, type Address } from "../../../protocol/brands.ts";
import { askedAgain } from "../../chain/asking-again.ts";
import { createJsonRpc, NodeRefused } from "../../chain/json-rpc.ts";
import { Nodes, type Block, type PoolLog } from "../../chain/nodes.ts";
import { TOKEN_ABI } from "../../../contracts/abi.ts";
import { contractAbi, type ContractAbi } from "../../statements/execute-call.ts";
import { requireAddress } from "../../base/pins.ts";
import type { TransactionSender } from "../../statements/sender.ts";
import type { RecoveryChain } from "./options.ts";

const TOKEN = contractAbi(TOKEN_ABI);
/** Before what a node refuses, or what does not fit, is asked again. */
const PAUSE_MS = 1_000;

export type Attempt =
  | { readonly state: "done"; readonly transaction: string }
  /** A dry run, or nobody who could send. */
  | { readonly state: "possible" }
  | { readonly state: "refused"; readonly reason: string };

/** Of a whole recovery. */
export interface Manner {
  readonly isDry: boolean;
  readonly signal: AbortSignal | undefined;
  readonly fetch: typeof fetch | undefined;
}

export class EvmChain {
  readonly chainId: number;
  readonly #nodes: Nodes;
  readonly #sender: TransactionSender | undefined;
  readonly #fromBlock: number;
  readonly #isDry: boolean;
  #head: Promise<Block> | undefined;
  readonly #signal: AbortSignal | undefined;

  constructor({ chainId, rpc, sender, fromBlock = 0 }: RecoveryChain, manner: Manner) {
    this.chainId = chainId;
    const all = (typeof rpc === "string" ? [rpc] : rpc).map((url) =>
      createJsonRpc(url, { fetch: manner.fetch }),
    );
    this.#nodes = new Nodes(all, chainId);
    this.#sender = sender;
    this.#fromBlock = fromBlock;
    this.#isDry = manner.isDry;
    this.#signal = manner.signal;
  }

  /** Of this round: asked once, and again behind what was sent. */
  head(): Promise<Block> {
    this.#head ??= this.#again(() => this.#nodes.newest(0, this.#signal));
    return this.#head;
  }

  #again<T>(ask: () => Promise<T>): Promise<T> {
    return askedAgain(ask, PAUSE_MS, this.#signal);
  }

  /** Undefined where the call reverts, or nothing is there that answers. A node that lacks the block says nothing of either. */
  async read(
    abi: ContractAbi,
    to: Address,
    name: string,
    args: readonly unknown[],
  ): Promise<readonly unknown[] | undefined> {
    const { number } = await this.head();
    const data = abi.encodeFunctionData(name, args);
    const answer = await this.#again(async () => {
      try {
        return await this.#nodes.call(to, data, number, this.#signal);
      } catch (error) {
        if (error instanceof NodeRefused && error.isRevert) return "0x";
        throw error;
      }
    });
    return answer === "0x" ? undefined : abi.decodeFunctionResult(name, answer);
  }

  /** Of one contract, or of all. */
  async logs(address: Address | undefined, topics: readonly unknown[]): Promise<readonly PoolLog[]> {
    const { number } = await this.head();
    return this.#again(async () => {
      const pieces: (readonly PoolLog[])[] = [];
      const range = { topics, signal: this.#signal };
      for await (const { logs } of this.#nodes.logs(address, this.#fromBlock, number, range))
        pieces.push(logs);
      return pieces.flat();
    });
  }

  /** Of a token, or of the chain's own coin by the zero address. */
  async balance(token: Address, of: Address): Promise<bigint> {
    if (token === ZERO_ADDRESS) {
      const { number } = await this.head();
      return this.#again(() => this.#nodes.coins(of, number, this.#signal));
    }
    const found = await this.read(TOKEN, token, "balanceOf", [of]);
    return (found?.[0] as bigint | undefined) ?? 0n;
  }

  async attempt(abi: ContractAbi, to: Address, name: string, args: readonly unknown[]): Promise<Attempt> {
    const data = abi.encodeFunctionData(name, args);
    const from =
      this.#sender === undefined ? ZERO_ADDRESS : requireAddress(await this.#sender.getAddress(), "sender");
    let gas: bigint;
    try {
      gas = await this.#nodes.estimate({ from, to, data }, this.#signal);
    } catch (error) {
      if (error instanceof NodeRefused) return { state: "refused", reason: reasonOf(abi, error) };
      throw error;
    }
    if (this.#sender === undefined || this.#isDry) return { state: "possible" };
    const call = { to, data, value: 0n, chainId: this.chainId, gasLimit: gas + gas / 4n };
    this.#signal?.throwIfAborted();
    const sent = await this.#sender.sendTransaction(call);
    const receipt = await sent.wait();
    this.#head = undefined;
    return receipt?.status === 1
      ? { state: "done", transaction: sent.hash }
      : { state: "refused", reason: `transaction ${sent.hash} failed` };
  }
}

function reasonOf(abi: ContractAbi, { data, message }: NodeRefused): string {
  try {
    return (data === undefined ? undefined : abi.parseError(data)?.name) ?? message;
  } catch {
    return message;
  }
}
