// The exchange's keys, in its own folder and nowhere else: the one that holds its dollars and pays its gas, and those
// of its validators.
import type { Address } from "../../../../shared/protocol/brands.ts";
import { openKey, type VenueKey } from "../key-file.ts";

/** More than two thirds of them must sign: all three. */
const VALIDATORS = 3;

export interface ExchangeKeys {
  /** Holds the accounts' money on its own chain, and sends its transactions on both. */
  readonly reserve: VenueKey;
  readonly validators: readonly VenueKey[];
}

export interface ExchangeAddresses {
  readonly reserve: Address;
  readonly validators: readonly Address[];
}

/** Makes those that are missing. */
export async function openExchangeKeys(folder: string): Promise<ExchangeKeys> {
  const names = Array.from({ length: VALIDATORS }, (_, i) => `validator-${String(i + 1)}`);
  return {
    reserve: await openKey(folder, "reserve"),
    validators: await Promise.all(names.map((name) => openKey(folder, name))),
  };
}
