/** The depositor's own account, where it sends transactions itself. Its key stays in its own wallet. */
import { asAddress } from "../../protocol/host/text.ts";
import type { Eip1193Provider } from "./authorization.ts";
import { ClientError } from "../base/errors.ts";
import type { Receipt } from "./execute-call.ts";
import { delay } from "../base/aborting.ts";
import { checkOptions, eip1193Provider } from "../base/options.ts";

export interface OutgoingTransaction {
  readonly to: string;
  readonly data: string;
  readonly value: bigint;
  readonly chainId: number;
  /** Absent where the account's own wallet reckons it. */
  readonly gasLimit?: bigint;
}

export interface SentTransaction {
  readonly hash: string;
  /** Resolves when it is mined. */
  wait(): Promise<Receipt | null>;
}

/** What an ethers v6 Signer with a provider is; see `eip1193Sender` for a browser wallet. */
export interface TransactionSender {
  getAddress(): Promise<string>;
  sendTransaction(transaction: OutgoingTransaction): Promise<SentTransaction>;
}

const POLL_MS = 1_500;
const hex = (value: bigint | number): string => `0x${value.toString(16)}`;

/** A browser wallet's provider (EIP-1193). Throws PIN_MISMATCH when it stands on another chain. */
export function eip1193Sender(
  provider: Eip1193Provider,
  account: string,
  { pollMs = POLL_MS }: { readonly pollMs?: number } = {},
): TransactionSender {
  checkOptions(eip1193Provider, provider, "provider");
  async function receipt(hash: string): Promise<Receipt> {
    for (;;) {
      const found = await provider.request({ method: "eth_getTransactionReceipt", params: [hash] });
      if (found !== null && found !== undefined) return readReceipt(found);
      await delay(pollMs);
    }
  }
  return {
    getAddress: async () => account,
    async sendTransaction({ to, data, value, chainId, gasLimit }) {
      const chain = await provider.request({ method: "eth_chainId", params: [] });
      if (typeof chain !== "string" || Number(chain) !== chainId)
        throw new ClientError("PIN_MISMATCH", "the browser wallet is on another chain");
      const hash = await provider.request({
        method: "eth_sendTransaction",
        params: [
          {
            ...{ from: account, to, data, value: hex(value), chainId: hex(chainId) },
            ...(gasLimit === undefined ? {} : { gas: hex(gasLimit) }),
          },
        ],
      });
      if (typeof hash !== "string")
        throw new ClientError("UNEXPECTED_ANSWER", "the browser wallet gave no transaction hash");
      return { hash, wait: () => receipt(hash) };
    },
  };
}

function readReceipt(untrusted: unknown): Receipt {
  const { status, logs } = untrusted as { status?: unknown; logs?: unknown };
  const readable =
    typeof status === "string" &&
    Array.isArray(logs) &&
    logs.every(
      (log: Record<string, unknown>) =>
        asAddress(log["address"]) !== undefined &&
        Array.isArray(log["topics"]) &&
        typeof log["data"] === "string",
    );
  if (!readable) throw new ClientError("UNEXPECTED_ANSWER", "the browser wallet gave no receipt");
  return { status: Number(status), logs: logs as Receipt["logs"] };
}
