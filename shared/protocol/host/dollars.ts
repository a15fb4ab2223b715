/** Dollars, prices and tokens as exact numbers: no floating point between a configured amount and the smallest unit of a token. */

/** Dollars in 10^-18. */
export type Dollars = bigint;

const DOLLAR_DECIMALS = 18;
const DOLLAR = 10n ** BigInt(DOLLAR_DECIMALS);
const FORM = /^(0|[1-9][0-9]{0,11})(?:\.([0-9]{1,18}))?$/;

/** `0.05`; undefined for anything with a sign, an exponent or more than 18 places. */
export function parseDollars(text: string): Dollars | undefined {
  const parts = FORM.exec(text);
  if (parts === null) return undefined;
  const [, whole = "0", places = ""] = parts;
  return BigInt(whole) * DOLLAR + BigInt(places.padEnd(DOLLAR_DECIMALS, "0"));
}

/** Dollars for one whole token: answer / 10^decimals. */
export interface Price {
  readonly answer: bigint;
  readonly decimals: number;
}

export function fixedPrice(dollars: Dollars): Price {
  return { answer: dollars, decimals: DOLLAR_DECIMALS };
}

/** Both ends are inside. */
export function isBetween({ answer, decimals }: Price, least: Dollars, most: Dollars): boolean {
  const scale = 10n ** BigInt(decimals);
  return answer * DOLLAR >= least * scale && answer * DOLLAR <= most * scale;
}

/**
 * The least number of a token's smallest units that is worth so many dollars. Rounded up: rounded down, a fee
 * of less than one smallest unit would be none. The payer loses less than one smallest unit by it.
 */
export function unitsFor(dollars: Dollars, { answer, decimals }: Price, tokenDecimals: number): bigint {
  if (answer <= 0n) throw new RangeError("a price is above zero");
  const numerator = dollars * 10n ** BigInt(tokenDecimals + decimals);
  const denominator = DOLLAR * answer;
  return (numerator + denominator - 1n) / denominator;
}
