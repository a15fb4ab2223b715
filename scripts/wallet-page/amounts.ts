/** Amounts between people and smallest units, without a floating-point number in between. */
import { decimalText } from "../../shared/client/index.ts";
import type { Token } from "./config.ts";

type Decimals = Pick<Token, "decimals">;

/** The amount, or what is wrong with it in words for beside the field. */
export function readAmount(text: string, { decimals }: Decimals): bigint | string {
  const written = text.trim();
  if (written === "") return "Enter an amount.";
  if (written.includes(",")) return "Write the decimals with a point, and no commas: 1250.50";
  const [, whole, fraction = ""] = /^(\d{1,40})(?:\.(\d+))?$/.exec(written) ?? [];
  if (whole === undefined) return "An amount is digits, with a point before the decimals: 12.50";
  if (fraction.replace(/0+$/, "").length > decimals)
    return `This token has ${String(decimals)} decimals, not more.`;
  const units = BigInt(whole + fraction.slice(0, decimals).padEnd(decimals, "0"));
  return units === 0n ? "More than nothing." : units;
}

/** Such as `12.5`. */
export function showUnits(amount: bigint, { decimals }: Decimals): string {
  return decimalText(amount, decimals).replace("-", "−");
}

/** Such as `12.5 USDC`. */
export function showAmount(amount: bigint, token: Token): string {
  return `${showUnits(amount, token)} ${token.symbol}`;
}
