/** Which of the two tables of chain data is served; the other one is for a rebuild. Settled when a store is opened. */
import type { Database } from "./database.ts";

export const SERVED = "served";
const TABLES = ["chain", "chain-2"] as const;
export type ChainTable = (typeof TABLES)[number];

export function servedIndex(database: Database): ChainTable {
  const name = database.table<unknown, string>("chain-choice").get(SERVED);
  return TABLES.find((table) => table === name) ?? "chain";
}

export function spareIndex(served: ChainTable): ChainTable {
  return served === "chain" ? "chain-2" : "chain";
}
