/**
 * The account that pays for refutations. A transaction is signed and written down before it is sent, so a watcher that
 * was stopped in between sends the same bytes again and never a second refutation. The key comes from the environment.
 */
import { existsSync } from "node:fs";
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import path from "node:path";
import { isError, type JsonRpcProvider, Transaction, type TransactionReceipt, Wallet } from "ethers";
import { ChainUnreachable } from "../../proxy/base/chain/json-rpc.ts";
import type { Address } from "../../shared/protocol/brands.ts";
import { poolInterface } from "./calls.ts";
import { pause } from "./node.ts";

/** What was signed for one act. */
interface Signed {
  readonly hash: string;
  readonly nonce: number;
  readonly raw: string;
}

export type Outcome =
  | { readonly type: "mined"; readonly receipt: TransactionReceipt }
  /** The pool would revert: its error, as far as it says one. */
  | { readonly type: "refused"; readonly reason: string }
  /** Sent, and not in a block yet. */
  | { readonly type: "waiting"; readonly hash: string };

export interface SentBook {
  get(act: string): Signed | undefined;
  set(act: string, signed: Signed | undefined): Promise<void>;
}

/** No call may use more (EIP-7825). */
const MOST_GAS = 2n ** 24n;
const PATIENCE_MS = 90_000;

export class Account {
  readonly #wallet: Wallet;
  readonly #pool: Address;
  readonly #book: SentBook;

  constructor(key: string, provider: JsonRpcProvider, pool: Address, book: SentBook) {
    this.#wallet = new Wallet(key, provider);
    this.#pool = pool;
    this.#book = book;
  }

  get address(): string {
    return this.#wallet.address;
  }
  get #provider(): JsonRpcProvider {
    return this.#wallet.provider as JsonRpcProvider;
  }

  /** Does it once, however often it is asked. Throws ChainUnreachable when node or purse do not allow it now. */
  async act(name: string, data: string): Promise<Outcome> {
    try {
      return await this.#act(name, data);
    } catch (error) {
      throw new ChainUnreachable(`${name}: ${messageOf(error)}`, { cause: error });
    }
  }

  async #act(name: string, data: string): Promise<Outcome> {
    const earlier = this.#book.get(name);
    if (earlier !== undefined) {
      const outcome = await this.#follow(earlier);
      if (outcome !== undefined && outcome.type !== "refused") return outcome;
      // It can never be mined, or was and did nothing: another look, and another transaction if that finds a reason.
      await this.#book.set(name, undefined);
    }
    const gas = await this.#estimate(data);
    if (typeof gas === "string") return { type: "refused", reason: gas };
    const request = await this.#wallet.populateTransaction({ to: this.#pool, data, gasLimit: gas });
    const raw = await this.#wallet.signTransaction(request);
    const signed = { hash: hashOf(raw), nonce: Number(request.nonce), raw };
    await this.#book.set(name, signed);
    return (await this.#follow(signed)) ?? { type: "waiting", hash: signed.hash };
  }

  async isCheckpoint(leafCount: number, head: string): Promise<boolean> {
    const data = poolInterface.encodeFunctionData("checkpointTime", [leafCount, head]);
    return BigInt(await this.#provider.call({ to: this.#pool, data })) !== 0n;
  }

  /** What it may use: a quarter more than it would now, since the state may move before it is mined. A text refuses. */
  async #estimate(data: string): Promise<bigint | string> {
    try {
      const from = this.address;
      const gas = await this.#provider.estimateGas({ from, to: this.#pool, data });
      if (gas > MOST_GAS) return `needs ${gas} gas, more than one call may use`;
      const roomy = gas + gas / 4n;
      return roomy < MOST_GAS ? roomy : MOST_GAS;
    } catch (error) {
      if (!isError(error, "CALL_EXCEPTION")) throw error;
      const known = error.data === null ? null : poolInterface.parseError(error.data);
      return known === null ? error.shortMessage : `${known.name}(${String(known.args)})`;
    }
  }

  /** Undefined when another transaction has taken its nonce: it can never be mined. */
  async #follow({ hash, nonce, raw }: Signed): Promise<Outcome | undefined> {
    const mined = await this.#provider.getTransactionReceipt(hash);
    if (mined === null) {
      if ((await this.#provider.getTransactionCount(this.address, "latest")) > nonce) return undefined;
      await this.#provider.send("eth_sendRawTransaction", [raw]).catch(refuseUnlessKnown);
    }
    const receipt = mined ?? (await this.#receiptOf(hash));
    if (receipt === null) return { type: "waiting", hash };
    return receipt.status === 1
      ? { type: "mined", receipt }
      : { type: "refused", reason: `the pool refused it in transaction ${hash}` };
  }

  /** Asked for again and again, and not at the next higher block: after a reorganisation that may be long in coming. */
  async #receiptOf(hash: string): Promise<TransactionReceipt | null> {
    const until = performance.now() + PATIENCE_MS;
    for (;;) {
      const receipt = await this.#provider.getTransactionReceipt(hash);
      if (receipt !== null || performance.now() >= until) return receipt;
      await pause(this.#provider.pollingInterval);
    }
  }
}

function messageOf(error: unknown): string {
  if (error instanceof Error && "shortMessage" in error) return String(error.shortMessage);
  return error instanceof Error ? error.message : String(error);
}

function hashOf(raw: string): string {
  return Transaction.from(raw).hash!;
}

/** Nodes say in words of their own that they have it already, or that it is in a block. */
const HAVE_IT = /already known|already imported|already exists|known transaction|nonce too low/i;

function refuseUnlessKnown(error: unknown): void {
  if (!HAVE_IT.test(String(error))) throw error;
}

export function memoryBook(): SentBook {
  const kept = new Map<string, Signed>();
  return {
    get: (act) => kept.get(act),
    set: async (act, signed) => {
      if (signed === undefined) kept.delete(act);
      else kept.set(act, signed);
    },
  };
}

/** In the watcher's own folder, beside its journal. */
export async function fileBook(folder: string): Promise<SentBook> {
  const file = path.join(folder, "sent.json");
  await mkdir(folder, { recursive: true });
  const kept = new Map(
    existsSync(file) ? (JSON.parse(await readFile(file, "utf8")) as [string, Signed][]) : [],
  );
  return {
    get: (act) => kept.get(act),
    async set(act, signed) {
      if (signed === undefined) kept.delete(act);
      else kept.set(act, signed);
      await writeFile(`${file}.tmp`, JSON.stringify([...kept]), { mode: 0o600 });
      await rename(`${file}.tmp`, file);
    },
  };
}
