/** The other blockchain for a recovery: what a deposit key holds there, its burn, and burns that were made before. */
import { ed25519 } from "@noble/curves/ed25519.js";
import { base58 } from "@scure/base";
import * as z from "../../../api/zod.ts";
import { createJsonRpc, NodeRefused, type JsonRpc } from "../../chain/json-rpc.ts";
import { ClientError, hasCode } from "../../base/errors.ts";
import { burnMessage, signedTransaction, type BurnTerms } from "../burn.ts";
import type { Attempt } from "./evm-chain.ts";
import type { RecoveryOptions } from "./options.ts";
import type { Deposit } from "./places.ts";

/** CCTP's own number of that blockchain. */
const DOMAIN = 5;
const FINAL = 2_000;
const balance = z.object({ value: z.object({ amount: z.string().regex(/^[0-9]{1,20}$/) }) });
const latest = z.object({ value: z.object({ blockhash: z.string() }) });
/** Signers come first. */
const sent = z
  .object({
    transaction: z.object({
      message: z.object({
        accountKeys: z.array(z.string()),
        header: z.object({ numRequiredSignatures: z.int() }),
      }),
    }),
  })
  .nullable();
const history = z.array(z.object({ signature: z.string(), err: z.unknown() }));

export class ForeignChain {
  readonly domain: number;
  readonly #rpc: JsonRpc;
  readonly #payer: Uint8Array | undefined;
  readonly #isDry: boolean;
  readonly #signal: AbortSignal | undefined;

  constructor(
    options: RecoveryOptions,
    { rpc, domain = DOMAIN, payer }: NonNullable<RecoveryOptions["altchain"]>,
  ) {
    this.domain = domain;
    this.#rpc = createJsonRpc(rpc, { fetch: options.fetch });
    this.#payer = payer;
    this.#isDry = options.dryRun === true;
    this.#signal = options.signal;
  }

  /** 0 for an account that there is not. */
  async balance({ tokenAccount }: Deposit): Promise<bigint> {
    try {
      const found = await this.#ask(
        "getTokenAccountBalance",
        [tokenAccount, { commitment: "confirmed" }],
        balance,
      );
      return BigInt(found.value.amount);
    } catch (error) {
      if (error instanceof NodeRefused) return 0n;
      throw error;
    }
  }

  /** Transactions of the account that succeeded, the newest first. */
  async transactions({ tokenAccount }: Deposit): Promise<string[]> {
    const found = await this.#ask(
      "getSignaturesForAddress",
      [tokenAccount, { commitment: "confirmed" }],
      history,
    );
    return found.filter(({ err }) => err === null || err === undefined).map(({ signature }) => signature);
  }

  /**
   * Whether the deposit key signed it: all that it ever signs is burns. Anybody else's only names its account. One that the
   * node does not show may be one.
   */
  async isBy(signature: string, { key }: Deposit): Promise<boolean> {
    const config = { commitment: "confirmed", encoding: "json", maxSupportedTransactionVersion: 0 };
    const found = await this.#ask("getTransaction", [signature, config], sent).catch((error: unknown) => {
      if (error instanceof NodeRefused || hasCode(error, "UNEXPECTED_ANSWER")) return null;
      throw error;
    });
    if (found === null) return true;
    const { accountKeys, header } = found.transaction.message;
    return accountKeys.slice(0, header.numRequiredSignatures).includes(key.text);
  }

  latest(): Promise<z.infer<typeof latest>> {
    return this.#ask("getLatestBlockhash", [{ commitment: "confirmed" }], latest);
  }

  async burn({ key }: Deposit, amount: bigint, terms: BurnTerms): Promise<Attempt> {
    const payer = this.#payer;
    if (payer === undefined || this.#isDry) return { state: "possible" };
    const { value } = await this.latest();
    const fields = {
      ...{ amount, maxFee: 0n, finality: FINAL, blockhash: value.blockhash },
      payer: base58.encode(ed25519.getPublicKey(payer)),
    };
    const message = burnMessage(fields, key.text, terms);
    const transaction = signedTransaction(message, [ed25519.sign(message, payer), key.sign(message)]);
    try {
      const config = { encoding: "base64", preflightCommitment: "confirmed" };
      const signature = await this.#ask("sendTransaction", [transaction, config], z.string());
      return { state: "done", transaction: signature };
    } catch (error) {
      if (error instanceof NodeRefused) return { state: "refused", reason: error.message };
      throw error;
    }
  }

  async #ask<T>(method: string, params: readonly unknown[], schema: z.ZodType<T>): Promise<T> {
    const parsed = schema.safeParse(await this.#rpc.ask(method, params, this.#signal));
    if (!parsed.success) throw new ClientError("UNEXPECTED_ANSWER", `${method} of the other blockchain`);
    return parsed.data;
  }
}
