/** Amounts as people write them, and as the API has them: decimal strings in the asset's smallest units. */
import type { Me } from "../../contract/account.ts";

export type Asset = Me["instance"]["assets"][number];

/** `1.5` with 6 decimals is 1500000. What is wrong is said for the person who typed it. */
export function readMoney(
  text: string,
  { decimals, symbol }: Pick<Asset, "decimals" | "symbol">,
): { readonly amount: string } | { readonly fault: string } {
  const typed = text.trim();
  if (typed === "") return { fault: `type an amount of ${symbol}, 0 for none` };
  if (typed.includes(","))
    return { fault: "write the amount with a point and without separators, such as 1250.50" };
  const [, whole, part = ""] = /^(\d+)(?:\.(\d+))?$/.exec(typed) ?? [];
  if (whole === undefined) return { fault: "an amount is digits and at most one point, such as 0.30" };
  if (part.length > decimals)
    return { fault: `${symbol} has ${String(decimals)} decimals, and no finer part` };
  const digits = `${whole}${part.padEnd(decimals, "0")}`.replace(/^0+(?=\d)/, "");
  return digits.length > 38 ? { fault: "more than there can be" } : { amount: digits };
}

/** 1500000 with 6 decimals is `1.50`. */
export function money(amount: string, { decimals, symbol }: Pick<Asset, "decimals" | "symbol">): string {
  return `${decimal(amount, decimals)} ${symbol}`;
}

export function decimal(amount: string, decimals: number): string {
  const digits = amount.padStart(decimals + 1, "0");
  const whole = digits.slice(0, digits.length - decimals).replace(/\B(?=(\d{3})+$)/g, " ");
  const part = decimals === 0 ? "" : digits.slice(-decimals).replace(/0+$/, "");
  return part === "" ? whole : `${whole}.${part.padEnd(2, "0")}`;
}

/** An asset that the instance does not name any more is told by its address, in smallest units. */
export function assetOf({ instance }: Me, address: string): Asset {
  const found = instance.assets.find((asset) => asset.address.toLowerCase() === address.toLowerCase());
  return found ?? { address, symbol: `units of ${address.slice(0, 8)}…`, decimals: 0 };
}
