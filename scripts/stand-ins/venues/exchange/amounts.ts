// Dollars as the exchange's API writes them, "12.5", and as everything here reckons them: whole smallest units.
const DECIMALS = 6;
const WRITTEN = /^(0|[1-9][0-9]{0,11})(?:\.([0-9]{1,8}))?$/;

/** Undefined for what is no amount, and for one with a fraction of the smallest unit. */
export function readAmount(text: string): bigint | undefined {
  const [, whole, fraction = ""] = WRITTEN.exec(text) ?? [];
  const digits = fraction.padEnd(DECIMALS, "0");
  if (whole === undefined || /[1-9]/.test(digits.slice(DECIMALS))) return undefined;
  return BigInt(whole + digits.slice(0, DECIMALS));
}

/** With at least one place, as "12.0". */
export function writeAmount(units: bigint): string {
  const digits = units.toString().padStart(DECIMALS + 1, "0");
  const fraction = digits.slice(-DECIMALS).replace(/0+$/, "");
  return `${digits.slice(0, -DECIMALS)}.${fraction === "" ? "0" : fraction}`;
}
