// What a demonstration ends with: every balance beside what it should be, for people and for programs.
import { showUnits } from "../stand-ins/usdc.ts";
import type { Check, Result } from "./stage.ts";

export function report({ checks, timings }: Result, exact: boolean, say: (text: string) => void): void {
  const width = Math.max(...checks.map(({ name }) => name.length));
  const shown = ({ unit }: Check, amount: bigint): string => showUnits(amount, unit.decimals);
  say("\nBalances");
  for (const check of checks) {
    const { name, unit, expected, actual } = check;
    const verdict = expected === actual ? "exact" : `WRONG, expected ${shown(check, expected)}`;
    say(`  ${name.padEnd(width)}  ${shown(check, actual).padStart(22)} ${unit.symbol.padEnd(5)}  ${verdict}`);
  }
  const proofs = timings
    .filter(({ step }) => step === "prove")
    .map(({ operation, ms }) => `${operation} ${(ms / 1000).toFixed(2)} s`);
  say(`\nProofs: ${proofs.join(", ")}.`);
  say(exact ? "Every balance is exact." : "A balance is not what it should be.");
}

export function asData({ checks, timings, transactions }: Result, exact: boolean): unknown {
  return {
    ok: exact,
    balances: checks.map(({ network, name, unit, expected, actual }) => ({
      network,
      name,
      unit: unit.symbol,
      decimals: unit.decimals,
      expected: String(expected),
      actual: String(actual),
      exact: expected === actual,
    })),
    timings,
    transactions,
  };
}
