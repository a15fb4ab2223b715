/**
 * The chain's JSON-RPC, one request at a time and nothing remembered: every answer is the node's answer of
 * this moment. The node is untrusted in the sense that it may be unreachable, late or behind; what it says is
 * checked against what else it says (parent hashes, roots), never against a cache.
 */
import type { Address, Bytes32 } from "../../../shared/protocol/brands.ts";
import { asBytes32 } from "../../../shared/protocol/host/text.ts";
import { ChainUnreachable, ChainRefused, createJsonRpc, type JsonRpcOptions } from "./json-rpc.ts";
import { createOptional, type OptionalOptions } from "./optional-methods.ts";

export interface Header {
  readonly number: number;
  readonly hash: Bytes32;
  readonly parentHash: Bytes32;
  /** Unix seconds. */
  readonly timestamp: number;
  readonly baseFee: bigint;
  /** That all of a block may take; undefined where the node does not tell. */
  readonly gasLimit?: bigint | undefined;
  /** Of everything that contracts said in it: 256 bytes, hex. Undefined where the node does not tell, or tells nothing. */
  readonly bloom?: string | undefined;
}

/** What a contract said, without where. */
export interface LogData {
  readonly address: string;
  readonly topics: readonly string[];
  readonly data: string;
}

export interface RawLog extends LogData {
  readonly blockNumber: number;
  readonly blockHash: Bytes32;
  readonly txHash: Bytes32;
  readonly logIndex: number;
}

/** What a call would do on the newest block. */
export interface Simulation {
  readonly logs: readonly LogData[];
  /** As a receipt would say, so what the chain gives back for freed storage is taken off already. Undefined when the node does not say. */
  readonly gasUsed: bigint | undefined;
}

export type LogRange =
  { readonly fromBlock: number; readonly toBlock: number } | { readonly blockHash: Bytes32 };
export type Topics = readonly (string | readonly string[] | null)[];
export type BlockTag = number | "latest";

export interface CallRequest {
  readonly from?: Address;
  /** Undefined: the data is run as what creates a contract, and what it returns is the answer. */
  readonly to?: Address;
  readonly data: string;
  readonly gas?: bigint;
}

export interface Receipt {
  readonly blockNumber: number;
  readonly blockHash: Bytes32;
  readonly succeeded: boolean;
  /** For figures only, so a node that does not say is borne. */
  readonly gasUsed: bigint | undefined;
}

export type Chain = ReturnType<typeof createChain>;

export interface ChainOptions extends JsonRpcOptions, Omit<OptionalOptions, "isThere"> {}

/** `eth_simulateV1` on a call that cannot be made as it is, such as one that needs more gas than a block has. */
const isOfTheCall = (code: number): boolean => code <= -38_010 && code >= -38_099;
/** Of a form of the question. What the question itself came to has other codes. */
const isOfTheForm = (code: number): boolean => code === -32_602 || code === -32_600;

