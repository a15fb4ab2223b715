/** Every way in which a scenario of bridges can be disturbed, by the name under which it is counted; a run in which one never struck says so. */
import { RPC_FAULTS } from "../../../../scripts/stand-ins/between/node-relay.ts";
import { ATTESTER_FAULTS } from "../../../../scripts/stand-ins/between/attester-relay.ts";
import { EXCHANGE_FAULT_NAMES } from "./plan-exchange.ts";
import { FOREIGN_FAULT_NAMES, FOREIGN_FAULT_NAMES_OF_TWO } from "./plan-foreign.ts";
import { PROGRAMS } from "./spot.ts";
import { STRANGERS_ACTS } from "./steps.ts";
import { CHAINS, type ChainName } from "./world.ts";

const perChain = <Name extends string>(name: Name): readonly `${Name}-${ChainName}`[] =>
  CHAINS.map((chain) => `${name}-${chain}` as const);

export const BRIDGE_FAULT_NAMES = [
  ...RPC_FAULTS,
  ...ATTESTER_FAULTS.map((fault) => `attester-${fault}` as const),
  "attester-away",
  "kill-now",
  ...PROGRAMS.map((whom) => `kill-${whom}` as const),
  "flood",
  ...perChain("kill-at"),
  "kill-at-attester",
  ...perChain("reorg-empty"),
  ...perChain("reorg-later"),
  ...perChain("rollback"),
  ...perChain("drop"),
  ...perChain("base-fee"),
  ...perChain("chain-clock"),
  "proxy-clock",
  "expired",
  "hang-up",
  "dust",
  "above-fast-fee",
  "several-deposits",
  "wrong-token",
  "forged-message",
  ...STRANGERS_ACTS.map((act) => `stranger-${act}` as const),
  ...FOREIGN_FAULT_NAMES,
  ...EXCHANGE_FAULT_NAMES,
] as const;
/** Of two proxies around one Redis. */
export const BRIDGE_FAULT_NAMES_OF_TWO = [
  ...(["freeze", "freeze-past-lease", "second-proxy"] as const),
  ...PROGRAMS.map((whom) => `freeze-${whom}` as const),
  ...FOREIGN_FAULT_NAMES_OF_TWO,
] as const;
export type BridgeFaultName =
  (typeof BRIDGE_FAULT_NAMES)[number] | (typeof BRIDGE_FAULT_NAMES_OF_TWO)[number];
