/** What the suite plays: each kind has a world, lanes that play scenarios in it, and faults that are counted by their names. */
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { serialize } from "node:v8";
import { gunzipSync } from "node:zlib";
import { BRIDGE_FAULT_NAMES, BRIDGE_FAULT_NAMES_OF_TWO } from "./bridges/fault-names.ts";
import { makeBridgeWorld } from "./bridges/world.ts";
import { FACTS_FILE, stateFileOf } from "./lane-process.ts";
import { FAULT_NAMES, FAULT_NAMES_OF_TWO } from "./plan.ts";
import { makeWorld } from "./world.ts";

export const KIND_NAMES = ["payments", "bridges"] as const;
export type KindName = (typeof KIND_NAMES)[number];

/** Of payments. A world of bridges has one enclave. */
export interface WorldTerms {
  /** Of how many enclaves the pool asks for an attestation. */
  readonly threshold: number;
}

export interface Made {
  /** With its facts and the states of its chains. */
  readonly folder: string;
  stop(): Promise<void>;
}

export interface Kind {
  readonly name: KindName;
  readonly laneFile: string;
  /** Of what its world is made. */
  readonly of: string;
  readonly faults: readonly string[];
  /** Of two proxies around one Redis. */
  readonly faultsOfTwo: readonly string[];
  make(terms: WorldTerms): Promise<Made>;
}

const laneFile = (file: string): string => fileURLToPath(new URL(file, import.meta.url));

export const KINDS: Readonly<Record<KindName, Kind>> = {
  payments: {
    name: "payments",
    laneFile: laneFile("./lane.ts"),
    of: "a chain, its enclaves, transactions with real proofs",
    faults: FAULT_NAMES,
    faultsOfTwo: FAULT_NAMES_OF_TWO,
    async make(terms) {
      const world = await makeWorld(() => undefined, terms);
      const { reset: _reset, rpc, stop, ...facts } = world;
      await keep(facts.folder, facts, { home: rpc });
      return { folder: facts.folder, stop };
    },
  },
  bridges: {
    name: "bridges",
    laneFile: laneFile("./bridges/lane.ts"),
    of: "chains with forwarders, an enclave, addresses that nobody has asked for",
    faults: BRIDGE_FAULT_NAMES,
    faultsOfTwo: BRIDGE_FAULT_NAMES_OF_TWO,
    async make() {
      const { facts, rpc, stop } = await makeBridgeWorld();
      await keep(facts.folder, facts, rpc);
      return { folder: facts.folder, stop };
    },
  },
};

type Rpc = (method: string) => Promise<unknown>;

async function keep(folder: string, facts: unknown, chains: Readonly<Record<string, Rpc>>): Promise<void> {
  for (const [name, rpc] of Object.entries(chains)) {
    const dumped = String(await rpc("anvil_dumpState"));
    await writeFile(path.join(folder, stateFileOf(name)), gunzipSync(Buffer.from(dumped.slice(2), "hex")));
  }
  await writeFile(path.join(folder, FACTS_FILE), serialize(facts), { mode: 0o600 });
}
