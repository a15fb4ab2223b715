/** How each part fares, asked of the part itself. The details are shown to callers: no upstream text. */
import type { Chain } from "../../base/chain/provider.ts";
import type { EnclaveDirectory } from "../enclave-link/directory.ts";
import type { Disagreements } from "../enclave-link/disagreements.ts";
import { ClocksApart } from "../../base/clocks.ts";
import { COURIER_FAULTS, type KeyCourier } from "../enclave-link/key-courier.ts";
import type { Indexer } from "../merkle/indexer.ts";
import type { Database } from "../../base/store/lmdb/database.ts";
import type { InstanceStores } from "../../base/store/instance.ts";
import type { Sequencer } from "../sequencer/sequencer.ts";
import type { HealthChecks } from "./status.service.ts";

export interface HealthCheckParts {
  readonly chain: Pick<Chain, "isConfiguredChain">;
  readonly database: Database;
  readonly stores: Pick<InstanceStores, "check">;
  readonly indexer: Pick<Indexer, "state">;
  readonly sequencer: Pick<Sequencer, "state">;
  readonly directory: Pick<EnclaveDirectory, "phases">;
  readonly courier: Pick<KeyCourier, "faults">;
  readonly disagreements: Pick<Disagreements, "open">;
  /** How many attestations the pool asks for. */
  readonly threshold: () => Promise<number>;
}

/** Older than this, what the indexer or the sequencer last did is no sign of life. */
const STALE_MS = 30_000;

export function createHealthChecks(parts: HealthCheckParts): HealthChecks {
  const { chain, database, stores, indexer, sequencer, directory, courier, disagreements, threshold } = parts;
  const age = (at: number | undefined): number => (at === undefined ? 0 : Date.now() - at);
  const table = database.table("health");
  return {
    enclave: async () => {
      if (disagreements.open() > 0)
        return { state: "down", ageMs: 0, detail: "stopped: the verifiers gave different verdicts" };
      const phases = await directory.phases();
      const serving = phases.filter((phase) => phase === "serving").length;
      // Of a pool that was never reached nobody knows how many it asks for.
      const needed = await threshold().catch(() => undefined);
      const isEnough = serving >= (needed ?? 1);
      if (serving === phases.length && isEnough) return { state: "ok", ageMs: 0 };
      // Only of those that do not serve: the courier may not have looked since one came back.
      const reasons = courier
        .faults()
        .filter((fault, enclave) => fault !== undefined && phases[enclave] !== "serving")
        .map((fault) => COURIER_FAULTS[fault!]);
      const counted = `${serving} of ${phases.length} serve`;
      return {
        state: isEnough ? "degraded" : "down",
        ageMs: 0,
        detail: [needed === undefined ? counted : `${counted}, ${needed} needed`, ...new Set(reasons)].join(
          "; ",
        ),
      };
    },
    chain: async () =>
      (await chain.isConfiguredChain())
        ? { state: "ok", ageMs: 0 }
        : { state: "down", ageMs: 0, detail: "the node serves another chain" },
    store: async () => {
      // What comes from the chain is on this machine's disk, wherever the rest is.
      await database.transaction(() => table.putSync("last", Date.now()));
      try {
        await stores.check(Date.now());
      } catch (error) {
        if (error instanceof ClocksApart) return { state: "down", ageMs: 0, detail: error.message };
        throw error;
      }
      return { state: "ok", ageMs: 0 };
    },
    sequencer: () => {
      const { blockedBy, lastTurnAt } = sequencer.state();
      if (blockedBy !== undefined)
        return { state: "degraded", ageMs: age(lastTurnAt), detail: `blocked by ${blockedBy}` };
      const isAlive = lastTurnAt !== undefined && age(lastTurnAt) < STALE_MS;
      return { state: isAlive ? "ok" : "degraded", ageMs: age(lastTurnAt) };
    },
    indexer: () => {
      const { syncedAt, fault } = indexer.state();
      if (fault !== undefined) return { state: "down", ageMs: age(syncedAt), detail: fault };
      const isAlive = syncedAt !== undefined && age(syncedAt) < STALE_MS;
      return { state: isAlive ? "ok" : "degraded", ageMs: age(syncedAt) };
    },
  };
}