export function createChain(url: string, chainId: bigint, options: ChainOptions = {}) {
  const send = createJsonRpc(url, options);
  const optional = createOptional({ ...options, isThere: () => send("eth_blockNumber", []) });

  async function quantity(method: string, params: readonly unknown[]): Promise<bigint> {
    return readQuantity(await send(method, params), method);
  }

  async function text(method: string, params: readonly unknown[]): Promise<string> {
    const answer = await send(method, params);
    if (typeof answer !== "string") throw new ChainUnreachable(`${method} was answered with something else`);
    return answer;
  }

  async function headerAt(at: BlockTag | Bytes32): Promise<Header | undefined> {
    const isHash = typeof at === "string" && at !== "latest";
    return readHeader(await send(isHash ? "eth_getBlockByHash" : "eth_getBlockByNumber", [tag(at), false]));
  }

  const callAt = (request: CallRequest, at: unknown): Promise<string> =>
    text("eth_call", [callObject(request), at]);

  /** A refusal that is about the call and not about the form in which a block was named is the answer. */
  async function callOnHash(request: CallRequest, blockHash: Bytes32): Promise<string> {
    let refusal: ChainRefused | undefined;
    const answer = await optional("EIP-1898", () =>
      callAt(request, { blockHash }).catch((error: unknown) => {
        if (!(error instanceof ChainRefused) || isOfTheForm(error.code)) throw error;
        refusal = error;
        return "";
      }),
    );
    if (refusal !== undefined) throw refusal;
    if (answer !== undefined) return answer;
    const block = await headerAt(blockHash);
    if (block === undefined) throw new ChainUnreachable("the node has no such block");
    const said = await callAt(request, hex(block.number));
    if ((await headerAt(block.number))?.hash !== blockHash)
      throw new ChainUnreachable("the chain moved while it was read");
    return said;
  }

  return {
    chainId,
    /** What it said does not fit together: where there is another node, that is asked next. */
    doubt: (_reason: string): void => undefined,
    /** False when the node serves another chain than the configured one. */
    isConfiguredChain: async () => (await quantity("eth_chainId", [])) === chainId,
    header: headerAt,
    /** Of one contract or several; `topics` as `eth_getLogs` has them: by position one, any of several, or any. */
    async logs(address: Address | readonly Address[], range: LogRange, topics?: Topics) {
      const where =
        "blockHash" in range
          ? { blockHash: range.blockHash }
          : { fromBlock: hex(range.fromBlock), toBlock: hex(range.toBlock) };
      const answer = await send("eth_getLogs", [{ address, ...where, ...(topics && { topics }) }]);
      if (!Array.isArray(answer)) throw new ChainUnreachable("eth_getLogs was answered with something else");
      return answer.map(readLog);
    },
    /** With a hash several answers are surely of one block. */
    call: (request: CallRequest, at: BlockTag | Bytes32 = "latest") =>
      typeof at === "number" || at === "latest" ? callAt(request, tag(at)) : callOnHash(request, at),
    /**
     * This call on the newest block (`eth_simulateV1`). `reverted` when it would fail as a whole; undefined when the
     * node does not offer the method.
     */
    simulate: (request: CallRequest): Promise<Simulation | "reverted" | undefined> =>
      optional("eth_simulateV1", async () => {
        const block = { calls: [callObject(request)] };
        try {
          return readSimulation(await send("eth_simulateV1", [{ blockStateCalls: [block] }, "latest"]));
        } catch (error) {
          if (error instanceof ChainRefused && isOfTheCall(error.code)) return "reverted";
          throw error;
        }
      }),
    estimateGas: (request: CallRequest) => quantity("eth_estimateGas", [callObject(request)]),
    /** Transactions of `account` that are mined. */
    nonce: async (account: Address) => Number(await quantity("eth_getTransactionCount", [account, "latest"])),
    balance: (account: Address) => quantity("eth_getBalance", [account, "latest"]),
    code: (account: Address) => text("eth_getCode", [account, "latest"]),
    /** Wei above the base fee. */
    async priorityFee(): Promise<bigint> {
      const told = await optional("eth_maxPriorityFeePerGas", () => quantity("eth_maxPriorityFeePerGas", []));
      if (told !== undefined) return told;
      const [price, head] = [await quantity("eth_gasPrice", []), await headerAt("latest")];
      const above = price - (head?.baseFee ?? 0n);
      return above > 0n ? above : 0n;
    },
    /** Throws ChainRefused with the node's words. */
    async broadcast(raw: string) {
      await send("eth_sendRawTransaction", [raw]);
    },
    /** Whether the node holds this transaction, mined or waiting. */
    async knows(txHash: Bytes32) {
      return (await send("eth_getTransactionByHash", [txHash])) !== null;
    },
    async receipt(txHash: Bytes32): Promise<Receipt | undefined> {
      const answer = await send("eth_getTransactionReceipt", [txHash]);
      if (answer === null) return undefined;
      const fields = record(answer);
      return {
        blockNumber: Number(readQuantity(fields["blockNumber"], "receipt")),
        blockHash: readHash(fields["blockHash"]),
        succeeded: readQuantity(fields["status"], "receipt") === 1n,
        gasUsed: isQuantity(fields["gasUsed"]) ? BigInt(fields["gasUsed"]) : undefined,
      };
    },
  };
}

