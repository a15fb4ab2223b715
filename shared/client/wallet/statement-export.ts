/** A wallet's activity as a file for a spreadsheet or an accountant (RFC 4180), and the times of its blocks. */
import type { ActivityItem } from "../state/activity.ts";
import { createJsonRpc } from "../chain/json-rpc.ts";
import { ClientError } from "../base/errors.ts";

/** How a token is written. */
export interface ShownAsset {
  readonly symbol: string;
  readonly decimals: number;
}

export interface StatementExportOptions {
  /** By token address in lower case. What is not in it is written in smallest units, under its address. */
  readonly assets?: Readonly<Record<string, ShownAsset>>;
}

const COLUMNS = [
  ...["time", "kind", "state", "asset", "amount", "fees", "change", "bought asset", "bought amount"],
  ...["counterparty", "label", "memo", "block", "transaction", "leaf", "statement"],
];

/**
 * One line for each item, in their order, behind a line of names; CRLF at each end. Amounts are exact decimal numbers with a
 * point, times are UTC (ISO 8601). What others could have written (labels, memos) cannot become a formula: a field that a
 * spreadsheet would compute begins with an apostrophe.
 */
export function activityCsv(
  items: readonly ActivityItem[],
  { assets = {} }: StatementExportOptions = {},
): string {
  const rows = items.map((item) => {
    const shown = assets[item.asset];
    const boughtAs = item.bought && assets[item.bought.asset];
    return [
      ...[item.time === undefined ? "" : new Date(item.time * 1000).toISOString(), item.kind, item.state],
      ...[text(shown?.symbol ?? item.asset), decimalText(item.amount, shown?.decimals)],
      ...[item.fees, item.change].map((amount) =>
        amount === undefined ? "" : decimalText(amount, shown?.decimals),
      ),
      text(item.bought === undefined ? "" : (boughtAs?.symbol ?? item.bought.asset)),
      item.bought?.amount === undefined ? "" : decimalText(item.bought.amount, boughtAs?.decimals),
      ...[item.counterparty, item.label, item.memo].map((one) => text(one ?? "")),
      ...[item.block, item.txHash, item.leaf, item.statement].map((one) =>
        one === undefined ? "" : String(one),
      ),
    ];
  });
  return [COLUMNS, ...rows].map((row) => `${row.map(quoted).join(",")}\r\n`).join("");
}

/** Exact: `decimalText(1_230_000n, 6)` is "1.23". */
export function decimalText(amount: bigint, decimals = 0): string {
  const digits = String(amount < 0n ? -amount : amount).padStart(decimals + 1, "0");
  const whole = digits.slice(0, digits.length - decimals);
  const part = digits.slice(digits.length - decimals).replace(/0+$/, "");
  return `${amount < 0n ? "-" : ""}${whole}${part === "" ? "" : `.${part}`}`;
}

/**
 * Before what spreadsheets take for a formula, whatever spaces stand before it: "=…", "+…", "-…", "@…", also in their wide
 * forms. Where a comma is for decimals, a spreadsheet begins another field behind each semicolon, quoted or not.
 */
const BEFORE_FORMULA = /(?:^\s*|(?<=;)[\s"]*)(?=[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20])/gu;

function text(given: string): string {
  return given.replace(BEFORE_FORMULA, "'$&");
}

function quoted(field: string): string {
  return /[",\r\n]/.test(field) ? `"${field.replaceAll('"', '""')}"` : field;
}

export interface BlockTimesOptions {
  /** A chain node. It learns of which blocks the times are asked for, so let it be one of your own where that matters. */
  readonly rpc: string;
  readonly fetch?: typeof fetch;
  readonly signal?: AbortSignal | undefined;
}

/** At once, to one node. */
const ASKED_AT_ONCE = 8;

/** The items, with the time of their block where they have none of their own. Throws NODE_UNREACHABLE and CHAIN_DOUBTED. */
export async function withBlockTimes(
  items: readonly ActivityItem[],
  { rpc, fetch, signal }: BlockTimesOptions,
): Promise<ActivityItem[]> {
  const node = createJsonRpc(rpc, { fetch });
  const missing = [
    ...new Set(
      items.flatMap(({ time, block }) => (time === undefined && block !== undefined ? [block] : [])),
    ),
  ];
  const times = new Map<number, number>();
  const ask = async (): Promise<void> => {
    for (let block = missing.pop(); block !== undefined; block = missing.pop()) {
      const answer = await node.ask("eth_getBlockByNumber", [`0x${block.toString(16)}`, false], signal);
      times.set(block, timeOf(answer));
    }
  };
  await Promise.all(Array.from({ length: ASKED_AT_ONCE }, ask));
  return items.map((item) =>
    item.time === undefined && item.block !== undefined ? { ...item, time: times.get(item.block) } : item,
  );
}

function timeOf(block: unknown): number {
  const { timestamp } = (block ?? {}) as { timestamp?: unknown };
  if (typeof timestamp !== "string" || !/^0x[0-9a-f]{1,10}$/i.test(timestamp))
    throw new ClientError("CHAIN_DOUBTED", "a block without a time");
  return Number(timestamp);
}
