/** The progress of a request as its owner sees it. */
import type { BridgeStatus } from "../../shared/api/bridge-status.ts";
import { unseenStatus } from "../base/bridge/unseen-status.ts";
import type { BridgeSettings } from "../base/bridge/bridge.settings.ts";
import { HOME_CHAIN, type BridgeRecord } from "../base/store/bridge-records.ts";
import type { Progress, ProgressTransaction } from "./requests.ts";

export type StatusOf = (record: BridgeRecord, progress: Progress) => BridgeStatus;

export function statusView({ homeChainId, chains, perpvenue }: BridgeSettings): StatusOf {
  const ids = new Map<string, number>([
    [HOME_CHAIN, homeChainId],
    ...chains.map(({ name, chainId }): [string, number] => [name, chainId]),
    ...(perpvenue === undefined ? [] : [["perpvenue", perpvenue.chain.chainId] as [string, number]]),
  ]);
  const shown = ({ chain, hash, what }: ProgressTransaction) => ({
    ...{ chain, chain_id: ids.get(chain) ?? null, hash, what },
  });

  return (record, progress) => {
    const deposits = progress.deposits.map(({ state, amount, chain, transactions, leafIndex }) => ({
      state,
      amount: amount === undefined ? null : String(amount),
      chain,
      transactions: transactions.map(shown),
      leaf_index: leafIndex ?? null,
    }));
    const { reason, sign, error } = progress;
    return {
      ...unseenStatus(record),
      state: progress.state,
      amount: deposits.findLast(({ state }) => state === progress.state)?.amount ?? null,
      received: String(progress.received),
      credited: String(progress.credited),
      refunded: String(progress.refunded),
      deposits,
      transactions: distinct(deposits.flatMap(({ transactions }) => transactions)),
      reason: reason === undefined ? null : { code: reason.code, text: reason.detail },
      next: { text: progress.next.text, by: secsToTime(progress.next.by) },
      without_help: progress.withoutHelp,
      refundable_at: secsToTime(progress.refundableAt),
      sign:
        sign === undefined
          ? null
          : { transaction: sign.transaction, expires_after_slot: sign.expiresAfterSlot },
      error: error === undefined ? null : { ...error },
    };
  };
}

const secsToTime = (secs: number | undefined): string | null =>
  secs === undefined ? null : new Date(Math.ceil(secs) * 1000).toISOString();

/** Several deposits may have gone on together. */
function distinct<T extends { readonly chain: string; readonly hash: string; readonly what: string }>(
  transactions: readonly T[],
): T[] {
  const known = new Map(transactions.map((one) => [`${one.chain} ${one.hash} ${one.what}`, one]));
  return [...known.values()];
}