function readSimulation(answer: unknown): Simulation | "reverted" {
  const { calls } = record(firstOf(answer));
  const { status, logs, gasUsed } = record(firstOf(calls));
  if (status === "0x0") return "reverted";
  if (status !== "0x1" || !Array.isArray(logs)) throw new ChainUnreachable("a simulation has another form");
  return { logs: logs.map(readLogData), gasUsed: isQuantity(gasUsed) ? BigInt(gasUsed) : undefined };
}

function callObject({ from, to, data, gas }: CallRequest): Record<string, string> {
  return {
    data,
    ...(to === undefined ? {} : { to }),
    ...(from === undefined ? {} : { from }),
    ...(gas === undefined ? {} : { gas: `0x${gas.toString(16)}` }),
  };
}

function readHeader(block: unknown): Header | undefined {
  if (block === null) return undefined;
  const fields = record(block);
  return {
    number: Number(readQuantity(fields["number"], "header")),
    hash: readHash(fields["hash"]),
    parentHash: readHash(fields["parentHash"]),
    timestamp: Number(readQuantity(fields["timestamp"], "header")),
    baseFee: fields["baseFeePerGas"] === undefined ? 0n : readQuantity(fields["baseFeePerGas"], "header"),
    gasLimit: isQuantity(fields["gasLimit"]) ? BigInt(fields["gasLimit"]) : undefined,
    bloom: readBloom(fields["logsBloom"], fields["gasUsed"]),
  };
}

/** Some chains fill it with zeros whatever was said: of a block in which anything happened that tells nothing. */
function readBloom(bloom: unknown, gasUsed: unknown): string | undefined {
  if (typeof bloom !== "string" || !/^0x[0-9a-fA-F]{512}$/.test(bloom)) return undefined;
  const isUnused = isQuantity(gasUsed) && BigInt(gasUsed) === 0n;
  return /[1-9a-fA-F]/.test(bloom.slice(2)) || isUnused ? bloom : undefined;
}

function readLogData(log: unknown): LogData {
  const { address, topics, data } = record(log);
  if (typeof address !== "string" || typeof data !== "string" || !Array.isArray(topics)) {
    throw new ChainUnreachable("a log has another form");
  }
  return { address, topics: topics as string[], data };
}

function readLog(log: unknown): RawLog {
  const { blockNumber, blockHash, transactionHash, logIndex } = record(log);
  return {
    ...readLogData(log),
    blockNumber: Number(readQuantity(blockNumber, "log")),
    blockHash: readHash(blockHash),
    txHash: readHash(transactionHash),
    logIndex: Number(readQuantity(logIndex, "log")),
  };
}

function record(value: unknown): Record<string, unknown> {
  if (typeof value !== "object" || value === null) throw new ChainUnreachable("an answer has another form");
  return value as Record<string, unknown>;
}

const firstOf = (value: unknown): unknown => (Array.isArray(value) ? value[0] : undefined);

function readHash(value: unknown): Bytes32 {
  const hash = asBytes32(value);
  if (hash === undefined) throw new ChainUnreachable("an answer holds no hash where one belongs");
  return hash;
}

function readQuantity(value: unknown, what: string): bigint {
  if (!isQuantity(value)) throw new ChainUnreachable(`${what}: a number has another form`);
  return BigInt(value);
}

function isQuantity(value: unknown): value is string {
  return typeof value === "string" && /^0x[0-9a-fA-F]+$/.test(value);
}

function hex(value: number): string {
  return `0x${value.toString(16)}`;
}

function tag(at: BlockTag | Bytes32): string {
  return typeof at === "number" ? hex(at) : at;
}
